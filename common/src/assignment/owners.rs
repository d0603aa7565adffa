//! Owners of groups in one view: the strategy, the states of the agents, and a cache of recent
//! owners, so that most links need no full computation.

use super::{Consistent, MinHash, Permutation, Strategy, StrategyKind};
use crate::hash::GroupHash;
use crate::view::{Agent, AgentId, AgentState, SLOTS, View, ViewError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Number of entries in the cache, which takes 512 KiB.
const CACHED: u64 = 1 << 16;
const _: () = assert!((SLOTS as u64) < CACHED);

/// The owners of all groups in one view.
#[derive(Debug)]
pub struct Owners {
    view: Arc<View>,
    table: Table,
    /// Index of the only active agent.
    sole: Option<usize>,
    /// Cache, indexed by the group's low 16 bits. An entry has the group's other bits and, in its
    /// low 16 bits, one plus the index of the owner. 0 is an empty entry.
    pub(super) cache: Box<[AtomicU64]>,
}

#[derive(Debug)]
enum Table {
    Permutation(Permutation),
    MinHash(MinHash),
    Consistent(Consistent),
}

impl Owners {
    /// Computes the owners in `view`.
    ///
    /// # Errors
    /// Fails if the view does not pass [`View::check`].
    pub fn new(strategy: StrategyKind, view: Arc<View>) -> Result<Self, ViewError> {
        view.check()?;
        let table = match strategy {
            StrategyKind::Permutation => Table::Permutation(Permutation::new(&view)),
            StrategyKind::MinHash => Table::MinHash(MinHash::new(&view)),
            StrategyKind::Consistent => Table::Consistent(Consistent::new(&view)),
        };
        let mut active = (0..view.agents.len()).filter(|&at| is_active(&view.agents[at]));
        let sole = active.next().filter(|_| active.next().is_none());
        let cached = if sole.is_some() { 0 } else { CACHED };
        let cache = (0..cached).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { view, table, sole, cache })
    }

    /// Returns the view.
    pub const fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// Returns the agent that owns `group`; `None` if no agent is active.
    pub fn owner(&self, group: GroupHash) -> Option<AgentId> {
        if let Some(sole) = self.sole {
            return Some(self.view.agents[sole].id);
        }
        let low = CACHED - 1;
        let slot = usize::try_from(group.0 & low).ok().and_then(|at| self.cache.get(at))?;
        let entry = slot.load(Ordering::Relaxed);
        let cached = (entry & !low == group.0 & !low)
            .then(|| usize::try_from(entry & low).ok()?.checked_sub(1))
            .flatten();
        let at = match cached {
            Some(at) => at,
            None => {
                let at = self.first(group, is_active)?;
                slot.store(group.0 & !low | (at as u64 + 1), Ordering::Relaxed);
                at
            }
        };
        self.view.agents.get(at).map(|a| a.id)
    }

    /// Returns the owner and the agents with replicas: the first `replication` active agents in the
    /// order, or all if there are fewer.
    pub fn replica_set(&self, group: GroupHash, replication: usize) -> Vec<AgentId> {
        let active = |id: &AgentId| self.view.agent(*id).is_some_and(is_active);
        self.order(group).filter(active).take(replication).collect()
    }

    /// Returns the first agent in the order that `accept` accepts. If `accept` accepts the agents
    /// that were active before a change, the result is the owner at that time.
    pub fn owner_among(
        &self,
        group: GroupHash,
        accept: impl Fn(&Agent) -> bool,
    ) -> Option<AgentId> {
        self.first(group, accept).map(|at| self.view.agents[at].id)
    }

    /// Returns all known agents in the group's order, regardless of their state. The order is
    /// computed lazily.
    pub fn order(&self, group: GroupHash) -> impl Iterator<Item = AgentId> + '_ {
        let positions: Box<dyn Iterator<Item = usize> + '_> = match &self.table {
            Table::Permutation(table) => Box::new(table.order(group)),
            Table::MinHash(table) => Box::new(table.order(group)),
            Table::Consistent(table) => Box::new(table.order(group)),
        };
        positions.map(|at| self.view.agents[at].id)
    }

    fn first(&self, group: GroupHash, accept: impl Fn(&Agent) -> bool) -> Option<usize> {
        let accept = |at: usize| self.view.agents.get(at).is_some_and(&accept);
        match &self.table {
            Table::Permutation(table) => table.first(group, accept),
            Table::MinHash(table) => table.first(group, accept),
            Table::Consistent(table) => table.first(group, accept),
        }
    }
}

fn is_active(agent: &Agent) -> bool {
    agent.state == AgentState::Active
}
