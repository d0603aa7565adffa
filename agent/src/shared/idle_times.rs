//! Why the scheduler had nothing to hand out, and for how long.

use crate::shared::run::Shared;
use crate::shared::snapshot::snapshot;
use crivello_common::pace::Pace;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// ExtraServices those of [`Pace`]: people have the crawl rest,
const PAUSED: &str = "paused";
/// or neither the coordinator nor all other agents can be reached.
const NO_LEASE: &str = "no-lease";

/// See the module.
#[derive(Debug, Default)]
pub struct IdleTimes {
    paces: [AtomicU64; Pace::NAMES.len()],
    paused: AtomicU64,
    no_lease: AtomicU64,
}

impl IdleTimes {
    /// The scheduler waited so long for what holds it up just now. Not for every wait: it looks at
    /// all there is.
    pub fn waited(&self, shared: &Shared, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.reason(shared).fetch_add(us, Relaxed);
    }

    fn reason(&self, shared: &Shared) -> &AtomicU64 {
        if shared.paused.load(Relaxed) {
            return &self.paused;
        }
        if !shared.fence.is_open(shared.clock.now()) {
            return &self.no_lease;
        }
        &self.paces[snapshot(shared).pace.place()]
    }

    /// Each reason, and how long it was that.
    pub fn read(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let others = [(PAUSED, &self.paused), (NO_LEASE, &self.no_lease)];
        let all = Pace::NAMES.into_iter().zip(&self.paces).chain(others);
        all.map(|(name, us)| (name, Duration::from_micros(us.load(Relaxed))))
    }
}
