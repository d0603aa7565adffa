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

mod event;
mod join;

pub use event::{MemberEffect, MemberEvent, MemberRefusal, MemberStep, MembershipRules, ProcessId};

use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, AgentState, RunState, View};
use join::Profile;
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

    /// Ends the leases that have expired by `now`, then applies `event`. A refused event changes
    /// nothing, but expired leases are still published: carry out [`MemberStep::effects`] in either
    /// case.
    pub fn step(&mut self, event: &MemberEvent, now: Timestamp) -> MemberStep {
        self.now = self.now.max(now);
        let epoch = self.view.epoch;
        self.expire();
        let applied = self.apply(event);
        let mut effects = Vec::new();
        if self.view.epoch != epoch {
            self.mark_unreplicated();
            effects.push(MemberEffect::Publish { epoch: self.view.epoch });
        }
        let refusal = match applied {
            Ok(lease) => {
                effects.extend(lease);
                None
            }
            Err(refusal) => Some(refusal),
        };
        MemberStep { effects, refusal }
    }

    /// Applies a [`MemberEvent::Heartbeat`] without ending any lease. Used when no new view can be
    /// stored, so that members that report stay members.
    ///
    /// # Errors
    /// Same as for the event.
    pub fn renew_lease_only(
        &mut self,
        id: AgentId,
        process: ProcessId,
        (epoch, settled): (u64, bool),
        now: Timestamp,
    ) -> Result<Option<MemberEffect>, MemberRefusal> {
        self.now = self.now.max(now);
        self.heartbeat(id, process, epoch, settled)
    }

    fn apply(&mut self, event: &MemberEvent) -> Result<Option<MemberEffect>, MemberRefusal> {
        match *event {
            MemberEvent::Join { id, disk, process, ref name, ref address, weight } => {
                self.join(id, process, Profile { name, address, weight, disk })
            }
            MemberEvent::Heartbeat { id, process, epoch, settled } => {
                self.heartbeat(id, process, epoch, settled)
            }
            MemberEvent::Drain { id } => self.drain(id),
            MemberEvent::Leave { id, process } => self.leave(id, process),
            MemberEvent::ProcessEnded { id, process, cancel_drain } => {
                self.process_ended(id, process, cancel_drain)
            }
            MemberEvent::Remove { id, refetch } => self.remove_dead(id, refetch),
            MemberEvent::SetRun(run) => self.set_run(run),
            MemberEvent::Tick => Ok(None),
        }
    }

    fn heartbeat(
        &mut self,
        id: AgentId,
        process: ProcessId,
        epoch: u64,
        settled: bool,
    ) -> Result<Option<MemberEffect>, MemberRefusal> {
        self.alive(id)?;
        self.check_process(id, process)?;
        if settled && epoch == self.view.epoch && self.active_count() >= self.rules.replication {
            self.unreplicated.remove(&id);
        }
        Ok(Some(self.renew(id, process, epoch)))
    }

    fn drain(&mut self, id: AgentId) -> Result<Option<MemberEffect>, MemberRefusal> {
        let agent = self.view.agent(id).ok_or(MemberRefusal::Unknown)?;
        if agent.state == AgentState::Dead {
            return Err(MemberRefusal::Dead);
        }
        if agent.state == AgentState::Active {
            if self.active_count() == 1 {
                return Err(MemberRefusal::LastActive);
            }
            self.set_state(id, AgentState::Draining);
        }
        self.draining.insert(id);
        Ok(None)
    }

    fn leave(
        &mut self,
        id: AgentId,
        process: ProcessId,
    ) -> Result<Option<MemberEffect>, MemberRefusal> {
        if self.alive(id)?.state != AgentState::Draining {
            return Err(MemberRefusal::NotDrained);
        }
        self.check_process(id, process)?;
        self.remove(id);
        Ok(None)
    }

    fn process_ended(
        &mut self,
        id: AgentId,
        process: ProcessId,
        cancel_drain: bool,
    ) -> Result<Option<MemberEffect>, MemberRefusal> {
        let state = self.alive(id)?.state;
        self.check_process(id, process)?;
        if cancel_drain && state == AgentState::Draining {
            self.set_state(id, AgentState::Active);
            self.draining.remove(&id);
        }
        self.leases.entry(id).and_modify(|lease| lease.process = ANY);
        Ok(None)
    }

    fn set_run(&mut self, run: RunState) -> Result<Option<MemberEffect>, MemberRefusal> {
        let before = std::mem::replace(&mut self.view.run, run);
        if before == run {
            return Ok(None);
        }
        self.view.epoch += 1;
        if before == RunState::Stopping {
            // Leases count again: each member has one full lease in which to report.
            let until = self.now + self.rules.lease;
            self.leases.values_mut().for_each(|lease| lease.until = until);
        }
        Ok(None)
    }

    fn remove_dead(
        &mut self,
        id: AgentId,
        refetch: bool,
    ) -> Result<Option<MemberEffect>, MemberRefusal> {
        if self.view.agent(id).ok_or(MemberRefusal::Unknown)?.state != AgentState::Dead {
            return Err(MemberRefusal::Alive);
        }
        if refetch {
            self.view.refetched.push(id);
        }
        self.remove(id);
        Ok(None)
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

    /// Ends all expired leases in one new epoch.
    fn expire(&mut self) {
        if self.view.run == RunState::Stopping {
            return;
        }
        let mut any_ended = false;
        for agent in &mut self.view.agents {
            let over = self.leases.get(&agent.id).is_none_or(|lease| lease.until <= self.now);
            if over && agent.state != AgentState::Dead {
                agent.state = AgentState::Dead;
                agent.unreplicated = self.unreplicated.contains(&agent.id);
                any_ended = true;
            }
        }
        self.view.epoch += u64::from(any_ended);
    }
}

#[cfg(test)]
mod tests;
