//! The fence: an agent that may have been declared dead does not fetch.
//!
//! A lease from the coordinator opens the fence. While the coordinator is unreachable, peer leases
//! from *all* other agents of the view open it (see [`peer_leases_needed`]): each agent promises not to count this one as dead
//! until its peer lease has expired. So no agent can take a group over while its authority still
//! fetches: the coordinator waits until the lease expires, and every agent waits until the peer
//! leases that it granted expire before it sends `ScanDone`. All agents of a crawl grant peer
//! leases of the same length
//! ([`Cluster::peer_lease`](crivello_common::config::Cluster::peer_lease)), in all their processes.

use crate::limits::REQUEST_UNDER_WAY_MAX;
use crivello_common::peer_leases::peer_leases_needed;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;
use std::time::Duration;

/// Leases that this agent received, and peer leases that it granted; they decide if it may fetch.
#[derive(Debug)]
pub struct Fence {
    /// Length of a peer lease.
    peer_lease: Duration,
    /// Time when the peer leases that an earlier process granted have expired.
    free: Timestamp,
    lease: Timestamp,
    received: BTreeMap<AgentId, Timestamp>,
    /// Expiry of each granted peer lease, and the epoch in which it was granted.
    granted: BTreeMap<AgentId, (Timestamp, u64)>,
}

impl Fence {
    /// Creates the closed fence of an agent that starts now.
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

    /// Extends the coordinator's lease until this time, counted from when it was requested.
    pub fn leased(&mut self, until: Timestamp) {
        self.lease = self.lease.max(until);
    }

    /// Records that `peer` granted a peer lease, requested at `asked`.
    pub fn peer_lease_renewed(&mut self, peer: AgentId, asked: Timestamp) {
        let until = self.received.entry(peer).or_default();
        *until = (*until).max(asked + self.peer_lease);
    }

    /// Grants a peer lease to `peer`, which requested it under the epoch in force. What an earlier
    /// process of it may still use remains owed.
    pub fn grant(&mut self, peer: AgentId, epoch: u64, joined_epoch: u64, now: Timestamp) {
        let before = self.granted.insert(peer, (now + self.peer_lease, epoch));
        if let Some((until, _)) = before.filter(|&(_, epoch)| epoch < joined_epoch) {
            self.free = self.free.max(until);
        }
    }

    /// Returns the time when the fence closes unless a lease is renewed; `others` are alive in the
    /// view. It closes [`REQUEST_UNDER_WAY_MAX`] before the leases expire.
    pub fn until(&self, others: impl Iterator<Item = AgentId>) -> Timestamp {
        let received = |id| self.received.get(&id).copied().unwrap_or_default();
        let mut received: Vec<Timestamp> = others.map(received).collect();
        received.sort_unstable_by(|a, b| b.cmp(a));
        let last_needed = peer_leases_needed(received.len()).checked_sub(1);
        let of_peers = last_needed.and_then(|last| received.get(last).copied());
        let under_way = REQUEST_UNDER_WAY_MAX.min(self.peer_lease / 4);
        self.lease.max(of_peers.unwrap_or_default()) - under_way
    }

    /// Returns the time when the last peer lease expires that was granted to an agent that is gone:
    /// `is_gone` returns true if the agent was declared dead since that epoch. Grants of an earlier
    /// process are included.
    pub(super) fn owed(&self, is_gone: impl Fn(AgentId, u64) -> bool) -> Timestamp {
        let gone = self.granted.iter().filter(|&(&id, &(_, epoch))| is_gone(id, epoch));
        gone.map(|(_, &(until, _))| until).fold(self.free, Timestamp::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fence_closes_before_the_leases_expire() {
        let mut fence = Fence::new(Duration::from_secs(5), Timestamp::ZERO);
        let expiry = Timestamp::from_secs(30);
        fence.leased(expiry);
        assert_eq!(fence.until(std::iter::empty()), expiry - REQUEST_UNDER_WAY_MAX);
        let asked = Timestamp::from_secs(28);
        fence.peer_lease_renewed(AgentId(2), asked);
        let expiry = asked + Duration::from_secs(5);
        assert_eq!(fence.until(std::iter::once(AgentId(2))), expiry - REQUEST_UNDER_WAY_MAX);
    }

    /// The agent joined again elsewhere, with a copy of its disk, while its first process runs on.
    #[test]
    fn a_lease_of_a_later_process_does_not_hide_what_the_first_one_has() {
        let at = Timestamp::from_secs;
        let peer = AgentId(2);
        let mut fence = Fence::new(Duration::from_secs(5), at(0));
        fence.grant(peer, 3, 1, at(10));
        fence.grant(peer, 4, 4, at(12));
        // It is alive in epoch 4.
        assert_eq!(fence.owed(|_, epoch| epoch < 4), at(15));
        fence.grant(peer, 4, 4, at(14));
        assert_eq!(fence.owed(|_, epoch| epoch < 4), at(15));
    }
}
