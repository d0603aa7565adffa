//! When a cluster is done: nothing queued, in flight, in an outbox or in a handoff anywhere.
//!
//! Agents are asked one after the other while they send each other work, so each may say that it
//! is idle at a moment when its work is with one that was asked before, or on the wire. Two rounds
//! tell: whoever says `idle` with the same `work` in both did nothing from its first answer to its
//! second. The end of the first round lies within that time for all of them; so at that moment all
//! were idle at once. Nothing was on the wire either: what is on its way is in its sender's outbox
//! until the receiver has taken it in, and a sender with something in its outbox is not idle.
//! Where nobody has work and none is on its way, there never will be any, unless it comes from
//! outside.

use crate::view::{AgentId, AgentState, View};
use std::collections::BTreeMap;

/// What an agent says of itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Said {
    /// Which process it is: a new one counts its work from the beginning.
    pub process: u64,
    /// The view that it goes by.
    pub epoch: u64,
    /// It has nothing to do, nothing unacknowledged, and nothing on its way.
    pub idle: bool,
    /// Rises whenever it takes something in, before that is acknowledged, sends, or works.
    pub work: u64,
}

/// What was found when all agents of a view were asked. A round must have ended before the next
/// begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Round {
    /// Of the view.
    pub epoch: u64,
    /// So many agents are to hold each URL.
    pub replication: u32,
    /// Those alive; `None` for one that did not answer.
    pub alive: BTreeMap<AgentId, Option<Said>>,
    /// The others.
    pub dead: Vec<AgentId>,
    /// Of these, those that may have what nobody else has.
    pub alone: Vec<AgentId>,
}

impl Round {
    /// A round under `view`, in which nobody has answered yet.
    #[must_use]
    pub fn of(view: &View) -> Self {
        let is_dead = |state| state == AgentState::Dead;
        let dead = view.agents.iter().filter(|a| is_dead(a.state)).map(|a| a.id).collect();
        let alive = view.agents.iter().filter(|a| !is_dead(a.state)).map(|a| (a.id, None));
        let alone = view.agents.iter().filter(|a| is_dead(a.state) && a.alone).map(|a| a.id);
        let (alone, alive) = (alone.collect(), alive.collect());
        Self { epoch: view.epoch, replication: 1, alive, dead, alone }
    }
}

/// Why a cluster is not known to be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Busy {
    /// Nobody is there.
    Nobody,
    /// This agent did not answer.
    Silent(AgentId),
    /// This agent goes by another view.
    OtherEpoch(AgentId),
    /// These agents are dead, and nobody knows what only they have: they are as many as hold each
    /// URL, or had not yet copied what they had.
    Unknowable(Vec<AgentId>),
    /// So many agents have something to do.
    Working(usize),
    /// Something moved since the round before, or there was none.
    Moved,
}

/// Whether the cluster was done at the end of `before`, the round before `now`.
///
/// # Errors
/// Why that is not known.
pub fn is_done(before: Option<&Round>, now: &Round) -> Result<(), Busy> {
    if now.alive.is_empty() {
        return Err(Busy::Nobody);
    }
    if now.dead.len() >= now.replication.max(1) as usize {
        return Err(Busy::Unknowable(now.dead.clone()));
    }
    if !now.alone.is_empty() {
        return Err(Busy::Unknowable(now.alone.clone()));
    }
    for (&id, said) in &now.alive {
        match said {
            None => return Err(Busy::Silent(id)),
            Some(said) if said.epoch != now.epoch => return Err(Busy::OtherEpoch(id)),
            Some(_) => {}
        }
    }
    match now.alive.values().flatten().filter(|said| !said.idle).count() {
        0 if before == Some(now) => Ok(()),
        0 => Err(Busy::Moved),
        working => Err(Busy::Working(working)),
    }
}

#[cfg(test)]
mod tests;
