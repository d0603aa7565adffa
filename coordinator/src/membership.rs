//! The membership thread: owns the coordinator's state and runs commands one at a time.
//!
//! - *Input:* commands, through a bounded queue ([`MembershipHandle`]).
//! - *Output:* a reply to each command; views and settings after they are stored.
//! - *Errors:* a change that cannot be stored is not made, and its sender gets the error.
//!   Leases are still renewed, so no agent dies because of a full disk.

use crate::lease_clock::LeaseClock;
use crate::members::{
    MemberEvent, MemberLease, MemberRefusal, Members, MembershipRules, StepResult,
};
use crate::metrics::Counts;
use crate::page_quota::{PageQuota, PageReport, living};
use crate::settings::{EditRejected, SettingsStore};
use crate::state_file::{Record, StateFile};
use crivello_common::certificate_id::CertificateId;
use crivello_common::config::{Edit, Settings};
use crivello_common::obstacle::{Obstacle, ObstacleKind};
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{Agent, AgentId, AgentState, View};
use crivello_proto::v1;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::sync::{oneshot, watch};

/// Capacity of the command queue: one command per agent, plus some from people.
const QUEUE_LEN_MAX: usize = 2_048;
/// Clock readings per lease. At most twice this fraction of a lease can pass unnoticed.
const CLOCK_READS_A_LEASE: u32 = 10;

/// A change of the membership, or a query.
#[derive(Debug)]
pub(crate) enum Command {
    /// An event of the membership. An agent that reports or leaves also sends its page counts, in a
    /// crawl with a page limit.
    Event(MemberEvent, Option<(AgentId, PageReport)>),
    /// Drain the agent with this name or id.
    Drain(String),
    /// Remove the agent with this name or id.
    Remove {
        /// Agent.
        agent: String,
        /// True if pages that only it fetched are fetched again.
        refetch: bool,
        /// True if pages in safe files are fetched again, too.
        ignore_store: bool,
        /// Number of its pages that are not fetched again, because they are in safe files.
        safe_pages: u64,
        /// True if a person gives up what may be at no other agent.
        force: bool,
    },
    /// Accept one more certificate of the agent with this name or id.
    AcceptCertificate(String, CertificateId),
    /// Count the process of the agent with this name or id as ended.
    DeclareDead(String),
    /// List all leases without changing anything.
    List,
}

#[derive(Debug)]
enum Message {
    Command(Command, oneshot::Sender<Result<Reply, CommandError>>),
    /// Edits of settings, made only if this revision is in force (0: any revision).
    Edit(Vec<(String, Edit)>, u64, oneshot::Sender<Result<EditReply, CommandError>>),
    End,
}

/// The result of a command.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    /// The view in force.
    pub(crate) view: Arc<View>,
    /// Granted lease and its agent.
    pub(crate) lease: Option<(AgentId, Duration)>,
    /// For a list: each agent with the rest of its lease and the epoch that it uses.
    pub(crate) leases: Vec<(AgentId, Duration, u64)>,
    /// For a list: what keeps the crawl from going on, or from ending.
    pub(crate) obstacles: Vec<Obstacle>,
    /// For a list: dead agents whose groups have not been fully replicated since.
    pub(crate) uncovered: Vec<AgentId>,
    /// For a list: the number of first archive files of each agent that are safe in a store.
    pub(crate) safe_files: Vec<(AgentId, u32)>,
    /// For a heartbeat: the epoch since which the agent should check all its copies, or 0.
    pub(crate) copies_wanted: u64,
    /// For a heartbeat in a crawl with a page limit: the agent's page quota.
    pub(crate) pages: Option<v1::QuotaGrant>,
}

/// The result of edits.
#[derive(Clone, Debug)]
pub(crate) struct EditReply {
    /// The settings in force.
    pub(crate) settings: Arc<v1::CrawlSettings>,
    /// Keys of changed settings that take effect when the agents restart.
    pub(crate) at_restart: Vec<String>,
}

