//! Replication engine: it decides which links are sent to which agents, which replicas must be
//! stored, and which acknowledgements are due.
//!
//! It is a step function. Its input is messages and the time. It changes rows in a
//! [`ReplicaStore`], enqueues packets in a [`PacketQueue`](super::packet_queue::PacketQueue), and
//! returns everything else as [`ReplicationEffect`]s. It has no thread, socket, clock or disk of
//! its own, so a simulator can run it.

use crate::cluster::ack_waiters::{AckWaiters, Barrier};
use crate::cluster::effect::ReplicationEffect;
use crate::cluster::open_commits::OpenCommits;
use crate::cluster::outbox::{LaneKey, Outbox};
use crate::cluster::status::ClusterStatus;
use crate::cluster::traced::Traced;
use crate::cluster::transfers::Transfers;
use crate::crawldb::RecentKeys;
use crate::messages::{
    CommitNumber, GroupRole, OnAck, OwnershipMessage, PendingSeeds, ReplicaStore, Role, RoleRows,
};
use crate::ownership::{Effect, Ownership, OwnershipDecision};
use crate::peers::Lane;
use crate::storage::DiskError;
use crate::url_tracing::Tracer;
use crivello_common::config::Cluster;
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::units::ByteSize;
use crivello_common::view::{AgentId, AgentState, View};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

/// Pause between two checks whether groups that must be handed off are drained.
const DRAIN_CHECK_EVERY: Duration = Duration::from_millis(20);
/// First pause before the owners of surplus replicas are asked for permission to drop them.
const ASK_FIRST: Duration = Duration::from_secs(1);
/// Maximum pause between two such requests.
const ASK_LAST: Duration = Duration::from_secs(300);
/// Maximum number of fully replicated groups that are remembered.
const REPLICATED_MAX: usize = 1 << 18;
/// Memory for keys of URLs that were recently sent to their owners.
const RECENTLY_SENT: ByteSize = ByteSize(8 << 20);
/// Time after which a step ends: commits, peer leases and acknowledgements must not wait for a scan of
/// all groups.
pub(super) const STEP_TIME: Duration = Duration::from_millis(10);
/// Number of ownership messages that wait for the packet queue from which on no more are created.
const MESSAGES_MAX: usize = 64;
/// Number of groups that are still opened, closed or deleted from which on a step waits for them: each
/// takes memory.
const JOBS_MAX: usize = 65_536;

/// Content of an unacknowledged packet.
#[derive(Debug)]
pub enum SentPacket {
    /// A row of the outbox.
    Row(LaneKey, u64),
    /// A chunk of a transfer.
    Chunk(GroupHash, AgentId),
    /// An ownership message.
    Message,
}

/// Replication engine of one agent.
pub struct ReplicationEngine {
    pub(super) me: AgentId,
    pub(super) hasher: KeyedHasher,
    pub(super) replication: u32,
    pub(super) tracer: Arc<Tracer>,
    pub(super) status: Arc<ClusterStatus>,
    pub(super) ownership: Ownership,
    pub(super) outbox: Outbox,
    /// Rows of the outbox from earlier epochs that the owners of this epoch have not been given yet.
    pub(super) unredirected: VecDeque<(LaneKey, u64)>,
    /// Rows of the outbox, addressed to this agent, with listed URLs of groups whose robots.txt other agents
    /// may still send.
    pub(super) undecided: BTreeMap<GroupHash, Vec<u64>>,
    /// Such rows whose groups have arrived since the last step.
    pub(super) decidable: Vec<u64>,
    pub(super) waiters: AckWaiters<OnAck>,
    /// Number of commits of this process.
    pub(super) commits: u64,
    /// Number of those commits that are synced.
    pub(super) synced: u64,
    pub(super) transfers: Transfers,
    pub(super) traced: Traced,
    /// Seed requests of commits that have links to other agents.
    pub(super) seeds: HashMap<CommitNumber, Vec<PendingSeeds>>,
    /// Ownership messages to send, by receiver.
    pub(super) messages: BTreeMap<AgentId, VecDeque<OwnershipMessage>>,
    /// Unacknowledged packets by number.
    pub(super) sent: HashMap<u64, SentPacket>,
    /// Received view that comes into force once everything before it is committed.
    pub(super) next_view: Option<Arc<View>>,
    /// Groups of which this agent is the owner and authority, and all replicas are in sync.
    pub(super) replicated: HashSet<GroupHash, foldhash::fast::RandomState>,
    pub(super) recently_sent: RecentKeys,
    pub(super) effects: Vec<ReplicationEffect>,
    /// Groups that must be drained before they are handed off.
    draining: BTreeSet<GroupHash>,
    /// Groups whose [`ReplicationEffect::Recall`] is still in `effects`.
    recalled: BTreeSet<GroupHash>,
    drain_check_at: Timestamp,
    ask_at: Timestamp,
    ask_every: Duration,
    /// Latest epoch in which all peer leases of dead agents have expired.
    expired_epoch: u64,
    fetch_deadline: Timestamp,
    was_open: bool,
    /// Groups whose authority was taken at the start of a visit; the next step opens them.
    taken_on_demand: Vec<GroupHash>,
    /// True if the last step ended before its work did.
    pub(super) has_more: bool,
}

