//! Statistics of a query, on which scores and the terms of words depend. Those of several indexes are added, and given to
//! the search of each: scores then equal those of one index of all documents.

use std::collections::BTreeMap;

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
    /// Terms that words of the query may stand for, in any language.
    pub terms: TermCounts,
    /// Prefixes of the query. A key is opaque; it means the same in all indexes.
    pub prefixes: BTreeMap<Vec<u8>, PrefixStatistics>,
}

/// Number of documents with each term. Terms without documents are left out. A key is opaque; it means the same in all
/// indexes.
pub type TermCounts = BTreeMap<Vec<u8>, u64>;

/// Statistics of a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixStatistics {
    /// The first terms with the prefix in their order, up to the bound.
    pub terms: TermCounts,
    /// True if there are more.
    pub is_cut: bool,
}

impl QueryStatistics {
    /// Adds those of another index, for the same query and options.
    pub fn add(&mut self, other: Self) {
        self.documents += other.documents;
        self.words += other.words;
        for (language, n) in other.languages {
            *self.languages.entry(language).or_default() += n;
        }
        add_counts(&mut self.terms, other.terms);
        for (prefix, PrefixStatistics { terms, is_cut }) in other.prefixes {
            let sum = self.prefixes.entry(prefix).or_default();
            add_counts(&mut sum.terms, terms);
            sum.is_cut |= is_cut;
        }
    }

    /// Returns the mean number of words of a document.
    pub(super) fn mean_length(&self) -> f64 {
        self.words as f64 / self.documents.max(1) as f64
    }
}

fn add_counts(sums: &mut TermCounts, terms: TermCounts) {
    for (term, n) in terms {
        *sums.entry(term).or_default() += n;
    }
}
