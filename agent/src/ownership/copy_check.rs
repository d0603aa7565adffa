//! Check that all groups are copied: one scan of all roles, which waits at each group until other
//! agents have its rows. It continues over changes of the view, because a group that other agents
//! have stays copied. So it ends also in a crawl that is busy all the time.

use super::{Ownership, OwnershipDecision};
use crate::messages::{GroupRole, Role};

/// Roles examined in one step.
const ROLES_A_STEP: usize = 256;

impl Ownership {
    /// Continues the check, if none that began in epoch `wanted` or later is complete. Returns the
    /// epoch in which the last complete check began: all groups that this agent had then have been
    /// copied to other agents since. Later rows are acknowledged only by copies.
    pub fn check_copies(&mut self, wanted: u64, decision: &mut OwnershipDecision<'_>) -> u64 {
        if self.copies.complete >= wanted || self.epoch() < wanted {
            return self.copies.complete;
        }
        if self.copies.began.is_none_or(|began| began < wanted) {
            (self.copies.began, self.copies.cursor) = (Some(self.epoch()), None);
        }
        let roles = decision.roles_after(self.copies.cursor, ROLES_A_STEP);
        let is_last = roles.len() < ROLES_A_STEP;
        for (group, tag) in roles {
            if !self.is_copied(&tag) {
                return self.copies.complete;
            }
            self.copies.cursor = Some(group);
        }
        if is_last {
            self.copies.complete = self.copies.began.take().unwrap_or_default();
        }
        self.copies.complete
    }

    /// Returns true if as many other agents as the replication requires have the rows of a group.
    fn is_copied(&self, tag: &GroupRole) -> bool {
        match &tag.role {
            Role::Authority { in_sync } => {
                let has_rows = |&&(id, _): &&(_, u64)| self.has_all_rows(id, tag);
                in_sync.iter().filter(has_rows).count() + 1 >= self.replication
            }
            Role::Pending { .. } => false,
            // The agents that sent the rows have them.
            Role::Replica { from } => from.iter().all(|&id| self.alive(id).is_some()),
        }
    }

    /// Returns true if this agent has announced in this epoch which groups it will send.
    pub fn has_scanned(&self) -> bool {
        self.handoff.has_scanned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_roles::Roles;
    use super::*;
    use crivello_common::config::Cluster;
    use crivello_common::hash::GroupHash;
    use crivello_common::time::Timestamp;
    use crivello_common::view::{Agent, AgentId, View};
    use std::sync::Arc;

    fn view(epoch: u64) -> Arc<View> {
        let mut view = View::of_one("1");
        view.epoch = epoch;
        view.agents[0].id = AgentId(1);
        let other =
            Agent { id: AgentId(2), name: "2".to_owned(), slot: 1, ..view.agents[0].clone() };
        view.agents.push(other);
        Arc::new(view)
    }

    fn group(n: u64) -> GroupHash {
        GroupHash(n)
    }

    /// The check waits at a group that is not copied, goes on over changes of the view, and does not
    /// look again at groups that were copied.
    #[test]
    fn the_check_ends_once_each_group_was_copied() {
        let mut ownership = Ownership::new(AgentId(1), &Cluster::default(), Timestamp::ZERO);
        let mut roles = Roles::default();
        let alone = |epoch| GroupRole { epoch, role: Role::Authority { in_sync: Vec::new() } };
        let copied = |epoch| {
            let in_sync = vec![(AgentId(2), epoch)];
            GroupRole { epoch, role: Role::Authority { in_sync } }
        };
        (1..=600).for_each(|n| drop(roles.0.insert(group(n), copied(2))));
        roles.0.insert(group(300), alone(1));
        let of_copy = |id| GroupRole { epoch: 2, role: Role::Replica { from: vec![AgentId(id)] } };
        roles.0.insert(group(700), of_copy(2));
        roles.0.insert(group(701), of_copy(9));
        ownership.on_view(view(2)).unwrap();
        let check = |ownership: &mut Ownership, roles: &mut Roles, wanted| {
            let mut since = 0;
            for _ in 0..10 {
                let mut decision = OwnershipDecision::new(roles);
                since = ownership.check_copies(wanted, &mut decision);
                let (changed, effects) = decision.finish().unwrap();
                assert!(changed.is_empty() && effects.is_empty());
            }
            since
        };
        assert_eq!(check(&mut ownership, &mut roles, 3), 0, "checked before the epoch began");
        assert_eq!(check(&mut ownership, &mut roles, 2), 0, "group 300 is only here");
        roles.0.insert(group(300), copied(2));
        ownership.on_view(view(3)).unwrap();
        assert_eq!(check(&mut ownership, &mut roles, 2), 0, "the source of group 701 is gone");
        // It was copied before, and is being copied to another agent under a later view.
        roles.0.insert(group(5), alone(3));
        roles.0.remove(&group(701));
        assert_eq!(check(&mut ownership, &mut roles, 2), 2);
        assert_eq!(check(&mut ownership, &mut roles, 2), 2);
        // The agent was alone again meanwhile.
        assert_eq!(check(&mut ownership, &mut roles, 3), 2, "group 5 is only here");
        roles.0.insert(group(5), copied(3));
        assert_eq!(check(&mut ownership, &mut roles, 3), 3);
    }
}
