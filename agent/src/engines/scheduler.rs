//! The scheduler thread: the only one that touches the workbench.
//!
//! It receives verdicts, addresses and messages of the crawl database through lock-free queues,
//! hands out visits while there is room for their results, and sleeps until the next host may be
//! visited or another thread wakes it.

mod dns_health;
mod name_queue;
mod outage;
mod peer_robots;

use crate::engines::scheduler::dns_health::DnsHealth;
use crate::engines::scheduler::name_queue::NameQueue;
use crate::engines::scheduler::outage::Outage;
use crate::messages::{
    FetcherReply, HostQuery, HostSnapshot, LeaseCommand, LeaseEvent, LeaseSender, ResolveError,
    SchedulerQueues, Visit, VisitInFlight, VisitTask, WriterMsg,
};
use crate::report::Ended;
use crate::shared::Shared;
use crate::shared::live_settings::SettingsRevision;
use crate::shared::snapshot::idle_reason;
use crate::workbench::Workbench;
use crivello_common::failure::Failure;
use crivello_common::hash::HostKey;
use crivello_common::politeness::VisitSignal;
use crivello_common::time::Timestamp;
use crossbeam::channel::Sender;
use hashbrown::HashMap;
use peer_robots::PeerRobotsRequests;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Duration;

/// Longest sleep between two rounds.
const IDLE_WAIT_MAX: Duration = Duration::from_millis(100);
/// Interval between two updates of the statistics of the workbench.
const STATS_EVERY: Duration = Duration::from_millis(200);

/// State of the scheduler thread.
pub struct Scheduler {
    shared: Shared,
    queues: Arc<SchedulerQueues>,
    workbench: Workbench,
    writer: Sender<WriterMsg>,
    /// Sender to the lease task; `None` if the agent is alone.
    lease_sender: Option<LeaseSender>,
    /// Visits in flight.
    in_flight: HashMap<HostKey, VisitInFlight, foldhash::fast::RandomState>,
    names: NameQueue,
    outage: Outage,
    dns_health: DnsHealth,
    peer_robots: PeerRobotsRequests,
    stats_at: Timestamp,
    /// Idle time since the last update of the statistics.
    idle: Duration,
    /// True if there is a page limit.
    limited: bool,
    /// Reason that was last sent to the writer for not starting visits.
    reported_idle: Option<Ended>,
}

impl Scheduler {
    /// Creates a scheduler with an empty workbench. A member of a cluster has a `lease_sender`.
    #[must_use]
    pub fn new(
        shared: Shared,
        queues: Arc<SchedulerQueues>,
        workbench: Workbench,
        writer: Sender<WriterMsg>,
        lease_sender: Option<LeaseSender>,
    ) -> Self {
        let limited = shared.live.latest().live.limits.pages_max.is_some();
        let names = NameQueue::new(shared.settings.dns.lookups_per_domain_max);
        let workbench = if lease_sender.is_some() { workbench.with_ip_leases() } else { workbench };
        Self {
            shared,
            queues,
            limited,
            workbench,
            writer,
            lease_sender,
            in_flight: HashMap::default(),
            names,
            outage: Outage::default(),
            dns_health: DnsHealth::default(),
            peer_robots: PeerRobotsRequests::default(),
            stats_at: Timestamp::ZERO,
            idle: Duration::ZERO,
            reported_idle: None,
        }
    }

    /// Runs until the crawl is over.
    pub fn run(mut self) {
        self.queues.attach_scheduler();
        while !self.shared.lifecycle.is_over() {
            self.shared.status.scheduler_rounds.fetch_add(1, Relaxed);
            // Received before the clock is read: durations in events count from their receipt.
            let events: Vec<LeaseEvent> =
                std::iter::from_fn(|| self.queues.lease_events.pop()).collect();
            let now = self.shared.clock.now();
            self.on_lease_events(events, now);
            let revised = self.shared.live.pending_for_workbench();
            // Read before the messages: all messages that the crawl database sent under older
            // settings are then in the queue.
            self.drain_queues(now);
            if let Some(revised) = revised {
                self.apply_settings(&revised, now);
            }
            let open = self.dispatch(now);
            self.answer(now);
            if self.flush(now).is_err() {
                return;
            }
            // Last: a reader that finds no visit in flight finds all of their results sent.
            self.shared.status.visits.store(self.in_flight.len(), Release);
            let next = if open { self.workbench.next_time() } else { None };
            let idle_wait = next.map_or(IDLE_WAIT_MAX, |at| at.since(now).min(IDLE_WAIT_MAX));
            let begun = self.shared.clock.now();
            std::thread::park_timeout(idle_wait);
            self.idle += self.shared.clock.now().since(begun);
        }
    }

