//! Scores of terms in the documents of a segment, and bounds of them.

use crate::postings::Impacts;

/// Share by which a bound may be below a score because both are rounded.
const ROUNDING: f64 = 1e-9;

/// Numbers from which the score of a term follows: `weight · count / (count + base + slope · length)`. All are at least 0.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TermWeight {
    pub(crate) weight: f64,
    pub(crate) base: f64,
    pub(crate) slope: f64,
}

impl TermWeight {
    /// Returns the score of a document that has the term `count` times.
    #[inline]
    pub(super) fn score(self, count: u32, length: u32) -> f64 {
        self.of(f64::from(count), f64::from(length))
    }

    #[inline]
    pub(super) fn of(self, count: f64, length: f64) -> f64 {
        self.weight * count / (count + (self.base + self.slope * length))
    }

    /// Returns a bound of the scores in a block; that in all documents without `impacts`.
    pub(super) fn bound(self, impacts: Option<&Impacts>) -> f64 {
        let Some(impacts) = impacts else { return self.weight };
        let scores = impacts.pairs().map(|(count, length)| self.score(count, length));
        scores.fold(0.0, f64::max)
    }
}

/// Numbers from which the scores in a segment follow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scoring<'s> {
    /// Weight of each term of the query.
    pub(crate) terms: &'s [TermWeight],
    /// Length of each document.
    pub(crate) lengths: &'s [u32],
}

impl Scoring<'_> {
    /// Returns the score of a term that a document has `count` times.
    #[inline]
    pub(crate) fn score(&self, term: usize, count: u32, document: u32) -> f64 {
        self.terms[term].score(count, self.lengths[document as usize])
    }
}

/// Returns true if no score with this bound reaches the threshold.
#[inline]
pub(super) fn is_below(bound: f64, threshold: f64) -> bool {
    bound * (1.0 + ROUNDING) < threshold
}
