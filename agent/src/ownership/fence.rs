//! The fence: an agent that may have been declared dead does not fetch.
//!
//! A lease from the coordinator opens it. While the coordinator is out of reach, promises of
//! *all* other agents of the view do: each promises not to count this agent as dead until its
//! promise has run out. So nobody can take a group over while its authority still fetches: the
//! coordinator waits for the lease to end, and every agent waits for its own promises to end
//! before it says that it has scanned.

use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;
use std::time::Duration;

/// How long a promise between agents holds.
pub const PROMISE: Duration = Duration::from_secs(5);

/// See the module.
#[derive(Debug)]
pub struct Fence {
    /// What was promised in an earlier life has run out by then.
    free: Timestamp,
    lease: Timestamp,
    received: BTreeMap<AgentId, Timestamp>,
    /// Until when, and the epoch in which that was promised.
    given: BTreeMap<AgentId, (Timestamp, u64)>,
}

impl Fence {
    /// The fence of an agent that starts now: closed.
    #[must_use]
    pub fn new(now: Timestamp) -> Self {
        let lease = Timestamp::ZERO;
        Self { free: now + PROMISE, lease, received: BTreeMap::new(), given: BTreeMap::new() }
    }

    /// The coordinator's lease runs until then, counted from when it was asked for.
    pub fn leased(&mut self, until: Timestamp) {
        self.lease = self.lease.max(until);
    }

    /// `peer` has promised, when it was asked at `asked`.
    pub fn promised(&mut self, peer: AgentId, asked: Timestamp) {
        let until = self.received.entry(peer).or_default();
        *until = (*until).max(asked + PROMISE);
    }

    /// This agent promises `peer`, which asks under the epoch in force.
    pub fn promise(&mut self, peer: AgentId, epoch: u64, now: Timestamp) {
        self.given.insert(peer, (now + PROMISE, epoch));
    }

    /// Whether this agent may fetch now; `others` are alive in its view.
    pub fn is_open(&self, now: Timestamp, others: impl Iterator<Item = AgentId>) -> bool {
        now < self.until(others)
    }

    /// When the fence closes, if nothing more is heard.
    pub fn until(&self, others: impl Iterator<Item = AgentId>) -> Timestamp {
        let promised = |id| self.received.get(&id).copied().unwrap_or_default();
        let promises = others.map(promised).min().unwrap_or_default();
        self.lease.max(promises)
    }

    /// When the last promise runs out that was given to one of which `is_gone` says that it has
    /// been declared dead since that epoch.
    pub(super) fn owed(&self, is_gone: impl Fn(AgentId, u64) -> bool) -> Timestamp {
        let gone = self.given.iter().filter(|&(&id, &(_, epoch))| is_gone(id, epoch));
        gone.map(|(_, &(until, _))| until).fold(self.free, Timestamp::max)
    }
}
