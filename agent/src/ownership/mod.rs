//! Ownership: which groups' rows this agent holds, which groups it may fetch, and which rows it
//! owes to other agents.
//!
//! - *Input:* views, leases, and [`OwnershipMessage`](crate::messages::OwnershipMessage)s of other
//!   agents; completed work of this agent (rows stored, visits ended, transfers acknowledged).
//! - *Output:* [`Effect`]s for the caller, which owns the links and the disk;
//!   [`Ownership::may_fetch`].
//! - *State:* in memory, the messages of this epoch; on disk, one [`GroupRole`] for each group.
//! - *Does not know:* URLs, sockets, the clock, protobuf.
//! - *Errors:* a message under another epoch than the one in force is refused by the receiver,
//!   and sent again by the sender under a later epoch.
//!
//! # Invariants
//! 1. *One authority.* At most one agent may fetch a group at any instant: its authority.
//! 2. *Nothing is lost.* Rows are merged, never replaced (absent < queued < fetched), and deleted
//!    only when the group's authority confirms that enough other agents hold them.
//! 3. *Everything ends.* In an epoch that lasts, all rows reach the agents where the view wants
//!    them.
//!
//! # Start of an epoch
//! ```text
//!   each agent:  scan roles ─► WillSend(groups) ─► ScanDone ─► hand off, group by group
//!   new owner:   accepts URLs at once; fetches a group that no agent announced once all agents have
//!                sent ScanDone, and an announced group once it has arrived
//! ```
//! The authority of a group continues to fetch it until the group's turn in the handoff comes, so a
//! change of view stops fetching only while the group's rows are sent. An agent that was declared
//! dead has lost the authority over all its groups ([`Agent::joined_epoch`]). When it returns, its
//! rows are merged into the successor's rows.

mod copy_check;
mod copy_progress;
mod decision;
mod effect;
mod fence;
mod handoff;
mod handoff_state;
mod receive;
mod replica_sets;
#[cfg(test)]
mod test_roles;

pub use decision::OwnershipDecision;
pub use effect::Effect;
pub use fence::Fence;

use crate::messages::{GroupRole, Role};
use copy_progress::CopyCheck;
use crivello_common::assignment::{Owners, StrategyKind};
use crivello_common::config::Cluster;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, View, ViewError};
use handoff_state::HandoffState;
use replica_sets::{ReplicaSet, ReplicaSets};
use std::sync::Arc;

/// Default number of roles that one step of a handoff examines.
const ROLES_A_STEP: usize = 1_024;

/// Ownership of all groups, as far as this agent knows it.
#[derive(Debug)]
pub struct Ownership {
    me: AgentId,
    strategy: StrategyKind,
    replication: usize,
    owners: Option<Owners>,
    replica_sets: ReplicaSets,
    /// Number of roles that one step of the handoff examines. Not zero.
    pub(crate) roles_a_step: usize,
    /// Fence: the agent may not fetch at all while it is closed.
    pub fence: Fence,
    handoff: HandoffState,
    /// Check that all groups are copied; it continues over changes of the view.
    copies: CopyCheck,
}

impl Ownership {
    /// Creates the ownership of an agent that has no view yet.
    #[must_use]
    pub fn new(me: AgentId, settings: &Cluster, now: Timestamp) -> Self {
        Self {
            me,
            strategy: settings.strategy,
            replication: settings.replication as usize,
            owners: None,
            replica_sets: ReplicaSets::default(),
            roles_a_step: ROLES_A_STEP,
            fence: Fence::new(settings.peer_lease(), now),
            handoff: HandoffState::default(),
            copies: CopyCheck::default(),
        }
    }

    /// Returns the epoch of the view in force; 0 before the first.
    pub fn epoch(&self) -> u64 {
        self.owners.as_ref().map_or(0, |owners| owners.view().epoch)
    }

    /// Returns the view in force.
    pub fn view(&self) -> Option<&Arc<View>> {
        self.owners.as_ref().map(Owners::view)
    }

    /// Enters the epoch of a new view. Returns false and does nothing if it is not newer than the
    /// view in force.
    ///
    /// # Errors
    /// If the view fails [`View::check`]; nothing has then changed.
    pub fn on_view(&mut self, view: Arc<View>) -> Result<bool, ViewError> {
        if view.epoch <= self.epoch() {
            return Ok(false);
        }
        let owners = Owners::new(self.strategy, view)?;
        self.handoff = HandoffState::default();
        self.owners = Some(owners);
        Ok(true)
    }

