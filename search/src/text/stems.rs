//! Stems of words by Snowball's algorithms: a word is indexed by its stem in the language of its document.
//!
//! Words are stemmed, not lemmatised. A lemma needs a dictionary for each language and the part of speech; a stem
//! needs only the word, the same program for documents and for queries, and some kilobytes for a language.

use super::language::algorithm;
use crivello_common::closed_set;
use frostem::{Algorithm, Stemmer};
use std::collections::HashMap;

closed_set! {
    /// The change of words before they are indexed.
    pub enum Stemming {
        /// The stem by the language of the document.
        Language => "language",
        /// The word as it is.
        None => "none",
    }
}

/// Words whose stems are remembered. The memory is bounded by it.
const CACHE_WORDS_MAX: usize = 1 << 16;

/// Stemmers of all languages. Each thread has its own.
pub struct Stemmers {
    stemming: Stemming,
    /// Stems by language and word.
    cache: HashMap<&'static str, HashMap<String, String>>,
    n_cached: usize,
    /// Language of the last word, and its stemmer.
    last: (String, Option<Algorithm>),
}

impl Stemmers {
    /// Creates the stemmers.
    #[must_use]
    pub fn new(stemming: Stemming) -> Self {
        Self { stemming, cache: HashMap::new(), n_cached: 0, last: (String::new(), None) }
    }

    fn algorithm(&mut self, language: &str) -> Option<Algorithm> {
        if self.stemming == Stemming::None {
            return None;
        }
        if self.last.0 != language {
            self.last = (language.to_owned(), algorithm(language));
        }
        self.last.1
    }

    /// Calls `use_stem` with the stem of a word in its normal form. Languages without a stemmer leave it as it
    /// is.
    pub fn stem<T>(&mut self, language: &str, word: &str, use_stem: impl FnOnce(&str) -> T) -> T {
        let Some(algorithm) = self.algorithm(language) else { return use_stem(word) };
        if self.n_cached >= CACHE_WORDS_MAX {
            self.cache.clear();
            self.n_cached = 0;
        }
        let stems = self.cache.entry(algorithm.name()).or_default();
        if let Some(stem) = stems.get(word) {
            return use_stem(stem);
        }
        let stem = Stemmer::new(algorithm).stem(word).into_owned();
        let result = use_stem(&stem);
        stems.insert(word.to_owned(), stem);
        self.n_cached += 1;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_stem_of_their_language() {
        let mut stemmers = Stemmers::new(Stemming::Language);
        for (language, word, stem) in [
            ("eng", "running", "run"),
            ("ita", "biblioteche", "bibliotec"),
            ("deu", "häuser", "haus"),
            ("fra", "continuellement", "continuel"),
            ("und", "running", "running"),
            ("jpn", "running", "running"),
        ] {
            for _ in 0..2 {
                assert_eq!(stemmers.stem(language, word, str::to_owned), stem, "{language}");
            }
        }
        let mut none = Stemmers::new(Stemming::None);
        assert_eq!(none.stem("eng", "running", str::to_owned), "running");
    }
}
