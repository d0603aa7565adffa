//! The lifecycle of a run: its start, stop requests, and its end.

use crate::report::Ended;
use crivello_common::time::Timestamp;
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Lifecycle of a run.
#[derive(Debug, Default)]
pub struct Lifecycle {
    /// Time when the run began.
    pub started: Timestamp,
    /// Time before which no visit begins. Addresses that the last run visited must have rested;
    /// unlike the times of hosts, those of addresses are not on disk.
    pub visits_from: Timestamp,
    /// Token that is cancelled when visits in flight must end after their current request.
    pub stop: CancellationToken,
    /// True if the run ends as if the process had been killed: nothing more is written.
    pub abandoned: AtomicBool,
    /// True if this agent asked the coordinator for its own drain.
    pub drain_requested: AtomicBool,
    /// True if a drain ended because no other agent could take over: the agent stays a member.
    pub stays_member: AtomicBool,
    over: AtomicBool,
    end: Mutex<Option<RunEnd>>,
    ended: Condvar,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunEnd {
    /// Way it ended.
    pub how: Ended,
    /// Error message, if the run failed.
    pub failure: Option<String>,
}

impl RunEnd {
    /// Returns true if everything is committed, and this process was a member until its end.
    pub const fn is_orderly(&self) -> bool {
        !matches!(self.how, Ended::Failed | Ended::Lost)
    }
}

impl Lifecycle {
    /// Creates the lifecycle of a run that begins at `now`; the last one was closed at `closed_at`.
    #[must_use]
    pub fn new(now: Timestamp, closed_at: Option<Timestamp>, ip_delay: Duration) -> Self {
        Self {
            started: now,
            // If the wall clock was ahead then, that is no reason to wait longer.
            visits_from: closed_at.unwrap_or_default().min(now) + ip_delay,
            ..Self::default()
        }
    }

    /// Returns true if a stop was requested.
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Returns true if the threads must end.
    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Ends the run. Later calls have no effect on the result.
    pub fn end(&self, how: Ended, failure: Option<String>) {
        if let Some(why) = &failure {
            tracing::error!(why, "the crawl cannot continue");
        }
        self.end.lock().get_or_insert(RunEnd { how, failure });
        self.over.store(true, Relaxed);
        self.stop.cancel();
        self.ended.notify_all();
    }

    /// Ends the run at once: nothing more is saved, as after a kill.
    pub fn abandon(&self) {
        self.abandoned.store(true, Relaxed);
        self.end(Ended::Failed, None);
    }

    /// Waits until the run has ended, at most for `timeout`. Returns its result.
    pub fn wait(&self, timeout: Duration) -> Option<RunEnd> {
        let mut end = self.end.lock();
        if end.is_none() {
            self.ended.wait_for(&mut end, timeout);
        }
        end.clone()
    }

    /// Waits until the run has ended. Returns its result.
    pub fn wait_for_end(&self) -> RunEnd {
        let mut end = self.end.lock();
        loop {
            if let Some(end) = &*end {
                return end.clone();
            }
            self.ended.wait(&mut end);
        }
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
        assert_eq!(visits_from, now + rest, "wrong time after a run whose clock was an hour ahead");
    }
}