    /// Returns this agent if the view counts it as alive.
    fn myself(&self) -> Option<&Agent> {
        self.alive(self.me)
    }

    fn alive(&self, id: AgentId) -> Option<&Agent> {
        self.view()?.living().find(|agent| agent.id == id)
    }

    /// Returns all other agents that are alive.
    fn others(&self) -> impl Iterator<Item = &Agent> {
        let living = self.view().into_iter().flat_map(|view| view.living());
        living.filter(|agent| agent.id != self.me)
    }

    /// Returns the replica set of a group in the view in force.
    fn cached(&self, group: GroupHash) -> ReplicaSet {
        self.replica_sets.get(group, self.epoch(), || {
            let owners = self.owners.as_ref();
            let all: Arc<[AgentId]> =
                owners.map_or_else(Vec::new, |o| o.replica_set(group, self.replication)).into();
            let others = all.iter().copied().filter(|&id| id != self.me).collect();
            ReplicaSet { all, others }
        })
    }

    /// Returns the agent that crawls `group` in the view in force.
    pub fn owner(&self, group: GroupHash) -> Option<AgentId> {
        self.owners.as_ref()?.owner(group)
    }

    /// Returns the owner and the replicas of a group.
    pub fn replica_set(&self, group: GroupHash) -> Arc<[AgentId]> {
        self.cached(group).all
    }

    /// Returns the agents that must have stored a fact of `group` before it is acknowledged,
    /// without this agent.
    pub fn replicas(&self, group: GroupHash) -> Arc<[AgentId]> {
        self.cached(group).others
    }

    /// Returns true if `tag` makes this agent the authority: it has not been declared dead since.
    pub fn is_authority(&self, tag: &GroupRole) -> bool {
        matches!(tag.role, Role::Authority { .. })
            && self.myself().is_some_and(|me| tag.epoch >= me.joined_epoch)
    }

    /// Returns true if `holder` has all of the group's rows according to `tag`.
    fn has_all_rows(&self, holder: AgentId, tag: &GroupRole) -> bool {
        let Role::Authority { in_sync } = &tag.role else { return false };
        let joined = self.alive(holder).map(|agent| agent.joined_epoch);
        let is_current = |epoch| joined.is_some_and(|joined| epoch >= joined);
        in_sync.iter().any(|&(id, epoch)| id == holder && is_current(epoch))
    }

    /// Returns true if this agent is the authority by `tag`, and `holder` has all of the group's
    /// rows, as far as they were sent to it.
    pub fn is_in_sync(&self, tag: &GroupRole, holder: AgentId) -> bool {
        self.is_authority(tag) && self.has_all_rows(holder, tag)
    }

    /// Grants a peer lease to an agent, which requested it under the epoch in force.
    pub fn grant_peer_lease(&mut self, peer: AgentId, now: Timestamp) {
        let joined = self.alive(peer).map_or(0, |agent| agent.joined_epoch);
        let epoch = self.epoch();
        self.fence.grant(peer, epoch, joined, now);
    }

    /// Returns true if no agent that was declared dead may still fetch by a peer lease of this
    /// agent.
    pub fn is_clear(&self, now: Timestamp) -> bool {
        let is_gone = |id, epoch| self.alive(id).is_none_or(|agent| agent.joined_epoch > epoch);
        now >= self.fence.owed(is_gone)
    }

    /// Returns true if all agents that are alive have announced what they will send.
    fn all_scanned(&self) -> bool {
        self.handoff.has_scanned()
            && self.others().all(|agent| self.handoff.scanned.contains(&agent.id))
    }

    /// Returns true if this agent owns `group` and may take the authority now.
    fn may_take_over(&self, group: GroupHash) -> bool {
        self.owner(group) == Some(self.me)
            && self.all_scanned()
            && !self.handoff.awaited.contains_key(&group)
    }

    /// Returns the time until which this agent may fetch unless a lease is renewed.
    pub fn fetch_deadline(&self) -> Timestamp {
        let until = |_: &Agent| self.fence.until(self.others().map(|agent| agent.id));
        self.myself().map_or(Timestamp::ZERO, until)
    }

