//! The page limit: how many pages may still be fetched here. An agent among others is given its part
//! of it by and by, and may have to give some back.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// See the module.
#[derive(Debug)]
pub struct PagesLeft {
    /// Neither fetched nor taken for a visit; `u64::MAX` without a limit.
    left: AtomicU64,
    /// Whether there may be more later.
    more: AtomicBool,
    /// With so many fetched here in all runs the limit is reached, if the others fetch none meanwhile;
    /// `u64::MAX` without a limit, and while nobody knows.
    end: AtomicU64,
}

impl PagesLeft {
    /// As many as `limit` is above what was `fetched`, and no more later; `None` is without a limit.
    pub fn new(limit: Option<u64>, fetched: u64) -> Self {
        let left = limit.map_or(u64::MAX, |limit| limit.saturating_sub(fetched));
        let end = AtomicU64::new(limit.unwrap_or(u64::MAX));
        Self { left: AtomicU64::new(left), more: AtomicBool::new(false), end }
    }

    /// There is a limit, and others say how much of it is for this agent: nothing yet.
    pub fn wait(&self) {
        self.left.store(0, Relaxed);
        self.more.store(true, Relaxed);
        self.end.store(u64::MAX, Relaxed);
    }

    /// There is no limit any more.
    pub fn lift(&self) {
        self.left.store(u64::MAX, Relaxed);
        self.more.store(false, Relaxed);
        self.end.store(u64::MAX, Relaxed);
    }

    /// How many there are; `None` without a limit.
    pub fn get(&self) -> Option<u64> {
        Some(self.left.load(Acquire)).filter(|&left| left < u64::MAX)
    }

    /// Whether a visit may be made.
    pub fn any(&self) -> bool {
        self.left.load(Relaxed) > 0
    }

    /// Takes some, at most `most`. Whoever sees less with [`Self::get`] also sees what was done before.
    pub fn take(&self, most: u64) -> u64 {
        let rest = |left: u64| (left < u64::MAX).then(|| left.saturating_sub(most));
        match self.left.fetch_update(AcqRel, Relaxed, rest) {
            Ok(left) => left.min(most),
            Err(_) => most,
        }
    }

    /// More of them, or those that were taken and not needed.
    pub fn add(&self, pages: u64) {
        let more = |left: u64| (left < u64::MAX).then(|| left.saturating_add(pages));
        let _ = self.left.fetch_update(Relaxed, Relaxed, more);
    }

    /// All agents together may fetch `left` more, when this one had `fetched` so many.
    pub fn tell(&self, left: Option<u64>, fetched: u64) {
        let end = left.map_or(u64::MAX, |left| left.saturating_add(fetched));
        self.end.store(end, Relaxed);
    }

    /// How many are left to all agents together, as far as this one knows that has `fetched` so many.
    pub fn of_all(&self, fetched: u64) -> Option<u64> {
        let end = Some(self.end.load(Relaxed)).filter(|&end| end < u64::MAX);
        end.map(|end| end.saturating_sub(fetched))
    }

    /// Whether there will be no more.
    pub fn end(&self, used_up: bool) {
        self.more.store(!used_up, Relaxed);
    }

    /// Whether the limit is reached.
    pub fn is_used_up(&self) -> bool {
        self.left.load(Relaxed) == 0 && !self.more.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_taken_from_and_added_to() {
        let pages = PagesLeft::new(Some(7), 2);
        assert_eq!((pages.take(3), pages.take(3), pages.take(3)), (3, 2, 0));
        assert!(pages.is_used_up() && !pages.any());
        pages.add(1);
        assert_eq!((pages.get(), pages.any(), pages.is_used_up()), (Some(1), true, false));
        pages.wait();
        assert!(!pages.is_used_up(), "more may come");
        pages.end(true);
        assert!(pages.is_used_up());
        pages.lift();
        assert!(pages.any() && !pages.is_used_up() && pages.get().is_none());
    }

    #[test]
    fn what_is_left_to_all_is_what_was_told_less_what_was_fetched_here_since() {
        let alone = PagesLeft::new(Some(7), 2);
        assert_eq!([2, 7, 9].map(|fetched| alone.of_all(fetched)), [Some(5), Some(0), Some(0)]);
        let among_others = PagesLeft::new(Some(7), 2);
        among_others.wait();
        assert_eq!(among_others.of_all(2), None, "nobody has told");
        among_others.tell(Some(100), 2);
        assert_eq!([2, 12].map(|fetched| among_others.of_all(fetched)), [Some(100), Some(90)]);
        // The others have fetched 40.
        among_others.tell(Some(50), 12);
        assert_eq!(among_others.of_all(12), Some(50));
        among_others.tell(None, 12);
        assert_eq!(among_others.of_all(12), None, "an older coordinator does not tell");
        among_others.lift();
        assert_eq!(among_others.of_all(12), None);
    }

    #[test]
    fn without_a_limit_nothing_is_counted() {
        let pages = PagesLeft::new(None, 3);
        assert_eq!((pages.take(7), pages.get()), (7, None));
        pages.add(3);
        assert!(pages.any() && !pages.is_used_up());
    }
}
