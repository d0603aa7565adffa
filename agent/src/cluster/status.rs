//! The state of a member of a cluster, for status and metrics.

use super::Waiting;
use crivello_common::view::View;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// The state of a member, as of the last step.
#[derive(Clone, Debug, Default)]
pub struct MemberState {
    /// The view in force.
    pub view: Option<Arc<View>>,
    /// Outbox rows that are not acknowledged.
    pub outbox: u64,
    /// Groups that are being handed off or copied.
    pub handoffs: u64,
    /// Whether nothing is left to do here, and nothing is on its way.
    pub idle: bool,
}

/// The status that the replication engine reports.
#[derive(Debug, Default)]
pub struct ClusterStatus {
    state: Mutex<MemberState>,
    /// Outbox rows for each peer, and the length of the inbox.
    waiting: Mutex<(Vec<Waiting>, usize)>,
    work: AtomicU64,
}

impl ClusterStatus {
    /// Sets the view in force, the unacknowledged outbox rows, the groups on their way, and whether
    /// the agent is idle.
    pub fn report(&self, view: Option<&Arc<View>>, outbox: usize, handoffs: usize, idle: bool) {
        let (outbox, handoffs) = (outbox as u64, handoffs as u64);
        *self.state.lock() = MemberState { view: view.cloned(), outbox, handoffs, idle };
    }

    /// Sets what waits for each peer, and the length of the inbox.
    pub fn report_waiting(&self, waiting: Vec<Waiting>, arrivals: usize) {
        *self.waiting.lock() = (waiting, arrivals);
    }

    /// The last [`Self::report`].
    pub fn state(&self) -> MemberState {
        self.state.lock().clone()
    }

    /// The last [`Self::report_waiting`].
    pub fn waiting(&self) -> (Vec<Waiting>, usize) {
        self.waiting.lock().clone()
    }

    /// A counter that rises with everything the agent does.
    pub fn work(&self) -> u64 {
        self.work.load(Relaxed)
    }

    /// Counts `n` messages or URLs received, sent or fetched.
    pub fn worked(&self, n: u64) {
        self.work.fetch_add(n, Relaxed);
    }
}