    /// Applies new settings.
    fn apply_settings(&mut self, revised: &SettingsRevision, now: Timestamp) {
        self.workbench.reconfigure(&revised.live, now);
        let limited = revised.live.limits.pages_max.is_some();
        if std::mem::replace(&mut self.limited, limited) != limited {
            // Pages reserved for visits in flight were under no limit, or are under none now.
            self.in_flight.values_mut().for_each(|flight| flight.taken = 0);
            if limited { self.shared.page_budget.wait() } else { self.shared.page_budget.lift() }
        }
        self.shared.live.workbench_applied(revised.revision);
    }

    fn on_lease_events(&mut self, events: Vec<LeaseEvent>, now: Timestamp) {
        for event in events {
            match event {
                LeaseEvent::Notice(news) => self.workbench.on_lease_notice(&news, now),
                LeaseEvent::Epoch(epoch) => {
                    let held = self.workbench.begin_lease_epoch(now);
                    if let Some(lease_sender) = &self.lease_sender {
                        lease_sender.send(LeaseCommand::Uses { epoch, held });
                    }
                }
            }
        }
    }

    fn drain_queues(&mut self, now: Timestamp) {
        self.peer_robots.receive(&self.queues.remote_robots, &mut self.workbench, now);
        while let Some(note) = self.queues.from_writer.pop() {
            self.workbench.on_frontier(note, now);
        }
        while let Some(done) = self.queues.replies.pop() {
            match done {
                FetcherReply::Resolved(resolution) => {
                    self.names.done(resolution.host);
                    let pending = self.names.in_flight() + self.names.len();
                    self.dns_health.resolved(&resolution.answer, pending);
                    if resolution.answer == Err(ResolveError::Unavailable) {
                        self.outage.failed(resolution.host, Failure::DnsUnavailable, now);
                    }
                    self.workbench.resolved(&resolution, now);
                }
                FetcherReply::Verdict(verdict) => {
                    let flight = self.in_flight.remove(&verdict.host);
                    let taken = flight.map_or(0, |flight| flight.taken);
                    match verdict.signal {
                        VisitSignal::Failed(kind) => self.outage.failed(verdict.host, kind, now),
                        _ if verdict.requests > 0 => self.outage.reached(verdict.host),
                        _ => {}
                    }
                    // Pages that were reserved and not fetched.
                    self.shared.page_budget.add(taken.saturating_sub(u64::from(verdict.pages)));
                    self.workbench.release(verdict, now);
                }
            }
        }
    }

    /// Hands out visits. Returns true if another visit could begin, given a host.
    fn dispatch(&mut self, now: Timestamp) -> bool {
        self.update_only_again();
        let visits_max = self.shared.settings.fetch.visits_max as usize;
        let mut handed_out = false;
        let mut open;
        loop {
            open = self.in_flight.len() < visits_max && self.is_open(now);
            if !open {
                break;
            }
            let Some(visit) = self.workbench.acquire(now) else {
                self.workbench.starving(now);
                break;
            };
            self.hand_out(visit, now);
            handed_out = true;
        }
        if handed_out {
            self.queues.fetchers.notify_one();
        }
        open
    }

    /// At the page limit, a crawl that comes back fetches only pages that were answered before, once no
    /// visit can return pages to the limit.
    fn update_only_again(&mut self) {
        let is_reserved = || self.in_flight.values().any(|flight| flight.taken > 0);
        let is_limited = self.shared.comes_back() && self.shared.page_budget.is_used_up();
        let only_again = is_limited && (self.workbench.is_only_again() || !is_reserved());
        self.workbench.set_only_again(only_again);
        self.shared.status.only_again.store(only_again, Release);
    }

    fn is_open(&self, now: Timestamp) -> bool {
        let shared = &self.shared;
        now >= shared.lifecycle.visits_from
            && self.outage.admits(!self.in_flight.is_empty(), now)
            && shared.fetch_deadline.is_open(now)
            && !shared.lifecycle.is_stopping()
            && !shared.status.paused.load(Relaxed)
            // Until the workbench has applied new settings, it may hand out hosts that the fetchers
            // must not visit.
            && shared.live.revision() == shared.live.in_force()
            && !shared.status.disk_full.load(Relaxed)
            && shared.pipeline.has_room()
            && (shared.page_budget.any() || self.workbench.is_only_again())
    }

