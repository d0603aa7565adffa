//! Copies: which dead members may be the only ones that have some data.
//!
//! Two things can make a dead member the only one. It may have been active while there were fewer
//! active members than replicas, and not have copied its groups since (*unreplicated*). Or so many
//! members died, before the living ones had replicated all their groups again, that all holders of a
//! group may be among them (*uncovered* deaths, as many as replicas).

use super::{Death, MemberRefusal, Members};
use crivello_common::view::{AgentId, AgentState};

impl Members {
    /// Marks members that own groups while there are fewer active members than replicas.
    pub(super) fn mark_unreplicated(&mut self) {
        let active_count = self.active_count();
        if active_count < self.rules.replication {
            // While no member owns groups, each keeps the URLs that it finds.
            let keeps = |state| state == AgentState::Active || active_count == 0;
            let keepers = self.view.living().filter(|agent| keeps(agent.state));
            let epoch = self.view.epoch;
            self.unreplicated.extend(keepers.map(|agent| (agent.id, epoch)));
        }
    }

    /// Applies what a member has reported about its copies.
    pub(super) fn on_copies_reported(&mut self, id: AgentId) {
        if self.active_count() < self.rules.replication {
            return self.cover_deaths();
        }
        if let (Some(lease), Some(&alone)) = (self.leases.get(&id), self.unreplicated.get(&id))
            && lease.report.settled_epoch.max(lease.report.copied_since) > alone
        {
            self.unreplicated.remove(&id);
        }
        self.cover_deaths();
    }

    /// Returns the epoch since which a member must have checked all its copies, so that it no longer
    /// counts as unreplicated; 0 if it need not.
    #[must_use]
    pub fn copies_wanted(&self, id: AgentId) -> u64 {
        match self.unreplicated.get(&id) {
            Some(alone) if self.active_count() >= self.rules.replication => alone + 1,
            _ => 0,
        }
    }

    /// Records which deaths are covered: all living members have fully replicated their groups since
    /// the last of them. Where all holders of a group may be dead, none of the deaths is covered.
    pub(super) fn cover_deaths(&mut self) {
        let uncovered = self.uncovered();
        if uncovered.is_empty() || uncovered.len() >= self.rules.replication {
            return;
        }
        let last = uncovered.iter().filter_map(|id| self.deaths.get(id)).map(|death| death.epoch);
        let last = last.max().unwrap_or_default();
        if self.view.living().next().is_some() && self.copying_since(last).is_empty() {
            self.deaths.values_mut().for_each(|death| death.covered = true);
        }
    }

    /// Returns the dead members whose death is not covered.
    #[must_use]
    pub fn uncovered(&self) -> Vec<AgentId> {
        let deaths = self.deaths.iter().filter(|(_, death)| !death.covered);
        deaths.map(|(&id, _)| id).collect()
    }

    /// Returns the living members that have not fully replicated their groups since this epoch.
    pub(super) fn copying_since(&self, epoch: u64) -> Vec<AgentId> {
        let settled = |id| self.leases.get(&id).map_or(0, |lease| lease.report.settled_epoch);
        let living = self.view.living().map(|agent| agent.id);
        living.filter(|&id| settled(id) < epoch).collect()
    }

    /// Records a death in the view in force.
    pub(super) fn on_death(&mut self, id: AgentId) {
        self.deaths.insert(id, Death { epoch: self.view.epoch, covered: false });
    }

    /// Checks that the removal of a dead member loses nothing.
    pub(super) fn check_removal(&self, id: AgentId) -> Result<(), MemberRefusal> {
        let death = self.deaths.get(&id).copied().unwrap_or_default();
        if self.view.agent(id).is_some_and(|agent| agent.unreplicated) {
            return Err(MemberRefusal::OnlyCopy);
        }
        match death.covered {
            true => Ok(()),
            false if self.uncovered().len() >= self.rules.replication => {
                Err(MemberRefusal::OnlyCopy)
            }
            false => Err(MemberRefusal::StillCopying),
        }
    }
}
