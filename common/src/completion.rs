//! Detection that a cluster is done: nothing is queued, in flight, in an outbox or in a handoff.
//!
//! Agents are polled one after another while they exchange work. An agent can therefore report that
//! it is idle while its work is at an agent polled earlier, or on the wire. Two rounds decide: an
//! agent that reports `idle` with the same `work` in both did nothing between its two replies. The
//! end of the first round lies between the two replies of every agent, so at that moment all agents
//! were idle at once. Nothing was on the wire either: a message stays in the sender's outbox until
//! the receiver has stored it, and a sender with a non-empty outbox is not idle. If no agent has
//! work and none is on the wire, new work can only come from outside.

use crate::view::{AgentId, AgentState, View};
use std::collections::BTreeMap;

/// The reply of an agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AgentReply {
    /// Id of the agent's process. A new process counts its work from 0.
    pub process: u64,
    /// Epoch of the view in force there.
    pub epoch: u64,
    /// True if the agent has nothing to do, nothing unacknowledged and nothing in transit.
    pub idle: bool,
    /// Counter that increases whenever the agent receives (before it acknowledges), sends or works.
    pub work: u64,
}

/// Replies of all agents of a view. A round must end before the next begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Round {
    /// Epoch of the view.
    pub epoch: u64,
    /// Number of agents that hold each URL.
    pub replication: u32,
    /// Replies of the living agents; `None` for an agent that did not reply.
    pub alive: BTreeMap<AgentId, Option<AgentReply>>,
    /// Dead agents since whose death the living ones have not fully replicated all groups.
    pub uncovered: Vec<AgentId>,
    /// Dead agents that may hold data that no other agent has.
    pub unreplicated: Vec<AgentId>,
}

impl Round {
    /// Creates an empty round under `view`. `uncovered` holds the dead agents that the coordinator
    /// lists as such.
    #[must_use]
    pub fn of(view: &View, uncovered: &[AgentId]) -> Self {
        let is_dead = |state| state == AgentState::Dead;
        let dead = |id: &AgentId| view.agent(*id).is_some_and(|agent| is_dead(agent.state));
        let uncovered = uncovered.iter().copied().filter(dead).collect();
        let alive = view.agents.iter().filter(|a| !is_dead(a.state)).map(|a| (a.id, None));
        let lost = view.agents.iter().filter(|a| is_dead(a.state) && a.unreplicated);
        let unreplicated = lost.map(|a| a.id).collect();
        Self { epoch: view.epoch, replication: 1, alive: alive.collect(), uncovered, unreplicated }
    }
}

/// The reason why a cluster is not known to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotDone {
    /// No agent is alive.
    NoAgents,
    /// This agent did not reply.
    NoReply(AgentId),
    /// This agent uses another view.
    OtherView(AgentId),
    /// These agents are dead and may have held data that no other agent has: either as many died as
    /// hold each URL, before the others had replicated all groups again, or not all of their own data
    /// was replicated.
    DataUnavailable(Vec<AgentId>),
    /// Number of agents that have work.
    Working(usize),
    /// Something changed since the last round, or there was none.
    Changed,
}

/// Checks that the cluster was done at the end of `before`, the round before `now`.
///
/// # Errors
/// Returns the reason why that is not known.
pub fn is_done(before: Option<&Round>, now: &Round) -> Result<(), NotDone> {
    if now.alive.is_empty() {
        return Err(NotDone::NoAgents);
    }
    if now.uncovered.len() >= now.replication.max(1) as usize {
        return Err(NotDone::DataUnavailable(now.uncovered.clone()));
    }
    if !now.unreplicated.is_empty() {
        return Err(NotDone::DataUnavailable(now.unreplicated.clone()));
    }
    for (&id, reply) in &now.alive {
        match reply {
            None => return Err(NotDone::NoReply(id)),
            Some(reply) if reply.epoch != now.epoch => return Err(NotDone::OtherView(id)),
            Some(_) => {}
        }
    }
    match now.alive.values().flatten().filter(|reply| !reply.idle).count() {
        0 if before == Some(now) => Ok(()),
        0 => Err(NotDone::Changed),
        working => Err(NotDone::Working(working)),
    }
}

#[cfg(test)]
mod tests;