/// The reason why a command changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommandError {
    /// The membership rejects the command.
    #[error("{0}")]
    Refused(#[from] MemberRefusal),
    /// The settings reject the edit.
    #[error("{0}")]
    Edit(#[from] EditRejected),
    /// The state cannot be stored.
    #[error("nothing was changed, because the coordinator's state cannot be written: {0}")]
    NotStored(String),
    /// The queue is full.
    #[error("the coordinator is busy: try again")]
    Busy,
    /// The thread has ended.
    #[error("the coordinator is stopping")]
    Ending,
}

/// Handle that sends commands to the thread. Clones share the thread.
#[derive(Clone, Debug)]
pub(crate) struct MembershipHandle {
    queue: SyncSender<Message>,
    /// The view in force. Closed when the thread has ended.
    pub(crate) views: watch::Receiver<Arc<View>>,
    /// The settings in force. Closed when the thread has ended.
    pub(crate) settings: watch::Receiver<Arc<v1::CrawlSettings>>,
    pub(crate) counts: Arc<Counts>,
}

impl MembershipHandle {
    /// Starts the thread with the opened state.
    ///
    /// # Errors
    /// Fails if the system cannot start a thread.
    pub(crate) fn start(
        (file, record): (StateFile, Record),
        settings: &Settings,
        clock: Clock,
    ) -> io::Result<Self> {
        let (lease, now) = (settings.fixed.cluster.lease, clock.now());
        let Record { members, page_quotas, .. } = record.clone();
        let view = members.view.clone();
        let quota = settings.live.limits.pages_max.map(|limit| {
            let unreported = living(&view).into_iter().filter(|id| !page_quotas.contains_key(id));
            PageQuota::new(limit, page_quotas.clone()).with_unreported(unreported.collect())
        });
        let replication = settings.fixed.cluster.replication as usize;
        let store = SettingsStore::new(settings.clone(), record.settings.clone());
        let (settings_sender, settings_receiver) = watch::channel(Arc::new(store.message()));
        let (views, view_receiver) = watch::channel(Arc::new(view));
        let (queue, messages) = sync_channel(QUEUE_LEN_MAX);
        let tick = (lease / CLOCK_READS_A_LEASE).max(Duration::from_millis(1));
        let counts = Arc::<Counts>::default();
        counts.limit.store(settings.live.limits.pages_max.unwrap_or_default(), Relaxed);
        counts.pages_granted.store(quotas(quota.as_ref()).values().sum(), Relaxed);
        let peer_lease = settings.fixed.cluster.peer_lease();
        let rules = MembershipRules { lease, peer_lease, replication };
        let service = MembershipService {
            counts: Arc::clone(&counts),
            file,
            stored: record,
            members: Members::restore(rules, members, now),
            obstacles_at: Timestamp::ZERO,
            quota,
            store,
            views,
            settings: settings_sender,
            clock,
            lease_clock: LeaseClock::new(now, 2 * tick),
            tick,
            is_failing: false,
        };
        std::thread::Builder::new()
            .name("members".to_owned())
            .spawn(move || service.run(&messages))?;
        Ok(Self { queue, views: view_receiver, counts, settings: settings_receiver })
    }

    /// Runs a command and waits for its result.
    ///
    /// # Errors
    /// Returns the reason why nothing was changed.
    pub(crate) async fn run(&self, command: Command) -> Result<Reply, CommandError> {
        let counts = &self.counts;
        counts.requests.fetch_add(1, Relaxed);
        let is_heartbeat = matches!(command, Command::Event(MemberEvent::Heartbeat { .. }, _));
        counts.heartbeats.fetch_add(is_heartbeat.into(), Relaxed);
        let result = self.send(|reply| Message::Command(command, reply)).await;
        match &result {
            Err(CommandError::Refused(_)) => counts.refusals.fetch_add(1, Relaxed),
            Err(CommandError::Busy) => counts.busy.fetch_add(1, Relaxed),
            _ => 0,
        };
        result
    }

    /// Changes settings. `known_revision` must be the revision in force, unless it is 0.
    ///
    /// # Errors
    /// Returns the reason why nothing was changed.
    pub(crate) async fn edit(
        &self,
        edits: Vec<(String, Edit)>,
        known_revision: u64,
    ) -> Result<EditReply, CommandError> {
        self.send(|reply| Message::Edit(edits, known_revision, reply)).await
    }

    async fn send<T>(
        &self,
        message: impl FnOnce(oneshot::Sender<Result<T, CommandError>>) -> Message,
    ) -> Result<T, CommandError> {
        let (reply, result) = oneshot::channel();
        match self.queue.try_send(message(reply)) {
            Ok(()) => result.await.unwrap_or(Err(CommandError::Ending)),
            Err(TrySendError::Full(_)) => Err(CommandError::Busy),
            Err(TrySendError::Disconnected(_)) => Err(CommandError::Ending),
        }
    }

    /// Ends the thread after all queued commands. May block while the queue is full.
    pub(crate) fn end(&self) {
        // If the thread has ended, the message is not needed.
        let _ = self.queue.send(Message::End);
    }
}

/// The state of the thread.
struct MembershipService {
    counts: Arc<Counts>,
    file: StateFile,
    /// Content of the file, or the content being written.
    stored: Record,
    members: Members,
    /// Time of the last count of obstacles.
    obstacles_at: Timestamp,
    /// `None` if there is no page limit.
    quota: Option<PageQuota>,
    store: SettingsStore,
    views: watch::Sender<Arc<View>>,
    settings: watch::Sender<Arc<v1::CrawlSettings>>,
    clock: Clock,
    lease_clock: LeaseClock,
    /// Longest time between two clock readings.
    tick: Duration,
    /// True if the last write of the file failed.
    is_failing: bool,
}

impl MembershipService {
    fn run(mut self, messages: &Receiver<Message>) {
        loop {
            let message = messages.recv_timeout(self.pause());
            let now = self.lease_clock.advance(self.clock.now());
            self.count_obstacles(now);
            match message {
                Ok(Message::Command(command, reply)) => {
                    // The sender may be gone.
                    let _ = reply.send(self.execute(command, now));
                }
                Ok(Message::Edit(edits, known_revision, reply)) => {
                    let _ = reply.send(self.edit(&edits, known_revision));
                }
                Err(RecvTimeoutError::Timeout) => {
                    // A view that cannot be stored now is stored at a later tick.
                    let _ = self.apply(&MemberEvent::Tick, now);
                }
                Ok(Message::End) | Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Returns the time until the next clock reading.
    fn pause(&mut self) -> Duration {
        let now = self.lease_clock.advance(self.clock.now());
        match self.members.next_expiry() {
            Some(at) if !self.is_failing => at.since(now).min(self.tick),
            _ => self.tick,
        }
    }

    /// Counts the obstacles for the metrics, once a tick.
    fn count_obstacles(&mut self, now: Timestamp) {
        if now.since(self.obstacles_at) < self.tick {
            return;
        }
        self.obstacles_at = now;
        let obstacles = self.members.obstacles();
        for (kind, count) in ObstacleKind::ALL.into_iter().zip(&self.counts.obstacles) {
            let n = obstacles.iter().filter(|obstacle| obstacle.kind == kind).count();
            count.store(n as u64, Relaxed);
        }
    }

    fn execute(&mut self, command: Command, now: Timestamp) -> Result<Reply, CommandError> {
        match command {
            Command::Event(event, report) => {
                let mut reply = self.apply(&event, now)?;
                reply.pages = report.and_then(|(id, report)| self.grant_pages(id, report));
                if let MemberEvent::Heartbeat(report) = &event {
                    reply.copies_wanted = self.members.copies_wanted(report.id);
                }
                Ok(reply)
            }
            Command::Drain(agent) => {
                self.apply(&MemberEvent::Drain { id: self.members.find(&agent)? }, now)
            }
            Command::AcceptCertificate(agent, certificate) => {
                let id = self.members.find(&agent)?;
                self.apply(&MemberEvent::AcceptCertificate { id, certificate }, now)
            }
            Command::DeclareDead(agent) => {
                self.apply(&MemberEvent::DeclareDead { id: self.members.find(&agent)? }, now)
            }
            Command::Remove { agent, refetch, ignore_store, safe_pages, force } => {
                let id = self.members.find(&agent)?;
                // The view and the quotas change in the same record.
                let before = self.quota.clone();
                if let Some(quota) = self.quota.as_mut().filter(|_| refetch) {
                    quota.keep_only(id, if ignore_store { 0 } else { safe_pages });
                }
                let removed = MemberEvent::Remove { id, refetch, ignore_store, force };
                let removed = self.apply(&removed, now);
                if removed.is_err() {
                    self.quota = before;
                }
                removed
            }
            Command::List => {
                let mut list = self.reply(None, now);
                let lease = |id| self.members.lease(id, now).map(|(left, epoch)| (id, left, epoch));
                list.leases = list.view.agents.iter().filter_map(|a| lease(a.id)).collect();
                list.obstacles = self.members.obstacles();
                list.uncovered = self.members.uncovered();
                let safe_files = |a: &Agent| (a.id, self.members.safe_files(a.id));
                list.safe_files = list.view.agents.iter().map(safe_files).collect();
                Ok(list)
            }
        }
    }

    /// Applies one event: decides on a copy, stores it, then puts it in force and publishes it.
    fn apply(&mut self, event: &MemberEvent, now: Timestamp) -> Result<Reply, CommandError> {
        let mut next = self.members.clone();
        let result = next.step(event, now);
        let is_new_view = next.view().epoch != self.members.view().epoch;
        if next.must_be_stored(&self.members) {
            let mut record = self.stored.clone();
            record.members = next.record();
            record.page_quotas = quotas(self.quota.as_ref());
            if let Err(error) = self.save(record) {
                // No agent may die because no view can be stored.
                let renewed = self.members.renew_lease_only(event, now);
                let lease = renewed.ok_or_else(|| CommandError::NotStored(error.to_string()))?;
                return Ok(self.reply(lease?, now));
            }
        }
        if is_new_view {
            log_changes(self.members.view(), next.view());
            self.views.send_replace(Arc::new(next.view().clone()));
        }
        let was_outdated = self.members.is_outdated();
        self.members = next;
        if self.members.is_outdated() && !was_outdated {
            tracing::error!("all requests are refused from now on: {}", err_text(&result));
        }
        Ok(self.reply(result?, now))
    }

    /// Changes settings: checks, stores, then puts them in force and publishes them.
    fn edit(
        &mut self,
        edits: &[(String, Edit)],
        known_revision: u64,
    ) -> Result<EditReply, CommandError> {
        let edited = self.store.check(edits, known_revision)?;
        if !edited.changed.is_empty() {
            let limit = edited.settings.live.limits.pages_max;
            let quota = match (self.quota.clone(), limit) {
                (Some(quota), Some(limit)) => Some(quota.with_limit(limit)),
                // Pages fetched without a limit count too, so all agents must report first.
                (None, Some(limit)) => {
                    let unreported = living(self.members.view());
                    Some(PageQuota::new(limit, BTreeMap::new()).with_unreported(unreported))
                }
                (_, None) => None,
            };
            let store = self.store.with(&edited.settings);
            let mut record = self.stored.clone();
            record.settings = store.stored().clone();
            record.page_quotas = quotas(quota.as_ref());
            self.save(record).map_err(|error| CommandError::NotStored(error.to_string()))?;
            for key in &edited.changed {
                tracing::info!(
                    "setting {key} changed to {}",
                    edited.settings.value(key).unwrap_or_default()
                );
            }
            self.counts.limit.store(limit.unwrap_or_default(), Relaxed);
            (self.store, self.quota) = (store, quota);
            self.settings.send_replace(Arc::new(self.store.message()));
        }
        let settings = Arc::clone(&self.settings.borrow());
        Ok(EditReply { settings, at_restart: edited.at_restart })
    }

    /// Returns the agent's page quota; `None` if a larger quota cannot be stored.
    fn grant_pages(&mut self, id: AgentId, report: PageReport) -> Option<v1::QuotaGrant> {
        let mut next = self.quota.clone()?;
        let grant = next.on_report(id, report, &living(self.members.view()));
        if *next.granted() != self.stored.page_quotas {
            let record = Record { page_quotas: next.granted().clone(), ..self.stored.clone() };
            self.save(record).ok()?;
        }
        self.quota = Some(next);
        Some(grant)
    }

    /// Replaces the state on disk.
    fn save(&mut self, record: Record) -> io::Result<()> {
        let begun = self.clock.now();
        let saved = self.file.save(&record);
        match &saved {
            Ok(()) => {
                self.counts.writes.observe(self.clock.now().since(begun));
                self.counts.pages_granted.store(record.page_quotas.values().sum(), Relaxed);
                self.stored = record;
                if self.is_failing {
                    tracing::info!("the coordinator's state can be written again");
                }
            }
            Err(error) => {
                self.counts.write_errors.fetch_add(1, Relaxed);
                if !self.is_failing {
                    tracing::error!(
                        "the coordinator's state cannot be written; changes are rejected: {error}"
                    );
                }
            }
        }
        self.is_failing = saved.is_err();
        saved
    }

    fn reply(&self, lease: Option<MemberLease>, now: Timestamp) -> Reply {
        let lease = lease.map(|MemberLease { id, until }| (id, until.since(now)));
        Reply {
            view: Arc::clone(&self.views.borrow()),
            lease,
            leases: Vec::new(),
            obstacles: Vec::new(),
            uncovered: Vec::new(),
            safe_files: Vec::new(),
            copies_wanted: 0,
            pages: None,
        }
    }
}

fn err_text(result: &StepResult) -> String {
    result.as_ref().err().map(ToString::to_string).unwrap_or_default()
}

fn quotas(quota: Option<&PageQuota>) -> BTreeMap<AgentId, u64> {
    quota.map(|quota| quota.granted().clone()).unwrap_or_default()
}

fn log_changes(before: &View, after: &View) {
    if before.run != after.run {
        tracing::info!("the crawl is {}", after.run.name());
    }
    for agent in &after.agents {
        let state_before = before.agent(agent.id).map(|agent| agent.state);
        if state_before == Some(agent.state) {
            continue;
        }
        let (name, id) = (&agent.name, agent.id);
        match agent.state {
            AgentState::Active => tracing::info!("agent {name} ({id}) joined"),
            AgentState::Draining => tracing::info!("agent {name} ({id}) is draining"),
            AgentState::Dead => {
                tracing::warn!("agent {name} ({id}) is dead: its lease has expired");
            }
        }
    }
    for agent in before.agents.iter().filter(|agent| after.agent(agent.id).is_none()) {
        tracing::info!("agent {} ({}) left the cluster", agent.name, agent.id);
    }
}
