//! The normal form of a word: NFKC, lower case, one form of letters that have several.

use std::borrow::Cow;
use unicode_normalization::UnicodeNormalization as _;

/// Returns the normal form of a word.
pub(super) fn normalize(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return match word.bytes().any(|byte| byte.is_ascii_uppercase()) {
            true => Cow::Owned(word.to_ascii_lowercase()),
            false => Cow::Borrowed(word),
        };
    }
    let lower = word.nfkc().flat_map(char::to_lowercase);
    let mut text = String::with_capacity(word.len());
    for c in lower {
        match c {
            'ß' => text.push_str("ss"),
            // The final sigma is the same letter.
            'ς' => text.push('σ'),
            '\u{2019}' | '\u{02bc}' | '\u{ff07}' => text.push('\''),
            // Soft hyphens and joiners are not seen.
            '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => {}
            c => text.push(c),
        }
    }
    // Lower case may decompose a letter, as it does with a dotted capital I.
    Cow::Owned(text.nfkc().collect())
}

#[cfg(test)]
mod tests {
    use super::normalize;

    #[test]
    fn forms_of_one_word_are_equal() {
        for (one, other) in [
            ("Straße", "STRASSE"),
            ("ﬁne", "fine"),
            ("Ｗｏｒｄ", "word"),
            ("e\u{301}te\u{301}", "été"),
            ("ΟΔΟΣ", "οδος"),
            ("don’t", "don't"),
            ("co\u{ad}operate", "cooperate"),
            ("İ", "i\u{307}"),
        ] {
            assert_eq!(normalize(one), normalize(other));
            assert_eq!(normalize(&normalize(one)), normalize(one), "idempotent");
        }
    }
}
