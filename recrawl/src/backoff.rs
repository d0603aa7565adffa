//! Pages that fail: errors, and pages that are gone (404 or 410).
//!
//! The wait doubles with each failure in a row, between two bounds. A page that stays gone is
//! forgotten. A page that comes back is scheduled by its policy again, with the evidence that it had.

use crate::page::PageHistory;

/// Waits after failures, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FailurePolicy {
    wait_min: f64,
    wait_max: f64,
    gone_after: f64,
}

/// When to fetch a page again that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NextTry {
    /// At this time, in seconds since 1970.
    At(f64),
    /// Never: the page has been gone for long enough to be forgotten.
    Forget,
}

impl FailurePolicy {
    /// Lowest and highest wait, in seconds: a second and a hundred years.
    const BOUNDS: (f64, f64) = (1.0, 3_155_760_000.0);

    /// Creates a policy that waits from `wait_min` to `wait_max` seconds, and forgets pages that were
    /// gone for `gone_after` seconds. Waits out of range are moved into it; NaN becomes the longest.
    #[must_use]
    pub fn new(wait_min: f64, wait_max: f64, gone_after: f64) -> Self {
        let bounded = |value: f64| {
            let value = if value.is_nan() { Self::BOUNDS.1 } else { value };
            value.clamp(Self::BOUNDS.0, Self::BOUNDS.1)
        };
        let wait_min = bounded(wait_min);
        let gone_after = bounded(gone_after);
        Self { wait_min, wait_max: bounded(wait_max).max(wait_min), gone_after }
    }

    /// Returns when to fetch a page again whose failure at `now` (seconds since 1970) was recorded.
    /// `is_gone` is true if it was found gone. A gone page is fetched a last time when it has been gone for
    /// long enough; only that fetch shows that it still is.
    pub fn next_try(&self, now: f64, page: &PageHistory, is_gone: bool) -> NextTry {
        let now = if now.is_finite() { now.clamp(0.0, 1e12) } else { page.last_fetch() };
        let doublings = page.failures().saturating_sub(1).min(60);
        let wait = (self.wait_min * 2.0_f64.powi(doublings as i32)).min(self.wait_max);
        match page.gone_since().map(|since| since + self.gone_after) {
            Some(end) if now >= end && is_gone => NextTry::Forget,
            Some(end) if now < end => NextTry::At((now + wait).min(end)),
            _ => NextTry::At(now + wait),
        }
    }
}
