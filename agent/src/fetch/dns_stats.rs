//! Counters of resolved names by kind of answer.

use crate::messages::ResolveError;
use std::net::IpAddr;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

const NAMES: [&str; 5] = ["address", "no-such-name", "unavailable", "denied", "blocked"];

/// Numbers of answers by kind.
#[derive(Debug, Default)]
pub(super) struct DnsStats {
    kinds: [AtomicU64; NAMES.len()],
    /// Number of these that came from the cache.
    cached: AtomicU64,
}

impl DnsStats {
    pub(super) fn count(&self, answer: &Result<IpAddr, ResolveError>, cached: bool) {
        let kind = match answer {
            Ok(_) => 0,
            Err(ResolveError::NoSuchName) => 1,
            Err(ResolveError::Unavailable) => 2,
            Err(ResolveError::Denied) => 3,
            Err(ResolveError::Blocked(_)) => 4,
        };
        self.kinds[kind].fetch_add(1, Relaxed);
        self.cached.fetch_add(cached.into(), Relaxed);
    }

    pub(super) fn read(&self) -> impl Iterator<Item = (&'static str, u64)> {
        NAMES.into_iter().zip(&self.kinds).map(|(name, n)| (name, n.load(Relaxed)))
    }

    pub(super) fn cached(&self) -> u64 {
        self.cached.load(Relaxed)
    }
}
