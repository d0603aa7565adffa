//! Bounds of a search.

use crate::error::IndexError;
use crivello_common::time::{Clock, Timestamp};
use std::cell::Cell;
use std::time::Duration;

/// Bounds of a search. Results that are found before one is reached are returned.
#[derive(Clone, Copy, Debug)]
pub struct SearchBounds {
    /// Time.
    pub time: Duration,
    /// Postings that are decoded.
    pub postings: u64,
    /// Terms with a prefix, for each prefix of the query.
    pub prefix_terms: usize,
}

impl Default for SearchBounds {
    fn default() -> Self {
        Self { time: Duration::from_secs(10), postings: 1 << 30, prefix_terms: 1024 }
    }
}

/// A bound that was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// That of time.
    Time,
    /// That of postings.
    Postings,
}

/// The reason why an operator cannot go on.
#[derive(Debug)]
pub(crate) enum Halt {
    Bound(Bound),
    Index(IndexError),
}

impl From<IndexError> for Halt {
    fn from(error: IndexError) -> Self {
        Self::Index(error)
    }
}

/// Postings between two looks at the clock.
const STEP: u64 = 1 << 14;
/// One in this number of parts of the time is kept for snippets.
const SHOWING: u64 = 10;

/// The time and the postings that a search may still use.
pub(crate) struct Budget<'c> {
    clock: &'c Clock,
    /// The end of the time for finding documents.
    deadline: Timestamp,
    /// The end of all time.
    end: Timestamp,
    postings_left: Cell<u64>,
    until_look: Cell<u64>,
}

impl<'c> Budget<'c> {
    pub(crate) fn new(clock: &'c Clock, bounds: &SearchBounds) -> Self {
        let micros = u64::try_from(bounds.time.as_micros()).unwrap_or(u64::MAX);
        let now = clock.now().0;
        let deadline = Timestamp(now.saturating_add(micros - micros / SHOWING));
        let end = Timestamp(now.saturating_add(micros));
        let (postings_left, until_look) = (Cell::new(bounds.postings), Cell::new(0));
        Self { clock, deadline, end, postings_left, until_look }
    }

    /// Returns true if no time is left, not even to show what was found.
    pub(crate) fn is_over(&self) -> bool {
        self.clock.now() > self.end
    }

    /// Looks at the clock.
    pub(crate) fn look(&self) -> Result<(), Halt> {
        let is_late = self.clock.now() > self.deadline;
        if is_late { Err(Halt::Bound(Bound::Time)) } else { Ok(()) }
    }

    /// Uses postings.
    pub(crate) fn charge(&self, postings: u64) -> Result<(), Halt> {
        let left = self.postings_left.get().checked_sub(postings);
        self.postings_left.set(left.ok_or(Halt::Bound(Bound::Postings))?);
        // A call that decodes nothing takes time, too.
        let Some(left) = self.until_look.get().checked_sub(postings.max(1)) else {
            self.until_look.set(STEP);
            return self.look();
        };
        self.until_look.set(left);
        Ok(())
    }
}
