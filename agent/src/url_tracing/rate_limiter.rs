//! Rate limiter for results that are followed whatever the rate: a maximum per second.

use crivello_common::time::Timestamp;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Admits a maximum number of events in each second of the clock.
#[derive(Debug)]
pub struct RateLimiter {
    most: u64,
    /// The current second, followed by the number of events that it has admitted in [`BITS`] bits.
    had: AtomicU64,
}

const BITS: u32 = 16;

impl RateLimiter {
    /// Creates a limiter that admits `most` events per second.
    #[must_use]
    pub const fn new(most: u16) -> Self {
        Self { most: most as u64, had: AtomicU64::new(0) }
    }

    /// Admits an event at `now`; returns false if the second has admitted the maximum.
    pub fn take(&self, now: Timestamp) -> bool {
        let second = now.as_secs() << BITS;
        let next = |had: u64| {
            let n = if had >> BITS << BITS == second { had - second } else { 0 };
            (n < self.most).then_some(second + n + 1)
        };
        self.had.fetch_update(Relaxed, Relaxed, next).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn each_second_has_its_own_room_and_no_more() {
        let room = RateLimiter::new(3);
        let at = Timestamp::from_secs(1_700_000_000);
        let taken = |at: Timestamp| (0..10).filter(|_| room.take(at)).count();
        assert_eq!(taken(at), 3);
        assert_eq!(taken(at + Duration::from_millis(999)), 0);
        assert_eq!(taken(at + Duration::from_secs(1)), 3);
        assert_eq!(taken(at + Duration::from_secs(60)), 3);
        assert!(!RateLimiter::new(0).take(at));
    }
}
