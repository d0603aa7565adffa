//! The addresses that an agent may lend: those of which no earlier lessor's lease can still be in use.

use crivello_common::assignment::Owners;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;

/// Maximum number of views kept while reports are missing.
const CHAIN_MAX: usize = 8;

/// The addresses that this agent may lend, and from when on.
#[derive(Debug)]
pub struct Lendable {
    me: AgentId,
    hasher: KeyedHasher,
    /// The views since the last one for which all agents reported. The last is in force.
    chain: Vec<Arc<Owners>>,
    /// True if this agent could lend all its addresses in the first view of `chain`.
    has_root: bool,
    reported: BTreeSet<AgentId>,
    clear: BTreeSet<AgentId>,
    /// The time from which all addresses are lendable, once it is known.
    opens: Option<Timestamp>,
    is_open: bool,
}

/// Returns the lessor of an address: the owner of its hash among the active agents or, if there is
/// none, among the draining ones.
pub fn lessor_of(owners: &Owners, hasher: &KeyedHasher, address: IpAddr) -> Option<AgentId> {
    let hash = hasher.address(address);
    let leaving = || owners.owner_among(hash, |agent| agent.state == AgentState::Draining);
    owners.owner(hash).or_else(leaving)
}

impl Lendable {
    /// Returns an empty set: no address is lendable.
    pub const fn new(me: AgentId, hasher: KeyedHasher) -> Self {
        Self {
            me,
            hasher,
            chain: Vec::new(),
            has_root: false,
            reported: BTreeSet::new(),
            clear: BTreeSet::new(),
            opens: None,
            is_open: false,
        }
    }

    /// Enters the epoch of a later view.
    pub fn on_view(&mut self, owners: Arc<Owners>) {
        if self.is_open {
            self.chain.drain(..self.chain.len() - 1);
            self.has_root = true;
        }
        if !self.has_root || self.chain.len() >= CHAIN_MAX {
            self.chain.clear();
            self.has_root = false;
        }
        self.chain.push(owners);
        self.reported.clear();
        self.clear.clear();
        self.opens = None;
        self.is_open = false;
    }

    /// Records that an agent reported the leases that it uses in this epoch. If this is the last
    /// report that was missing, all addresses are lendable from `opens` on. Returns true for the
    /// agent's first report.
    pub fn on_report(&mut self, by: AgentId, is_clear: bool, opens: Timestamp) -> bool {
        let is_first = self.reported.insert(by);
        if is_clear {
            self.clear.insert(by);
        }
        let Some(owners) = self.chain.last() else { return is_first };
        let awaited = if self.unreported_agents_may_fetch() { &self.clear } else { &self.reported };
        if owners.view().living().all(|agent| awaited.contains(&agent.id)) {
            self.opens.get_or_insert(opens);
        }
        is_first
    }

    /// True if an agent that does not report may still fetch: it was alive in an earlier view of the
    /// chain, and is dead or removed in the last. Without a root this is unknown, and true.
    fn unreported_agents_may_fetch(&self) -> bool {
        let mut lived = self.chain.iter().flat_map(|owners| owners.view().living());
        !self.has_root || lived.any(|agent| !self.is_alive(agent.id))
    }

    /// Returns true once: at the time from which all addresses are lendable.
    pub fn opens_now(&mut self, now: Timestamp) -> bool {
        let opens = !self.is_open && self.opens.is_some_and(|at| at <= now);
        self.is_open |= opens;
        opens
    }

    /// Returns the time from which all addresses are lendable, if it is known and in the future.
    pub fn opening_time(&self) -> Option<Timestamp> {
        self.opens.filter(|_| !self.is_open)
    }

    /// True if this agent is the lessor of the address in the view in force.
    pub fn is_mine(&self, address: IpAddr) -> bool {
        self.chain.last().is_some_and(|owners| self.is_mine_in(owners, address))
    }

    fn is_mine_in(&self, owners: &Owners, address: IpAddr) -> bool {
        lessor_of(owners, &self.hasher, address) == Some(self.me)
    }

    /// Returns the time from which the address is lendable; `None` while reports are missing.
    pub fn lendable_from(&self, address: IpAddr) -> Option<Timestamp> {
        let mut views = self.chain.iter();
        let uninterrupted = self.has_root && views.all(|owners| self.is_mine_in(owners, address));
        if self.is_open || uninterrupted { Some(Timestamp::ZERO) } else { self.opens }
    }

    /// True if the agent is alive in the view in force.
    pub fn is_alive(&self, id: AgentId) -> bool {
        self.chain.last().is_some_and(|owners| owners.view().is_alive(id))
    }
}
