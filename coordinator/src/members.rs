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

use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, AgentState, View, WEIGHT_MAX};
use std::collections::BTreeMap;
use std::time::Duration;

/// Bytes of an agent's name.
const NAME_MAX: usize = 255;

/// How membership is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// A member that is not heard of for this long is dead. Default 30 s.
    pub lease: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { lease: Duration::from_secs(30) }
    }
}

/// One run of an agent's process: drawn at random when it starts, so that two processes on copies
/// of one disk are told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Process(pub u64);

/// What happens to the membership.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A process wants to be a member.
    Join {
        /// The id it was given before and kept on its disk; `None` the first time.
        id: Option<AgentId>,
        /// The process.
        process: Process,
        /// What people call it; unique among the members.
        name: String,
        /// Its share of the groups relative to the others': 1 to [`WEIGHT_MAX`].
        weight: u16,
    },
    /// A member is alive.
    Heartbeat {
        /// The member.
        id: AgentId,
        /// Its process.
        process: Process,
    },
    /// A member is to hand its groups over.
    Drain {
        /// The member.
        id: AgentId,
    },
    /// A member that was drained has nothing left and goes.
    Leave {
        /// The member.
        id: AgentId,
        /// Its process.
        process: Process,
    },
    /// A dead member will not come back.
    Forget {
        /// The member.
        id: AgentId,
    },
    /// Time has passed.
    Tick,
}

/// What the owner of the [`Members`] is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Tell this member that its lease runs until then, and the epoch it should know.
    Lease {
        /// The member.
        id: AgentId,
        /// The end of its lease.
        until: Timestamp,
        /// The epoch of the view in force.
        epoch: u64,
    },
    /// Write the view down, then send it to everyone: it has this new epoch.
    Publish {
        /// The new epoch.
        epoch: u64,
    },
}

/// Why an event changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such member.
    #[error("no such agent")]
    Unknown,
    /// Another member has this name.
    #[error("another agent has this name")]
    NameTaken,
    /// A name is needed, of 255 bytes at most.
    #[error("a name of 1 to 255 bytes is needed")]
    BadName,
    /// The weight is out of bounds.
    #[error("a weight of 1 to {WEIGHT_MAX} is needed")]
    BadWeight,
    /// A member's weight is for life: its slots are.
    #[error("the weight of a known agent cannot change: forget it first")]
    WeightChanged,
    /// Another process of this agent still holds the lease.
    #[error("another process of this agent holds the lease")]
    OtherProcess,
    /// Its lease ran out: it must join again.
    #[error("the lease ran out: join again")]
    LeaseLost,
    /// It must be drained before it leaves.
    #[error("drain the agent first")]
    NotDrained,
    /// It is alive: drain it instead.
    #[error("the agent is alive: drain it instead")]
    Alive,
    /// There would be nobody to take its groups.
    #[error("the last active agent cannot be drained")]
    LastActive,
    /// No room for its slots, or no id left.
    #[error("too many agents")]
    Full,
}

/// The members: the view and the leases behind it.
#[derive(Clone, Debug)]
pub struct Members {
    settings: Settings,
    view: View,
    leases: BTreeMap<AgentId, Lease>,
    next_id: u32,
    now: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    until: Timestamp,
    process: Process,
}

impl Members {
    /// Nobody yet.
    #[must_use]
    pub const fn new(settings: Settings) -> Self {
        Self {
            settings,
            view: View { epoch: 0, agents: Vec::new() },
            leases: BTreeMap::new(),
            next_id: 1,
            now: Timestamp::ZERO,
        }
    }

