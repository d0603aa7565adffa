//! The membership: a pure step function from an event and the current time to effects.
//!
//! * *Comes in*: a [`MemberEvent`] and `now`.
//! * *Goes out*: [`MemberEffect`]s to carry out, or a [`MemberRefusal`] for the sender of the event.
//! * *Remembers*: the view, the lease and process of each member, and the assigned ids.
//! * *Never knows*: groups, hosts, URLs, sockets, the clock.
//! * *Goes wrong*: if time runs backwards, the last time stays in force. A member without a
//!   heartbeat for the length of a lease is dead, whatever it assumes itself.
//!
//! ```text
//!            Join                Drain                 Leave
//!   unknown ─────► Active ───────────────► Draining ─────────► removed
//!                   │  ▲                      │
//!        lease over │  │ Join         lease   │            Remove
//!                   └► Dead ◄────────────────┴──── Dead ─────────► removed
//! ```
//! A member that died while draining continues to drain when it returns. While the crawl is
//! stopping, no agent fetches and no lease expires: agents end one after another, and no agent
//! takes over from another. All of them are still members when the crawl resumes.
//!
//! This file holds the state and its smallest changes, `step.rs` what each event changes, `join.rs`
//! how agents become members.

mod event;
mod join;
mod step;

pub use event::{MemberEffect, MemberEvent, MemberRefusal, MemberStep, MembershipRules, ProcessId};

use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, AgentState, RunState, View};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The members: the view and its leases.
#[derive(Clone, Debug)]
pub struct Members {
    rules: MembershipRules,
    view: View,
    leases: BTreeMap<AgentId, Lease>,
    /// Members to be drained, including members that died meanwhile.
    draining: BTreeSet<AgentId>,
    /// Members that were active while there were fewer active members than replicas, and that have
    /// not reported complete replicas since.
    unreplicated: BTreeSet<AgentId>,
    next_id: u32,
    now: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    until: Timestamp,
    process: ProcessId,
    epoch: u64,
}

/// Placeholder process of a lease. The next process to report takes the lease.
const ANY: ProcessId = ProcessId(0);

impl Members {
    /// Returns a membership without members.
    #[must_use]
    pub fn new(rules: MembershipRules) -> Self {
        Self {
            rules,
            view: View::default(),
            leases: BTreeMap::new(),
            draining: BTreeSet::new(),
            unreplicated: BTreeSet::new(),
            next_id: 1,
            now: Timestamp::ZERO,
        }
    }

    /// Restores the membership after a restart from stored state. Each living member of `view` gets
    /// a full lease, and the first process to report takes it.
    #[must_use]
    pub fn restore(
        rules: MembershipRules,
        view: View,
        (draining, unreplicated): (BTreeSet<AgentId>, BTreeSet<AgentId>),
        next_id: u32,
        now: Timestamp,
    ) -> Self {
        let until = now + rules.lease;
        let lease = |agent: &Agent| (agent.id, Lease { until, process: ANY, epoch: 0 });
        let leases = view.agents.iter().map(lease).collect();
        let beyond = view.agents.iter().map(|agent| agent.id.0.saturating_add(1)).max();
        let beyond = beyond.unwrap_or(1);
        let next_id = next_id.max(beyond);
        let mut members = Self { rules, view, leases, draining, unreplicated, next_id, now };
        members.mark_unreplicated();
        members
    }

    /// Returns the members to be drained, including dead ones; stored with the view.
    #[must_use]
    pub const fn draining(&self) -> &BTreeSet<AgentId> {
        &self.draining
    }

    /// Returns the members that may hold data that no other member has; stored with the view.
    #[must_use]
    pub const fn unreplicated(&self) -> &BTreeSet<AgentId> {
        &self.unreplicated
    }

    /// Returns the view in force.
    #[must_use]
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// Returns the first id never assigned; stored with the view.
    #[must_use]
    pub const fn next_id(&self) -> u32 {
        self.next_id
    }

    /// Returns the member with this name, or else with this id.
    #[must_use]
    pub fn find(&self, name_or_id: &str) -> Option<AgentId> {
        let by_name = self.view.agents.iter().find(|agent| agent.name == name_or_id);
        let by_id = || self.view.agent(AgentId(name_or_id.parse().ok()?));
        by_name.or_else(by_id).map(|agent| agent.id)
    }

    /// Returns the rest of a member's lease and the epoch that it last reported (0 before the first
    /// report). Returns `None` for dead members and, while the crawl is stopping, for members whose
    /// process has ended.
    #[must_use]
    pub fn lease(&self, id: AgentId, now: Timestamp) -> Option<(Duration, u64)> {
        let lease = self.leases.get(&id).filter(|_| self.alive(id).is_ok())?;
        let has_ended = self.view.run == RunState::Stopping && lease.process == ANY;
        (!has_ended).then(|| (lease.until.since(self.now.max(now)), lease.epoch))
    }

    /// Returns the end of the lease that expires next. A [`MemberEvent::Tick`] is due then.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Timestamp> {
        if self.view.run == RunState::Stopping {
            return None;
        }
        let alive = self.view.agents.iter().filter(|agent| agent.state != AgentState::Dead);
        alive.filter_map(|agent| self.leases.get(&agent.id)).map(|lease| lease.until).min()
    }

    fn active_count(&self) -> usize {
        self.view.agents.iter().filter(|agent| agent.state == AgentState::Active).count()
    }

    fn alive(&self, id: AgentId) -> Result<&Agent, MemberRefusal> {
        let agent = self.view.agent(id).ok_or(MemberRefusal::Unknown)?;
        if agent.state == AgentState::Dead { Err(MemberRefusal::LeaseLost) } else { Ok(agent) }
    }

    fn check_process(&self, id: AgentId, process: ProcessId) -> Result<(), MemberRefusal> {
        match self.leases.get(&id) {
            Some(l) if l.process != process && l.process != ANY => Err(MemberRefusal::OtherProcess),
            _ => Ok(()),
        }
    }

    fn renew(&mut self, id: AgentId, process: ProcessId, epoch: u64) -> MemberEffect {
        let until = self.now + self.rules.lease;
        self.leases.insert(id, Lease { until, process, epoch });
        MemberEffect::Lease { id, until, epoch: self.view.epoch }
    }

    fn remove(&mut self, id: AgentId) {
        self.view.agents.retain(|agent| agent.id != id);
        self.leases.remove(&id);
        self.draining.remove(&id);
        self.unreplicated.remove(&id);
        self.view.epoch += 1;
    }

    /// Marks members that own groups while there are fewer active members than replicas.
    fn mark_unreplicated(&mut self) {
        let active_count = self.active_count();
        if active_count < self.rules.replication {
            // While no member owns groups, each keeps the URLs that it finds.
            let keeps = |state| state == AgentState::Active || active_count == 0;
            let alive = self.view.agents.iter().filter(|agent| agent.state != AgentState::Dead);
            self.unreplicated
                .extend(alive.filter(|agent| keeps(agent.state)).map(|agent| agent.id));
        }
    }

    fn set_state(&mut self, id: AgentId, state: AgentState) {
        for agent in self.view.agents.iter_mut().filter(|agent| agent.id == id) {
            agent.state = state;
            self.view.epoch += 1;
        }
    }
}

#[cfg(test)]
mod tests;
