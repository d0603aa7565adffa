//! The life of a run: when it began, whether it is to stop, and how it ended.

use crate::report::Ended;
use crivello_common::time::Timestamp;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The life of a run.
#[derive(Debug)]
pub struct Lifecycle {
    /// When the run began.
    pub started: Timestamp,
    /// No visit begins before this time. Addresses that the last run visited must have rested, and
    /// unlike those of hosts their times are not on disk.
    pub visits_from: Timestamp,
    /// Cancelled when visits in flight are to end after their present request.
    pub stop: CancellationToken,
    /// The run ends as if the process had been killed: nothing more is written.
    pub abandoned: AtomicBool,
    /// Whether this agent asked the coordinator for its own drain.
    pub drain_requested: AtomicBool,
    /// Whether a drain ended because no other agent could take over: the agent stays a member.
    pub stays_member: AtomicBool,
    over: AtomicBool,
    end: Mutex<Option<RunEnd>>,
    ended: Condvar,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// The way it ended.
    pub how: Ended,
    /// What broke, if something did.
    pub failure: Option<String>,
}

impl Lifecycle {
    /// A run that begins at `now`; the last one was closed at `closed_at`.
    #[must_use]
    pub fn new(now: Timestamp, closed_at: Option<Timestamp>, ip_delay: Duration) -> Self {
        Self {
            started: now,
            // A wall clock that was ahead then is no reason to wait longer.
            visits_from: closed_at.unwrap_or_default().min(now) + ip_delay,
            stop: CancellationToken::new(),
            abandoned: AtomicBool::new(false),
            drain_requested: AtomicBool::new(false),
            stays_member: AtomicBool::new(false),
            over: AtomicBool::new(false),
            end: Mutex::new(None),
            ended: Condvar::new(),
        }
    }

    /// Whether a stop was requested.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Whether the threads are to leave.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Ends the run. The first call decides how.
    pub fn end(&self, how: Ended, failure: Option<String>) {
        if let Some(why) = &failure {
            tracing::error!(why, "the crawl cannot go on");
        }
        self.end.lock().get_or_insert(RunEnd { how, failure });
        self.over.store(true, Relaxed);
        self.stop.cancel();
        self.ended.notify_all();
    }

    /// Waits until the run has ended, at most for `timeout`. Returns how it ended.
    pub fn wait(&self, timeout: Duration) -> Option<RunEnd> {
        let mut end = self.end.lock();
        if end.is_none() {
            self.ended.wait_for(&mut end, timeout);
        }
        end.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_rested_whatever_the_wall_clock_said() {
        let (now, rest) = (Timestamp::from_secs(1_000_000), Duration::from_millis(500));
        let earlier = now - Duration::from_millis(300);
        assert_eq!(Lifecycle::new(now, Some(earlier), rest).visits_from, earlier + rest);
        let ahead = now + Duration::from_secs(3_600);
        let visits_from = Lifecycle::new(now, Some(ahead), rest).visits_from;
        assert_eq!(visits_from, now + rest, "the clock was an hour ahead");
    }
}
