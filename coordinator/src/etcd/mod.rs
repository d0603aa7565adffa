//! The record in etcd, for several coordinators of which one is active.
//!
//! ```text
//! PREFIX/active   the address of the active coordinator; deleted when its lease of etcd ends
//! PREFIX/record   the record, as in a state file
//! ```
//! A coordinator is active while `PREFIX/active` is the key that it created. Each write of the record is a transaction
//! with that condition, so a deposed coordinator changes nothing; and it grants nothing from the time on at which its
//! lease may have ended, by its own clock ([`ActiveUntil`]). What it granted before counts from the request of an agent,
//! and the next coordinator waits for a whole lease. Clocks are never compared.

mod api;
mod election;
mod record;

pub use election::{Active, Election, EtcdOptions};
pub(crate) use record::EtcdRecord;

use crivello_common::time::{Clock, Timestamp};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// End of the time in which no other coordinator can be active. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct ActiveUntil {
    until: Arc<AtomicU64>,
    clock: Clock,
}

impl ActiveUntil {
    /// Returns the time of a coordinator that is alone: it never ends.
    pub(crate) fn forever(clock: Clock) -> Self {
        Self { until: Arc::new(AtomicU64::new(u64::MAX)), clock }
    }

    /// Extends the time, unless it has ended.
    pub(crate) fn extend(&self, until: Timestamp) {
        if self.is_active() {
            self.until.store(until.0, Relaxed);
        }
    }

    pub(crate) fn end(&self) {
        self.until.store(0, Relaxed);
    }

    pub(crate) fn is_active(&self) -> bool {
        self.clock.now().0 < self.until.load(Relaxed)
    }
}
