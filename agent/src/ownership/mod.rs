//! Ownership: which groups' rows this agent holds, which groups it may fetch, and which rows it
//! owes to other agents.
//!
//! * *Input*: views, leases, and [`OwnershipMessage`]s of other agents; completed work of this agent
//!   (rows stored, visits ended, transfers acknowledged).
//! * *Output*: [`Effect`]s for the caller, which owns the links and the disk;
//!   [`Ownership::may_fetch`].
//! * *State*: in memory, the messages of this epoch; on disk, one [`GroupRole`] for each group.
//! * *Has no access to*: URLs, sockets, the clock, protobuf.
//! * *Failures*: a message under another epoch than the one in force is refused by the receiver,
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

mod effect;
mod fence;
mod handoff;
mod handoff_state;
mod receive;
mod role_store;

pub use crate::messages::{OwnershipMessage, TransferKind};
pub use effect::Effect;
pub use fence::Fence;
pub use role_store::{GroupRole, Role, RoleStore};

use crivello_common::assignment::{Owners, StrategyKind};
use crivello_common::config::Cluster;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, AgentState, View, ViewError};
use foldhash::HashMap;
use handoff_state::HandoffState;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of groups whose replica sets are cached.
const REPLICA_SETS_MAX: usize = 1 << 18;

/// Agents that hold a group: the owner and the replicas, and the same without this agent.
#[derive(Clone, Debug)]
struct ReplicaSet {
    replica_set: Arc<[AgentId]>,
    replicas: Arc<[AgentId]>,
}

