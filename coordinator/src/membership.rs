//! The membership thread: owns the coordinator's state and runs commands, one after the other.
//!
//! - *Input:* commands, through a bounded queue ([`MembershipHandle`]).
//! - *Output:* a reply to each command; views and settings after they are stored.
//! - *Errors:* a change that cannot be stored is not made, and its sender gets the error.
//!   Leases are still renewed, so no agent dies because of a full disk.
//!
//! All commands that wait are decided on a copy of the state ([`Draft`]), which is stored with one sync and published
//! as one view: agents that join at the same time, and all page quotas, take one write.

use crate::draft::{Command, CommandError, Draft, Reply, leased};
use crate::etcd::ActiveUntil;
use crate::lease_clock::LeaseClock;
use crate::members::{MemberEvent, Members, MembershipRules};
use crate::metrics::Counts;
use crate::page_quota::{PageQuota, living};
use crate::settings::SettingsStore;
use crate::state::{CoordinatorState, Record};
use crivello_common::config::{Edit, Settings};
use crivello_common::obstacle::ObstacleKind;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{AgentId, AgentState, View};
use crivello_proto::v1;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use std::{io, iter};
use tokio::sync::{oneshot, watch};

/// Capacity of the command queue: one command per agent, plus some from people.
const QUEUE_LEN_MAX: usize = 2_048;
/// Maximum number of commands whose changes are stored at once.
const BATCH_LEN_MAX: usize = 256;
/// Clock readings per lease. At most twice this fraction of a lease can pass unnoticed.
const CLOCK_READS_A_LEASE: u32 = 10;

type Request = (Command, oneshot::Sender<Result<Reply, CommandError>>);

