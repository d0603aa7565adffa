//! How many connections may wait idle: each costs a file descriptor and some dozens of KiB, and
//! the client's pool has no bound over all hosts.
//!
//! A visit asks before its last request. Where it may not keep the connection, the request says
//! `Connection: close`. The count is of hosts, from their last request: an approximation that
//! errs while a response is slow.

use crivello_common::hash::HostHash;
use crivello_common::time::Timestamp;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Duration;

/// Between two looks for connections that were closed meanwhile, while there are too many.
const SWEEP_EVERY: Duration = Duration::from_millis(500);

/// The hosts that an idle connection is kept to.
pub(super) struct Idle {
    kept: Mutex<Kept>,
    /// How long an idle connection is kept; zero: none is.
    keep: Duration,
    max: usize,
}

#[derive(Default)]
struct Kept {
    until: HashMap<HostHash, Timestamp, foldhash::fast::RandomState>,
    swept: Timestamp,
}

impl Idle {
    /// At most `max` connections at once, each for `keep`.
    pub(super) fn new(keep: Duration, max: usize) -> Self {
        Self { kept: Mutex::default(), keep, max }
    }

    /// Whether the connection to `host` may be kept after a request that begins now.
    pub(super) fn may_keep(&self, host: HostHash, now: Timestamp) -> bool {
        if self.keep.is_zero() {
            return false;
        }
        let mut kept = self.kept.lock();
        let until = now + self.keep;
        if let Some(known) = kept.until.get_mut(&host) {
            *known = until;
            return true;
        }
        if kept.until.len() >= self.max && now.since(kept.swept) >= SWEEP_EVERY {
            kept.until.retain(|_, until| *until > now);
            kept.swept = now;
        }
        let has_room = kept.until.len() < self.max;
        if has_room {
            kept.until.insert(host, until);
        }
        has_room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_and_room_comes_back_with_time() {
        let at = |ms: u64| Timestamp::from_secs(9) + Duration::from_millis(ms);
        let idle = Idle::new(Duration::from_secs(15), 2);
        assert!(idle.may_keep(HostHash(1), at(0)));
        assert!(idle.may_keep(HostHash(2), at(10_000)));
        assert!(!idle.may_keep(HostHash(3), at(10_001)));
        assert!(idle.may_keep(HostHash(2), at(10_002)), "the same connection again");
        assert!(idle.may_keep(HostHash(3), at(15_000)), "the first has expired");
        assert!(!idle.may_keep(HostHash(1), at(15_001)));
        assert!(!Idle::new(Duration::ZERO, 2).may_keep(HostHash(1), at(0)));
    }
}
