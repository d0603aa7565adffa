//! Options of searches.

use super::bm25::Bm25;
use crate::operator::SearchBounds;

/// Weight of the words of links beside those of title and text.
pub(super) const ANCHOR_WEIGHT: f64 = 0.5;

/// Options of a search.
#[derive(Clone, Copy, Debug)]
pub struct SearchOptions {
    /// Results at most.
    pub limit: usize,
    /// True to order results by BM25. Otherwise they come in the order of documents, and the search ends when it
    /// has enough.
    pub is_ranked: bool,
    /// True to search for stop-words as for all other words. Otherwise they are left out if other words are there.
    pub with_stop_words: bool,
    /// True to show near-duplicates as results of their own.
    pub with_near_duplicates: bool,
    /// True to read texts: URLs, titles and snippets of results. Otherwise these are empty.
    pub with_texts: bool,
    /// True to count all results. Otherwise documents that cannot be among the best may be passed, if results are
    /// ranked.
    pub with_count: bool,
    /// Parameters of ranks.
    pub bm25: Bm25,
    /// Weight of the words of links, at least 0. They do not make a document a result of a word without `anchor:`.
    pub anchor_weight: f64,
    /// Weight of static ranks, at least 0; 0 leaves them out.
    pub rank_weight: f64,
    /// Bounds.
    pub bounds: SearchBounds,
}

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            limit: 10,
            is_ranked: true,
            with_stop_words: false,
            with_near_duplicates: false,
            with_texts: true,
            with_count: true,
            bm25: Bm25::default(),
            anchor_weight: ANCHOR_WEIGHT,
            rank_weight: 0.0,
            bounds: SearchBounds::default(),
        }
    }
}
