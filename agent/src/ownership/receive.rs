//! Handling of messages from other agents, and of completed work of this agent.

use super::{Ownership, OwnershipDecision};
use crate::messages::{OwnershipMessage, Role, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;

impl Ownership {
    /// Handles a message of `from` under the epoch in force.
    pub fn on_message(
        &mut self,
        from: AgentId,
        message: &OwnershipMessage,
        decision: &mut OwnershipDecision<'_>,
    ) {
        match message {
            // An agent announces nothing after its scan. A message that comes again, because its
            // acknowledgement was lost, may name groups that have arrived since.
            OwnershipMessage::WillSend(_) if self.handoff.scanned.contains(&from) => {}
            OwnershipMessage::WillSend(groups) => {
                for &group in groups {
                    self.handoff.awaited.entry(group).or_default().insert(from);
                }
            }
            OwnershipMessage::HandoffDone => {
                self.handoff.delivered.insert(from);
                self.handoff.again = true;
            }
            OwnershipMessage::ScanDone => {
                self.handoff.scanned.insert(from);
            }
            OwnershipMessage::MayDropReplica(groups) => {
                let whole = |&&group: &&GroupHash| self.is_whole(group, decision);
                let groups: Vec<_> = groups.iter().filter(whole).copied().collect();
                for &group in &groups {
                    self.remove_in_sync(group, from, decision);
                }
                if !groups.is_empty() {
                    decision.send(from, OwnershipMessage::DropReplica(groups));
                }
            }
            OwnershipMessage::DropReplica(groups) => {
                for &group in groups {
                    let role = decision.role(group).map(|tag| tag.role);
                    let is_copy = matches!(role, Some(Role::Replica { .. }));
                    if is_copy && !self.replica_set(group).contains(&self.me) {
                        decision.delete(group);
                    }
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
        decision: &mut OwnershipDecision<'_>,
    ) {
        let TransferKind::Handoff { authority, keeps } = end else {
            let mine = decision.role(group).is_some_and(|tag| self.debt(group, &tag).is_some());
            if !mine {
                self.store_as_replica(group, from, decision);
            }
            return;
        };
        if let Some(bringers) = self.handoff.awaited.get_mut(&group) {
            bringers.remove(&from);
            if bringers.is_empty() {
                self.handoff.awaited.remove(&group);
            }
        }
        let epoch = self.epoch();
        if !keeps {
            self.remove_in_sync(group, from, decision);
        }
        if authority {
            // Rows stored during this epoch were sent to all replicas; older rows were not.
            let fresh = decision
                .role(group)
                .is_none_or(|tag| tag.epoch == epoch && tag.role == Role::Pending { new: true });
            let in_sync = if keeps && fresh { vec![(from, epoch)] } else { Vec::new() };
            decision.set_role(group, epoch, Role::Authority { in_sync });
        }
        // Replicates the group if it is complete and all other agents have scanned.
        if let Some(tag) = decision.role(group)
            && self.all_scanned()
        {
            self.copy_group(group, &tag, decision);
        }
        self.handoff.again = true;
    }

    /// Returns true if all agents that should hold the group's rows do.
    fn is_whole(&self, group: GroupHash, decision: &mut OwnershipDecision<'_>) -> bool {
        self.owner(group) == Some(self.me)
            && decision.role(group).is_some_and(|tag| {
                self.is_authority(&tag)
                    && self.replicas(group).iter().all(|&holder| self.has_all_rows(holder, &tag))
            })
    }

    /// Removes an agent from `in_sync`: one that may drop its copy, before the permission is sent,
    /// or one that was not sent rows that were stored.
    pub fn remove_in_sync(
        &self,
        group: GroupHash,
        holder: AgentId,
        decision: &mut OwnershipDecision<'_>,
    ) {
        if let Some(tag) = decision.role(group) {
            self.keep_in_sync(group, tag, |id| id != holder, decision);
        }
    }

    /// Handles the end of a drain: no visit to the group is in flight, and the links of its pages
    /// are safe.
    ///
    /// The authority is given up here, before the rows are sent: the message that transfers it may
    /// be lost, and then no agent has the authority until all have scanned again.
    pub fn on_drained(&mut self, group: GroupHash, decision: &mut OwnershipDecision<'_>) {
        if !self.handoff.leaving.contains(&group) {
            return;
        }
        let Some(tag) = decision.role(group) else { return };
        if let Some((to, authority)) = self.debt(group, &tag) {
            decision.set_role(group, self.epoch(), Role::Pending { new: false });
            self.transfer(group, to, self.handover(group, authority), decision);
        }
    }

    /// Handles the acknowledgement of a transfer: `to` and its replicas have stored all rows of the
    /// group, and all later changes.
    pub fn on_transferred(
        &mut self,
        group: GroupHash,
        to: AgentId,
        decision: &mut OwnershipDecision<'_>,
    ) {
        if !self.handoff.transfers.remove(&(group, to)) {
            return;
        }
        let Some(tag) = decision.role(group) else { return };
        let epoch = self.epoch();
        if self.owner(group) == Some(self.me) {
            if let Role::Authority { mut in_sync } = tag.role {
                in_sync.retain(|&(id, _)| id != to);
                in_sync.push((to, epoch));
                decision.set_role(group, tag.epoch, Role::Authority { in_sync });
            }
            return;
        }
        self.handoff.leaving.remove(&group);
        // Agents that have not scanned may still count on the rows of this agent.
        if self.replica_set(group).contains(&self.me) || !self.all_scanned() {
            decision.set_role(group, epoch, Role::Replica { from: vec![to] });
        } else {
            decision.delete(group);
        }
    }
}
