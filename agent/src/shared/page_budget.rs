//! The pages that this agent may still fetch under the page limit.
//!
//! A member of a cluster receives its quota in portions, and may have to return some.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Pages that this agent may still fetch.
#[derive(Debug)]
pub struct PageBudget {
    /// Pages neither fetched nor reserved for a visit; `u64::MAX` without a limit.
    left: AtomicU64,
    /// True if more may be granted later.
    more: AtomicBool,
    /// Number of pages fetched here, in all runs, at which the limit is reached if the other agents
    /// fetch none meanwhile; `u64::MAX` without a limit, and while it is unknown.
    end: AtomicU64,
}

impl PageBudget {
    /// Creates the budget of an agent that is alone and has `fetched` pages of `limit`; `None` is
    /// no limit.
    pub fn new(limit: Option<u64>, fetched: u64) -> Self {
        let left = limit.map_or(u64::MAX, |limit| limit.saturating_sub(fetched));
        let end = AtomicU64::new(limit.unwrap_or(u64::MAX));
        Self { left: AtomicU64::new(left), more: AtomicBool::new(false), end }
    }

    /// Empties the budget until the coordinator grants a portion of the limit.
    pub fn wait(&self) {
        self.left.store(0, Relaxed);
        self.more.store(true, Relaxed);
        self.end.store(u64::MAX, Relaxed);
    }

    /// Removes the limit.
    pub fn lift(&self) {
        self.left.store(u64::MAX, Relaxed);
        self.more.store(false, Relaxed);
        self.end.store(u64::MAX, Relaxed);
    }

    /// Returns the pages left; `None` without a limit.
    pub fn get(&self) -> Option<u64> {
        Some(self.left.load(Acquire)).filter(|&left| left < u64::MAX)
    }

    /// Returns true if a visit may be made.
    pub fn any(&self) -> bool {
        self.left.load(Relaxed) > 0
    }

    /// Reserves up to `most` pages and returns their number. A thread that reads the reduced number
    /// with [`Self::get`] also sees everything that the reserving thread did before.
    pub fn take(&self, most: u64) -> u64 {
        let rest = |left: u64| (left < u64::MAX).then(|| left.saturating_sub(most));
        match self.left.fetch_update(AcqRel, Relaxed, rest) {
            Ok(left) => left.min(most),
            Err(_) => most,
        }
    }

    /// Adds pages: a new portion, or reserved pages that were not needed.
    pub fn add(&self, pages: u64) {
        let more = |left: u64| (left < u64::MAX).then(|| left.saturating_add(pages));
        let _ = self.left.fetch_update(Relaxed, Relaxed, more);
    }

    /// Sets the number of pages that all agents together may still fetch, as of when this one had
    /// `fetched`.
    pub fn set_cluster_left(&self, left: Option<u64>, fetched: u64) {
        let end = left.map_or(u64::MAX, |left| left.saturating_add(fetched));
        self.end.store(end, Relaxed);
    }

    /// Returns the pages left to all agents together, as far as this one knows after it has
    /// `fetched`.
    pub fn cluster_left(&self, fetched: u64) -> Option<u64> {
        let end = Some(self.end.load(Relaxed)).filter(|&end| end < u64::MAX);
        end.map(|end| end.saturating_sub(fetched))
    }

    /// Sets whether the limit is used up, so that no more portions will come.
    pub fn set_used_up(&self, used_up: bool) {
        self.more.store(!used_up, Relaxed);
    }

    /// Returns true if the limit is reached.
    pub fn is_used_up(&self) -> bool {
        self.left.load(Relaxed) == 0 && !self.more.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_taken_from_and_added_to() {
        let pages = PageBudget::new(Some(7), 2);
        assert_eq!((pages.take(3), pages.take(3), pages.take(3)), (3, 2, 0));
        assert!(pages.is_used_up() && !pages.any());
        pages.add(1);
        assert_eq!((pages.get(), pages.any(), pages.is_used_up()), (Some(1), true, false));
        pages.wait();
        assert!(!pages.is_used_up(), "used up while more pages may be granted");
        pages.set_used_up(true);
        assert!(pages.is_used_up());
        pages.lift();
        assert!(pages.any() && !pages.is_used_up() && pages.get().is_none());
    }

    #[test]
    fn the_clusters_rest_is_the_last_report_less_what_was_fetched_here_since() {
        let alone = PageBudget::new(Some(7), 2);
        assert_eq!(
            [2, 7, 9].map(|fetched| alone.cluster_left(fetched)),
            [Some(5), Some(0), Some(0)]
        );
        let shared = PageBudget::new(Some(7), 2);
        shared.wait();
        assert_eq!(shared.cluster_left(2), None, "a number without a report");
        shared.set_cluster_left(Some(100), 2);
        assert_eq!([2, 12].map(|fetched| shared.cluster_left(fetched)), [Some(100), Some(90)]);
        // The others have fetched 40.
        shared.set_cluster_left(Some(50), 12);
        assert_eq!(shared.cluster_left(12), Some(50));
        shared.set_cluster_left(None, 12);
        assert_eq!(
            shared.cluster_left(12),
            None,
            "a number from a coordinator that does not report it"
        );
        shared.lift();
        assert_eq!(shared.cluster_left(12), None);
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let pages = PageBudget::new(None, 3);
        assert_eq!((pages.take(7), pages.get()), (7, None));
        pages.add(3);
        assert!(pages.any() && !pages.is_used_up());
    }
}