    /// Returns true if a visit to a host of `group` may begin now. Takes the authority over the
    /// group if this agent may take it: a visit may then begin once the group's hosts rest, or at once
    /// if it has none.
    pub fn may_fetch(
        &mut self,
        group: GroupHash,
        decision: &mut OwnershipDecision<'_>,
        now: Timestamp,
    ) -> bool {
        if now >= self.fetch_deadline() || self.handoff.leaving.contains(&group) {
            return false;
        }
        match decision.role(group) {
            Some(tag) if self.is_authority(&tag) => true,
            tag if self.may_take_over(group) => {
                self.take_over(group, tag.is_none(), decision);
                tag.is_none()
            }
            _ => false,
        }
    }

    /// Takes the authority. If no agent has a row of the group, all its replicas are in sync as
    /// soon as the first row is stored.
    fn take_over(&mut self, group: GroupHash, new: bool, decision: &mut OwnershipDecision<'_>) {
        self.handoff.again |= !new;
        let epoch = self.epoch();
        let replicas = if new { self.replicas(group) } else { Arc::default() };
        let in_sync = replicas.iter().map(|&id| (id, epoch)).collect();
        decision.set_role(group, epoch, Role::Authority { in_sync });
    }

    /// Updates the role before rows of `group` are stored because this agent owns it.
    pub fn store_as_owner(&mut self, group: GroupHash, decision: &mut OwnershipDecision<'_>) {
        let tag = decision.role(group);
        let new = tag.is_none();
        match tag {
            Some(tag) if self.is_authority(&tag) => self.send_to_replicas(group, decision),
            _ if self.may_take_over(group) => self.take_over(group, new, decision),
            None | Some(GroupRole { role: Role::Replica { .. }, .. }) => {
                // From now on there may be rows here that no other agent has.
                decision.set_role(group, self.epoch(), Role::Pending { new });
            }
            Some(_) => {}
        }
    }

    /// Removes agents outside the replica set from `in_sync`: changes of `group` are sent to
    /// replicas only.
    pub fn send_to_replicas(&self, group: GroupHash, decision: &mut OwnershipDecision<'_>) {
        if let Some(tag) = decision.role(group).filter(|tag| self.is_authority(tag)) {
            let replicas = self.replicas(group);
            self.keep_in_sync(group, tag, |id| replicas.contains(&id), decision);
        }
    }

    /// Sets the role for a group of which rows are left here, although its deletion had begun: no
    /// other agent is known to have them.
    pub fn keep_deleted(&self, group: GroupHash, decision: &mut OwnershipDecision<'_>) {
        decision.set_role(group, self.epoch(), Role::Pending { new: false });
    }

    /// Updates the role before rows of `group` change here although another agent owns it; the
    /// owner is sent the change.
    pub fn store_as_former_owner(&self, group: GroupHash, decision: &mut OwnershipDecision<'_>) {
        if let Some(tag) = decision.role(group) {
            self.keep_in_sync(group, tag, |_| false, decision);
        }
    }

    /// Keeps in `in_sync` only agents that are sent the rows being stored.
    fn keep_in_sync(
        &self,
        group: GroupHash,
        tag: GroupRole,
        keep: impl Fn(AgentId) -> bool,
        decision: &mut OwnershipDecision<'_>,
    ) {
        let GroupRole { epoch, role: Role::Authority { mut in_sync } } = tag else { return };
        let n_in_sync = in_sync.len();
        in_sync.retain(|&(id, _)| keep(id));
        if in_sync.len() < n_in_sync {
            decision.set_role(group, epoch, Role::Authority { in_sync });
        }
    }

    /// Updates the role before rows of `group` are stored because its owner `of` wants a copy here.
    pub fn store_as_replica(
        &self,
        group: GroupHash,
        of: AgentId,
        decision: &mut OwnershipDecision<'_>,
    ) {
        let mut from = match decision.role(group).map(|tag| tag.role) {
            None => Vec::new(),
            Some(Role::Replica { from }) if !from.contains(&of) => from,
            // This agent hands off its own rows itself. The replicas of its own time as the owner
            // are not sent the rows being stored.
            Some(Role::Authority { .. }) => return self.store_as_former_owner(group, decision),
            Some(_) => return,
        };
        from.push(of);
        decision.set_role(group, self.epoch(), Role::Replica { from });
    }

    /// Returns the progress of this epoch's handoff, for people.
    pub const fn handoff(&self) -> &impl std::fmt::Debug {
        &self.handoff
    }

    /// Returns true if nothing is left to send, to receive or to await in this epoch.
    pub fn is_settled(&self) -> bool {
        self.handoff.has_taken_over && self.handoff.awaited.is_empty() && self.handoff.is_over()
    }
}
