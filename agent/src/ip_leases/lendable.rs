//! Which addresses an agent may lend the turns of: those that nobody else can still have lent.

use crivello_common::assignment::Owners;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Views that may follow each other before all have told what they use.
const CHAIN_MAX: usize = 8;

/// See the module.
#[derive(Debug)]
pub struct Lendable {
    me: AgentId,
    ip_delay: Duration,
    /// From the last view of which all had told, or the one before; the last is in force.
    chain: Vec<Arc<Owners>>,
    /// Whether in the first of them everything of its own was open.
    rooted: bool,
    told: BTreeSet<AgentId>,
    clear: BTreeSet<AgentId>,
    opens: Option<Timestamp>,
    is_open: bool,
}

/// The agent that lends an address's turn: the owner of its hash; while nobody is active, of those
/// who are leaving.
pub fn lessor_of(owners: &Owners, address: IpAddr) -> Option<AgentId> {
    // An address is no name of a group: its octets may be any hash.
    let hash = GroupHash::of(&format!("turn {address}"));
    let leaving = || owners.owner_among(hash, |agent| agent.state == AgentState::Draining);
    owners.owner(hash).or_else(leaving)
}

impl Lendable {
    /// Nothing is open.
    pub const fn new(me: AgentId, ip_delay: Duration) -> Self {
        Self {
            me,
            ip_delay,
            chain: Vec::new(),
            rooted: false,
            told: BTreeSet::new(),
            clear: BTreeSet::new(),
            opens: None,
            is_open: false,
        }
    }

    /// An address rests for so long from now on.
    pub const fn set_ip_delay(&mut self, ip_delay: Duration) {
        self.ip_delay = ip_delay;
    }

    /// A later view is in force.
    pub fn begin(&mut self, owners: Arc<Owners>) {
        if self.is_open {
            self.chain.drain(..self.chain.len() - 1);
            self.rooted = true;
        }
        if !self.rooted || self.chain.len() >= CHAIN_MAX {
            self.chain.clear();
            self.rooted = false;
        }
        self.chain.push(owners);
        self.told.clear();
        self.clear.clear();
        self.opens = None;
        self.is_open = false;
    }

    /// An agent has entered the epoch, and told which turns it uses; says whether that is news.
    pub fn told(&mut self, by: AgentId, is_clear: bool, now: Timestamp) -> bool {
        let is_news = self.told.insert(by);
        if is_clear {
            self.clear.insert(by);
        }
        let Some(owners) = self.chain.last() else { return is_news };
        let mut living = owners.view().agents.iter().filter(|a| a.state != AgentState::Dead);
        let somebody_went = self.somebody_went();
        let all = living.all(|agent| {
            self.told.contains(&agent.id) && (!somebody_went || self.clear.contains(&agent.id))
        });
        if all && self.opens.is_none() {
            self.opens = Some(now + self.ip_delay);
        }
        is_news
    }

    /// Whether somebody may still fetch who is not asked what it uses: an agent that was alive in an
    /// earlier view of the chain, and is dead or forgotten in the last. Without a chain nobody knows.
    fn somebody_went(&self) -> bool {
        let earlier = self.chain.iter().flat_map(|owners| &owners.view().agents);
        let mut lived = earlier.filter(|agent| agent.state != AgentState::Dead);
        !self.rooted || lived.any(|agent| !self.is_alive(agent.id))
    }

    /// Whether everything opens just now.
    pub fn opens_now(&mut self, now: Timestamp) -> bool {
        let opens = !self.is_open && self.opens.is_some_and(|at| at <= now);
        self.is_open |= opens;
        opens
    }

    /// When everything will be open, if that is known and still to come.
    pub fn opens_at(&self) -> Option<Timestamp> {
        self.opens.filter(|_| !self.is_open)
    }

    /// Whether this agent lends the address's turn in the view in force.
    pub fn is_mine(&self, address: IpAddr) -> bool {
        self.chain.last().is_some_and(|owners| lessor_of(owners, address) == Some(self.me))
    }

    /// From when on the turn may be lent; `None` while others have to tell first.
    pub fn from(&self, address: IpAddr) -> Option<Timestamp> {
        let mut views = self.chain.iter();
        let goes_on =
            self.rooted && views.all(|owners| lessor_of(owners, address) == Some(self.me));
        if self.is_open || goes_on { Some(Timestamp::ZERO) } else { self.opens }
    }

    /// Whether an agent is alive in the view in force.
    pub fn is_alive(&self, id: AgentId) -> bool {
        let agent = self.chain.last().and_then(|owners| owners.view().agent(id));
        agent.is_some_and(|agent| agent.state != AgentState::Dead)
    }
}