    /// Goes on after a restart with the last published `view`: everyone alive in it has a whole
    /// lease to be heard of, under whatever process is heard of first. `next_id` is the first id
    /// never given out.
    #[must_use]
    pub fn restore(settings: Settings, view: View, next_id: u32, now: Timestamp) -> Self {
        let until = now + settings.lease;
        let lease = |agent: &Agent| (agent.id, Lease { until, process: Process::default() });
        let leases = view.agents.iter().map(lease).collect();
        let beyond = view.agents.iter().map(|agent| agent.id.0 + 1).max().unwrap_or(1);
        Self { settings, view, leases, next_id: next_id.max(beyond), now }
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

    /// When the next lease runs out: a [`Event::Tick`] is due then.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Timestamp> {
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

    fn happen(&mut self, event: &Event) -> Result<Option<Effect>, Refusal> {
        match *event {
            Event::Join { id, process, ref name, weight } => self.join(id, process, name, weight),
            Event::Heartbeat { id, process } => self.heartbeat(id, process),
            Event::Drain { id } => self.drain(id),
            Event::Leave { id, process } => self.leave(id, process),
            Event::Forget { id } => self.forget(id),
            Event::Tick => Ok(None),
        }
    }

    fn join(
        &mut self,
        id: Option<AgentId>,
        process: Process,
        name: &str,
        weight: u16,
    ) -> Result<Option<Effect>, Refusal> {
        if !(1..=WEIGHT_MAX).contains(&weight) {
            return Err(Refusal::BadWeight);
        }
        if name.is_empty() || name.len() > NAME_MAX {
            return Err(Refusal::BadName);
        }
        if self.view.agents.iter().any(|agent| agent.name == name && Some(agent.id) != id) {
            return Err(Refusal::NameTaken);
        }
        let agent = match id.and_then(|id| self.view.agent(id)) {
            Some(agent) => self.returning(agent, process, name, weight)?,
            None => self.newcomer(id, name, weight)?,
        };
        let id = agent.id;
        if self.view.agent(id) != Some(&agent) {
            self.view.agents.retain(|other| other.id != id);
            let place = self.view.agents.partition_point(|other| other.id < id);
            self.view.agents.insert(place, agent);
            self.view.epoch += 1;
        }
        Ok(Some(self.renew(id, process)))
    }

    /// A member that is back: it keeps its slot; one that was draining goes on draining.
    fn returning(
        &self,
        agent: &Agent,
        process: Process,
        name: &str,
        weight: u16,
    ) -> Result<Agent, Refusal> {
        if agent.weight != weight {
            return Err(Refusal::WeightChanged);
        }
        let state = match agent.state {
            AgentState::Dead => AgentState::Active,
            alive => {
                self.check_process(agent.id, process)?;
                alive
            }
        };
        Ok(Agent { id: agent.id, slot: agent.slot, name: name.to_owned(), weight, state })
    }

    /// A member never seen, or one that was forgotten and kept its id on its disk.
    fn newcomer(&mut self, id: Option<AgentId>, name: &str, weight: u16) -> Result<Agent, Refusal> {
        let slot = self.view.free_slot(weight).ok_or(Refusal::Full)?;
        let id = id.unwrap_or(AgentId(self.next_id));
        self.next_id = self.next_id.max(id.0.checked_add(1).ok_or(Refusal::Full)?);
        Ok(Agent { id, name: name.to_owned(), slot, weight, state: AgentState::Active })
    }

    fn heartbeat(&mut self, id: AgentId, process: Process) -> Result<Option<Effect>, Refusal> {
        self.alive(id)?;
        self.check_process(id, process)?;
        Ok(Some(self.renew(id, process)))
    }

    fn drain(&mut self, id: AgentId) -> Result<Option<Effect>, Refusal> {
        let agent = self.alive(id)?;
        if agent.state == AgentState::Active {
            if self.view.agents.iter().filter(|a| a.state == AgentState::Active).count() == 1 {
                return Err(Refusal::LastActive);
            }
            self.set_state(id, AgentState::Draining);
        }
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

    fn forget(&mut self, id: AgentId) -> Result<Option<Effect>, Refusal> {
        if self.view.agent(id).ok_or(Refusal::Unknown)?.state != AgentState::Dead {
            return Err(Refusal::Alive);
        }
        self.remove(id);
        Ok(None)
    }

    fn alive(&self, id: AgentId) -> Result<&Agent, Refusal> {
        let agent = self.view.agent(id).ok_or(Refusal::Unknown)?;
        if agent.state == AgentState::Dead { Err(Refusal::LeaseLost) } else { Ok(agent) }
    }

    fn check_process(&self, id: AgentId, process: Process) -> Result<(), Refusal> {
        match self.leases.get(&id) {
            Some(l) if l.process != process && l.process != Process::default() => {
                Err(Refusal::OtherProcess)
            }
            _ => Ok(()),
        }
    }

    fn renew(&mut self, id: AgentId, process: Process) -> Effect {
        let until = self.now + self.settings.lease;
        self.leases.insert(id, Lease { until, process });
        Effect::Lease { id, until, epoch: self.view.epoch }
    }

    fn remove(&mut self, id: AgentId) {
        self.view.agents.retain(|agent| agent.id != id);
        self.leases.remove(&id);
        self.view.epoch += 1;
    }

    fn set_state(&mut self, id: AgentId, state: AgentState) {
        for agent in self.view.agents.iter_mut().filter(|agent| agent.id == id) {
            agent.state = state;
            self.view.epoch += 1;
        }
    }

    /// Ends the leases that have run out: one new epoch for all of them.
    fn expire(&mut self) {
        let mut any = false;
        for agent in &mut self.view.agents {
            let over = self.leases.get(&agent.id).is_none_or(|lease| lease.until <= self.now);
            if over && agent.state != AgentState::Dead {
                agent.state = AgentState::Dead;
                any = true;
            }
        }
        self.view.epoch += u64::from(any);
    }
}

/// What came of an event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// To be carried out, in order.
    pub effects: Vec<Effect>,
    /// Why the event itself changed nothing.
    pub refusal: Option<Refusal>,
}

#[cfg(test)]
mod tests;
