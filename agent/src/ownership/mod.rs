//! Ownership: which groups' rows this agent keeps, which it may fetch, and what it owes to whom.
//!
//! * *Comes in*: views, leases, the other agents' [`OwnershipMessage`]s; what the agent's own threads have
//!   done (rows stored, visits ended, transfers acknowledged).
//! * *Goes out*: [`Effect`]s for whoever owns the links and the disk; [`Ownership::may_fetch`].
//! * *Remembers*: in memory, what was said in this epoch; on disk, one [`GroupRole`] a group.
//! * *Never knows*: URLs, sockets, the clock, protobuf.
//! * *Goes wrong*: whatever is said under another epoch than the one in force is refused by the
//!   receiver, and said again by the sender under a later one.
//!
//! # What holds
//! 1. *One authority.* At most one agent may fetch a group at any instant: its authority.
//! 2. *Nothing is lost.* Rows are merged, never replaced (absent < queued < fetched), and deleted
//!    only when the group's authority says that enough others hold them.
//! 3. *Everything ends.* In an epoch that lasts, all rows come to where the view wants them.
//!
//! # How an epoch begins
//! ```text
//!   each agent:  scan roles ─► Hold(groups I shall bring you) ─► Scanned ─► hand over, group by group
//!   new owner:   takes URLs in at once; fetches a group that nobody holds once all have Scanned,
//!                and one that somebody holds once that has been brought
//! ```
//! A group's authority goes on fetching it until its own turn in the handing over comes, so a
//! change of view stops nothing for longer than the group's rows travel. An agent that was
//! declared dead has lost the authority over all it held ([`Agent::joined_epoch`]); what it comes back
//! with is merged into the successor's rows.

mod effect;
mod fence;
mod handoff;
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
use handoff::Handoff;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Groups whose replica_set are remembered.
const REPLICA_SETS_MAX: usize = 1 << 18;

/// Who holds a group: its owner and those with copies, and all of them but this agent.
#[derive(Clone, Debug)]
struct ReplicaSet {
    replica_set: Arc<[AgentId]>,
    replicas: Arc<[AgentId]>,
}

/// See the module.
#[derive(Debug)]
pub struct Ownership {
    me: AgentId,
    strategy: StrategyKind,
    replication: usize,
    owners: Option<Owners>,
    /// Of groups asked about in this epoch.
    replica_sets: RefCell<HashMap<GroupHash, ReplicaSet>>,
    /// The agent may not fetch at all when this says so.
    pub fence: Fence,
    /// Who has said in this epoch that it has told all it holds for others.
    scanned: BTreeSet<AgentId>,
    /// Who has said that it has brought all of it.
    brought: BTreeSet<AgentId>,
    /// Groups that others will bring.
    awaited: BTreeMap<GroupHash, BTreeSet<AgentId>>,
    handoff: Handoff,
}

