//! The replication engine on the writer's thread: its messages, packets, effects and status.

use crate::cluster::crawldb_store::add_outbox_changes;
use crate::cluster::effect::ReplicationEffect;
use crate::cluster::engine::ReplicationEngine;
use crate::cluster::epoch::MembershipOutcome;
use crate::cluster::inbound::OpenCommits;
use crate::cluster::inbox::InboundMsg;
use crate::cluster::lag::Lag;
use crate::cluster::status::ClusterStatus;
use crate::crawldb::{CrawlDb, GroupRows};
use crate::messages::{Commit, LeaseCommand, LeaseSender};
use crate::peers::Outgoing;
use crate::shared::Shared;
use crate::storage::{Database, DiskError};
use crivello_common::hash::{GroupHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, RunState, View};
use crossbeam::channel::Receiver;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::watch;

/// Messages that are handled before the next commit.
const MESSAGES_AT_ONCE: usize = 256;

/// Whether the agent crawls alone or in a cluster.
pub enum Replication {
    /// Alone: all groups are its own, and nothing is replicated.
    Solo,
    /// In a cluster.
    Cluster(Box<ClusterReplication>),
}

impl Replication {
    /// Moves the links of other agents' groups out of a commit.
    ///
    /// # Errors
    /// When the disk fails.
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
    /// When the disk fails.
    pub fn enqueue(&mut self, commit: &mut Commit, crawldb: &mut CrawlDb) -> Result<(), DiskError> {
        let Self::Cluster(cluster) = self else { return Ok(()) };
        let changes = cluster.engine.enqueue(commit, crawldb)?;
        add_outbox_changes(crawldb.disk(), &mut commit.batch, &changes);
        Ok(())
    }

    /// A commit is written: sends the acknowledgements that waited for it.
    pub fn on_committed(&mut self, commit: &mut Commit) {
        let Self::Cluster(cluster) = self else { return };
        cluster.engine.on_committed(commit);
        cluster.carry_out();
    }

    /// Whether a visit to a host of a group may begin.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn may_fetch(
        &mut self,
        group: GroupHash,
        rows: &mut GroupRows,
        now: Timestamp,
    ) -> Result<bool, DiskError> {
        let Self::Cluster(cluster) = self else { return Ok(true) };
        cluster.engine.may_fetch(group, rows, now)
    }

    /// Gives the packet queues what they have room for.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn send(&mut self, crawldb: &CrawlDb) -> Result<(), DiskError> {
        let Self::Cluster(cluster) = self else { return Ok(()) };
        cluster.engine.send(crawldb, &mut cluster.outgoing)
    }

    /// Whether outbox rows or pending pages wait for a commit.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        matches!(self, Self::Cluster(cluster) if cluster.engine.has_changes())
    }

    /// The agent from which a URL of the open commit came, and when.
    #[must_use]
    pub fn arrived(&self, url: &UrlKey) -> Option<(AgentId, Timestamp)> {
        let Self::Cluster(cluster) = self else { return None };
        cluster.engine.traced.arrived(url)
    }

    /// Whether the agent crawls alone.
    #[must_use]
    pub const fn is_solo(&self) -> bool {
        matches!(self, Self::Solo)
    }
}

/// The queues around the engine of a cluster's member.
pub struct ClusterParts {
    /// This agent.
    pub me: AgentId,
    /// The shared state.
    pub shared: Shared,
    /// The packet queues to other agents.
    pub outgoing: Arc<Outgoing>,
    /// The queue to the task of the IP leases.
    pub ip_leases: LeaseSender,
    /// The view in force, for those who accept packets.
    pub views: watch::Sender<Option<Arc<View>>>,
    /// Messages to the engine.
    pub inbox: Receiver<InboundMsg>,
    /// Its status.
    pub status: Arc<ClusterStatus>,
}

/// The engine with its queues.
pub struct ClusterReplication {
    engine: ReplicationEngine,
    shared: Shared,
    outgoing: Arc<Outgoing>,
    ip_leases: LeaseSender,
    views: watch::Sender<Option<Arc<View>>>,
    inbox: Receiver<InboundMsg>,
    status: Arc<ClusterStatus>,
    lag: Lag,
    /// Groups whose hosts are to leave the workbench.
    recalls: Vec<GroupHash>,
}

