//! State of a member of a cluster, for status and metrics.

use super::Waiting;
use crivello_common::view::View;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// State of a member at its last step.
#[derive(Clone, Debug, Default)]
pub struct MemberState {
    /// View in force.
    pub view: Option<Arc<View>>,
    /// Number of unacknowledged outbox rows.
    pub outbox: u64,
    /// Number of groups that are being drained, and of transfers in progress.
    pub handoffs: u64,
    /// True if this agent has nothing to do and nothing in flight.
    pub idle: bool,
}

/// Status that the replication engine reports.
#[derive(Debug, Default)]
pub struct ClusterStatus {
    state: Mutex<MemberState>,
    /// Outbox rows that wait for each peer, and the length of the inbox.
    waiting: Mutex<(Vec<Waiting>, usize)>,
    work: AtomicU64,
}

impl ClusterStatus {
    /// Sets the member state: the view in force, the number of unacknowledged outbox rows, the
    /// number of handoffs, and whether the agent is idle.
    pub fn report(&self, view: Option<&Arc<View>>, outbox: usize, handoffs: usize, idle: bool) {
        let (outbox, handoffs) = (outbox as u64, handoffs as u64);
        *self.state.lock() = MemberState { view: view.cloned(), outbox, handoffs, idle };
    }

    /// Sets the outbox rows that wait for each peer, and the length of the inbox.
    pub fn report_waiting(&self, waiting: Vec<Waiting>, arrivals: usize) {
        *self.waiting.lock() = (waiting, arrivals);
    }

    /// Returns the state of the last [`Self::report`].
    pub fn state(&self) -> MemberState {
        self.state.lock().clone()
    }

    /// Returns the values of the last [`Self::report_waiting`].
    pub fn waiting(&self) -> (Vec<Waiting>, usize) {
        self.waiting.lock().clone()
    }

    /// Returns a counter that rises with every message or URL that the agent handles.
    pub fn work(&self) -> u64 {
        self.work.load(Relaxed)
    }

    /// Counts `n` messages or URLs received, sent or fetched.
    pub fn worked(&self, n: u64) {
        self.work.fetch_add(n, Relaxed);
    }
}
