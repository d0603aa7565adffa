//! Liveness: whose lease is renewed, and who is declared dead.
//!
//! The lease of a member is renewed only while its engines make progress, while it follows the
//! views, and while it reaches the other members. See [`MembershipRules`](super::MembershipRules)
//! for the bounds.

use super::{Lease, Members, ProcessId};
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState, RunState};
use std::collections::{BTreeMap, BTreeSet};

impl Members {
    /// Returns true if the lease of a member that has just reported may be renewed.
    pub(super) fn may_renew(&self, id: AgentId) -> bool {
        let Some(lease) = self.leases.get(&id) else { return false };
        let is_weaker_end = self.cut.weaker_end.is_some_and(|(member, _)| member == id);
        // Nobody could take its groups over.
        let is_alone = self.living().len() == 1;
        self.view.run == RunState::Stopping
            || is_alone
            || (lease.report.stalled < self.rules.stall_max()
                && !self.is_left_behind(id)
                && !is_weaker_end)
    }

    /// Returns true if a member has not followed the views for so long that the others go on without
    /// it.
    pub(super) fn is_left_behind(&self, id: AgentId) -> bool {
        let since = self.leases.get(&id).and_then(|lease| lease.behind_since);
        since.is_some_and(|since| self.now.since(since) >= self.rules.lag_max())
    }

    /// Renews a lease, and returns its end.
    pub(super) fn renew(&mut self, id: AgentId, process: ProcessId) -> Timestamp {
        let until = self.now + self.rules.lease;
        let lease = self.leases.entry(id).or_insert_with(|| Lease {
            until,
            process,
            reported_at: None,
            report: super::HeartbeatReport::default(),
            behind_since: Some(self.now),
            was_ready: false,
        });
        (lease.until, lease.process) = (until, process);
        until
    }

    /// Returns true if the lease of a living member is over.
    pub(super) fn is_silent(&self, id: AgentId) -> bool {
        self.view.run != RunState::Stopping
            && self.alive(id).is_ok()
            && self.leases.get(&id).is_none_or(|lease| lease.until <= self.now)
    }

    pub(super) fn has_reported_lately(&self, id: AgentId) -> bool {
        let reported_at = self.leases.get(&id).and_then(|lease| lease.reported_at);
        reported_at.is_some_and(|reported_at| self.now < reported_at + self.rules.lease / 2)
    }

    /// Declares all members dead whose leases have expired, in one new epoch: all of them or none,
    /// because no group is taken over while one of them counts as alive.
    pub(super) fn expire(&mut self) {
        self.conflict = None;
        if self.view.run == RunState::Stopping {
            return;
        }
        let living = self.living();
        let over: BTreeSet<AgentId> =
            living.iter().copied().filter(|&id| self.is_silent(id)).collect();
        if over.is_empty() {
            return;
        }
        let alive: BTreeSet<AgentId> = living.difference(&over).copied().collect();
        let survivors = alive.iter().copied().filter(|&id| self.has_reported_lately(id)).collect();
        let checked = self.usable.check(&alive, &survivors, self.now, self.rules.peer_lease);
        if let Err(conflict) = checked {
            self.conflict = Some(conflict);
            return;
        }
        self.view.epoch += 1;
        for &id in &over {
            self.on_death(id);
            self.exclude(id);
        }
        // With fewer holders than replicas, clients cannot tell that all of them are dead.
        let uncovered = self.uncovered();
        let lacks_holders =
            uncovered.len() < self.rules.replication && self.may_lack_holders(&uncovered);
        let only: BTreeSet<AgentId> = over
            .iter()
            .copied()
            .filter(|&id| self.is_only_holder(id))
            .chain(uncovered.into_iter().filter(|_| lacks_holders))
            .collect();
        for agent in &mut self.view.agents {
            if over.contains(&agent.id) {
                agent.state = AgentState::Dead;
            }
            agent.unreplicated |= only.contains(&agent.id);
        }
    }

    /// Finds links between members that do not work, and which member to exclude.
    pub(super) fn check_links(&mut self) {
        let is_current = |id: &AgentId| self.has_reported_lately(*id);
        let members: BTreeSet<AgentId> = self.living().into_iter().filter(is_current).collect();
        let mut broken = BTreeMap::new();
        for (&id, lease) in self.leases.iter().filter(|(id, _)| members.contains(id)) {
            let others = lease.report.unreachable.iter().filter(|other| members.contains(other));
            for &other in others.filter(|other| **other != id) {
                let link = (id.min(other), id.max(other));
                broken.insert(link, self.cut.since.get(&link).copied().unwrap_or(self.now));
            }
        }
        let limit = self.rules.cut_max();
        let old = broken.iter().filter(|&(_, &since)| self.now.since(since) >= limit);
        let old: Vec<(AgentId, AgentId)> = old.map(|(&link, _)| link).collect();
        let n_links = |id: AgentId| old.iter().filter(|link| link.0 == id || link.1 == id).count();
        // More broken links count first, then youth.
        let weakness = |id: AgentId| {
            let joined = self.view.agent(id).map_or(0, |agent| agent.joined_epoch);
            (n_links(id), joined, id)
        };
        let ends = old.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        self.cut.weaker_end = ends.max_by_key(|&(id, _)| weakness(id));
        self.cut.since = broken;
    }
}
