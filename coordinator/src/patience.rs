//! The time by which leases run out: that which the coordinator spent listening.
//!
//! While its process is stopped, its machine asleep or its disk stuck, heartbeats wait unread. To
//! count that time would be to kill everyone for the coordinator's own absence. So between two
//! looks at the clock at most a bound counts. It can only make leases longer than the agents
//! think, never shorter.

use crivello_common::time::Timestamp;
use std::time::Duration;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PatientClock {
    bound: Duration,
    looked: Timestamp,
    now: Timestamp,
}

impl PatientClock {
    /// Begins at `now`; `bound` is the most that passes between two looks.
    pub(crate) const fn new(now: Timestamp, bound: Duration) -> Self {
        Self { bound, looked: now, now }
    }

    /// The time, given that of a clock that never goes back.
    pub(crate) fn look(&mut self, real: Timestamp) -> Timestamp {
        self.now = self.now + real.since(self.looked).min(self.bound);
        self.looked = self.looked.max(real);
        self.now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absence_counts_for_no_more_than_the_bound() {
        let at = Timestamp::from_secs;
        let mut clock = PatientClock::new(at(100), Duration::from_secs(3));
        assert_eq!(clock.look(at(102)), at(102));
        assert_eq!(clock.look(at(9_000)), at(105));
        assert_eq!(clock.look(at(8_000)), at(105), "backwards is standing still");
        assert_eq!(clock.look(at(9_001)), at(106));
    }
}