impl ReplicationEngine {
    /// Creates an engine without a view, with the outbox of the previous process.
    #[must_use]
    pub fn new(
        (me, hasher): (AgentId, KeyedHasher),
        settings: &Cluster,
        tracer: Arc<Tracer>,
        status: Arc<ClusterStatus>,
        outbox: Outbox,
        now: Timestamp,
    ) -> Self {
        Self {
            me,
            hasher,
            replication: settings.replication,
            tracer,
            status,
            ownership: Ownership::new(me, settings, now),
            outbox,
            unredirected: VecDeque::new(),
            undecided: BTreeMap::new(),
            decidable: Vec::new(),
            waiters: AckWaiters::default(),
            commits: 0,
            synced: 0,
            transfers: Transfers::default(),
            traced: Traced::default(),
            seeds: HashMap::new(),
            messages: BTreeMap::new(),
            sent: HashMap::new(),
            next_view: None,
            replicated: HashSet::default(),
            recently_sent: RecentKeys::new(RECENTLY_SENT),
            effects: Vec::new(),
            draining: BTreeSet::new(),
            recalled: BTreeSet::new(),
            drain_check_at: now,
            ask_at: now,
            ask_every: ASK_FIRST,
            expired_epoch: 0,
            fetch_deadline: Timestamp::ZERO,
            was_open: false,
            taken_on_demand: Vec::new(),
            has_more: false,
        }
    }

    /// Returns the effects since the last call, in order.
    pub fn take_effects(&mut self) -> Vec<ReplicationEffect> {
        self.recalled.clear();
        std::mem::take(&mut self.effects)
    }

    /// Returns the ownership state, with the view in force.
    pub const fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    /// Sets the number of roles that one step of a handoff examines, for a simulator: with few, more happens
    /// between two steps.
    pub const fn set_roles_a_step(&mut self, n_roles: NonZeroUsize) {
        self.ownership.roles_a_step = n_roles.get();
    }

    /// Returns the outbox, which contains the unacknowledged rows.
    pub const fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Returns the number of groups that are being drained, and of transfers in progress.
    pub fn handoffs(&self) -> usize {
        self.transfers.0.len() + self.draining.len()
    }