    fn hand_out(&mut self, mut visit: Visit, now: Timestamp) {
        let mut flight = VisitInFlight { since: now, urls: SmallVec::new(), taken: 0 };
        self.shared.measured.visits.fetch_add(1, Relaxed);
        // Before pages are reserved for it.
        self.shared.status.visits.store(self.in_flight.len() + 1, Release);
        if let VisitTask::Pages { requests_max, urls, .. } = &mut visit.task {
            // Limits are for pages, not for fetches: only those that were not answered before count.
            let n_new = urls.iter().filter(|url| !url.was_answered()).count() as u64;
            let wanted = u64::from(*requests_max).min(n_new);
            flight.taken = self.shared.page_budget.take(wanted);
            if flight.taken < wanted {
                // All may be new.
                *requests_max = u32::try_from(flight.taken).unwrap_or(u32::MAX);
            }
            flight.urls = urls.iter().map(|url| url.hash).collect();
        }
        self.in_flight.insert(visit.host, flight);
        self.shared.status.visits.store(self.in_flight.len(), Relaxed);
        if let Err(visit) = self.queues.visits.push(visit) {
            tracing::error!(?visit, "the fetchers' queue is full");
        }
    }

    /// Answers one query about hosts in each round, so that visits do not wait for queries.
    fn answer(&self, now: Timestamp) {
        let Some(HostQuery { hosts, thorough, reply }) = self.queues.queries.pop() else { return };
        if !self.queues.queries.is_empty() {
            self.queues.wake();
        }
        let snapshot = |host: &HostKey| {
            let flight = self.in_flight.get(host).cloned();
            let workbench = self.workbench.snapshot(host, thorough, now)?;
            Some(HostSnapshot { flight, ..workbench })
        };
        let _ = reply.send(hosts.iter().map(snapshot).collect());
    }

    /// Sends messages to the crawl database, the lease task and other agents, and names to the
    /// resolver. Fails if the writer has ended.
    fn flush(&mut self, now: Timestamp) -> Result<(), ()> {
        let notes = self.workbench.take_messages();
        if !notes.is_empty() {
            self.writer.send(WriterMsg::ToFrontier(notes)).map_err(drop)?;
        }
        if let Some(lease_sender) = &self.lease_sender {
            let notes = self.workbench.take_lease_requests(now);
            if !notes.is_empty() {
                lease_sender.send(LeaseCommand::Requests(notes));
            }
        }
        self.peer_robots.reply(&self.queues.remote_robots, &mut self.workbench);
        self.workbench.take_to_resolve().into_iter().for_each(|name| self.names.push(name));
        let mut asked = false;
        while self.names.in_flight() < self.queues.names.capacity()
            && self.outage.admits(self.names.in_flight() > 0, now)
            && let Some(name) = self.names.pop(now)
        {
            asked = true;
            if let Err(name) = self.queues.names.push(name) {
                tracing::error!(?name, "the queue of names is full");
            }
        }
        if asked {
            self.queues.fetchers.notify_one();
        }
        if now.since(self.stats_at) >= STATS_EVERY {
            self.stats_at = now;
            *self.shared.status.workbench.lock() = self.workbench.stats(now);
            self.shared.status.offline.store(self.outage.is_on(), Relaxed);
            self.shared.status.dns_silent.store(self.dns_health.are_silent(), Relaxed);
            let idle = std::mem::take(&mut self.idle);
            self.shared.measured.idle.add(idle_reason(&self.shared), idle);
        }
        self.report_idle()
    }

    /// Reports to the writer once nothing more will be fetched in this run and the last visit has
    /// ended.
    fn report_idle(&mut self) -> Result<(), ()> {
        let limit = self.shared.page_budget.is_used_up() && !self.shared.comes_back();
        let stopping = self.shared.lifecycle.is_stopping();
        if !limit {
            // The limit may have been raised.
            self.shared.status.limit_reached.store(false, Relaxed);
        }
        if !self.in_flight.is_empty() {
            return Ok(());
        }
        if !(limit || stopping) {
            // The limit was raised, or pages of a lost archive no longer count: there is more to
            // fetch.
            return match self.reported_idle.take() {
                Some(_) => self.writer.send(WriterMsg::Idle(None)).map_err(drop),
                None => Ok(()),
            };
        }
        let how = if limit && !stopping { Ended::Limit } else { Ended::Stopped };
        // A member that has reached the limit stays until it is stopped.
        if self.reported_idle.replace(how) == Some(how) {
            return Ok(());
        }
        self.shared.status.limit_reached.store(how == Ended::Limit, Relaxed);
        self.writer.send(WriterMsg::Idle(Some(how))).map_err(drop)
    }
}
