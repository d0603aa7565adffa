//! The number of queued URLs that have been due for more than a minute. It is counted as URLs are queued
//! and finished, so nothing is scanned.

use crivello_common::time::Timestamp;
use std::time::Duration;

/// Time from its due time on after which a URL is overdue: a host in memory has URLs for a minute of its
/// delay, so few URLs are fetched in the second in which they are due.
const LATE: Duration = Duration::from_secs(60);

/// The count in force, and the one that replaces it.
#[derive(Debug, Default)]
pub struct Overdue {
    /// That of a time at least [`LATE`] ago; `None` until this process has one.
    past: Option<DueBefore>,
    next: DueBefore,
}

/// The number of queued URLs that were answered before, and were due by a time.
#[derive(Clone, Copy, Debug, Default)]
struct DueBefore {
    at: Timestamp,
    n: u64,
}

impl Overdue {
    /// Returns the number of URLs that have been due for more than a minute. Those that have been due for less
    /// than two may be missing.
    pub fn count(&self) -> Option<u64> {
        self.past.map(|past| past.n)
    }

    /// Counts a URL that is queued again, with its due time.
    pub fn add(&mut self, due: Timestamp) {
        self.by(due).for_each(|n| *n += 1);
    }

    /// Uncounts a URL that leaves its queue. The clock of another agent may have made it due early: such
    /// errors end with the second next call of [`Self::pass`].
    pub fn remove(&mut self, due: Timestamp) {
        self.by(due).for_each(|n| *n = n.saturating_sub(1));
    }

    /// Lets time pass, with the number of all URLs that are queued again. Returns true if the count is
    /// another one.
    pub fn pass(&mut self, n_queued: u64, now: Timestamp) -> bool {
        if now.since(self.next.at) < LATE {
            return false;
        }
        self.past = Some(self.next).filter(|next| next.at > Timestamp::ZERO);
        self.next = DueBefore { at: now, n: n_queued };
        true
    }

    fn by(&mut self, due: Timestamp) -> impl Iterator<Item = &mut u64> {
        let counts = self.past.iter_mut().chain([&mut self.next]);
        counts.filter(move |count| due <= count.at).map(|count| &mut count.n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Timestamp = Timestamp::from_secs(1_000);

    #[test]
    fn urls_count_once_they_are_due_for_a_minute_and_until_they_are_fetched() {
        let mut overdue = Overdue::default();
        assert!(overdue.pass(5, T));
        assert_eq!(overdue.count(), None, "five URLs waited at the start, since when is not known");
        overdue.add(T);
        overdue.remove(Timestamp::from_secs(900));
        overdue.remove(Timestamp::from_secs(900));
        overdue.add(T + LATE / 2);
        assert!(!overdue.pass(5, T + LATE / 2));
        assert!(overdue.pass(5, T + LATE));
        assert_eq!(overdue.count(), Some(4));
        overdue.remove(T);
        assert_eq!(overdue.count(), Some(3), "it was fetched");
        overdue.remove(T + LATE / 2);
        assert_eq!(overdue.count(), Some(3), "it was never overdue");
        overdue.add(Timestamp::from_secs(10));
        assert_eq!(overdue.count(), Some(4), "it was due while its group was closed");
        assert!(overdue.pass(4, T + 2 * LATE));
        assert_eq!(overdue.count(), Some(4));
    }
}