impl ClusterReplication {
    /// An engine that knows no view yet. Its outbox is as an earlier process left it.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn new(parts: ClusterParts, disk: &Database) -> Result<Self, DiskError> {
        let ClusterParts { me, shared, outgoing, ip_leases, views, inbox, status } = parts;
        let (cluster, tracer) = (&shared.settings.cluster, shared.tracer.clone());
        let now = shared.clock.now();
        let engine = ReplicationEngine::new(me, cluster, tracer, status.clone(), disk, now)?;
        let (lag, recalls) = (Lag::default(), Vec::new());
        Ok(Self { engine, shared, outgoing, ip_leases, views, inbox, status, lag, recalls })
    }

    /// The messages that are not handled yet.
    #[must_use]
    pub const fn inbox(&self) -> &Receiver<InboundMsg> {
        &self.inbox
    }

    /// Handles messages until there is enough for a commit.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn receive(
        &mut self,
        open: &mut OpenCommits<'_>,
        crawldb: &mut CrawlDb,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        self.engine.set_delay(self.shared.live.latest().live.politeness.delay);
        for _ in 0..MESSAGES_AT_ONCE {
            if self.engine.is_full(open.facts) {
                break;
            }
            let Ok(message) = self.inbox.try_recv() else { break };
            self.engine.on_message(message, open, crawldb, now)?;
        }
        self.carry_out();
        Ok(())
    }

    /// A view that [`Self::begin_epoch`] is to bring into force.
    pub const fn take_view(&mut self) -> Option<Arc<View>> {
        self.engine.take_view()
    }

    /// Brings a view into force. All jobs on groups must be done, and all facts committed.
    ///
    /// # Errors
    /// When the disk fails.
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

    /// Continues the handoffs of this epoch. Returns the groups whose hosts must leave the workbench.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn step(
        &mut self,
        crawldb: &mut CrawlDb,
        now: Timestamp,
    ) -> Result<Vec<GroupHash>, DiskError> {
        let clock = self.shared.clock;
        self.engine.step(crawldb, now, &|| clock.now())?;
        self.carry_out();
        if self.engine.has_shared_all() {
            self.shared.status.settled_in.store(self.engine.ownership().epoch(), Relaxed);
        }
        let lifecycle = &self.shared.lifecycle;
        if lifecycle.drain_requested.load(Relaxed) && self.engine.nobody_takes_over() {
            lifecycle.stays_member.store(true, Relaxed);
            lifecycle.stop.cancel();
        }
        Ok(std::mem::take(&mut self.recalls))
    }

    /// Whether nothing is under way between this agent and others.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.engine.is_settled() && self.inbox.is_empty()
    }

    /// Whether this agent is draining and has no group left.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn is_drained(&self, crawldb: &mut CrawlDb) -> Result<bool, DiskError> {
        Ok(self.inbox.is_empty() && self.engine.is_drained(crawldb)?)
    }

    /// Reports the status, and whether the agent is idle.
    pub fn report(&mut self, idle: bool) {
        let (view, outbox) = (self.engine.ownership().view(), self.engine.outbox());
        self.status.report(view, outbox.len(), self.engine.handoffs(), idle);
        if let Some(waiting) = self.lag.look(outbox, self.shared.clock.now()) {
            self.status.report_waiting(waiting, self.inbox.len());
        }
    }

    fn carry_out(&mut self) {
        for effect in self.engine.take_effects() {
            match effect {
                // Whoever has asked may be gone.
                ReplicationEffect::Acknowledge(answer, ack) => drop(answer.send(ack)),
                ReplicationEffect::AnswerSeeds(answer, seeds) => drop(answer.send(seeds)),
                ReplicationEffect::EnterEpoch(view) => self.enter_epoch(view),
                ReplicationEffect::PeerLeasesExpired { epoch } => {
                    self.ip_leases.send(LeaseCommand::Clear { epoch });
                }
                ReplicationEffect::Recall(group) => self.recalls.push(group),
                ReplicationEffect::FetchDeadline(until) => self.shared.fetch_deadline.set(until),
                ReplicationEffect::GroupReceived => {
                    self.shared.measured.groups_in.fetch_add(1, Relaxed);
                }
                ReplicationEffect::GroupSent => {
                    self.shared.measured.groups_out.fetch_add(1, Relaxed);
                }
            }
        }
    }

    fn enter_epoch(&self, view: Arc<View>) {
        self.outgoing.set_view(&view);
        self.shared.status.paused.store(view.run == RunState::Paused, Relaxed);
        if view.run == RunState::Stopping {
            self.shared.lifecycle.stop.cancel();
        }
        self.ip_leases.send(LeaseCommand::View(view.clone()));
        // Last: from here on packets of this epoch are accepted.
        self.views.send_replace(Some(view));
    }
}
