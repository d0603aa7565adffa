//! The reasons why the scheduler had nothing to hand out, with the total time of each.

use crivello_common::time::micros;
use crivello_proto::bottleneck;
use crivello_proto::v1::Bottleneck;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Reason why the scheduler waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleReason {
    /// People paused the crawl.
    Paused,
    /// Neither the coordinator nor all other agents can be reached.
    NoLease,
    /// A bottleneck limits the crawl's speed.
    Bottleneck(Bottleneck),
}

/// Total time that the scheduler waited, by reason.
#[derive(Debug, Default)]
pub struct IdleTimes {
    paces: [AtomicU64; bottleneck::ALL.len()],
    paused: AtomicU64,
    no_lease: AtomicU64,
}

impl IdleTimes {
    /// Adds `time` spent waiting for `reason`.
    pub fn add(&self, reason: IdleReason, time: Duration) {
        let total = match reason {
            IdleReason::Paused => &self.paused,
            IdleReason::NoLease => &self.no_lease,
            IdleReason::Bottleneck(pace) => &self.paces[pace as usize - 1],
        };
        total.fetch_add(micros(time), Relaxed);
    }

    /// Returns the name of each reason, with its total time.
    pub fn read(&self) -> impl Iterator<Item = (&'static str, Duration)> {
        let others = [("paused", &self.paused), ("no-lease", &self.no_lease)];
        let names = bottleneck::ALL.into_iter().map(|(_, name, _)| name);
        let all = names.zip(&self.paces).chain(others);
        all.map(|(name, us)| (name, Duration::from_micros(us.load(Relaxed))))
    }
}