/// Ownership of all groups, as far as this agent knows it.
#[derive(Debug)]
pub struct Ownership {
    me: AgentId,
    strategy: StrategyKind,
    replication: usize,
    owners: Option<Owners>,
    /// Cached replica sets of groups looked up in this epoch.
    replica_sets: RefCell<HashMap<GroupHash, ReplicaSet>>,
    /// Fence: the agent may not fetch at all while it is closed.
    pub fence: Fence,
    /// Agents that have sent `ScanDone` in this epoch.
    scanned: BTreeSet<AgentId>,
    /// Agents that have sent `HandoffDone` in this epoch.
    brought: BTreeSet<AgentId>,
    /// Groups that others will send, with the senders.
    awaited: BTreeMap<GroupHash, BTreeSet<AgentId>>,
    handoff: HandoffState,
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
            replica_sets: RefCell::default(),
            fence: Fence::new(settings.peer_lease(), now),
            scanned: BTreeSet::new(),
            brought: BTreeSet::new(),
            awaited: BTreeMap::new(),
            handoff: HandoffState::default(),
        }
    }

    /// Returns the epoch of the view in force; 0 before the first.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.owners.as_ref().map_or(0, |owners| owners.view().epoch)
    }

    /// Returns the view in force.
    #[must_use]
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
        self.scanned.clear();
        self.brought.clear();
        self.awaited.clear();
        self.handoff = HandoffState::default();
        self.replica_sets.get_mut().clear();
        self.owners = Some(owners);
        Ok(true)
    }

    /// Returns this agent if the view counts it as alive.
    fn myself(&self) -> Option<&Agent> {
        self.alive(self.me)
    }

    fn alive(&self, id: AgentId) -> Option<&Agent> {
        self.view()?.agent(id).filter(|agent| agent.state != AgentState::Dead)
    }

    /// Returns all other agents that are alive.
    fn others(&self) -> impl Iterator<Item = &Agent> {
        let all = self.view().into_iter().flat_map(|view| &view.agents);
        all.filter(|agent| agent.id != self.me && agent.state != AgentState::Dead)
    }

    /// Returns the holders of a group in the view in force.
    fn replica_sets(&self, group: GroupHash) -> ReplicaSet {
        let mut known = self.replica_sets.borrow_mut();
        if let Some(replica_sets) = known.get(&group) {
            return replica_sets.clone();
        }
        let owners = self.owners.as_ref();
        let replica_set = owners.map_or_else(Vec::new, |o| o.replica_set(group, self.replication));
        let replicas = replica_set.iter().copied().filter(|&holder| holder != self.me).collect();
        let replica_sets = ReplicaSet { replica_set: replica_set.into(), replicas };
        if known.len() >= REPLICA_SETS_MAX {
            known.clear();
        }
        known.insert(group, replica_sets.clone());
        replica_sets
    }

    /// Returns the agent that crawls `group` in the view in force.
    #[must_use]
    pub fn owner(&self, group: GroupHash) -> Option<AgentId> {
        self.owners.as_ref()?.owner(group)
    }

    /// Returns the owner and the replicas of a group.
    #[must_use]
    pub fn replica_set(&self, group: GroupHash) -> Arc<[AgentId]> {
        self.replica_sets(group).replica_set
    }

    /// Returns the agents that must have stored a fact of `group` before it is acknowledged,
    /// without this agent.
    #[must_use]
    pub fn replicas(&self, group: GroupHash) -> Arc<[AgentId]> {
        self.replica_sets(group).replicas
    }

    /// Returns true if `tag` makes this agent the authority: it has not been declared dead since.
    fn is_authority(&self, tag: &GroupRole) -> bool {
        matches!(tag.role, Role::Authority { .. })
            && self.myself().is_some_and(|me| tag.epoch >= me.joined_epoch)
    }

    /// Returns the agents that have all of the group's rows according to `tag`.
    fn in_sync(&self, tag: &GroupRole) -> BTreeSet<AgentId> {
        let Role::Authority { in_sync } = &tag.role else { return BTreeSet::new() };
        let is_in_sync = |&&(id, epoch): &&(AgentId, u64)| {
            self.alive(id).is_some_and(|agent| epoch >= agent.joined_epoch)
        };
        in_sync.iter().filter(is_in_sync).map(|&(id, _)| id).collect()
    }

    /// Returns true if `holder` has all of the group's rows, as far as they were sent to it.
    #[must_use]
    pub fn is_in_sync(&self, group: GroupHash, holder: AgentId, roles: &impl RoleStore) -> bool {
        roles
            .role(group)
            .is_some_and(|tag| self.is_authority(&tag) && self.in_sync(&tag).contains(&holder))
    }

    /// Returns true if no agent that was declared dead may still fetch by a peer lease of this
    /// agent.
    #[must_use]
    pub fn is_clear(&self, now: Timestamp) -> bool {
        let is_gone = |id, epoch| self.alive(id).is_none_or(|agent| agent.joined_epoch > epoch);
        now >= self.fence.owed(is_gone)
    }

    /// Returns true if all agents that are alive have announced what they will send.
    fn all_scanned(&self) -> bool {
        self.handoff.has_scanned() && self.others().all(|agent| self.scanned.contains(&agent.id))
    }

    /// Returns true if this agent owns `group` and may take the authority now.
    fn may_take_over(&self, group: GroupHash) -> bool {
        self.owner(group) == Some(self.me)
            && self.all_scanned()
            && !self.awaited.contains_key(&group)
    }

    /// Returns true if a visit to a host of `group` may begin now. Takes the authority over the
    /// group if this agent may take it.
    pub fn may_fetch(
        &mut self,
        group: GroupHash,
        roles: &mut impl RoleStore,
        now: Timestamp,
    ) -> bool {
        if self.myself().is_none() || !self.fence.is_open(now, self.others().map(|a| a.id)) {
            return false;
        }
        if self.handoff.is_leaving(group) {
            return false;
        }
        match roles.role(group) {
            Some(tag) if self.is_authority(&tag) => true,
            tag if self.may_take_over(group) => {
                self.take_over(group, tag.is_none(), roles);
                true
            }
            _ => false,
        }
    }

    /// Takes the authority. If no agent has a row of the group, all its replicas are in sync as
    /// soon as the first row is stored.
    fn take_over(&mut self, group: GroupHash, new: bool, roles: &mut impl RoleStore) {
        if !new {
            self.handoff.request_scan();
        }
        let epoch = self.epoch();
        let replicas = if new { self.replicas(group) } else { Arc::default() };
        let in_sync = replicas.iter().map(|&id| (id, epoch)).collect();
        roles.set_role(group, Some(GroupRole { epoch, role: Role::Authority { in_sync } }));
    }

    /// Updates the role before rows of `group` are stored because this agent owns it.
    pub fn store_as_owner(&mut self, group: GroupHash, roles: &mut impl RoleStore) {
        let tag = roles.role(group);
        let new = tag.is_none();
        match tag {
            Some(tag) if self.is_authority(&tag) => self.send_to_replicas(group, roles),
            _ if self.may_take_over(group) => self.take_over(group, new, roles),
            None | Some(GroupRole { role: Role::Replica { .. }, .. }) => {
                // From now on there may be rows here that no other agent has.
                let role = Role::Pending { new };
                roles.set_role(group, Some(GroupRole { epoch: self.epoch(), role }));
            }
            Some(_) => {}
        }
    }

    /// Removes agents outside the replica set from `in_sync`: changes of `group` are sent to
    /// replicas only.
    pub fn send_to_replicas(&self, group: GroupHash, roles: &mut impl RoleStore) {
        if let Some(tag) = roles.role(group).filter(|tag| self.is_authority(tag)) {
            let replicas = self.replicas(group);
            self.keep_in_sync(group, tag, |id| replicas.contains(&id), roles);
        }
    }

    /// Updates the role before rows of `group` change here although another agent owns it; the
    /// owner is sent the change.
    pub fn store_as_former_owner(&mut self, group: GroupHash, roles: &mut impl RoleStore) {
        if let Some(tag) = roles.role(group) {
            self.keep_in_sync(group, tag, |_| false, roles);
        }
    }

    /// Keeps in `in_sync` only agents that are sent the rows being stored.
    fn keep_in_sync(
        &self,
        group: GroupHash,
        tag: GroupRole,
        keep: impl Fn(AgentId) -> bool,
        roles: &mut impl RoleStore,
    ) {
        let GroupRole { epoch, role: Role::Authority { mut in_sync } } = tag else { return };
        let n_in_sync = in_sync.len();
        in_sync.retain(|&(id, _)| keep(id));
        if in_sync.len() < n_in_sync {
            roles.set_role(group, Some(GroupRole { epoch, role: Role::Authority { in_sync } }));
        }
    }

    /// Updates the role before rows of `group` are stored because its owner `of` wants a copy here.
    pub fn store_as_replica(&mut self, group: GroupHash, of: AgentId, roles: &mut impl RoleStore) {
        let epoch = self.epoch();
        match roles.role(group) {
            None => roles
                .set_role(group, Some(GroupRole { epoch, role: Role::Replica { from: vec![of] } })),
            Some(GroupRole { role: Role::Replica { from: mut all }, .. }) if !all.contains(&of) => {
                all.push(of);
                roles.set_role(group, Some(GroupRole { epoch, role: Role::Replica { from: all } }));
            }
            // This agent hands off its own rows itself.
            Some(_) => {}
        }
    }

    /// Returns true if nothing is left to send, to receive or to await in this epoch.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.all_scanned() && self.awaited.is_empty() && self.handoff.is_over()
    }
}
