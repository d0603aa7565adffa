//! Statistics of a query, on which scores and the terms of words depend. Those of several indexes are added, and given to
//! the search of each: scores then equal those of one index of all documents.

use std::collections::{BTreeMap, BTreeSet};

/// Statistics of a query over one or more indexes, with documents that count no more until they are merged away.
///
/// A query of several indexes takes two steps: [`Searcher::statistics`] of each, added by [`Self::add`], then
/// [`Searcher::search_with`] of each. The best results of all are those of one index: the highest scores, and of equal
/// ones the least [`url_order`](crivello_common::hash::url_order).
///
/// [`Searcher::statistics`]: super::Searcher::statistics
/// [`Searcher::search_with`]: super::Searcher::search_with
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryStatistics {
    /// Documents.
    pub documents: u64,
    /// Words in titles and texts of all documents.
    pub words: u64,
    /// Number of documents by language (ISO 639-3).
    pub languages: BTreeMap<String, u64>,
    /// Number of documents with each term: those that words of the query may stand for, in any language, and those
    /// with its prefixes. Terms without documents are left out. A key is opaque; it means the same in all indexes.
    pub terms: BTreeMap<Vec<u8>, u64>,
    /// Prefixes of the query with more terms than the bound.
    pub cut_prefixes: BTreeSet<String>,
}

impl QueryStatistics {
    /// Adds those of another index, for the same query and options.
    pub fn add(&mut self, other: Self) {
        self.documents += other.documents;
        self.words += other.words;
        for (language, n) in other.languages {
            *self.languages.entry(language).or_default() += n;
        }
        for (term, n) in other.terms {
            *self.terms.entry(term).or_default() += n;
        }
        self.cut_prefixes.extend(other.cut_prefixes);
    }

    /// Returns the mean number of words of a document.
    pub(super) fn mean_length(&self) -> f64 {
        self.words as f64 / self.documents.max(1) as f64
    }
}
