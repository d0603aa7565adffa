//! Clock of the leases. It counts only time during which the coordinator reads it.
//!
//! While the process is stopped, the machine is asleep or the disk is stuck, heartbeats wait
//! unread. Counting that time would declare all agents dead because the coordinator was absent. So
//! the clock advances by at most `bound` between two readings. Leases can only become longer than
//! agents assume, never shorter.

use crivello_common::time::Timestamp;
use std::time::Duration;

/// A clock that skips the coordinator's absences.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeaseClock {
    bound: Duration,
    /// Latest reading of the real clock.
    read: Timestamp,
    now: Timestamp,
}

impl LeaseClock {
    /// Returns a clock that starts at `now`. `bound` is the maximum advance between two readings.
    pub(crate) const fn new(now: Timestamp, bound: Duration) -> Self {
        Self { bound, read: now, now }
    }

    /// Returns the lease time for a given real time.
    pub(crate) fn advance(&mut self, real: Timestamp) -> Timestamp {
        self.now = self.now + real.since(self.read).min(self.bound);
        self.read = self.read.max(real);
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absence_counts_for_no_more_than_the_bound() {
        let at = Timestamp::from_secs;
        let mut clock = LeaseClock::new(at(100), Duration::from_secs(3));
        assert_eq!(clock.advance(at(102)), at(102));
        assert_eq!(clock.advance(at(9_000)), at(105));
        assert_eq!(clock.advance(at(8_000)), at(105), "a clock that jumps back stands still");
        assert_eq!(clock.advance(at(9_001)), at(106));
    }
}
