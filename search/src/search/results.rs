//! Results of searches.

use super::snippet::Snippet;
use crate::operator::{Bound, Explained};
use crivello_common::time::Timestamp;

/// A document that a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// URL.
    pub url: String,
    /// Title; empty if it has none.
    pub title: String,
    /// Language by ISO 639-3.
    pub language: String,
    /// Time of the capture.
    pub date: Timestamp,
    /// Score; 0 if results are not ranked.
    pub score: f64,
    /// Near-duplicates of it that are results, too.
    pub near_duplicates: u64,
    /// A part of the text that has words of the query.
    pub snippet: Snippet,
}

/// Results of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchResults {
    /// The best results, or the first ones.
    pub hits: Vec<Hit>,
    /// Documents that were found, with near-duplicates.
    pub found: u64,
    /// True if documents that cannot be among the best were passed, and are not in `found`.
    pub is_uncounted: bool,
    /// True if the search ended before it had found all.
    pub is_partial: bool,
    /// The bound that ended it. If the results are not partial, only snippets are missing.
    pub bound: Option<Bound>,
    /// Stop-words that were left out.
    pub ignored: Vec<String>,
    /// Prefixes with more terms than the bound; the others were left out.
    pub cut_prefixes: Vec<String>,
    /// The operators.
    pub explained: Explained,
}
