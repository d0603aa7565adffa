//! Bookkeeping of copies: dead members that may hold the only copy.
//!
//! Two things can make a dead member the only one. It may have been the only active member, and not
//! have copied its groups since (*unreplicated*). Or so many members died, before the living ones had
//! replicated all their groups again, that all holders of a group may be among them (*uncovered*
//! deaths, as many as holders). A group has as many holders as `replication` says, or all active
//! members if there are fewer, until they are more and have copied it.

use super::{Death, FewHolders, MemberRefusal, Members};
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
            for agent in keepers {
                // Otherwise it has to copy what fewer agents held.
                let before = self.unreplicated.get(&agent.id);
                if before.is_none_or(|few| few.holders >= active_count) {
                    let few = FewHolders { epoch, holders: active_count.max(1) };
                    self.unreplicated.insert(agent.id, few);
                }
            }
        }
    }

    /// Applies what a member has reported about its copies.
    pub(super) fn on_copies_reported(&mut self, id: AgentId) {
        let (active_count, newest) = (self.active_count(), self.view.epoch);
        if let (Some(lease), Some(&few)) = (self.leases.get(&id), self.unreplicated.get(&id))
            && active_count > few.holders
        {
            let since = lease.report.settled_epoch.max(lease.report.copied_since);
            let holders = match since {
                // All that are active now hold its groups.
                _ if since >= newest => active_count,
                _ if since > few.epoch => few.holders + 1,
                _ => few.holders,
            };
            if holders >= self.rules.replication {
                self.unreplicated.remove(&id);
            } else if holders > few.holders {
                let epoch = newest.saturating_sub(1);
                self.unreplicated.insert(id, FewHolders { epoch, holders });
            }
        }
        self.cover_deaths();
    }

    /// Returns the epoch since which a member must have checked all its copies, so that it no longer
    /// counts as unreplicated; 0 if it need not.
    pub fn copies_wanted(&self, id: AgentId) -> u64 {
        let few = self.unreplicated.get(&id).filter(|few| self.active_count() > few.holders);
        few.map_or(0, |few| few.epoch + 1)
    }

    /// Records which deaths are covered: all living members have fully replicated their groups since
    /// the last of them. Where all holders of a group may be dead, none of the deaths is covered.
    pub(super) fn cover_deaths(&mut self) {
        let uncovered = self.uncovered();
        if uncovered.is_empty() || self.may_lack_holders(&uncovered) {
            return;
        }
        let last = uncovered.iter().filter_map(|id| self.deaths.get(id)).map(|death| death.epoch);
        let last = last.max().unwrap_or_default();
        if self.view.living().next().is_some() && self.copying_since(last).is_empty() {
            self.deaths.values_mut().for_each(|death| death.covered = true);
        }
    }

    /// Returns true if all holders of a group may be among these dead members.
    pub(super) fn may_lack_holders(&self, uncovered: &[AgentId]) -> bool {
        let holders = uncovered.iter().filter_map(|id| self.deaths.get(id)?.holders);
        let fewest = holders.min().unwrap_or(self.rules.replication).max(1);
        uncovered.len() >= fewest
    }

    /// Returns the dead members whose death is not covered.
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

    /// Records a death in the view in force, while the member still counts as active there.
    pub(super) fn on_death(&mut self, id: AgentId) {
        // Data that it alone has is marked apart.
        let few = self.unreplicated.get(&id).map(|few| few.holders).filter(|&n| n > 1);
        let holders = few.unwrap_or(self.rules.replication).min(self.rules.replication);
        let death = Death { epoch: self.view.epoch, covered: false, holders: Some(holders) };
        self.deaths.insert(id, death);
    }

    /// Returns true if a member may be the only one with some data.
    pub(super) fn is_only_holder(&self, id: AgentId) -> bool {
        self.unreplicated.get(&id).is_some_and(|few| few.holders <= 1)
    }

    /// Checks that the removal of a dead member loses nothing.
    pub(super) fn check_removal(&self, id: AgentId) -> Result<(), MemberRefusal> {
        let death = self.deaths.get(&id).copied().unwrap_or_default();
        if self.view.agent(id).is_some_and(|agent| agent.unreplicated) {
            return Err(MemberRefusal::OnlyCopy);
        }
        match death.covered {
            true => Ok(()),
            false if self.may_lack_holders(&self.uncovered()) => Err(MemberRefusal::OnlyCopy),
            false => Err(MemberRefusal::StillCopying),
        }
    }
}
