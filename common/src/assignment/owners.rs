//! The owners of groups in one view: a strategy, the agents' states, and a memory for the owners
//! of groups seen lately, so that a link costs no full computation.

use super::{Consistent, MinHash, Permutation, Strategy, StrategyKind};
use crate::hash::GroupHash;
use crate::view::{Agent, AgentId, AgentState, SLOTS, View, ViewError};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Owners that are remembered: 512 KiB.
const REMEMBERED: u64 = 1 << 16;
const _: () = assert!((SLOTS as u64) < REMEMBERED);

/// Who owns which group, for one view. A new view makes new owners.
#[derive(Debug)]
pub struct Owners {
    view: Arc<View>,
    table: Table,
    /// The position of the only active agent.
    sole: Option<usize>,
    /// At the group's low 16 bits: its other bits, and one plus the owner's position in place of
    /// those 16; 0 for nothing.
    memory: Box<[AtomicU64]>,
}

#[derive(Debug)]
enum Table {
    Permutation(Permutation),
    MinHash(MinHash),
    Consistent(Consistent),
}

impl Owners {
    /// The owners in `view`.
    ///
    /// # Errors
    /// When the view does not pass [`View::check`].
    pub fn new(strategy: StrategyKind, view: Arc<View>) -> Result<Self, ViewError> {
        view.check()?;
        let table = match strategy {
            StrategyKind::Permutation => Table::Permutation(Permutation::new(&view)),
            StrategyKind::MinHash => Table::MinHash(MinHash::new(&view)),
            StrategyKind::Consistent => Table::Consistent(Consistent::new(&view)),
        };
        let mut active = (0..view.agents.len()).filter(|&at| is_active(&view.agents[at]));
        let sole = active.next().filter(|_| active.next().is_none());
        let remembered = if sole.is_some() { 0 } else { REMEMBERED };
        let memory = (0..remembered).map(|_| AtomicU64::new(0)).collect();
        Ok(Self { view, table, sole, memory })
    }

    /// The view these are the owners of.
    #[must_use]
    pub const fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// The agent that crawls `group`; `None` when no agent is active.
    #[must_use]
    pub fn owner(&self, group: GroupHash) -> Option<AgentId> {
        if let Some(sole) = self.sole {
            return Some(self.view.agents[sole].id);
        }
        let low = REMEMBERED - 1;
        let place = usize::try_from(group.0 & low).ok().and_then(|at| self.memory.get(at))?;
        let entry = place.load(Ordering::Relaxed);
        let remembered = (entry & !low == group.0 & !low)
            .then(|| usize::try_from(entry & low).ok()?.checked_sub(1))
            .flatten();
        let at = match remembered {
            Some(at) => at,
            None => {
                let at = self.first(group, is_active)?;
                place.store(group.0 & !low | (at as u64 + 1), Ordering::Relaxed);
                at
            }
        };
        self.view.agents.get(at).map(|a| a.id)
    }

    /// The owner and the holders of copies: the first `replication` active agents in the order,
    /// fewer when there are not so many.
    #[must_use]
    pub fn holders(&self, group: GroupHash, replication: usize) -> Vec<AgentId> {
        let active = |id: &AgentId| self.view.agent(*id).is_some_and(is_active);
        self.order(group).filter(active).take(replication).collect()
    }

    /// The first agent in the order that `accept` takes. With `accept` the agents that were
    /// active before a change, this is who owned the group then.
    #[must_use]
    pub fn owner_among(
        &self,
        group: GroupHash,
        accept: impl Fn(&Agent) -> bool,
    ) -> Option<AgentId> {
        self.first(group, accept).map(|at| self.view.agents[at].id)
    }

    /// All known agents in the group's order, whatever their state; worked out as far as it is
    /// asked for.
    pub fn order(&self, group: GroupHash) -> impl Iterator<Item = AgentId> + '_ {
        let positions: Box<dyn Iterator<Item = usize> + '_> = match &self.table {
            Table::Permutation(table) => Box::new(table.order(group)),
            Table::MinHash(table) => Box::new(table.order(group)),
            Table::Consistent(table) => Box::new(table.order(group)),
        };
        positions.map(|at| self.view.agents[at].id)
    }

    #[cfg(test)]
    pub(super) fn memory_is_empty(&self) -> bool {
        self.memory.is_empty()
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
