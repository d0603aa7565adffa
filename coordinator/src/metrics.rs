//! Prometheus metrics of the coordinator. `docs/metrics.md` has the same table; a test compares
//! them.

use crate::watchers::Watchers;
use crivello_common::metrics::{
    self, FamilyInfo, Histogram, MetricFamily, WORK_BUCKETS, counter, gauge, timing,
};
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{AgentState, RunState, View};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::watch;

/// Counters of events.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Durations of successful writes of the state, including the sync.
    pub(crate) writes: Histogram,
    pub(crate) write_errors: AtomicU64,
    pub(crate) heartbeats: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) refusals: AtomicU64,
    /// Number of requests rejected because the queue was full.
    pub(crate) busy: AtomicU64,
    /// Sum of all page quotas.
    pub(crate) pages_granted: AtomicU64,
    /// `limits.pages-max`, or 0 without a limit.
    pub(crate) limit: AtomicU64,
}

impl Default for Counts {
    fn default() -> Self {
        let [write_errors, heartbeats, requests, refusals, busy, pages_granted, limit] =
            std::array::from_fn(|_| AtomicU64::new(0));
        let writes = Histogram::new(WORK_BUCKETS);
        Self { writes, write_errors, heartbeats, requests, refusals, busy, pages_granted, limit }
    }
}

impl Counts {
    /// Sets the current `limits.pages-max`.
    pub(crate) fn set_limit(&self, pages_max: Option<u64>) {
        self.limit.store(pages_max.unwrap_or_default(), Relaxed);
    }
}

/// Source of a coordinator's metrics. Clones share the counters.
#[derive(Clone, Debug)]
pub struct CoordinatorMetrics {
    pub(crate) counts: Arc<Counts>,
    pub(crate) views: watch::Receiver<Arc<View>>,
    pub(crate) watchers: Watchers,
    pub(crate) clock: Clock,
    pub(crate) started: Timestamp,
    pub(crate) crawl_id: String,
}

impl CoordinatorMetrics {
    fn view(&self) -> Arc<View> {
        Arc::clone(&self.views.borrow())
    }
}

/// Returns all metrics as text of the type [`metrics::CONTENT_TYPE`].
#[must_use]
pub fn render(meter: &CoordinatorMetrics) -> String {
    metrics::render(&[FAMILIES], &[(Vec::new(), meter.clone())])
}

const STATES: [(&str, AgentState); 3] = [
    ("active", AgentState::Active),
    ("draining", AgentState::Draining),
    ("dead", AgentState::Dead),
];

/// Returns the names and meanings of all metrics, in the order of [`render`].
pub fn described() -> impl Iterator<Item = FamilyInfo> {
    FAMILIES.iter().map(FamilyInfo::from)
}

/// All metrics of a coordinator.
const FAMILIES: &[MetricFamily<CoordinatorMetrics>] = &[
    gauge(
        "crivello_coordinator_info",
        "1",
        &["version", "crawl"],
        "Always 1: the version of the program and the id of the crawl",
        |m, s| s.of(&[env!("CARGO_PKG_VERSION"), &m.crawl_id], 1_u64),
    ),
    gauge(
        "crivello_coordinator_uptime_seconds",
        "seconds",
        &[],
        "Time since this process started",
        |m, s| s.one(m.clock.now().since(m.started)),
    ),
    gauge("crivello_coordinator_epoch", "1", &[], "The epoch of the view in force", |m, s| {
        s.one(m.view().epoch);
    }),
    gauge(
        "crivello_coordinator_run",
        "1",
        &["run"],
        "1 for the state of the crawl: running, paused, stopping",
        |m, s| {
            let run = m.view().run;
            s.of(&["running"], run == RunState::Running);
            s.of(&["paused"], run == RunState::Paused);
            s.of(&["stopping"], run == RunState::Stopping);
        },
    ),
    gauge(
        "crivello_coordinator_agents",
        "agents",
        &["state"],
        "Agents by state: active, draining, dead",
        |m, s| {
            let view = m.view();
            for (name, state) in STATES {
                s.of(&[name], view.agents.iter().filter(|agent| agent.state == state).count());
            }
        },
    ),
    gauge(
        "crivello_coordinator_agent",
        "1",
        &["peer", "state"],
        "1 for the state of each agent",
        |m, s| {
            for agent in &m.view().agents {
                for (name, state) in STATES {
                    s.of(&[&agent.name, name], agent.state == state);
                }
            }
        },
    ),
    gauge(
        "crivello_coordinator_watchers",
        "watchers",
        &[],
        "Open streams of views and settings: two for each agent, and those of people",
        |m, s| s.one(m.watchers.count()),
    ),
    counter(
        "crivello_coordinator_requests_total",
        "requests",
        &[],
        "Requests about members, heartbeats included",
        |m, s| s.one(m.counts.requests.load(Relaxed)),
    ),
    counter(
        "crivello_coordinator_heartbeats_total",
        "heartbeats",
        &[],
        "Heartbeats of agents",
        |m, s| s.one(m.counts.heartbeats.load(Relaxed)),
    ),
    counter(
        "crivello_coordinator_refusals_total",
        "requests",
        &[],
        "Requests that the membership refused",
        |m, s| s.one(m.counts.refusals.load(Relaxed)),
    ),
    counter(
        "crivello_coordinator_busy_total",
        "requests",
        &[],
        "Requests rejected because the queue was full",
        |m, s| s.one(m.counts.busy.load(Relaxed)),
    ),
    timing(
        "crivello_coordinator_state_write_duration_seconds",
        &[],
        "Writes of the state to disk, the sync included",
        |m, s| s.one(&m.counts.writes),
    ),
    counter(
        "crivello_coordinator_state_write_errors_total",
        "writes",
        &[],
        "Writes of the state to disk that failed",
        |m, s| s.one(m.counts.write_errors.load(Relaxed)),
    ),
    gauge(
        "crivello_coordinator_pages_granted",
        "pages",
        &[],
        "Pages that agents may fetch, over all quotas; 0 without limits.pages-max",
        |m, s| s.one(m.counts.pages_granted.load(Relaxed)),
    ),
    gauge(
        "crivello_coordinator_pages_max",
        "pages",
        &[],
        "limits.pages-max; absent without it",
        |m, s| {
            let limit = m.counts.limit.load(Relaxed);
            if limit > 0 {
                s.one(limit);
            }
        },
    ),
];
