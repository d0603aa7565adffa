//! Bound on idle connections: each costs a file descriptor and some dozens of KiB, and the
//! client's pool has no bound over all hosts.
//!
//! A visit checks before its first request; one that may not keep its connection must close it
//! (see [`After`]). The count is the number of hosts, from their last request on. This is an
//! approximation; it is wrong while a response is slow.

use super::client::After;
use crate::messages::MinHostDelay;
use crivello_common::hash::HostHash;
use crivello_common::time::Timestamp;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::time::Duration;

/// Minimum time between two removals of expired entries, while there are too many.
const SWEEP_EVERY: Duration = Duration::from_millis(500);

/// Hosts to which an idle connection is kept.
pub(super) struct IdleLimit {
    kept: Mutex<Kept>,
    /// Time for which an idle connection is kept.
    keep: Duration,
    min_host_delay: MinHostDelay,
    max: usize,
}

#[derive(Default)]
struct Kept {
    until: HashMap<HostHash, Timestamp, foldhash::fast::RandomState>,
    swept: Timestamp,
}

impl IdleLimit {
    /// Creates a bound of `max` connections at once, each kept for `keep`. None is kept while hosts
    /// rest for longer: no visit would use it.
    pub(super) fn new(keep: Duration, min_host_delay: MinHostDelay, max: usize) -> Self {
        Self { kept: Mutex::default(), keep, min_host_delay, max }
    }

    /// Returns the fate of the connection to `host` after a visit that begins now.
    pub(super) fn after(&self, host: HostHash, now: Timestamp) -> After {
        if self.keep.is_zero() || self.min_host_delay.get() > self.keep {
            return After::Closed;
        }
        let mut kept = self.kept.lock();
        if let Some(known) = kept.until.get_mut(&host) {
            *known = now + self.keep;
            return After::Kept;
        }
        if kept.until.len() >= self.max && now.since(kept.swept) >= SWEEP_EVERY {
            kept.until.retain(|_, until| *until > now);
            kept.swept = now;
        }
        if kept.until.len() >= self.max {
            return After::Closed;
        }
        kept.until.insert(host, now + self.keep);
        After::Kept
    }

    /// Returns the number of connections that are kept now.
    pub(super) fn len(&self, now: Timestamp) -> usize {
        self.kept.lock().until.values().filter(|&&until| until > now).count()
    }

    /// Extends the time of a kept connection, because another request is sent over it.
    pub(super) fn extend_to(&self, host: HostHash, now: Timestamp) {
        self.kept.lock().until.insert(host, now + self.keep);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::config::Settings;

    const KEEP: Duration = Duration::from_secs(15);

    fn resting(delay: Duration) -> Settings {
        let mut settings = Settings::default();
        settings.live.politeness.delay = delay;
        settings
    }

    #[test]
    fn the_bound_holds_and_room_comes_back_with_time() {
        let at = |ms: u64| Timestamp::from_secs(9) + Duration::from_millis(ms);
        let idle = IdleLimit::new(KEEP, MinHostDelay::of(&resting(KEEP).live), 2);
        let kept = |host, ms| idle.after(HostHash(host), at(ms)) == After::Kept;
        assert!(kept(1, 0));
        assert!(kept(2, 10_000));
        assert!(!kept(3, 10_001));
        assert!(kept(2, 10_002), "reuse of a kept connection was refused");
        assert_eq!((idle.len(at(14_999)), idle.len(at(15_001))), (2, 1));
        assert!(kept(3, 15_000), "an expired connection still counts");
        assert!(!kept(1, 15_001));
        idle.extend_to(HostHash(2), at(25_001));
        assert!(!kept(1, 25_002), "a connection in use was counted as idle");
    }

    #[test]
    fn none_is_kept_while_hosts_rest_for_longer() {
        let now = Timestamp::from_secs(9);
        let longer = resting(KEEP + Duration::from_millis(1));
        let delay = MinHostDelay::of(&longer.live);
        let idle = IdleLimit::new(KEEP, delay.clone(), 2);
        assert_eq!(idle.after(HostHash(1), now), After::Closed);
        delay.replace(&resting(KEEP).live);
        assert_eq!(idle.after(HostHash(1), now), After::Kept);
        let never =
            IdleLimit::new(Duration::ZERO, MinHostDelay::of(&resting(Duration::ZERO).live), 2);
        assert_eq!(never.after(HostHash(1), now), After::Closed);
    }
}
