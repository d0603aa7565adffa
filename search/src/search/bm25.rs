//! BM25 (Robertson and Zaragoza 2009) in the variant of Lucene, which bm25s calls `lucene`.
//!
//! The score of a document is the sum over the terms of the query of
//!
//! ```text
//!         idf · count / (count + k1 · (1 − b + b · length / mean length)),   idf = ln(1 + (N − n + 0.5) / (n + 0.5))
//! ```
//! N is the number of documents, n that of documents with the term, length the number of words in title and text. This
//! idf is never negative. The factor k1 + 1 of other variants changes no order.

use crate::operator::TermWeight;

/// Parameters of BM25.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bm25 {
    /// Saturation of counts.
    pub k1: f64,
    /// Weight of lengths, 0 to 1.
    pub b: f64,
}

impl Default for Bm25 {
    fn default() -> Self {
        Self { k1: 1.2, b: 0.75 }
    }
}

impl Bm25 {
    /// Returns the weight of a term.
    pub(super) fn idf(documents: u64, with_term: u64) -> f64 {
        let (all, with) = (documents as f64, with_term.min(documents) as f64);
        ((all - with + 0.5) / (with + 0.5)).ln_1p()
    }

    /// Returns the weight of a term of title and text, by its idf.
    pub(super) fn of_text(self, idf: f64, mean_length: f64) -> TermWeight {
        // Documents are of mean length if none has a word.
        let (base, slope) = match mean_length > 0.0 {
            true => (self.k1 * (1.0 - self.b), self.k1 * self.b / mean_length),
            false => (self.k1, 0.0),
        };
        TermWeight { weight: idf, base, slope }
    }

    /// Returns the weight of a term of links. Their length does not count: a page with many links is no long one.
    pub(super) const fn of_anchor(self, weight: f64) -> TermWeight {
        TermWeight { weight, base: self.k1, slope: 0.0 }
    }

    /// Returns true if scores grow with counts and shrink with lengths, as bounds of scores take for granted.
    pub(super) fn is_monotone(self) -> bool {
        self.k1 >= 0.0 && (0.0..=1.0).contains(&self.b)
    }
}
