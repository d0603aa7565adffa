//! The handoff of an epoch: scan, handoff, replication. Each phase is one scan of all roles.

use super::{Effect, GroupRole, Ownership, OwnershipMessage, Role, RoleStore, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Maximum number of concurrent transfers; most groups are small, and each takes some round trips.
const TRANSFERS_MAX: usize = 256;
/// Maximum number of groups in one message.
const GROUPS_MAX: usize = 4_096;
/// Roles examined in one step.
const TAGS_A_STEP: usize = 1_024;
/// Roles read from the store at once.
const TAGS_AT_ONCE: usize = 64;
/// Pause between two scans of all roles, however often one is requested: a multiple of the last
/// scan's duration, clamped.
const WALK_PAUSE_FACTOR: u32 = 4;
const WALK_PAUSE_MIN: Duration = Duration::from_millis(50);
const WALK_PAUSE_MAX: Duration = Duration::from_secs(2);

/// Progress of an epoch's handoff.
#[derive(Debug, Default)]
pub(super) struct Handoff {
    phase: Phase,
    /// Last group examined.
    cursor: Option<GroupHash>,
    /// Roles read in this step and not yet examined.
    ahead: VecDeque<(GroupHash, GroupRole)>,
    /// Start of the current scan in phase `Copy`.
    walk_began: Timestamp,
    /// Time when the next such scan may begin.
    walk_at: Timestamp,
    holds: BTreeMap<AgentId, Vec<GroupHash>>,
    asks: BTreeMap<AgentId, Vec<GroupHash>>,
    /// Groups whose visits must end, and groups whose rows are being sent.
    pub(super) leaving: BTreeSet<GroupHash>,
    pub(super) transfers: BTreeSet<(GroupHash, AgentId)>,
    /// True if another scan is requested, for replicas or for copies that other agents want to
    /// drop.
    again: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Announce to new owners which groups they will receive.
    #[default]
    Scan,
    /// Send `ScanDone`.
    Say,
    /// Send the groups.
    HandOver,
    /// Wait until they have arrived, then send `HandoffDone`.
    Brought,
    /// Wait until all agents have scanned, then replicate the own groups.
    Copy,
    /// Wait until another scan is requested.
    Over,
}

impl Handoff {
    pub(super) fn has_scanned(&self) -> bool {
        !matches!(self.phase, Phase::Scan | Phase::Say)
    }

    pub(super) fn are_over(&self) -> bool {
        self.phase == Phase::Over && !self.again && self.transfers.is_empty()
    }

    pub(super) const fn rescan_schedule(&mut self) {
        self.again = true;
    }

    pub(super) fn is_leaving(&self, group: GroupHash) -> bool {
        self.leaving.contains(&group)
    }
}

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
            Phase::Say => self.say(now, effects),
            Phase::HandOver => self.hand_over(roles, effects),
            Phase::Brought => self.say_brought(effects),
            Phase::Copy if self.all_scanned() => self.copy(roles, now, effects),
            Phase::Over if self.handoff.again && now >= self.handoff.walk_at => {
                self.handoff.again = false;
                self.enter(Phase::Copy)
            }
            Phase::Copy | Phase::Over => false,
        }
    }

    fn next_tag(&mut self, roles: &impl RoleStore) -> Option<(GroupHash, GroupRole)> {
        if self.handoff.ahead.is_empty() {
            self.handoff.ahead = roles.roles_after(self.handoff.cursor, TAGS_AT_ONCE).into();
        }
        let next = self.handoff.ahead.pop_front()?;
        self.handoff.cursor = Some(next.0);
        Some(next)
    }

    fn enter(&mut self, phase: Phase) -> bool {
        self.handoff.cursor = None;
        self.handoff.phase = phase;
        true
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
        for _ in 0..TAGS_A_STEP {
            let Some((group, tag)) = self.next_tag(roles) else {
                let holds = std::mem::take(&mut self.handoff.holds);
                effects.extend(holds.into_iter().map(|(to, groups)| hold(to, groups)));
                return self.enter(Phase::Say);
            };
            if let Some((owner, _)) = self.debt(group, &tag) {
                let groups = self.handoff.holds.entry(owner).or_default();
                groups.push(group);
                if groups.len() == GROUPS_MAX {
                    effects.push(hold(owner, std::mem::take(groups)));
                }
            }
        }
        true
    }

    /// Sends `ScanDone` once the peer leases of dead agents have expired: until then they may fetch.
    fn say(&mut self, now: Timestamp, effects: &mut Vec<Effect>) -> bool {
        if !self.is_clear(now) {
            return false;
        }
        let scanned = |to| Effect::Send { to, message: OwnershipMessage::ScanDone };
        effects.extend(self.others().map(|agent| scanned(agent.id)));
        self.enter(Phase::HandOver)
    }

    fn hand_over(&mut self, roles: &mut impl RoleStore, effects: &mut Vec<Effect>) -> bool {
        let mut done = false;
        for _ in 0..TAGS_A_STEP {
            if self.handoff.leaving.len() + self.handoff.transfers.len() >= TRANSFERS_MAX {
                return done;
            }
            let Some((group, tag)) = self.next_tag(roles) else {
                return self.enter(Phase::Brought);
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

    fn say_brought(&mut self, effects: &mut Vec<Effect>) -> bool {
        if !self.handoff.leaving.is_empty() || !self.handoff.transfers.is_empty() {
            return false;
        }
        let brought = |to| Effect::Send { to, message: OwnershipMessage::HandoffDone };
        effects.extend(self.others().map(|agent| brought(agent.id)));
        self.enter(Phase::Copy)
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
    fn copy(
        &mut self,
        roles: &mut impl RoleStore,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> bool {
        if self.handoff.cursor.is_none() {
            self.handoff.walk_began = now;
        }
        let mut done = false;
        for _ in 0..TAGS_A_STEP {
            if self.handoff.transfers.len() >= TRANSFERS_MAX {
                return done;
            }
            let Some((group, tag)) = self.next_tag(roles) else {
                let asks = std::mem::take(&mut self.handoff.asks);
                effects.extend(asks.into_iter().map(|(to, groups)| may_drop(to, groups)));
                let took = now.since(self.handoff.walk_began).saturating_mul(WALK_PAUSE_FACTOR);
                self.handoff.walk_at = now + took.clamp(WALK_PAUSE_MIN, WALK_PAUSE_MAX);
                return self.enter(Phase::Over);
            };
            done = true;
            match self.owner(group) {
                Some(owner) if owner == self.me => self.copy_group(group, &tag, roles, effects),
                Some(owner) => self.tidy_copy(group, tag, owner, roles, effects),
                None => {}
            }
        }
        done
    }

    /// Removes sources of a copy that have handed it off to its owner. Asks whether a copy that is
    /// not needed may be dropped.
    fn tidy_copy(
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
            let groups = self.handoff.asks.entry(owner).or_default();
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
        self.handoff.rescan_schedule();
    }
}

fn hold(to: AgentId, groups: Vec<GroupHash>) -> Effect {
    Effect::Send { to, message: OwnershipMessage::WillSend(groups) }
}

fn may_drop(to: AgentId, groups: Vec<GroupHash>) -> Effect {
    Effect::Send { to, message: OwnershipMessage::MayDropReplica(groups) }
}
