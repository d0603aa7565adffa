//! How a member stands, for whoever asks from outside.

use crivello_common::view::View;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// As of the accountant's last look.
#[derive(Clone, Debug, Default)]
pub struct Standing {
    /// The view in force.
    pub view: Option<Arc<View>>,
    /// Rows of the outbox that are not acknowledged.
    pub outbox: u64,
    /// Groups that are being handed over or copied.
    pub handoffs: u64,
    /// Whether nothing is left to do here, and nothing is on its way.
    pub idle: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Doings {
    standing: Mutex<Standing>,
    work: AtomicU64,
}

impl Doings {
    pub fn tell(&self, view: Option<&Arc<View>>, outbox: usize, handoffs: usize, idle: bool) {
        let (outbox, handoffs) = (outbox as u64, handoffs as u64);
        *self.standing.lock() = Standing { view: view.cloned(), outbox, handoffs, idle };
    }

    /// Something was taken in, sent, or fetched.
    pub fn worked(&self, n: u64) {
        self.work.fetch_add(n, Relaxed);
    }

    /// How it stands, and what has been done so far: a number that only rises.
    pub fn standing(&self) -> (Standing, u64) {
        (self.standing.lock().clone(), self.work.load(Relaxed))
    }
}
