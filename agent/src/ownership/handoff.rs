//! The handoff of an epoch: scan, take-over, handoff, replication. Each phase is one scan of all roles.

use super::handoff_state::Phase;
use super::{Effect, Ownership, OwnershipDecision};
use crate::messages::{GroupRole, OwnershipMessage, Role, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::time::Duration;

/// Maximum number of concurrent transfers; most groups are small, and each takes some round trips.
const TRANSFERS_MAX: usize = 256;
/// Maximum number of groups in one message.
const GROUPS_MAX: usize = 4_096;
/// Pause between two scans of all roles, however often one is requested: a multiple of the last
/// scan's duration, clamped.
const SCAN_PAUSE_FACTOR: u32 = 4;
const SCAN_PAUSE_MIN: Duration = Duration::from_millis(50);
const SCAN_PAUSE_MAX: Duration = Duration::from_secs(2);

impl Ownership {
    /// Continues the handoff of this epoch as far as possible now. Returns true if anything was
    /// done.
    pub fn step(&mut self, decision: &mut OwnershipDecision<'_>, now: Timestamp) -> bool {
        if self.myself().is_none() {
            return false;
        }
        // Roles read in an earlier step may have changed since.
        self.handoff.ahead.clear();
        if !self.handoff.has_taken_over && self.all_scanned() {
            self.take_over_all(decision);
            return true;
        }
        match self.handoff.phase {
            Phase::Scan => self.scan(decision),
            // Until the peer leases of dead agents have expired, they may fetch.
            Phase::ReportScan if self.is_clear(now) => {
                self.report(&OwnershipMessage::ScanDone, Phase::HandOver, decision)
            }
            Phase::HandOver => self.hand_over(decision),
            Phase::AwaitTransfers
                if self.handoff.leaving.is_empty() && self.handoff.transfers.is_empty() =>
            {
                self.report(&OwnershipMessage::HandoffDone, Phase::Replicate, decision)
            }
            Phase::Replicate if self.handoff.has_taken_over => self.replicate(decision, now),
            Phase::Done if self.handoff.again && now >= self.handoff.next_scan_at => {
                self.handoff.again = false;
                self.handoff.enter(Phase::Replicate);
                true
            }
            Phase::ReportScan | Phase::AwaitTransfers | Phase::Replicate | Phase::Done => false,
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

    fn scan(&mut self, decision: &mut OwnershipDecision<'_>) -> bool {
        for _ in 0..self.roles_a_step {
            let Some((group, tag)) = self.handoff.next_role(decision) else {
                self.send_batches(OwnershipMessage::WillSend, decision);
                self.handoff.enter(Phase::ReportScan);
                return true;
            };
            match self.debt(group, &tag) {
                Some((owner, _)) => {
                    self.add_to_batch(owner, group, OwnershipMessage::WillSend, decision);
                }
                None => self.add_owner_as_source(group, tag, decision),
            }
        }
        true
    }

    /// Adds the owner to the sources of a copy: they may hand their rows off to it and drop them, and
    /// the epoch may end before this agent notices. If the owner then dies, this agent hands its copy
    /// off. Rows are dropped only after this scan (see [`Self::on_transferred`]).
    fn add_owner_as_source(
        &self,
        group: GroupHash,
        tag: GroupRole,
        decision: &mut OwnershipDecision<'_>,
    ) {
        let GroupRole { epoch, role: Role::Replica { mut from } } = tag else { return };
        let owner = self.owner(group).filter(|&owner| owner != self.me);
        if let Some(owner) = owner.filter(|owner| !from.contains(owner)) {
            from.push(owner);
            decision.set_role(group, epoch, Role::Replica { from });
        }
    }

    /// Adds a group to the batch for an agent, and sends the batch if it is full.
    fn add_to_batch(
        &mut self,
        to: AgentId,
        group: GroupHash,
        message: fn(Vec<GroupHash>) -> OwnershipMessage,
        decision: &mut OwnershipDecision<'_>,
    ) {
        let groups = self.handoff.batches.entry(to).or_default();
        groups.push(group);
        if groups.len() == GROUPS_MAX {
            decision.send(to, message(std::mem::take(groups)));
        }
    }

    fn send_batches(
        &mut self,
        message: fn(Vec<GroupHash>) -> OwnershipMessage,
        decision: &mut OwnershipDecision<'_>,
    ) {
        for (to, groups) in std::mem::take(&mut self.handoff.batches) {
            decision.send(to, message(groups));
        }
    }

    /// Sends a message to all other agents, and begins the next phase.
    fn report(
        &mut self,
        message: &OwnershipMessage,
        next: Phase,
        decision: &mut OwnershipDecision<'_>,
    ) -> bool {
        self.others().for_each(|agent| decision.send(agent.id, message.clone()));
        self.handoff.enter(next);
        true
    }

    /// Takes over the groups that no living agent has the authority over, before any group is sent:
    /// they are fetched again at once.
    fn take_over_all(&mut self, decision: &mut OwnershipDecision<'_>) {
        let roles = decision.roles_after(self.handoff.taken_over_to, self.roles_a_step);
        for (group, tag) in &roles {
            if !self.is_authority(tag) && self.may_take_over(*group) {
                self.take_over(*group, false, decision);
            }
        }
        match roles.last() {
            Some(&(group, _)) if roles.len() == self.roles_a_step => {
                self.handoff.taken_over_to = Some(group);
            }
            _ => self.handoff.has_taken_over = true,
        }
    }

    fn hand_over(&mut self, decision: &mut OwnershipDecision<'_>) -> bool {
        let mut done = false;
        for _ in 0..self.roles_a_step {
            if self.handoff.leaving.len() + self.handoff.transfers.len() >= TRANSFERS_MAX {
                return done;
            }
            let Some((group, tag)) = self.handoff.next_role(decision) else {
                self.handoff.enter(Phase::AwaitTransfers);
                return true;
            };
            done = true;
            let Some((to, _)) = self.debt(group, &tag) else { continue };
            if matches!(tag.role, Role::Replica { .. }) {
                self.transfer(group, to, self.handover(group, false), decision);
            } else {
                // The links of its pages must be safe before the group is sent.
                self.handoff.leaving.insert(group);
                decision.add(Effect::Drain(group));
            }
        }
        done
    }

    pub(super) fn handover(&self, group: GroupHash, authority: bool) -> TransferKind {
        TransferKind::Handoff { authority, keeps: self.replica_set(group).contains(&self.me) }
    }

    pub(super) fn transfer(
        &mut self,
        group: GroupHash,
        to: AgentId,
        end: TransferKind,
        decision: &mut OwnershipDecision<'_>,
    ) {
        if self.handoff.transfers.insert((group, to)) {
            decision.add(Effect::Transfer { to, group, end });
        }
    }

    /// Replicates own groups, and asks whether copies that this agent need not hold may be dropped.
    fn replicate(&mut self, decision: &mut OwnershipDecision<'_>, now: Timestamp) -> bool {
        if self.handoff.cursor.is_none() {
            self.handoff.scan_began = now;
        }
        let mut done = false;
        for _ in 0..self.roles_a_step {
            if self.handoff.transfers.len() >= TRANSFERS_MAX {
                return done;
            }
            let Some((group, tag)) = self.handoff.next_role(decision) else {
                self.send_batches(OwnershipMessage::MayDropReplica, decision);
                let took = now.since(self.handoff.scan_began).saturating_mul(SCAN_PAUSE_FACTOR);
                self.handoff.next_scan_at = now + took.clamp(SCAN_PAUSE_MIN, SCAN_PAUSE_MAX);
                self.handoff.enter(Phase::Done);
                return true;
            };
            done = true;
            match self.owner(group) {
                Some(owner) if owner == self.me => self.copy_group(group, &tag, decision),
                Some(owner) => self.check_copy(group, tag, owner, decision),
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
        decision: &mut OwnershipDecision<'_>,
    ) {
        let owed = self.debt(group, &tag).is_some();
        let Role::Replica { from: mut of } = tag.role else { return };
        let n_sources = of.len();
        of.retain(|id| *id == owner || !self.handoff.delivered.contains(id));
        if of.len() < n_sources {
            decision.set_role(group, tag.epoch, Role::Replica { from: of });
        }
        if !owed && !self.replica_set(group).contains(&self.me) {
            self.add_to_batch(owner, group, OwnershipMessage::MayDropReplica, decision);
        }
    }

    pub(super) fn copy_group(
        &mut self,
        group: GroupHash,
        tag: &GroupRole,
        decision: &mut OwnershipDecision<'_>,
    ) {
        if !self.is_authority(tag) {
            if !self.may_take_over(group) {
                // Another agent will send the group; it is replicated then.
                return;
            }
            self.take_over(group, false, decision);
        }
        let Some(tag) = decision.role(group) else { return };
        for &holder in self.replicas(group).iter() {
            if !self.has_all_rows(holder, &tag) {
                self.transfer(group, holder, TransferKind::Replica, decision);
            }
        }
    }

    /// Repeats questions that were not answered. Called from time to time.
    pub const fn ask_again(&mut self) {
        self.handoff.again = true;
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_roles::Roles;
    use super::*;
    use crivello_common::config::Cluster;
    use crivello_common::view::{Agent, AgentState, View};
    use std::sync::Arc;

    const FORMER: AgentId = AgentId(1);
    const COPY: AgentId = AgentId(2);
    const OWNER: AgentId = AgentId(3);
    const NEXT: AgentId = AgentId(4);
    const NOW: Timestamp = Timestamp::from_secs(60);

    /// Returns a view in which these agents have these states.
    fn view(epoch: u64, states: &[(AgentId, AgentState)]) -> Arc<View> {
        let mut view = View::of_one("1");
        let agent = |&(id, state): &(AgentId, AgentState)| Agent {
            id,
            name: id.to_string(),
            slot: id.0 as u16,
            state,
            ..view.agents[0].clone()
        };
        view.agents = states.iter().map(agent).collect();
        view.epoch = epoch;
        Arc::new(view)
    }

    /// The view in which the former owner is drained, and the one in which the owner is dead.
    fn views() -> [Arc<View>; 2] {
        use AgentState::{Active, Dead, Draining};
        [
            view(2, &[(FORMER, Draining), (COPY, Active), (OWNER, Active)]),
            view(3, &[(FORMER, Draining), (COPY, Active), (OWNER, Dead), (NEXT, Active)]),
        ]
    }

    fn ownership(me: AgentId) -> Ownership {
        Ownership::new(me, &Cluster::default(), Timestamp::ZERO)
    }

    /// Returns a group that belongs to `OWNER`, then to `NEXT`.
    fn group() -> GroupHash {
        let owner = |view: &Arc<View>, group| {
            let mut ownership = ownership(COPY);
            ownership.on_view(view.clone()).unwrap();
            ownership.owner(group)
        };
        let [first, second] = views();
        let groups = (1..1_000_u64).map(|n| GroupHash(n.wrapping_mul(0x9E37_79B9_7F4A_7C15)));
        let mut fitting = groups.filter(|&group| {
            owner(&first, group) == Some(OWNER) && owner(&second, group) == Some(NEXT)
        });
        fitting.next().unwrap()
    }

    /// Continues the handoff as far as possible, and returns the effects.
    fn steps(ownership: &mut Ownership, roles: &mut Roles) -> Vec<Effect> {
        let mut effects = Vec::new();
        loop {
            let mut decision = OwnershipDecision::new(roles);
            let goes_on = ownership.step(&mut decision, NOW);
            effects.extend(decision.finish().unwrap().1);
            if !goes_on {
                return effects;
            }
        }
    }

    /// The source of a copy hands its rows to the owner and drops them, and the owner dies before this
    /// agent notices: the copy may be the only one, and goes to the next owner.
    #[test]
    fn a_copy_goes_to_the_next_owner_if_the_one_that_got_the_rows_dies() {
        let (mut ownership, mut roles, group) = (ownership(COPY), Roles::default(), group());
        let role = Role::Replica { from: vec![FORMER] };
        roles.0.insert(group, GroupRole { epoch: 1, role });
        let [first, second] = views();
        ownership.on_view(first).unwrap();
        let will_send = Effect::Send { to: NEXT, message: OwnershipMessage::WillSend(vec![group]) };
        assert!(!steps(&mut ownership, &mut roles).contains(&will_send));
        ownership.on_view(second).unwrap();
        assert!(steps(&mut ownership, &mut roles).contains(&will_send));
    }

    /// Rows that were handed off are dropped only once all agents have scanned: their copies then
    /// count on the owner too.
    #[test]
    fn rows_are_dropped_only_once_all_have_scanned() {
        for scanned in [false, true] {
            let (mut ownership, mut roles, group) = (ownership(FORMER), Roles::default(), group());
            let role = Role::Authority { in_sync: Vec::new() };
            roles.0.insert(group, GroupRole { epoch: 1, role });
            ownership.on_view(views()[0].clone()).unwrap();
            let effects = steps(&mut ownership, &mut roles);
            assert!(effects.contains(&Effect::Drain(group)), "{effects:?}");
            let mut decision = OwnershipDecision::new(&mut roles);
            if scanned {
                ownership.on_message(COPY, &OwnershipMessage::ScanDone, &mut decision);
                ownership.on_message(OWNER, &OwnershipMessage::ScanDone, &mut decision);
            }
            ownership.on_drained(group, &mut decision);
            ownership.on_transferred(group, OWNER, &mut decision);
            let (_, effects) = decision.finish().unwrap();
            assert_eq!(effects.contains(&Effect::Delete(group)), scanned);
            assert_eq!(roles.0.contains_key(&group), !scanned);
        }
    }
}
