//! Who is a member: a pure step function from an event and the present to effects.
//!
//! * *Comes in*: an [`Event`] and `now`.
//! * *Goes out*: [`Effect`]s to carry out, or a [`Refusal`] for whoever sent the event.
//! * *Remembers*: the view, each member's lease and process, the ids given out.
//! * *Never knows*: groups, hosts, URLs; sockets; the clock.
//! * *Goes wrong*: time that runs backwards counts as standing still; a member that is not heard
//!   of for a lease is dead, whatever it thinks itself.
//!
//! ```text
//!            Join                Drain                 Leave
//!   unknown ─────► Active ───────────────► Draining ─────────► forgotten
//!                   │  ▲                      │
//!        lease over │  │ Join         lease   │            Forget
//!                   └► Dead ◄────────────────┴──── Dead ─────────► forgotten
//! ```
//! One that died while it was draining goes on with that when it is back.
//! While the crawl is stopping nobody fetches, so no lease runs out: nobody has to take over from
//! agents that end one after the other. All of them are members still when it goes on.

mod event;
mod join;
mod profile;

pub use event::{Effect, Event, Process, Refusal, Settings, Step};

use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, AgentState, RunState, View};
use profile::Profile;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The members: the view and the leases behind it.
#[derive(Clone, Debug)]
pub struct Members {
    settings: Settings,
    view: View,
    leases: BTreeMap<AgentId, Lease>,
    /// Those that are to hand everything over, also when they come back from the dead.
    drains: BTreeSet<AgentId>,
    /// Those that were active while fewer were than are to hold each URL, and have not said since
    /// that it is so.
    lone: BTreeSet<AgentId>,
    next_id: u32,
    now: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    until: Timestamp,
    process: Process,
    epoch: u64,
}

/// The most that one step adds to the epoch: leases that have run out, and the event itself.
pub const EPOCHS_A_STEP: u64 = 2;

/// Whoever is heard of next.
const ANY: Process = Process(0);

