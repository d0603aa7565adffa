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
}

impl PagesLeft {
    /// So many, and no more later; without a limit for `None`.
    pub fn new(left: Option<u64>) -> Self {
        let left = AtomicU64::new(left.unwrap_or(u64::MAX));
        Self { left, more: AtomicBool::new(false) }
    }

    /// There is a limit, and others say how much of it is for this agent: nothing yet.
    pub fn wait(&self) {
        self.left.store(0, Relaxed);
        self.more.store(true, Relaxed);
    }

    /// There is no limit any more.
    pub fn lift(&self) {
        self.left.store(u64::MAX, Relaxed);
        self.more.store(false, Relaxed);
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
        let pages = PagesLeft::new(Some(5));
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
    fn without_a_limit_nothing_is_counted() {
        let pages = PagesLeft::new(None);
        assert_eq!((pages.take(7), pages.get()), (7, None));
        pages.add(3);
        assert!(pages.any() && !pages.is_used_up());
    }
}
