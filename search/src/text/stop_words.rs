//! Stop-words: indexed as all others, since phrases need them, but optional in queries.

use super::language::language_code;
use std::collections::{HashMap, HashSet};
use std::sync::{LazyLock, Mutex, PoisonError};

/// Stop-words of one language.
type Words = HashSet<&'static str>;

/// Returns true if a word in its normal form is a stop-word of a language.
#[must_use]
pub fn is_stop_word(language: &str, word: &str) -> bool {
    static LISTS: LazyLock<Mutex<HashMap<&'static str, Words>>> = LazyLock::new(Mutex::default);
    let Some(code) = language_code(language) else { return false };
    let mut lists = LISTS.lock().unwrap_or_else(PoisonError::into_inner);
    let words = lists
        .entry(code)
        .or_insert_with(|| stop_words::lookup(code).unwrap_or_default().iter().copied().collect());
    words.contains(word)
}

#[cfg(test)]
mod tests {
    use super::is_stop_word;

    #[test]
    fn stop_words_belong_to_a_language() {
        assert!(is_stop_word("eng", "the") && is_stop_word("ita", "della"));
        assert!(!is_stop_word("eng", "crawler") && !is_stop_word("und", "the"));
        assert!(!is_stop_word("xxx", "the"));
    }
}
