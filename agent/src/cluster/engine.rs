//! Replication engine: it decides which links are sent to which agents, which replicas must be
//! stored, and which acknowledgements are due.
//!
//! It is a step function. Its input is messages and the time. It changes rows in a
//! [`ReplicaStore`], enqueues packets in a [`PacketQueue`](super::packet_queue::PacketQueue), and
//! returns everything else as [`ReplicationEffect`]s. It has no thread, socket, clock or disk of
//! its own, so a simulator can run it.

use crate::cluster::ack_waiters::AckWaiters;
use crate::cluster::effect::ReplicationEffect;
use crate::cluster::outbox::{LaneKey, Outbox};
use crate::cluster::roles::RecordedRoles;
use crate::cluster::status::ClusterStatus;
use crate::cluster::store::{OutboxRows, ReplicaStore, RoleRows};
use crate::cluster::traced::Traced;
use crate::cluster::transfers::Transfers;
use crate::crawldb::RecentKeys;
use crate::messages::{CommitNumber, GroupRole, OnAck, OwnershipMessage, PendingSeeds, Role};
use crate::ownership::{Effect, Ownership};
use crate::storage::DiskError;
use crate::url_tracing::Tracer;
use crivello_common::config::Cluster;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::units::ByteSize;
use crivello_common::view::{AgentId, AgentState, View};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
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
/// Number of ownership messages that wait for the packet queue from which on no more are created.
const MESSAGES_MAX: usize = 64;

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
    pub(super) replication: u32,
    pub(super) tracer: Arc<Tracer>,
    pub(super) status: Arc<ClusterStatus>,
    pub(super) ownership: Ownership,
    pub(super) outbox: Outbox,
    pub(super) waiters: AckWaiters<OnAck>,
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
    /// Delay between two visits to a host.
    delay: Duration,
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
}