impl Ownership {
    /// An agent that knows no view yet.
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
            handoff: Handoff::default(),
        }
    }

    /// The number of the view in force; 0 before the first.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.owners.as_ref().map_or(0, |owners| owners.view().epoch)
    }

    /// The view in force.
    #[must_use]
    pub fn view(&self) -> Option<&Arc<View>> {
        self.owners.as_ref().map(Owners::view)
    }

    /// A view has come. An older one than that in force, or the same, changes nothing.
    ///
    /// # Errors
    /// When it does not pass [`View::check`]; nothing has then changed.
    pub fn on_view(&mut self, view: Arc<View>) -> Result<bool, ViewError> {
        if view.epoch <= self.epoch() {
            return Ok(false);
        }
        let owners = Owners::new(self.strategy, view)?;
        self.scanned.clear();
        self.brought.clear();
        self.awaited.clear();
        self.handoff = Handoff::default();
        self.replica_sets.get_mut().clear();
        self.owners = Some(owners);
        Ok(true)
    }

    /// This agent, while the view has it alive.
    fn myself(&self) -> Option<&Agent> {
        self.alive(self.me)
    }

    fn alive(&self, id: AgentId) -> Option<&Agent> {
        self.view()?.agent(id).filter(|agent| agent.state != AgentState::Dead)
    }

    /// Everybody else who is alive.
    fn others(&self) -> impl Iterator<Item = &Agent> {
        let all = self.view().into_iter().flat_map(|view| &view.agents);
        all.filter(|agent| agent.id != self.me && agent.state != AgentState::Dead)
    }

    /// Who holds a group in the view in force.
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

    /// Who crawls `group` in the view in force.
    #[must_use]
    pub fn owner(&self, group: GroupHash) -> Option<AgentId> {
        self.owners.as_ref()?.owner(group)
    }

    /// The owner and those that hold copies.
    #[must_use]
    pub fn replica_set(&self, group: GroupHash) -> Arc<[AgentId]> {
        self.replica_sets(group).replica_set
    }

    /// Those that must have stored a fact of `group` before it is acknowledged, this agent apart.
    #[must_use]
    pub fn replicas(&self, group: GroupHash) -> Arc<[AgentId]> {
        self.replica_sets(group).replicas
    }

    /// Whether `tag` makes this agent the authority: not if it has been declared dead since.
    fn is_authority(&self, tag: &GroupRole) -> bool {
        matches!(tag.role, Role::Authority { .. })
            && self.myself().is_some_and(|me| tag.epoch >= me.joined_epoch)
    }

    /// Those of `replicas` that have all of the group's rows.
    fn in_sync(&self, tag: &GroupRole) -> BTreeSet<AgentId> {
        let Role::Authority { in_sync } = &tag.role else { return BTreeSet::new() };
        let is_in_sync = |&&(id, epoch): &&(AgentId, u64)| {
            self.alive(id).is_some_and(|agent| epoch >= agent.joined_epoch)
        };
        in_sync.iter().filter(is_in_sync).map(|&(id, _)| id).collect()
    }

    /// Whether `holder` has all of the group's rows, as far as it was sent them.
    #[must_use]
    pub fn is_in_sync(&self, group: GroupHash, holder: AgentId, roles: &impl RoleStore) -> bool {
        roles
            .role(group)
            .is_some_and(|tag| self.is_authority(&tag) && self.in_sync(&tag).contains(&holder))
    }

    /// Whether nobody who was declared dead may still fetch by a peer lease of this agent.
    #[must_use]
    pub fn is_clear(&self, now: Timestamp) -> bool {
        let is_gone = |id, epoch| self.alive(id).is_none_or(|agent| agent.joined_epoch > epoch);
        now >= self.fence.owed(is_gone)
    }

    /// Whether everybody who is alive has said what it will bring.
    fn all_scanned(&self) -> bool {
        self.handoff.has_scanned() && self.others().all(|agent| self.scanned.contains(&agent.id))
    }

    /// Whether the owner may take the authority over `group` now.
    fn may_take_over(&self, group: GroupHash) -> bool {
        self.owner(group) == Some(self.me)
            && self.all_scanned()
            && !self.awaited.contains_key(&group)
    }

    /// Whether a visit to a host of `group` may begin now. Takes the authority over it where it is
    /// this agent's to take.
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

    /// A group of which nobody has a row is held by all its replica_set as soon as it is by one.
    fn take_over(&mut self, group: GroupHash, new: bool, roles: &mut impl RoleStore) {
        if !new {
            self.handoff.rescan_schedule();
        }
        let epoch = self.epoch();
        let replicas = if new { self.replicas(group) } else { Arc::default() };
        let in_sync = replicas.iter().map(|&id| (id, epoch)).collect();
        roles.set_role(group, Some(GroupRole { epoch, role: Role::Authority { in_sync } }));
    }

    /// Rows of `group` are about to be stored because this agent owns it.
    pub fn store_as_owner(&mut self, group: GroupHash, roles: &mut impl RoleStore) {
        let tag = roles.role(group);
        let new = tag.is_none();
        match tag {
            Some(tag) if self.is_authority(&tag) => self.send_to_replicas(group, roles),
            _ if self.may_take_over(group) => self.take_over(group, new, roles),
            None | Some(GroupRole { role: Role::Replica { .. }, .. }) => {
                // From now on there are rows here that no other may have.
                let role = Role::Pending { new };
                roles.set_role(group, Some(GroupRole { epoch: self.epoch(), role }));
            }
            Some(_) => {}
        }
    }

    /// What changed in rows of `group` is sent to those who should hold copies, and to nobody else.
    pub fn send_to_replicas(&self, group: GroupHash, roles: &mut impl RoleStore) {
        if let Some(tag) = roles.role(group).filter(|tag| self.is_authority(tag)) {
            let replicas = self.replicas(group);
            self.keep_in_sync(group, tag, |id| replicas.contains(&id), roles);
        }
    }

    /// Rows of `group` are about to change here although another owns it, which has been told.
    pub fn store_as_former_owner(&mut self, group: GroupHash, roles: &mut impl RoleStore) {
        if let Some(tag) = roles.role(group) {
            self.keep_in_sync(group, tag, |_| false, roles);
        }
    }

    /// Those that are not sent what is stored no longer have all rows.
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

    /// Rows of `group` are about to be stored because its owner `of` wants a copy here.
    pub fn store_as_replica(&mut self, group: GroupHash, of: AgentId, roles: &mut impl RoleStore) {
        let epoch = self.epoch();
        match roles.role(group) {
            None => roles
                .set_role(group, Some(GroupRole { epoch, role: Role::Replica { from: vec![of] } })),
            Some(GroupRole { role: Role::Replica { from: mut all }, .. }) if !all.contains(&of) => {
                all.push(of);
                roles.set_role(group, Some(GroupRole { epoch, role: Role::Replica { from: all } }));
            }
            // What it holds itself it will bring itself.
            Some(_) => {}
        }
    }

    /// Whether anything is still to be said, brought, or awaited in this epoch.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.all_scanned() && self.awaited.is_empty() && self.handoff.are_over()
    }
}