    /// Runs `f` on the ownership state, then applies its changes of roles and its effects. The hosts
    /// of a group that this agent becomes the authority of may have been visited by another agent
    /// until `taken_over`; zero if their rows are those of the last authority.
    pub(super) fn decide<T>(
        &mut self,
        store: &mut dyn ReplicaStore,
        taken_over: Timestamp,
        f: impl FnOnce(&mut Ownership, &mut OwnershipDecision<'_>) -> T,
    ) -> Result<T, DiskError> {
        let mut decision = OwnershipDecision::new(store.roles());
        let result = f(&mut self.ownership, &mut decision);
        let (changed, effects) = decision.finish()?;
        for group in changed {
            self.on_role_set(store, group, taken_over)?;
        }
        for effect in effects {
            self.carry_out(store, effect);
        }
        Ok(result)
    }

    /// Opens or closes a group whose role was set.
    fn on_role_set(
        &mut self,
        store: &mut dyn ReplicaStore,
        group: GroupHash,
        taken_over: Timestamp,
    ) -> Result<(), DiskError> {
        match store.roles().role(group)? {
            Some(GroupRole { role: Role::Authority { .. }, .. }) => {
                store.open_group(group, taken_over)?;
                // If it was open before, its hosts may have been skipped.
                store.rescan_schedule();
                self.decidable.extend(self.undecided.remove(&group).into_iter().flatten());
            }
            Some(_) => {
                self.replicated.remove(&group);
                store.close_group(group)?;
            }
            None => {}
        }
        Ok(())
    }

    fn carry_out(&mut self, store: &mut dyn ReplicaStore, effect: Effect) {
        match effect {
            Effect::Send { to, message } => {
                self.messages.entry(to).or_default().push_back(message);
            }
            Effect::Drain(group) => {
                self.draining.insert(group);
                self.recalled.insert(group);
                self.effects.push(ReplicationEffect::Recall(group));
            }
            Effect::Transfer { to, group, end } => self.transfers.begin(to, group, end),
            Effect::Delete(group) => store.delete_group(group),
        }
    }

    /// Redirects the rows of earlier epochs, then continues the handoff of this one, for `STEP_TIME`
    /// at most: [`Self::has_more`] returns true if there is more to do. `clock` measures the duration
    /// of this, and of scans: the pause after a scan is a multiple of it.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn step(
        &mut self,
        open: &mut OpenCommits<'_>,
        store: &mut dyn ReplicaStore,
        now: Timestamp,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<(), DiskError> {
        let taken_over = now;
        if now >= self.ask_at {
            self.ask_at = now + self.ask_every;
            self.ask_every = (2 * self.ask_every).min(ASK_LAST);
            self.ownership.ask_again();
        }
        for group in std::mem::take(&mut self.taken_on_demand) {
            self.on_role_set(store, group, taken_over)?;
        }
        if open.facts.is_empty() {
            // The rows of their groups are committed.
            let rows = std::mem::take(&mut self.decidable).into_iter();
            self.unredirected.extend(rows.map(|seq| ((self.me, Lane::Main), seq)));
        }
        let ends = clock() + STEP_TIME;
        // Which replicas are in sync, and which groups have rows here, is known after that.
        self.has_more = !self.redirect_rows(open, store, now, &|| clock() < ends)?;
        while !self.has_more
            && store.n_jobs() < JOBS_MAX
            && self.messages.values().map(VecDeque::len).sum::<usize>() < MESSAGES_MAX
        {
            let now = clock();
            if now >= ends {
                self.has_more = true;
                break;
            }
            if !self.decide(store, taken_over, |ownership, d| ownership.step(d, now))? {
                break;
            }
        }
        self.check_drained(store, now)?;
        let epoch = self.ownership.epoch();
        if self.expired_epoch < epoch && self.ownership.is_clear(now) {
            self.expired_epoch = epoch;
            self.effects.push(ReplicationEffect::PeerLeasesExpired { epoch });
        }
        self.update_fetch_deadline(store, now);
        Ok(())
    }

    /// Hands off groups that have no visits, pages in the pipeline or pending pages any more.
    fn check_drained(
        &mut self,
        store: &mut dyn ReplicaStore,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        if self.draining.is_empty() || now < self.drain_check_at {
            return Ok(());
        }
        self.drain_check_at = now + DRAIN_CHECK_EVERY;
        let busy = store.busy(&self.draining);
        let is_drained = |group: &GroupHash| {
            !busy.contains(group)
                && !self.outbox.has_pending_pages(*group)
                && !self.recalled.contains(group)
        };
        let drained: Vec<GroupHash> = self.draining.iter().copied().filter(is_drained).collect();
        for group in drained {
            self.draining.remove(&group);
            self.decide(store, now, |ownership, d| ownership.on_drained(group, d))?;
        }
        Ok(())
    }

    fn update_fetch_deadline(&mut self, store: &mut dyn ReplicaStore, now: Timestamp) {
        let until = self.ownership.fetch_deadline();
        if until != self.fetch_deadline {
            self.fetch_deadline = until;
            self.effects.push(ReplicationEffect::FetchDeadline(until));
        }
        let open = now < until;
        if open && !self.was_open {
            store.rescan_schedule();
        }
        if !open && self.was_open {
            tracing::warn!(
                "neither the coordinator nor all other agents can be reached; fetching is suspended"
            );
        }
        self.was_open = open;
    }

    /// Returns true if a visit to a host of a group may begin.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn may_fetch(
        &mut self,
        group: GroupHash,
        rows: &mut dyn RoleRows,
        now: Timestamp,
    ) -> Result<bool, DiskError> {
        let mut decision = OwnershipDecision::new(rows);
        let may = self.ownership.may_fetch(group, &mut decision, now);
        let (changed, _) = decision.finish()?;
        let is_opened = !self.taken_on_demand.contains(&group);
        self.taken_on_demand.extend(changed);
        Ok(may && is_opened)
    }