impl ReplicationEngine {
    /// Creates an engine without a view, with the outbox of the previous process.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn new(
        me: AgentId,
        settings: &Cluster,
        tracer: Arc<Tracer>,
        status: Arc<ClusterStatus>,
        rows: &impl OutboxRows,
        now: Timestamp,
    ) -> Result<Self, DiskError> {
        Ok(Self {
            me,
            replication: settings.replication,
            tracer,
            status,
            ownership: Ownership::new(me, settings, now),
            outbox: Outbox::open(rows)?,
            waiters: AckWaiters::default(),
            transfers: Transfers::default(),
            traced: Traced::default(),
            seeds: HashMap::new(),
            messages: BTreeMap::new(),
            sent: HashMap::new(),
            next_view: None,
            replicated: HashSet::default(),
            recently_sent: RecentKeys::new(RECENTLY_SENT),
            effects: Vec::new(),
            delay: Duration::ZERO,
            draining: BTreeSet::new(),
            recalled: BTreeSet::new(),
            drain_check_at: now,
            ask_at: now,
            ask_every: ASK_FIRST,
            expired_epoch: 0,
            fetch_deadline: Timestamp::ZERO,
            was_open: false,
        })
    }

    /// Sets the delay between two visits to a host from the live settings.
    pub const fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// Returns the effects since the last call, in order.
    pub fn take_effects(&mut self) -> Vec<ReplicationEffect> {
        self.recalled.clear();
        std::mem::take(&mut self.effects)
    }

    /// Returns the ownership state, with the view in force.
    #[must_use]
    pub const fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    /// Returns the outbox, which contains the unacknowledged rows.
    #[must_use]
    pub const fn outbox(&self) -> &Outbox {
        &self.outbox
    }

    /// Returns the number of groups that are being drained, and of transfers in progress.
    #[must_use]
    pub fn handoffs(&self) -> usize {
        self.transfers.len() + self.draining.len()
    }

    /// Runs `f` on the ownership state, then applies its changes of roles and its effects.
    pub(super) fn decide<S: ReplicaStore, T>(
        &mut self,
        store: &mut S,
        not_before: Timestamp,
        f: impl FnOnce(&mut Ownership, &mut RecordedRoles<'_, S::Roles>, &mut Vec<Effect>) -> T,
    ) -> Result<T, DiskError> {
        let mut effects = Vec::new();
        let mut roles = RecordedRoles::new(store.roles());
        let result = f(&mut self.ownership, &mut roles, &mut effects);
        for group in roles.into_changed()? {
            match store.roles().role(group)? {
                Some(GroupRole { role: Role::Authority { .. }, .. }) => {
                    store.open_group(group, not_before)?;
                    // If it was open before, its hosts may have been skipped.
                    store.rescan_schedule();
                }
                Some(_) => {
                    self.replicated.remove(&group);
                    store.close_group(group)?;
                }
                None => {}
            }
        }
        for effect in effects {
            self.carry_out(store, effect);
        }
        Ok(result)
    }

    fn carry_out<S: ReplicaStore>(&mut self, store: &mut S, effect: Effect) {
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

    /// Returns the earliest time to fetch a group that was not handed off to this agent: its last
    /// owner may have just visited its hosts.
    pub(super) fn not_before(&self, now: Timestamp) -> Timestamp {
        now + self.delay
    }

    /// Continues the handoff of this epoch. `clock` measures the duration of scans: the pause after
    /// a scan is a multiple of it.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn step<S: ReplicaStore>(
        &mut self,
        store: &mut S,
        now: Timestamp,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<(), DiskError> {
        let not_before = self.not_before(now);
        if now >= self.ask_at {
            self.ask_at = now + self.ask_every;
            self.ask_every = (2 * self.ask_every).min(ASK_LAST);
            self.ownership.ask_again();
        }
        while self.messages.values().map(VecDeque::len).sum::<usize>() < MESSAGES_MAX {
            let now = clock();
            let more = self.decide(store, not_before, |ownership, roles, effects| {
                ownership.step(roles, now, effects)
            })?;
            if !more {
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
    fn check_drained<S: ReplicaStore>(
        &mut self,
        store: &mut S,
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
        let not_before = self.not_before(now);
        for group in drained {
            self.draining.remove(&group);
            self.decide(store, not_before, |ownership, roles, effects| {
                ownership.on_drained(group, roles, effects);
            })?;
        }
        Ok(())
    }

    fn update_fetch_deadline<S: ReplicaStore>(&mut self, store: &mut S, now: Timestamp) {
        let until = self.fence_until();
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

    fn fence_until(&self) -> Timestamp {
        let Some(view) = self.ownership.view() else { return Timestamp::ZERO };
        let alive = view.agent(self.me).is_some_and(|agent| agent.state != AgentState::Dead);
        let others = view.agents.iter().filter(|a| a.id != self.me && a.state != AgentState::Dead);
        if alive { self.ownership.fence.until(others.map(|a| a.id)) } else { Timestamp::ZERO }
    }

    /// Returns true if a visit to a host of a group may begin.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn may_fetch<R: RoleRows>(
        &mut self,
        group: GroupHash,
        rows: &mut R,
        now: Timestamp,
    ) -> Result<bool, DiskError> {
        let mut roles = RecordedRoles::new(rows);
        let may = self.ownership.may_fetch(group, &mut roles, now);
        // A group whose authority is taken here is open already, because its hosts are scheduled.
        roles.into_changed().map(|_| may)
    }

    /// Clears the state of the epoch.
    pub(super) fn reset(&mut self, now: Timestamp) {
        self.messages.clear();
        self.transfers.clear();
        self.sent.clear();
        self.draining.clear();
        self.effects.retain(|effect| !matches!(effect, ReplicationEffect::Recall(_)));
        self.recalled.clear();
        self.replicated.clear();
        self.recently_sent.clear();
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
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.has_shared_all()
            && self.messages.values().all(VecDeque::is_empty)
            && self.sent.is_empty()
            && self.waiters.is_empty()
            && self.seeds.is_empty()
            && self.outbox.is_empty()
    }

    /// Returns true if all groups that other agents must have are stored there.
    #[must_use]
    pub fn has_shared_all(&self) -> bool {
        self.ownership.is_settled() && self.transfers.is_empty() && self.draining.is_empty()
    }

    /// Returns true if this agent is draining and has no group left.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn is_drained<S: ReplicaStore>(&self, store: &mut S) -> Result<bool, DiskError> {
        let me = self.ownership.view().and_then(|view| view.agent(self.me));
        let draining = me.is_some_and(|me| me.state == AgentState::Draining);
        Ok(draining && self.is_settled() && store.roles().roles_after(None, 1)?.is_empty())
    }

    /// Returns true if all agents of the view are draining or dead.
    #[must_use]
    pub fn nobody_takes_over(&self) -> bool {
        let active = |view: &Arc<View>| view.agents.iter().any(|a| a.state == AgentState::Active);
        self.ownership.view().is_some_and(|view| !active(view))
    }
}
