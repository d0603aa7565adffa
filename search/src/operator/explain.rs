//! Counts of what operators have read.

use crate::postings::PostingStats;
use serde::Serialize;
use std::fmt;

/// Calls of an operator.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Calls {
    pub(super) next: u64,
    pub(super) skip: u64,
    pub(super) returned: u64,
}

impl Calls {
    /// Counts what a call returns.
    pub(super) fn returns(&mut self, document: Option<u32>) -> Option<u32> {
        self.returned += u64::from(document.is_some());
        document
    }
}

/// An operator of a query, and what it did in all segments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// Operator, and its terms.
    pub operator: String,
    /// Documents that its lists have, or may have at most.
    pub estimate: u64,
    /// Calls of `next`.
    pub next: u64,
    /// Calls of `skip_to`.
    pub skip_to: u64,
    /// Documents that it returned.
    pub documents: u64,
    /// Postings that were decoded.
    pub postings: u64,
    /// Blocks of postings that were decoded.
    pub blocks: u64,
    /// Positions that were decoded.
    pub positions: u64,
    /// Documents whose positions were compared.
    #[serde(skip_serializing_if = "is_zero")]
    pub candidates: u64,
    /// The operators that it pulls from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Self>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Explained {
    pub(super) fn new(operator: &str, estimate: u64, calls: Calls) -> Self {
        Self {
            operator: operator.to_owned(),
            estimate,
            next: calls.next,
            skip_to: calls.skip,
            documents: calls.returned,
            ..Self::default()
        }
    }

    pub(super) fn with_parts(mut self, parts: impl Iterator<Item = Self>) -> Self {
        self.parts = parts.collect();
        self
    }

    pub(super) fn add_stats(&mut self, stats: PostingStats) {
        self.postings += stats.postings;
        self.blocks += stats.blocks;
        self.positions += stats.positions;
    }

    /// Adds the numbers of the same operator over another segment.
    pub(crate) fn add(&mut self, other: &Self) {
        self.estimate += other.estimate;
        self.next += other.next;
        self.skip_to += other.skip_to;
        self.documents += other.documents;
        self.postings += other.postings;
        self.blocks += other.blocks;
        self.positions += other.positions;
        self.candidates += other.candidates;
        for (part, other) in self.parts.iter_mut().zip(&other.parts) {
            part.add(other);
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        write!(f, "{:depth$}{}: ", "", self.operator, depth = depth * 2)?;
        write!(
            f,
            "{} documents by {} next and {} skip_to",
            self.documents, self.next, self.skip_to
        )?;
        if self.candidates > 0 {
            write!(f, ", {} candidates", self.candidates)?;
        }
        if self.parts.is_empty() {
            write!(
                f,
                ", {} of {} postings in {} blocks",
                self.postings, self.estimate, self.blocks
            )?;
            if self.positions > 0 {
                write!(f, ", {} positions", self.positions)?;
            }
        }
        writeln!(f)?;
        self.parts.iter().try_for_each(|part| part.write(f, depth + 1))
    }
}

/// Writes a line for each operator.
impl fmt::Display for Explained {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}
