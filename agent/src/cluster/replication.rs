//! Replication on the writer's thread: the messages, packets, effects and status of the engine.

use crate::cluster::effect::ReplicationEffect;
use crate::cluster::engine::ReplicationEngine;
use crate::cluster::epoch::MembershipOutcome;
use crate::cluster::inbox::InboundMsg;
use crate::cluster::lag::Lag;
use crate::cluster::open_commits::OpenCommits;
use crate::cluster::outbox::Outbox;
use crate::cluster::status::ClusterStatus;
use crate::crawldb::{CrawlDb, GroupRows};
use crate::messages::{Commit, LeaseCommand, LeaseSender, ReplicaStore as _};
use crate::peers::Outgoing;
use crate::shared::Shared;
use crate::storage::DiskError;
use crivello_common::hash::{GroupHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, RunState, View};
use crossbeam::channel::Receiver;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::watch;

/// Maximum number of messages that are handled before the next commit.
const MESSAGES_AT_ONCE: usize = 256;
/// Pause between two steps of the check that all groups are copied.
const COPIES_EVERY: Duration = Duration::from_millis(10);

/// Replication of an agent that crawls alone or in a cluster.
pub enum Replication {
    /// The agent crawls alone: it owns all groups, and nothing is replicated.
    Solo,
    /// The agent is a member of a cluster.
    Cluster(Box<ClusterReplication>),
}

impl Replication {
    /// Moves the links of other agents' groups out of a commit.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn route(
        &mut self,
        commit: &mut Commit,
        crawldb: &mut CrawlDb,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        let Self::Cluster(cluster) = self else { return Ok(()) };
        cluster.engine.route(commit, crawldb, now)
    }

    /// Enqueues an applied commit for the replicas.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn enqueue(&mut self, commit: &mut Commit, crawldb: &mut CrawlDb) -> Result<(), DiskError> {
        let Self::Cluster(cluster) = self else { return Ok(()) };
        let changes = cluster.engine.enqueue(commit, crawldb)?;
        commit.batch.change_outbox(&changes);
        Ok(())
    }

    /// Handles a written commit: sends the acknowledgements that waited for it.
    pub fn on_committed(&mut self, commit: &mut Commit) {
        let Self::Cluster(cluster) = self else { return };
        cluster.engine.on_committed(commit);
        cluster.carry_out();
    }

    /// Returns true if a visit to a host of a group may begin.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn may_fetch(
        &mut self,
        group: GroupHash,
        rows: &mut GroupRows,
        now: Timestamp,
    ) -> Result<bool, DiskError> {
        let Self::Cluster(cluster) = self else { return Ok(true) };
        cluster.engine.may_fetch(group, rows, now)
    }

    /// Enqueues messages, outbox rows and chunks of transfers for other agents, until the packet
    /// queues are full.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn send(&mut self, crawldb: &CrawlDb) -> Result<(), DiskError> {
        let Self::Cluster(cluster) = self else { return Ok(()) };
        let clock = cluster.parts.shared.clock;
        cluster.engine.send(crawldb, &mut cluster.parts.outgoing, &|| clock.now())
    }

    /// Returns true if an acknowledgement, a row or a message waits for a sync of the state.
    pub fn wants_sync(&self) -> bool {
        matches!(self, Self::Cluster(cluster) if cluster.engine.wants_sync())
    }

    /// Handles a sync of the state.
    pub fn on_synced(&mut self) {
        let Self::Cluster(cluster) = self else { return };
        cluster.engine.on_synced();
        cluster.carry_out();
    }

    /// Returns true while rows of groups are sent to other agents.
    pub fn is_transferring(&self) -> bool {
        matches!(self, Self::Cluster(cluster) if cluster.engine.is_transferring())
    }

    /// Returns true if a handoff has more to do at once.
    pub fn has_more(&self) -> bool {
        matches!(self, Self::Cluster(cluster) if cluster.engine.has_more())
    }

    /// Returns true if outbox rows or pending pages wait for a commit.
    pub fn has_changes(&self) -> bool {
        matches!(self, Self::Cluster(cluster) if cluster.engine.has_changes())
    }

    /// Returns the sender of a traced URL in the open commit, and the time of its arrival.
    pub fn arrived(&self, url: &UrlKey) -> Option<(AgentId, Timestamp)> {
        let Self::Cluster(cluster) = self else { return None };
        cluster.engine.traced.arrived(url)
    }

    /// Returns true if the agent crawls alone.
    pub const fn is_solo(&self) -> bool {
        matches!(self, Self::Solo)
    }
}

/// Queues and state that a [`ClusterReplication`] uses.
pub struct ClusterParts {
    /// This agent.
    pub me: AgentId,
    /// The shared state.
    pub shared: Shared,
    /// Packet queues to other agents.
    pub outgoing: Arc<Outgoing>,
    /// Queue to the task of the IP leases.
    pub ip_leases: LeaseSender,
    /// Publishes the view in force to the receivers of packets.
    pub views: watch::Sender<Option<Arc<View>>>,
    /// Messages to the engine.
    pub inbox: Receiver<InboundMsg>,
    /// Status of the member.
    pub status: Arc<ClusterStatus>,
}

/// Replication engine with its queues.
pub struct ClusterReplication {
    engine: ReplicationEngine,
    parts: ClusterParts,
    lag: Lag,
    /// Groups whose hosts must leave the workbench.
    recalls: Vec<GroupHash>,
    copies_checked_at: Timestamp,
}

