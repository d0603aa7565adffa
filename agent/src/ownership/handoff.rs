//! The handoff of an epoch: scan, handoff, replication. Each phase is one scan of all roles.

use super::handoff_state::Phase;
use super::{Effect, GroupRole, Ownership, OwnershipMessage, Role, RoleStore, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::time::Duration;

/// Maximum number of concurrent transfers; most groups are small, and each takes some round trips.
const TRANSFERS_MAX: usize = 256;
/// Maximum number of groups in one message.
const GROUPS_MAX: usize = 4_096;
/// Roles examined in one step.
const ROLES_A_STEP: usize = 1_024;
/// Pause between two scans of all roles, however often one is requested: a multiple of the last
/// scan's duration, clamped.
const SCAN_PAUSE_FACTOR: u32 = 4;
const SCAN_PAUSE_MIN: Duration = Duration::from_millis(50);
const SCAN_PAUSE_MAX: Duration = Duration::from_secs(2);

impl Ownership {
    /// Continues the handoff of this epoch as far as possible now. Returns true if anything was
    /// done.
    pub fn step(
        &mut self,
        roles: &mut impl RoleStore,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> bool {
        if self.myself().is_none() {
            return false;
        }
        // Roles read in an earlier step may have changed since.
        self.handoff.ahead.clear();
        match self.handoff.phase {
            Phase::Scan => self.scan(roles, effects),
            Phase::ReportScan => self.report_scan(now, effects),
            Phase::HandOver => self.hand_over(roles, effects),
            Phase::AwaitTransfers => self.report_handoff(effects),
            Phase::Replicate if self.all_scanned() => self.replicate(roles, now, effects),
            Phase::Done if self.handoff.again && now >= self.handoff.next_scan_at => {
                self.handoff.again = false;
                self.handoff.enter(Phase::Replicate);
                true
            }
            Phase::Replicate | Phase::Done => false,
        }
    }

    /// Returns the agent that must receive the group's rows, and whether the authority goes with
    /// them.
    pub(super) fn debt(&self, group: GroupHash, tag: &GroupRole) -> Option<(AgentId, bool)> {
        let owner = self.owner(group).filter(|&owner| owner != self.me)?;
        match tag.role {
            Role::Authority { .. } => Some((owner, self.is_authority(tag))),
            Role::Pending { .. } => Some((owner, false)),
            // Agents that are alive send their own rows, and these include all rows of this copy.
            Role::Replica { ref from } if from.iter().all(|&id| self.alive(id).is_some()) => None,
            Role::Replica { .. } => Some((owner, false)),
        }
    }

    fn scan(&mut self, roles: &impl RoleStore, effects: &mut Vec<Effect>) -> bool {
        for _ in 0..ROLES_A_STEP {
            let Some((group, tag)) = self.handoff.next_role(roles) else {
                let announcements = std::mem::take(&mut self.handoff.announcements);
                effects.extend(announcements.into_iter().map(|(to, groups)| will_send(to, groups)));
                self.handoff.enter(Phase::ReportScan);
                return true;
            };
            if let Some((owner, _)) = self.debt(group, &tag) {
                let groups = self.handoff.announcements.entry(owner).or_default();
                groups.push(group);
                if groups.len() == GROUPS_MAX {
                    effects.push(will_send(owner, std::mem::take(groups)));
                }
            }
        }
        true
    }

    /// Sends `ScanDone` once the peer leases of dead agents have expired: until then they may fetch.
    fn report_scan(&mut self, now: Timestamp, effects: &mut Vec<Effect>) -> bool {
        if !self.is_clear(now) {
            return false;
        }
        let scanned = |to| Effect::Send { to, message: OwnershipMessage::ScanDone };
        effects.extend(self.others().map(|agent| scanned(agent.id)));
        self.handoff.enter(Phase::HandOver);
        true
    }

    fn hand_over(&mut self, roles: &mut impl RoleStore, effects: &mut Vec<Effect>) -> bool {
        let mut done = false;
        for _ in 0..ROLES_A_STEP {
            if self.handoff.leaving.len() + self.handoff.transfers.len() >= TRANSFERS_MAX {
                return done;
            }
            let Some((group, tag)) = self.handoff.next_role(roles) else {
                self.handoff.enter(Phase::AwaitTransfers);
                return true;
            };
            done = true;
            let Some((to, _)) = self.debt(group, &tag) else { continue };
            if matches!(tag.role, Role::Replica { .. }) {
                self.transfer(group, to, self.handover(group, false), effects);
            } else {
                // The links of its pages must be safe before the group is sent.
                self.handoff.leaving.insert(group);
                effects.push(Effect::Drain(group));
            }
        }
        done
    }

    fn report_handoff(&mut self, effects: &mut Vec<Effect>) -> bool {
        if !self.handoff.leaving.is_empty() || !self.handoff.transfers.is_empty() {
            return false;
        }
        let brought = |to| Effect::Send { to, message: OwnershipMessage::HandoffDone };
        effects.extend(self.others().map(|agent| brought(agent.id)));
        self.handoff.enter(Phase::Replicate);
        true
    }

    pub(super) fn handover(&self, group: GroupHash, authority: bool) -> TransferKind {
        TransferKind::Handoff { authority, keeps: self.replica_set(group).contains(&self.me) }
    }

    pub(super) fn transfer(
        &mut self,
        group: GroupHash,
        to: AgentId,
        end: TransferKind,
        effects: &mut Vec<Effect>,
    ) {
        if self.handoff.transfers.insert((group, to)) {
            effects.push(Effect::Transfer { to, group, end });
        }
    }

    /// Takes over groups that can be taken over, replicates own groups, and asks whether copies
    /// that this agent need not hold may be dropped.
    fn replicate(
        &mut self,
        roles: &mut impl RoleStore,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> bool {
        if self.handoff.cursor.is_none() {
            self.handoff.scan_began = now;
        }
        let mut done = false;
        for _ in 0..ROLES_A_STEP {
            if self.handoff.transfers.len() >= TRANSFERS_MAX {
                return done;
            }
            let Some((group, tag)) = self.handoff.next_role(roles) else {
                let requests = std::mem::take(&mut self.handoff.drop_requests);
                effects.extend(requests.into_iter().map(|(to, groups)| may_drop(to, groups)));
                let took = now.since(self.handoff.scan_began).saturating_mul(SCAN_PAUSE_FACTOR);
                self.handoff.next_scan_at = now + took.clamp(SCAN_PAUSE_MIN, SCAN_PAUSE_MAX);
                self.handoff.enter(Phase::Done);
                return true;
            };
            done = true;
            match self.owner(group) {
                Some(owner) if owner == self.me => self.copy_group(group, &tag, roles, effects),
                Some(owner) => self.check_copy(group, tag, owner, roles, effects),
                None => {}
            }
        }
        done
    }

    /// Removes sources of a copy that have handed it off to its owner. Asks whether a copy that is
    /// not needed may be dropped.
    fn check_copy(
        &mut self,
        group: GroupHash,
        tag: GroupRole,
        owner: AgentId,
        roles: &mut impl RoleStore,
        effects: &mut Vec<Effect>,
    ) {
        let owed = self.debt(group, &tag).is_some();
        let Role::Replica { from: mut of } = tag.role else { return };
        let n_sources = of.len();
        of.retain(|id| *id == owner || !self.brought.contains(id));
        if of.is_empty() {
            of.push(owner);
        }
        if of.len() < n_sources {
            roles.set_role(
                group,
                Some(GroupRole { epoch: tag.epoch, role: Role::Replica { from: of } }),
            );
        }
        if !owed && !self.replica_set(group).contains(&self.me) {
            let groups = self.handoff.drop_requests.entry(owner).or_default();
            groups.push(group);
            if groups.len() == GROUPS_MAX {
                effects.push(may_drop(owner, std::mem::take(groups)));
            }
        }
    }

    pub(super) fn copy_group(
        &mut self,
        group: GroupHash,
        tag: &GroupRole,
        roles: &mut impl RoleStore,
        effects: &mut Vec<Effect>,
    ) {
        if !self.is_authority(tag) {
            if !self.may_take_over(group) {
                // Another agent will send the group; it is replicated then.
                return;
            }
            self.take_over(group, false, roles);
        }
        let Some(tag) = roles.role(group) else { return };
        let in_sync = self.in_sync(&tag);
        for &holder in self.replicas(group).iter() {
            if !in_sync.contains(&holder) {
                self.transfer(group, holder, TransferKind::Replica, effects);
            }
        }
    }

    /// Repeats questions that were not answered. Called from time to time.
    pub const fn ask_again(&mut self) {
        self.handoff.request_scan();
    }
}

fn will_send(to: AgentId, groups: Vec<GroupHash>) -> Effect {
    Effect::Send { to, message: OwnershipMessage::WillSend(groups) }
}

fn may_drop(to: AgentId, groups: Vec<GroupHash>) -> Effect {
    Effect::Send { to, message: OwnershipMessage::MayDropReplica(groups) }
}
