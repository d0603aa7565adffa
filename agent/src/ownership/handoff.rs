//! The handoff of an epoch: the scan, the handing over, the copies. Each is one walk over the roles.

use super::{Effect, GroupRole, Ownership, OwnershipMessage, Role, RoleStore, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

/// Transfers under way at once: most groups are small, and each is on its way for some round trips.
const TRANSFERS_MAX: usize = 256;
/// Groups in one message.
const GROUPS_MAX: usize = 4_096;
/// RoleStore looked at in one step.
const TAGS_A_STEP: usize = 1_024;
/// RoleStore read at once.
const TAGS_AT_ONCE: usize = 64;
/// From the end of a walk through all roles to the next, whoever asks for another: so many times what
/// the walk took, within these bounds.
const WALK_PAUSE_FACTOR: u32 = 4;
const WALK_PAUSE_MIN: Duration = Duration::from_millis(50);
const WALK_PAUSE_MAX: Duration = Duration::from_secs(2);

/// How far an epoch's handoff have come.
#[derive(Debug, Default)]
pub(super) struct Handoff {
    phase: Phase,
    /// The last group looked at.
    cursor: Option<GroupHash>,
    /// Read in this step, and not yet looked at.
    ahead: VecDeque<(GroupHash, GroupRole)>,
    /// When the present walk through the own groups began.
    walk_began: Timestamp,
    /// When the next may begin.
    walk_at: Timestamp,
    holds: BTreeMap<AgentId, Vec<GroupHash>>,
    asks: BTreeMap<AgentId, Vec<GroupHash>>,
    /// Groups whose visits are to end, and those whose rows are under way to their owner.
    pub(super) leaving: BTreeSet<GroupHash>,
    pub(super) transfers: BTreeSet<(GroupHash, AgentId)>,
    /// Copies that others may want to drop wait for the next walk.
    again: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Tell the new owners what will be brought.
    #[default]
    Scan,
    /// Say that it has been told.
    Say,
    /// Bring it.
    HandOver,
    /// Wait until it has arrived, and say so.
    Brought,
    /// Wait until all have scanned, then see that the own groups are copied.
    Copy,
    /// Nothing more to do, until somebody makes it look again.
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
    /// Goes on with the handoff of this epoch, as far as it can now; says whether anything was done.
    pub fn step(
        &mut self,
        roles: &mut impl RoleStore,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) -> bool {
        if self.myself().is_none() {
            return false;
        }
        // What was read in an earlier step may have changed since.
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

    /// To whom the rows of a group are to be brought, and whether the authority goes with them.
    pub(super) fn debt(&self, group: GroupHash, tag: &GroupRole) -> Option<(AgentId, bool)> {
        let owner = self.owner(group).filter(|&owner| owner != self.me)?;
        match tag.role {
            Role::Authority { .. } => Some((owner, self.is_authority(tag))),
            Role::Pending { .. } => Some((owner, false)),
            // Whoever is alive brings its own rows, and they have all that this copy has.
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

    /// Not before the peer leases of those that are gone have run out: until then they may fetch.
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
                // What its pages link to must be safe before it goes.
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

    /// Takes over what is to be taken over, sees that it is copied, and asks whether what is held
    /// for nobody may be dropped.
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

    /// Forgets where a copy came from once that has been brought to its owner; asks whether it may
    /// be dropped where it is not wanted.
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
                // It will be brought, and looked at then.
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

    /// Asks again what was not answered: called now and then.
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
