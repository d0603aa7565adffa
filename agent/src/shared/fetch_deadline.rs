//! The time until which visits may be made.
//!
//! An agent that is alone has no deadline. A member of a cluster may fetch only while no other agent
//! can have taken its groups over.

use crivello_common::time::{Clock, Timestamp};
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::Poll;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Longest pause between two checks: the deadline may become earlier.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// Time until which visits may be made.
#[derive(Debug)]
pub struct FetchDeadline {
    until: AtomicU64,
    /// Token that is cancelled, and replaced, when the deadline passes: visits in flight are cut
    /// off.
    cut: Mutex<CancellationToken>,
}

impl Default for FetchDeadline {
    /// Creates an instance without a deadline.
    fn default() -> Self {
        let until = AtomicU64::new(Timestamp::MAX.0);
        Self { until, cut: Mutex::new(CancellationToken::new()) }
    }
}

impl FetchDeadline {
    /// Sets the deadline.
    pub fn set(&self, until: Timestamp) {
        self.until.store(until.0, Relaxed);
    }

    /// Returns true if a visit may begin, or continue, at `now`.
    pub fn is_open(&self, now: Timestamp) -> bool {
        now.0 < self.until.load(Relaxed)
    }

    /// Returns a token that is cancelled when the deadline passes.
    pub fn cut(&self) -> CancellationToken {
        self.cut.lock().clone()
    }

    /// Completes once the deadline has passed; `cut` is the token from before. Each poll reads the
    /// clock, so a process that was frozen continues no visit, even if `cut` is not cancelled yet.
    pub async fn passed(&self, cut: &CancellationToken, clock: Clock) {
        let mut cancelled = pin!(cut.cancelled());
        poll_fn(|cx| match self.is_open(clock.now()) {
            true => cancelled.as_mut().poll(cx),
            false => Poll::Ready(()),
        })
        .await;
    }

    /// Cuts visits off in time, even if the thread that sets the deadline is busy. Never returns.
    pub async fn watch(self: Arc<Self>, clock: Clock) {
        loop {
            let now = clock.now();
            let mut left = Timestamp(self.until.load(Relaxed)).since(now);
            if left.is_zero() {
                std::mem::take(&mut *self.cut.lock()).cancel();
                left = CHECK_EVERY;
            }
            tokio::time::sleep(left.min(CHECK_EVERY)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    /// As in a process that was frozen: the token is cancelled only later.
    #[test]
    fn a_visit_ends_when_the_clock_says_so() {
        let (deadline, clock) = (FetchDeadline::default(), Clock::start());
        let cut = deadline.cut();
        assert_eq!(deadline.passed(&cut, clock).now_or_never(), None);
        deadline.set(clock.now());
        assert_eq!(deadline.passed(&cut, clock).now_or_never(), Some(()));
        deadline.set(Timestamp::MAX);
        cut.cancel();
        assert_eq!(deadline.passed(&cut, clock).now_or_never(), Some(()));
    }
}