impl Members {
    /// Nobody yet.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            view: View::default(),
            leases: BTreeMap::new(),
            drains: BTreeSet::new(),
            lone: BTreeSet::new(),
            next_id: 1,
            now: Timestamp::ZERO,
        }
    }

    /// Goes on after a restart with what was written down: everyone alive in `view` has a whole lease
    /// to be heard of, under whatever process is heard of first.
    #[must_use]
    pub fn restore(
        settings: Settings,
        view: View,
        (drains, lone): (BTreeSet<AgentId>, BTreeSet<AgentId>),
        next_id: u32,
        now: Timestamp,
    ) -> Self {
        let until = now + settings.lease;
        let lease = |agent: &Agent| (agent.id, Lease { until, process: ANY, epoch: 0 });
        let leases = view.agents.iter().map(lease).collect();
        let beyond = view.agents.iter().map(|agent| agent.id.0.saturating_add(1)).max();
        let beyond = beyond.unwrap_or(1);
        let next_id = next_id.max(beyond);
        let mut members = Self { settings, view, leases, drains, lone, next_id, now };
        members.mark_lone();
        members
    }

    /// Those that are to be drained, dead or alive; to be written down with the view.
    #[must_use]
    pub const fn drains(&self) -> &BTreeSet<AgentId> {
        &self.drains
    }

    /// Those that may have what nobody else has; to be written down with the view.
    #[must_use]
    pub const fn lone(&self) -> &BTreeSet<AgentId> {
        &self.lone
    }

    /// The view in force.
    #[must_use]
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// The first id never given out; to be written down with the view.
    #[must_use]
    pub const fn next_id(&self) -> u32 {
        self.next_id
    }

    /// The member that is called so, or else has this id.
    #[must_use]
    pub fn find(&self, name_or_id: &str) -> Option<AgentId> {
        let by_name = self.view.agents.iter().find(|agent| agent.name == name_or_id);
        let by_id = || self.view.agent(AgentId(name_or_id.parse().ok()?));
        by_name.or_else(by_id).map(|agent| agent.id)
    }

    /// What is left of the lease of a member, and the epoch that it said it goes by (0 before it
    /// said so); `None` for the dead and for members that rest while the crawl is stopping.
    #[must_use]
    pub fn lease(&self, id: AgentId, now: Timestamp) -> Option<(Duration, u64)> {
        let lease = self.leases.get(&id).filter(|_| self.alive(id).is_ok())?;
        let rests = self.view.run == RunState::Stopping && lease.process == ANY;
        (!rests).then(|| (lease.until.since(self.now.max(now)), lease.epoch))
    }

    /// When the next lease runs out: a [`Event::Tick`] is due then.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Timestamp> {
        if self.view.run == RunState::Stopping {
            return None;
        }
        let alive = self.view.agents.iter().filter(|agent| agent.state != AgentState::Dead);
        alive.filter_map(|agent| self.leases.get(&agent.id)).map(|lease| lease.until).min()
    }

    /// Leases that have run out by `now` end first, then `event` happens. A refused event changes
    /// nothing, but what time has changed is published all the same: look at
    /// [`Step::effects`] in either case.
    pub fn step(&mut self, event: &Event, now: Timestamp) -> Step {
        self.now = self.now.max(now);
        let epoch = self.view.epoch;
        self.expire();
        let answer = self.happen(event);
        let mut effects = Vec::new();
        if self.view.epoch != epoch {
            self.mark_lone();
            effects.push(Effect::Publish { epoch: self.view.epoch });
        }
        let refusal = match answer {
            Ok(lease) => {
                effects.extend(lease);
                None
            }
            Err(refusal) => Some(refusal),
        };
        Step { effects, refusal }
    }

    /// As [`Self::step`] with a [`Event::Heartbeat`], but nobody dies: for when no new view can be
    /// written down, and those who are heard of are to stay members all the same.
    ///
    /// # Errors
    /// As for the event.
    pub fn hear(
        &mut self,
        id: AgentId,
        process: Process,
        (epoch, settled): (u64, bool),
        now: Timestamp,
    ) -> Result<Option<Effect>, Refusal> {
        self.now = self.now.max(now);
        self.heartbeat(id, process, epoch, settled)
    }

    fn happen(&mut self, event: &Event) -> Result<Option<Effect>, Refusal> {
        match *event {
            Event::Join { id, disk, process, ref name, ref address, weight } => {
                self.join(id, process, Profile { name, address, weight, disk })
            }
            Event::Heartbeat { id, process, epoch, settled } => {
                self.heartbeat(id, process, epoch, settled)
            }
            Event::Drain { id } => self.drain(id),
            Event::Leave { id, process } => self.leave(id, process),
            Event::Rest { id, process, stays } => self.rest(id, process, stays),
            Event::Forget { id, refetch } => self.forget(id, refetch),
            Event::SetRun(run) => self.set_run(run),
            Event::Tick => Ok(None),
        }
    }

    fn heartbeat(
        &mut self,
        id: AgentId,
        process: Process,
        epoch: u64,
        settled: bool,
    ) -> Result<Option<Effect>, Refusal> {
        self.alive(id)?;
        self.check_process(id, process)?;
        if settled && epoch == self.view.epoch && self.n_active() >= self.settings.replication {
            self.lone.remove(&id);
        }
        Ok(Some(self.renew(id, process, epoch)))
    }

    fn drain(&mut self, id: AgentId) -> Result<Option<Effect>, Refusal> {
        let agent = self.view.agent(id).ok_or(Refusal::Unknown)?;
        if agent.state == AgentState::Dead {
            return Err(Refusal::Dead);
        }
        if agent.state == AgentState::Active {
            if self.n_active() == 1 {
                return Err(Refusal::LastActive);
            }
            self.set_state(id, AgentState::Draining);
        }
        self.drains.insert(id);
        Ok(None)
    }

    fn leave(&mut self, id: AgentId, process: Process) -> Result<Option<Effect>, Refusal> {
        if self.alive(id)?.state != AgentState::Draining {
            return Err(Refusal::NotDrained);
        }
        self.check_process(id, process)?;
        self.remove(id);
        Ok(None)
    }

    fn rest(
        &mut self,
        id: AgentId,
        process: Process,
        stays: bool,
    ) -> Result<Option<Effect>, Refusal> {
        let state = self.alive(id)?.state;
        self.check_process(id, process)?;
        if stays && state == AgentState::Draining {
            self.set_state(id, AgentState::Active);
            self.drains.remove(&id);
        }
        self.leases.entry(id).and_modify(|lease| lease.process = ANY);
        Ok(None)
    }

    fn set_run(&mut self, run: RunState) -> Result<Option<Effect>, Refusal> {
        let before = std::mem::replace(&mut self.view.run, run);
        if before == run {
            return Ok(None);
        }
        self.view.epoch += 1;
        if before == RunState::Stopping {
            // Leases begin to count again: everyone has a whole one to be heard of.
            let until = self.now + self.settings.lease;
            self.leases.values_mut().for_each(|lease| lease.until = until);
        }
        Ok(None)
    }

    fn forget(&mut self, id: AgentId, refetch: bool) -> Result<Option<Effect>, Refusal> {
        if self.view.agent(id).ok_or(Refusal::Unknown)?.state != AgentState::Dead {
            return Err(Refusal::Alive);
        }
        if refetch {
            self.view.refetched.push(id);
        }
        self.remove(id);
        Ok(None)
    }

    fn n_active(&self) -> usize {
        self.view.agents.iter().filter(|agent| agent.state == AgentState::Active).count()
    }

    fn alive(&self, id: AgentId) -> Result<&Agent, Refusal> {
        let agent = self.view.agent(id).ok_or(Refusal::Unknown)?;
        if agent.state == AgentState::Dead { Err(Refusal::LeaseLost) } else { Ok(agent) }
    }

    fn check_process(&self, id: AgentId, process: Process) -> Result<(), Refusal> {
        match self.leases.get(&id) {
            Some(l) if l.process != process && l.process != ANY => Err(Refusal::OtherProcess),
            _ => Ok(()),
        }
    }

    fn renew(&mut self, id: AgentId, process: Process, epoch: u64) -> Effect {
        let until = self.now + self.settings.lease;
        self.leases.insert(id, Lease { until, process, epoch });
        Effect::Lease { id, until, epoch: self.view.epoch }
    }

    fn remove(&mut self, id: AgentId) {
        self.view.agents.retain(|agent| agent.id != id);
        self.leases.remove(&id);
        self.drains.remove(&id);
        self.lone.remove(&id);
        self.view.epoch += 1;
    }

    /// Whoever owns groups while there are too few to copy them has some alone.
    fn mark_lone(&mut self) {
        let n_active = self.n_active();
        if n_active < self.settings.replication {
            // While nobody owns anything, all keep what they find.
            let keeps = |state| state == AgentState::Active || n_active == 0;
            let alive = self.view.agents.iter().filter(|agent| agent.state != AgentState::Dead);
            self.lone.extend(alive.filter(|agent| keeps(agent.state)).map(|agent| agent.id));
        }
    }

    fn set_state(&mut self, id: AgentId, state: AgentState) {
        for agent in self.view.agents.iter_mut().filter(|agent| agent.id == id) {
            agent.state = state;
            self.view.epoch += 1;
        }
    }

    /// Ends the leases that have run out: one new epoch for all of them.
    fn expire(&mut self) {
        if self.view.run == RunState::Stopping {
            return;
        }
        let mut any = false;
        for agent in &mut self.view.agents {
            let over = self.leases.get(&agent.id).is_none_or(|lease| lease.until <= self.now);
            if over && agent.state != AgentState::Dead {
                agent.state = AgentState::Dead;
                agent.unreplicated = self.lone.contains(&agent.id);
                any = true;
            }
        }
        self.view.epoch += u64::from(any);
    }
}

#[cfg(test)]
mod tests;