#[derive(Debug)]
enum Message {
    Command(Box<Request>),
    End,
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
        state: (CoordinatorState, Record),
        settings: &Settings,
        active: ActiveUntil,
        clock: Clock,
    ) -> io::Result<Self> {
        let service = MembershipService::new(state, settings, active, clock);
        let (counts, views) = (Arc::clone(&service.counts), service.views.subscribe());
        let settings = service.settings.subscribe();
        let (queue, messages) = sync_channel(QUEUE_LEN_MAX);
        std::thread::Builder::new()
            .name("members".to_owned())
            .spawn(move || service.run(&messages))?;
        Ok(Self { queue, views, counts, settings })
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
        let result = self.send(command).await;
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
    ) -> Result<Reply, CommandError> {
        self.send(Command::Edit(edits, known_revision)).await
    }

    async fn send(&self, command: Command) -> Result<Reply, CommandError> {
        let (reply, result) = oneshot::channel();
        match self.queue.try_send(Message::Command(Box::new((command, reply)))) {
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
    state: CoordinatorState,
    /// The record in it, or the one being written.
    stored: Record,
    in_force: Draft,
    /// Time of the last count of obstacles.
    obstacles_at: Timestamp,
    views: watch::Sender<Arc<View>>,
    settings: watch::Sender<Arc<v1::CrawlSettings>>,
    active: ActiveUntil,
    clock: Clock,
    lease_clock: LeaseClock,
    /// Longest time between two clock readings.
    tick: Duration,
    /// True if the last write of the file failed.
    is_failing: bool,
}

impl MembershipService {
    fn new(
        (state, record): (CoordinatorState, Record),
        settings: &Settings,
        active: ActiveUntil,
        clock: Clock,
    ) -> Self {
        let (lease, now) = (settings.fixed.cluster.lease, clock.now());
        let Record { members, page_quotas, .. } = record.clone();
        let view = members.view.clone();
        let quota = settings.live.limits.pages_max.map(|limit| {
            let unreported = living(&view).into_iter().filter(|id| !page_quotas.contains_key(id));
            PageQuota::new(limit, page_quotas.clone()).with_unreported(unreported.collect())
        });
        let replication = settings.fixed.cluster.replication as usize;
        let store = SettingsStore::new(settings.clone(), record.settings.clone());
        let message = Arc::new(store.message());
        let tick = (lease / CLOCK_READS_A_LEASE).max(Duration::from_millis(1));
        let counts = Arc::<Counts>::default();
        counts.limit.store(settings.live.limits.pages_max.unwrap_or_default(), Relaxed);
        counts.pages_granted.store(quotas(quota.as_ref()).values().sum(), Relaxed);
        let peer_lease = settings.fixed.cluster.peer_lease();
        let rules = MembershipRules { lease, peer_lease, replication };
        Self {
            counts,
            state,
            stored: record,
            in_force: Draft {
                members: Members::restore(rules, members, now),
                quota,
                settings: Arc::new(store),
                changed: Vec::new(),
            },
            obstacles_at: Timestamp::ZERO,
            views: watch::Sender::new(Arc::new(view)),
            settings: watch::Sender::new(message),
            active,
            clock,
            lease_clock: LeaseClock::new(now, 2 * tick),
            tick,
            is_failing: false,
        }
    }

    fn run(mut self, messages: &Receiver<Message>) {
        let mut is_ending = false;
        while !is_ending && self.active.is_active() {
            let first = match messages.recv_timeout(self.pause()) {
                Ok(message) => message,
                // A view that cannot be stored now is stored at a later tick.
                Err(RecvTimeoutError::Timeout) => {
                    let tick = Command::Event(MemberEvent::Tick, None);
                    Message::Command(Box::new((tick, oneshot::channel().0)))
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut requests = Vec::new();
            for message in iter::once(first).chain(messages.try_iter().take(BATCH_LEN_MAX - 1)) {
                match message {
                    Message::Command(request) => requests.push(*request),
                    Message::End => {
                        is_ending = true;
                        break;
                    }
                }
            }
            let now = self.lease_clock.advance(self.clock.now());
            self.count_obstacles(now);
            self.handle(requests, now);
        }
    }

    /// Returns the time until the next clock reading.
    fn pause(&mut self) -> Duration {
        let now = self.lease_clock.advance(self.clock.now());
        match self.in_force.members.next_expiry() {
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
        let obstacles = self.in_force.members.obstacles();
        for (kind, count) in ObstacleKind::ALL.into_iter().zip(&self.counts.obstacles) {
            let n = obstacles.iter().filter(|obstacle| obstacle.kind == kind).count();
            count.store(n as u64, Relaxed);
        }
    }

    /// Runs commands and sends their results. If the changes of several cannot be stored, each runs by itself, so
    /// that those which change nothing succeed.
    fn handle(&mut self, requests: Vec<Request>, now: Timestamp) {
        match self.attempt(requests.iter().map(|(command, _)| command), now) {
            // The results were decided in time, but another coordinator may be active when they are sent.
            _ if !self.active.is_active() => {
                for (_, sender) in requests {
                    let _ = sender.send(Err(CommandError::Deposed));
                }
            }
            Ok(results) => {
                for ((_, sender), result) in requests.into_iter().zip(results) {
                    // The sender may be gone.
                    let _ = sender.send(result);
                }
            }
            Err(error) => match <[Request; 1]>::try_from(requests) {
                Ok([(command, sender)]) => {
                    let _ = sender.send(self.on_not_stored(&command, &error, now));
                }
                Err(requests) => {
                    requests.into_iter().for_each(|request| self.handle(vec![request], now));
                }
            },
        }
    }

    /// Decides on a copy, stores it if it must be stored, then puts it in force and publishes it.
    ///
    /// # Errors
    /// Fails if it cannot be stored. Nothing has changed then.
    fn attempt<'a>(
        &mut self,
        commands: impl Iterator<Item = &'a Command>,
        now: Timestamp,
    ) -> io::Result<Vec<Result<Reply, CommandError>>> {
        let mut draft = self.in_force.clone();
        let mut results: Vec<_> = commands.map(|command| draft.execute(command, now)).collect();
        let page_quotas = quotas(draft.quota.as_ref());
        if draft.members.must_be_stored(&self.in_force.members)
            || !Arc::ptr_eq(&draft.settings, &self.in_force.settings)
            || page_quotas != self.stored.page_quotas
        {
            let (members, settings) = (draft.members.record(), draft.settings.stored().clone());
            self.save(Record { members, page_quotas, settings, ..self.stored.clone() })?;
        }
        self.put_in_force(draft);
        let (view, settings) = (self.views.borrow(), self.settings.borrow());
        for reply in results.iter_mut().flatten() {
            (reply.view, reply.settings) = (Arc::clone(&view), Arc::clone(&settings));
        }
        Ok(results)
    }

    fn put_in_force(&mut self, draft: Draft) {
        let before = std::mem::replace(&mut self.in_force, draft);
        let Draft { members, settings, changed, .. } = &mut self.in_force;
        if members.view().epoch != before.members.view().epoch {
            log_changes(before.members.view(), members.view());
            self.views.send_replace(Arc::new(members.view().clone()));
        }
        if let Some(refusal) = members.outdated().filter(|_| before.members.outdated().is_none()) {
            tracing::error!("all requests are refused from now on: {refusal}");
        }
        if !Arc::ptr_eq(settings, &before.settings) {
            let in_force = settings.in_force();
            for key in changed.drain(..) {
                let value = in_force.value(&key).unwrap_or_default();
                tracing::info!("setting {key} changed to {value}");
            }
            self.counts.limit.store(in_force.live.limits.pages_max.unwrap_or_default(), Relaxed);
            self.settings.send_replace(Arc::new(settings.message()));
        }
    }

    /// Returns the result of a command whose changes cannot be stored. No agent may die because no view can be stored.
    fn on_not_stored(
        &mut self,
        command: &Command,
        error: &io::Error,
        now: Timestamp,
    ) -> Result<Reply, CommandError> {
        let renewed = match command {
            Command::Event(event, _) => self.in_force.members.renew_lease_only(event, now),
            _ => None,
        };
        let lease = renewed.ok_or_else(|| CommandError::NotStored(error.to_string()))??;
        let (view, settings) = (self.views.borrow().clone(), self.settings.borrow().clone());
        Ok(Reply { view, settings, ..leased(lease, now) })
    }

    /// Replaces the state on disk.
    fn save(&mut self, record: Record) -> io::Result<()> {
        let begun = self.clock.now();
        let saved = self.state.save(&record);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::members::{HeartbeatReport, ProcessId};
    use crate::state::Opened;
    use crivello_common::config::TypedSettings;
    use std::fs;
    use std::path::Path;

    const N: u32 = 40;

    fn service(dir: &Path) -> MembershipService {
        let mut settings = Settings::default();
        settings.fixed.identity.contact = "you@example.com".to_owned();
        settings.live.limits.pages_max = Some(1_000_000);
        let clock = Clock::start();
        let given = TypedSettings::default();
        let opened = CoordinatorState::open(None, (dir, dir), &settings, given, clock.now());
        let Opened { state, record, .. } = opened.unwrap();
        MembershipService::new((state, record), &settings, ActiveUntil::forever(clock), clock)
    }

    fn join(n: u32) -> Command {
        let event = MemberEvent::Join {
            id: None,
            disk: u64::from(n) + 1,
            process: ProcessId(u64::from(n) + 1),
            name: format!("agent-{n}"),
            address: format!("127.0.0.1:{}", 9_000 + n),
            weight: 1,
            known_epoch: 0,
            certificate: None,
        };
        Command::Event(event, None)
    }

    /// Returns the heartbeat of an agent that wants pages.
    fn heartbeat(id: AgentId, number: u64) -> Command {
        let process = ProcessId(u64::from(id.0));
        let report = HeartbeatReport { id, process, ..HeartbeatReport::default() };
        let pages = v1::QuotaReport { number, wanted: 10, ..v1::QuotaReport::default() };
        Command::Event(MemberEvent::Heartbeat(report), Some((id, (pages, process))))
    }

    /// Runs commands that wait at the same time.
    fn run(
        service: &mut MembershipService,
        commands: Vec<Command>,
    ) -> Vec<Result<Reply, CommandError>> {
        let (requests, results): (Vec<_>, Vec<_>) = commands
            .into_iter()
            .map(|command| {
                let (sender, result) = oneshot::channel();
                ((command, sender), result)
            })
            .unzip();
        let now = service.clock.now();
        service.handle(requests, now);
        results.into_iter().map(|mut result| result.try_recv().unwrap()).collect()
    }

    fn n_writes(service: &MembershipService) -> u64 {
        service.counts.writes.snapshot().buckets.iter().map(|(_, n)| n).sum()
    }

    #[test]
    fn what_waits_is_stored_and_published_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let mut service = service(dir.path());
        let mut views = service.views.subscribe();
        let joined = run(&mut service, (0..N).map(join).collect());
        assert_eq!(n_writes(&service), 1);
        assert!(views.has_changed().unwrap());
        let view = views.borrow_and_update().clone();
        assert_eq!(view.agents.len(), N as usize);
        let ids: Vec<AgentId> = joined
            .into_iter()
            .map(|reply| reply.unwrap())
            .inspect(|reply| assert_eq!(reply.view, view))
            .map(|reply| reply.lease.unwrap().0)
            .collect();
        let wanted: Vec<_> = ids.iter().map(|&id| heartbeat(id, 1)).collect();
        let granted = run(&mut service, wanted);
        assert_eq!(n_writes(&service), 2);
        assert!(granted.iter().all(|r| r.as_ref().unwrap().pages.as_ref().unwrap().allowed >= 10));
        assert!(!views.has_changed().unwrap(), "no member has changed");
    }

    #[test]
    fn without_a_disk_leases_are_renewed_and_nothing_else_changes() {
        let dir = tempfile::tempdir().unwrap();
        let mut service = service(dir.path());
        let joined = run(&mut service, vec![join(0)]).remove(0).unwrap();
        let (id, _) = joined.lease.unwrap();
        fs::remove_dir_all(dir.path()).unwrap();
        let edit = |value: &str| {
            let edit = Edit::Set(value.to_owned());
            Command::Edit(vec![("politeness.delay".to_owned(), edit)], 0)
        };
        let commands = vec![join(1), heartbeat(id, 1), edit("7s"), edit("nonsense"), Command::List];
        let results = run(&mut service, commands);
        let is_not_stored = |n: usize| matches!(results[n], Err(CommandError::NotStored(_)));
        assert!(is_not_stored(0) && is_not_stored(2), "{results:?}");
        assert_eq!(results[1].as_ref().unwrap().lease.unwrap().0, id);
        assert!(matches!(results[3], Err(CommandError::Edit(_))), "{results:?}");
        assert_eq!(results[4].as_ref().unwrap().view, joined.view);
        fs::create_dir_all(dir.path()).unwrap();
        let reply = run(&mut service, vec![edit("7s")]).remove(0).unwrap();
        assert!(reply.settings.toml.contains("delay = \"7s\""));
    }
}
