//! Operators (Notes 2.4): lazy streams of documents in their order, over the lists of one segment.
//!
//! A tree of operators answers a query. Each pulls only what it needs from those below it, with `next` or
//! `skip_to`, so a query whose first results are enough ends early.

mod anchored;
mod and;
mod budget;
mod conjunction;
mod explain;
mod not;
mod or;
mod positions;
mod scoring;
mod terms;
mod union;

pub(crate) use anchored::Anchored;
pub(crate) use and::And;
pub use budget::{Bound, SearchBounds};
pub(crate) use budget::{Budget, Halt};
pub(crate) use conjunction::Conjunction;
use explain::Calls;
pub use explain::Explained;
pub(crate) use not::{All, Not};
pub(crate) use or::Or;
pub(crate) use positions::{InOrder, Near, Phrase, Window};
pub(crate) use scoring::{Scoring, TermWeight};
pub(crate) use terms::{TermList, Terms};
pub(crate) use union::{RankingContext, Union};

/// A stream of documents, ascending. It begins before the first one.
pub(crate) trait Operator {
    /// Goes to the next document, and returns it.
    fn next(&mut self) -> Result<Option<u32>, Halt>;

    /// Goes to the first document that is `target` or later, and returns it. Stays if it is there, or beyond.
    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt>;

    /// Returns an upper bound of the number of documents, by which conjunctions are ordered.
    fn estimate(&self) -> u64;

    /// Returns the score of the document: the sum over the terms that make it a result, in the order of the query.
    fn score(&mut self, scoring: &Scoring<'_>) -> Result<f64, Halt>;

    /// Sets the score below which documents are not wanted any more. It never falls.
    fn set_threshold(&mut self, _score: f64) {}

    /// Returns the number of documents that were not returned because of the threshold; `None` if they were not all
    /// counted.
    fn passed(&self) -> Option<u64> {
        Some(0)
    }

    /// Returns what was pulled so far.
    fn explain(&self) -> Explained;
}

/// An operator of a segment.
pub(crate) type BoxedOperator<'s> = Box<dyn Operator + 's>;
