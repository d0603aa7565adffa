//! Words of a text by Unicode's rules for word boundaries (UAX 29).

use super::normalize::normalize;
use std::borrow::Cow;
use unicode_segmentation::UnicodeSegmentation as _;

/// Length in bytes at which words are cut, in documents and in queries alike.
pub const WORD_BYTES_MAX: usize = 64;

/// Articles and pronouns that lose their vowel before another word, as in l'acqua, dell'arte, qu'il.
#[rustfmt::skip]
const ELISIONS: [&str; 33] = [
    "l", "d", "un", "c", "j", "m", "n", "s", "t", "qu", "v", "jusqu", "quoiqu", "lorsqu", "puisqu",
    "all", "agl", "dall", "dagl", "dell", "degl", "nell", "negl", "sull", "sugl", "coll", "quell", "quest",
    "bell", "sant", "tutt", "nessun", "alcun",
];

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextWord<'a> {
    /// Normal form.
    pub word: Cow<'a, str>,
    /// Offset in the text, in bytes.
    pub start: usize,
    /// Length in the text, in bytes.
    pub length: usize,
}

/// Returns the words of a text, in order. Their places in it are their positions. A colon ends a word, other than in
/// UAX 29: it is the mark of fields in queries.
pub fn words(text: &str) -> impl Iterator<Item = TextWord<'_>> {
    let pieces = text.unicode_word_indices().flat_map(|(start, word)| {
        let mut at = start;
        word.split(':').map(move |piece| {
            let start = at;
            at += piece.len() + 1;
            (start, piece)
        })
    });
    let halves = pieces.flat_map(|(start, word)| {
        let Some(end) = elision(word) else { return [Some((start, word)), None] };
        let quote = word[end..].chars().next().map_or(1, char::len_utf8);
        [Some((start, &word[..end])), Some((start + end + quote, &word[end + quote..]))]
    });
    halves.flatten().map(|(start, word)| normal(start, word)).filter(|word| !word.word.is_empty())
}

fn normal(start: usize, word: &str) -> TextWord<'_> {
    let length = word.len();
    let word = &word[..word.floor_char_boundary(WORD_BYTES_MAX)];
    let mut word = normalize(word);
    if word.len() > WORD_BYTES_MAX {
        let end = word.floor_char_boundary(WORD_BYTES_MAX);
        word.to_mut().truncate(end);
    }
    TextWord { word, start, length }
}

/// Returns the length of what is before the apostrophe, if it is an elision.
fn elision(word: &str) -> Option<usize> {
    let end = word.find(['\'', '\u{2019}'])?;
    let before = &word[..end];
    let is_elision = ELISIONS.iter().any(|elision| elision.eq_ignore_ascii_case(before));
    let has_rest = word[end..].chars().nth(1).is_some_and(char::is_alphanumeric);
    (is_elision && has_rest).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Vec<String> {
        words(text).map(|word| word.word.into_owned()).collect()
    }

    #[test]
    fn words_are_those_of_uax_29() {
        assert_eq!(
            of("The quick (\"brown\") fox can't jump 32.3 feet, right?"),
            ["the", "quick", "brown", "fox", "can't", "jump", "32.3", "feet", "right"]
        );
        assert_eq!(of("L’acqua dell'arte, qu'il"), ["l", "acqua", "dell", "arte", "qu", "il"]);
        assert_eq!(of("std::vec a:b 12:30"), ["std", "vec", "a", "b", "12", "30"]);
        assert_eq!(of("日本語"), ["日", "本", "語"]);
        assert_eq!(of(" \u{200b}– … "), Vec::<String>::new());
    }

    #[test]
    fn places_are_those_in_the_text() {
        let text = "Ça l'école, STRASSE a:b";
        for word in words(text) {
            let found = &text[word.start..word.start + word.length];
            assert_eq!(normalize(found), word.word);
        }
    }

    #[test]
    fn long_words_are_cut() {
        let cut = of(&"é".repeat(1_000));
        assert_eq!(cut, ["é".repeat(WORD_BYTES_MAX / 2)]);
        // NFKC makes 18 letters of this one.
        let cut = of(&"\u{fdfa}".repeat(20));
        assert!(cut.iter().all(|word| word.len() <= WORD_BYTES_MAX), "{cut:?}");
    }
}
