//! The fence: an agent that may have been declared dead does not fetch.
//!
//! A lease from the coordinator opens it. While the coordinator is out of reach, peer leases of
//! *all* other agents of the view do: each grants not to count this agent as dead until its
//! peer lease has run out. So nobody can take a group over while its authority still fetches: the
//! coordinator waits for the lease to end, and every agent waits for the peer leases that it granted to
//! end before it says that it has scanned. All agents of a crawl grant for the same time
//! ([`Cluster::peer_lease`](crivello_common::config::Cluster::peer_lease)), in all their lives.

use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Whether this agent may fetch, by the leases that it received, and what it granted to others.
#[derive(Debug)]
pub struct Fence {
    /// How long a grant between agents holds.
    peer_lease: Duration,
    /// Grants of an earlier life have run out by then.
    free: Timestamp,
    lease: Timestamp,
    received: BTreeMap<AgentId, Timestamp>,
    /// Until when, and the epoch in which that was granted.
    granted: BTreeMap<AgentId, (Timestamp, u64)>,
}

impl Fence {
    /// The fence of an agent that starts now: closed.
    #[must_use]
    pub fn new(peer_lease: Duration, now: Timestamp) -> Self {
        Self {
            peer_lease,
            free: now + peer_lease,
            lease: Timestamp::ZERO,
            received: BTreeMap::new(),
            granted: BTreeMap::new(),
        }
    }

    /// The coordinator's lease runs until then, counted from when it was asked for.
    pub fn leased(&mut self, until: Timestamp) {
        self.lease = self.lease.max(until);
    }

    /// `peer` has granted a peer lease, asked for at `asked`.
    pub fn peer_lease_renewed(&mut self, peer: AgentId, asked: Timestamp) {
        let until = self.received.entry(peer).or_default();
        *until = (*until).max(asked + self.peer_lease);
    }

    /// This agent grants a peer lease to `peer`, which asks under the epoch in force.
    pub fn grant(&mut self, peer: AgentId, epoch: u64, now: Timestamp) {
        self.granted.insert(peer, (now + self.peer_lease, epoch));
    }

    /// Whether this agent may fetch now; `others` are alive in its view.
    pub fn is_open(&self, now: Timestamp, others: impl Iterator<Item = AgentId>) -> bool {
        now < self.until(others)
    }

    /// When the fence closes, if nothing more is heard.
    pub fn until(&self, others: impl Iterator<Item = AgentId>) -> Timestamp {
        let received = |id| self.received.get(&id).copied().unwrap_or_default();
        let of_peers = others.map(received).min().unwrap_or_default();
        self.lease.max(of_peers)
    }

    /// When the last peer lease runs out that was granted to an agent of which `is_gone` says that it has
    /// been declared dead since that epoch.
    pub(super) fn owed(&self, is_gone: impl Fn(AgentId, u64) -> bool) -> Timestamp {
        let gone = self.granted.iter().filter(|&(&id, &(_, epoch))| is_gone(id, epoch));
        gone.map(|(_, &(until, _))| until).fold(self.free, Timestamp::max)
    }
}
