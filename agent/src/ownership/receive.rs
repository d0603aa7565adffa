//! Handling of messages from other agents, and of completed work of this agent.

use super::{Effect, GroupRole, Ownership, OwnershipMessage, Role, RoleStore, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;

impl Ownership {
    /// Handles a message of `from` under the epoch in force.
    pub fn on_message(
        &mut self,
        from: AgentId,
        message: &OwnershipMessage,
        roles: &mut impl RoleStore,
        effects: &mut Vec<Effect>,
    ) {
        match message {
            OwnershipMessage::WillSend(groups) => {
                for &group in groups {
                    self.awaited.entry(group).or_default().insert(from);
                }
            }
            OwnershipMessage::HandoffDone => {
                self.brought.insert(from);
                self.handoff.request_scan();
            }
            OwnershipMessage::ScanDone => {
                self.scanned.insert(from);
            }
            OwnershipMessage::MayDropReplica(groups) => {
                let whole = |&&group: &&GroupHash| self.is_whole(group, roles);
                let groups: Vec<_> = groups.iter().filter(whole).copied().collect();
                for &group in &groups {
                    self.remove_in_sync(group, from, roles);
                }
                if !groups.is_empty() {
                    effects.push(Effect::Send {
                        to: from,
                        message: OwnershipMessage::DropReplica(groups),
                    });
                }
            }
            OwnershipMessage::DropReplica(groups) => {
                for &group in groups {
                    self.drop_copy(group, roles, effects);
                }
            }
        }
    }

    /// Handles the end of a transfer: all rows of the group have arrived from `from` under the
    /// epoch in force, and are stored.
    pub fn on_rows_received(
        &mut self,
        group: GroupHash,
        from: AgentId,
        end: TransferKind,
        roles: &mut impl RoleStore,
        effects: &mut Vec<Effect>,
    ) {
        match end {
            TransferKind::Handoff { authority, keeps } => {
                self.brought(group, from, authority, keeps, roles, effects);
            }
            TransferKind::Replica => self.copied(group, from, roles),
        }
    }

    fn brought(
        &mut self,
        group: GroupHash,
        from: AgentId,
        authority: bool,
        keeps: bool,
        roles: &mut impl RoleStore,
        effects: &mut Vec<Effect>,
    ) {
        if let Some(bringers) = self.awaited.get_mut(&group) {
            bringers.remove(&from);
            if bringers.is_empty() {
                self.awaited.remove(&group);
            }
        }
        let epoch = self.epoch();
        if !keeps {
            self.remove_in_sync(group, from, roles);
        }
        if authority {
            // Rows stored during this epoch were sent to all replicas; older rows were not.
            let fresh = roles
                .role(group)
                .is_none_or(|tag| tag.epoch == epoch && tag.role == Role::Pending { new: true });
            let in_sync = if keeps && fresh { vec![(from, epoch)] } else { Vec::new() };
            roles.set_role(group, Some(GroupRole { epoch, role: Role::Authority { in_sync } }));
        }
        // Replicates the group if it is complete and all other agents have scanned.
        if let Some(tag) = roles.role(group)
            && self.all_scanned()
        {
            self.copy_group(group, &tag, roles, effects);
        }
        self.handoff.request_scan();
    }

    fn copied(&mut self, group: GroupHash, from: AgentId, roles: &mut impl RoleStore) {
        let mine = roles.role(group).is_some_and(|tag| self.debt(group, &tag).is_some());
        if !mine {
            self.store_as_replica(group, from, roles);
        }
    }

    /// Returns true if all agents that should hold the group's rows do.
    fn is_whole(&self, group: GroupHash, roles: &impl RoleStore) -> bool {
        self.owner(group) == Some(self.me)
            && roles.role(group).is_some_and(|tag| {
                let in_sync = self.in_sync(&tag);
                self.is_authority(&tag)
                    && self.replicas(group).iter().all(|holder| in_sync.contains(holder))
            })
    }

    /// Removes an agent from `in_sync`: one that may drop its copy, before the permission is sent,
    /// or one that was not sent rows that were stored.
    pub fn remove_in_sync(&self, group: GroupHash, holder: AgentId, roles: &mut impl RoleStore) {
        if let Some(tag) = roles.role(group) {
            self.keep_in_sync(group, tag, |id| id != holder, roles);
        }
    }

    fn drop_copy(
        &mut self,
        group: GroupHash,
        roles: &mut impl RoleStore,
        effects: &mut Vec<Effect>,
    ) {
        let is_copy = roles.role(group).is_some_and(|tag| matches!(tag.role, Role::Replica { .. }));
        if is_copy && !self.replica_set(group).contains(&self.me) {
            roles.set_role(group, None);
            effects.push(Effect::Delete(group));
        }
    }

    /// Handles the end of a drain: no visit to the group is in flight, and the links of its pages
    /// are safe.
    ///
    /// The authority is given up here, before the rows are sent: the message that transfers it may
    /// be lost, and then no agent has the authority until all have scanned again.
    pub fn on_drained(
        &mut self,
        group: GroupHash,
        roles: &mut impl RoleStore,
        effects: &mut Vec<Effect>,
    ) {
        if !self.handoff.leaving.contains(&group) {
            return;
        }
        let Some(tag) = roles.role(group) else { return };
        if let Some((to, authority)) = self.debt(group, &tag) {
            let role = Role::Pending { new: false };
            roles.set_role(group, Some(GroupRole { epoch: self.epoch(), role }));
            self.transfer(group, to, self.handover(group, authority), effects);
        }
    }

    /// Handles the acknowledgement of a transfer: `to` and its replicas have stored all rows of the
    /// group, and all later changes.
    pub fn on_transferred(
        &mut self,
        group: GroupHash,
        to: AgentId,
        roles: &mut impl RoleStore,
        effects: &mut Vec<Effect>,
    ) {
        if !self.handoff.transfers.remove(&(group, to)) {
            return;
        }
        let Some(tag) = roles.role(group) else { return };
        let epoch = self.epoch();
        if self.owner(group) == Some(self.me) {
            if let Role::Authority { mut in_sync } = tag.role {
                in_sync.retain(|&(id, _)| id != to);
                in_sync.push((to, epoch));
                let role = Role::Authority { in_sync };
                roles.set_role(group, Some(GroupRole { role, ..tag }));
            }
            return;
        }
        self.handoff.leaving.remove(&group);
        if self.replica_set(group).contains(&self.me) {
            roles
                .set_role(group, Some(GroupRole { epoch, role: Role::Replica { from: vec![to] } }));
        } else {
            roles.set_role(group, None);
            effects.push(Effect::Delete(group));
        }
    }
}