    /// Returns true while rows of groups are sent to other agents.
    pub const fn is_transferring(&self) -> bool {
        !self.transfers.0.is_empty()
    }

    /// Returns true if the last [`Self::step`] ended before its work did.
    pub const fn has_more(&self) -> bool {
        self.has_more
    }

    /// Returns true if an acknowledgement, a row, a message or a transfer waits for a sync of the
    /// state: nothing leaves this agent before everything that it follows from is synced.
    pub fn wants_sync(&self) -> bool {
        !self.is_synced()
            && (self.waiters.await_any(Barrier::Sync)
                || self.outbox.awaits_sync(self.me)
                || !self.messages.is_empty()
                || !self.transfers.0.is_empty())
    }

    /// Handles a sync of the state: all commits so far are on disk.
    pub fn on_synced(&mut self) {
        self.synced = self.commits;
        self.outbox.on_synced();
        for action in self.waiters.reached(Barrier::Sync, Some(self.synced + 1)) {
            self.complete(action);
        }
    }

    /// Returns true if all commits are synced.
    pub(super) const fn is_synced(&self) -> bool {
        self.synced == self.commits
    }

    /// Continues the check that all groups are copied; see [`Ownership::check_copies`].
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn check_copies(&mut self, rows: &mut dyn RoleRows, wanted: u64) -> Result<u64, DiskError> {
        let mut decision = OwnershipDecision::new(rows);
        let complete = self.ownership.check_copies(wanted, &mut decision);
        decision.finish().map(|_| complete)
    }

    /// Clears the state of the epoch.
    pub(super) fn reset(&mut self, now: Timestamp) {
        self.messages.clear();
        self.transfers.0.clear();
        self.sent.clear();
        self.draining.clear();
        self.effects.retain(|effect| !matches!(effect, ReplicationEffect::Recall(_)));
        self.recalled.clear();
        self.replicated.clear();
        self.recently_sent.clear();
        self.undecided.clear();
        self.decidable.clear();
        (self.ask_at, self.ask_every) = (now + ASK_FIRST, ASK_FIRST);
    }

    /// Records that all replicas have a group.
    pub(super) fn remember_replicated(&mut self, group: GroupHash) {
        if self.replicated.len() >= REPLICATED_MAX {
            self.replicated.clear();
        }
        self.replicated.insert(group);
    }

    /// Returns true if all rows are where the view wants them, and nothing is in progress. The
    /// caller must check commits and messages that the engine has not received.
    pub fn is_settled(&self) -> bool {
        self.has_shared_all()
            && self.messages.values().all(VecDeque::is_empty)
            && self.sent.is_empty()
            && self.waiters.is_empty()
            && self.seeds.is_empty()
            && self.outbox.is_empty()
    }

    /// Returns true if all groups that other agents must have are stored there.
    pub fn has_shared_all(&self) -> bool {
        self.ownership.is_settled() && self.transfers.0.is_empty() && self.draining.is_empty()
    }

    /// Returns true if this agent is draining and has no group left.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn is_drained(&self, store: &mut dyn ReplicaStore) -> Result<bool, DiskError> {
        let me = self.ownership.view().and_then(|view| view.agent(self.me));
        let draining = me.is_some_and(|me| me.state == AgentState::Draining);
        Ok(draining && self.is_settled() && store.roles().roles_after(None, 1)?.is_empty())
    }

    /// Returns true if all agents of the view are draining or dead.
    pub fn nobody_takes_over(&self) -> bool {
        let active = |view: &Arc<View>| view.agents.iter().any(|a| a.state == AgentState::Active);
        self.ownership.view().is_some_and(|view| !active(view))
    }
}
