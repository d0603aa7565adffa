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
    /// Outbox rows that wait for each peer.
    pub waiting: Vec<Waiting>,
    /// Length of the inbox when `waiting` was counted.
    pub arrivals: usize,
}

/// Status that the replication engine reports.
#[derive(Debug, Default)]
pub struct ClusterStatus {
    pub(super) state: Mutex<MemberState>,
    work: AtomicU64,
}

impl ClusterStatus {
    /// Returns the state that was reported last.
    pub fn state(&self) -> MemberState {
        self.state.lock().clone()
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