impl ClusterReplication {
    /// Creates an engine without a view, with the outbox of the previous process.
    #[must_use]
    pub fn new(parts: ClusterParts, outbox: Outbox) -> Self {
        let ClusterParts { me, shared, status, .. } = &parts;
        let (cluster, tracer) = (&shared.settings.cluster, shared.tracer.clone());
        let now = shared.clock.now();
        let me = (*me, shared.hasher);
        let engine = ReplicationEngine::new(me, cluster, tracer, status.clone(), outbox, now);
        let (lag, recalls) = (Lag::default(), Vec::new());
        Self { engine, parts, lag, recalls, copies_checked_at: Timestamp::ZERO }
    }

    /// Returns the queue of messages that are not handled yet.
    pub const fn inbox(&self) -> &Receiver<InboundMsg> {
        &self.parts.inbox
    }

    /// Handles messages until they suffice for a commit or none is left.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn receive(
        &mut self,
        open: &mut OpenCommits<'_>,
        crawldb: &mut CrawlDb,
    ) -> Result<(), DiskError> {
        for _ in 0..MESSAGES_AT_ONCE {
            if self.engine.is_full(open.facts) {
                break;
            }
            let Ok(message) = self.parts.inbox.try_recv() else { break };
            // A peer lease counts from when it is granted, not from when this loop began.
            self.engine.on_message(message, open, crawldb, self.parts.shared.clock.now())?;
        }
        self.carry_out();
        Ok(())
    }

    /// Takes the received view, for [`Self::begin_epoch`].
    pub const fn take_view(&mut self) -> Option<Arc<View>> {
        self.engine.take_view()
    }

    /// Puts a view into force. All facts must be committed.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn begin_epoch(
        &mut self,
        view: &Arc<View>,
        open: &mut OpenCommits<'_>,
        crawldb: &mut CrawlDb,
        now: Timestamp,
    ) -> Result<MembershipOutcome, DiskError> {
        self.recalls.clear();
        let outcome = self.engine.begin_epoch(view, open, crawldb, now)?;
        self.carry_out();
        Ok(outcome)
    }

    /// Continues the handoff of this epoch. Returns the groups whose hosts must leave the
    /// workbench.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn step(
        &mut self,
        open: &mut OpenCommits<'_>,
        crawldb: &mut CrawlDb,
        now: Timestamp,
    ) -> Result<Vec<GroupHash>, DiskError> {
        let clock = self.parts.shared.clock;
        self.engine.step(open, crawldb, now, &|| clock.now())?;
        self.carry_out();
        let (status, epoch) = (&self.parts.shared.status, self.engine.ownership().epoch());
        if self.engine.has_shared_all() {
            status.settled_in.store(epoch, Relaxed);
        }
        if self.engine.ownership().has_scanned() {
            status.scanned_in.store(epoch, Relaxed);
        }
        let wanted = status.copies_wanted.load(Relaxed);
        if wanted > status.copied_since.load(Relaxed)
            && now >= self.copies_checked_at + COPIES_EVERY
        {
            self.copies_checked_at = now;
            let complete = self.engine.check_copies(crawldb.roles(), wanted)?;
            status.copied_since.store(complete, Relaxed);
        }
        let lifecycle = &self.parts.shared.lifecycle;
        if lifecycle.drain_requested.load(Relaxed) && self.engine.nobody_takes_over() {
            lifecycle.stays_member.store(true, Relaxed);
            lifecycle.stop.cancel();
        }
        Ok(std::mem::take(&mut self.recalls))
    }

    /// Returns true if nothing is in progress between this agent and others.
    pub fn is_settled(&self) -> bool {
        self.engine.is_settled() && self.parts.inbox.is_empty()
    }

    /// Returns true if this agent is draining and has no group left.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn is_drained(&self, crawldb: &mut CrawlDb) -> Result<bool, DiskError> {
        Ok(self.parts.inbox.is_empty() && self.engine.is_drained(crawldb)?)
    }

    /// Reports the status. `idle` is true if the agent is idle.
    pub fn report(&mut self, idle: bool) {
        let outbox = self.engine.outbox();
        let mut state = self.parts.status.state.lock();
        state.view = self.engine.ownership().view().cloned();
        state.outbox = outbox.len() as u64;
        state.handoffs = self.engine.handoffs() as u64;
        state.idle = idle;
        if let Some(waiting) = self.lag.look(outbox, self.parts.shared.clock.now()) {
            state.waiting = waiting;
            state.arrivals = self.parts.inbox.len();
        }
    }

    fn carry_out(&mut self) {
        for effect in self.engine.take_effects() {
            match effect {
                // The requester may be gone.
                ReplicationEffect::Acknowledge(answer, ack) => drop(answer.send(ack)),
                ReplicationEffect::AnswerSeeds(answer, seeds) => drop(answer.send(seeds)),
                ReplicationEffect::EnterEpoch(view) => self.enter_epoch(view),
                ReplicationEffect::PeerLeasesExpired { epoch } => {
                    self.parts.ip_leases.send(LeaseCommand::Clear { epoch });
                }
                ReplicationEffect::Recall(group) => self.recalls.push(group),
                ReplicationEffect::FetchDeadline(until) => {
                    self.parts.shared.fetch_deadline.set(until);
                }
                ReplicationEffect::GroupReceived => {
                    self.parts.shared.measured.groups_in.fetch_add(1, Relaxed);
                }
                ReplicationEffect::GroupSent => {
                    self.parts.shared.measured.groups_out.fetch_add(1, Relaxed);
                }
            }
        }
    }

    fn enter_epoch(&self, view: Arc<View>) {
        self.parts.outgoing.set_view(&view);
        self.parts.shared.status.paused.store(view.run == RunState::Paused, Relaxed);
        if view.run == RunState::Stopping {
            self.parts.shared.lifecycle.stop.cancel();
        }
        self.parts.ip_leases.send(LeaseCommand::View(view.clone()));
        // This comes last, because from here on packets of this epoch are accepted.
        self.parts.views.send_replace(Some(view));
    }
}
