//! Prometheus metrics of the coordinator. `docs/metrics.md` has the same table; a test compares
//! them.

use crate::watchers::Watchers;
use crivello_common::metrics::{self, FamilyInfo, Histogram, MetricFamily, counter, gauge, timing};
use crivello_common::obstacle::ObstacleKind;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{AgentState, RunState, View};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use tokio::sync::watch;

/// Counters of events.
#[derive(Debug, Default)]
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
    /// Number of obstacles of each [`ObstacleKind`].
    pub(crate) obstacles: [AtomicU64; ObstacleKind::ALL.len()],
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

/// Returns the names and meanings of all metrics, in the order of [`render`].
pub fn described() -> impl Iterator<Item = FamilyInfo> {
    FAMILIES.iter().map(|family| family.info)
}

/// All metrics of a coordinator.
const FAMILIES: &[MetricFamily<CoordinatorMetrics>] = &[
    gauge("crivello_coordinator_info", "1")
        .labels(&["version", "crawl"])
        .help("Always 1: the version of the program and the id of the crawl")
        .read(|m, s| s.of(&[env!("CARGO_PKG_VERSION"), &m.crawl_id], 1_u64)),
    gauge("crivello_coordinator_uptime_seconds", "seconds")
        .help("Time since this process started")
        .read(|m, s| s.one(m.clock.now().since(m.started))),
    gauge("crivello_coordinator_epoch", "1")
        .help("The epoch of the view in force")
        .read(|m, s| s.one(m.view().epoch)),
    gauge("crivello_coordinator_run", "1")
        .labels(&["run"])
        .help("1 for the state of the crawl: running, paused, stopping")
        .read(|m, s| {
            let now = m.view().run;
            s.each(RunState::ALL.map(|run| (run.name(), run == now)));
        }),
    gauge("crivello_coordinator_agents", "agents")
        .labels(&["state"])
        .help("Agents by state: active, draining, dead")
        .read(|m, s| {
            let view = m.view();
            let count = |state| view.agents.iter().filter(|agent| agent.state == state).count();
            s.each(AgentState::ALL.map(|state| (state.name(), count(state))));
        }),
    gauge("crivello_coordinator_agent", "1")
        .labels(&["peer", "state"])
        .help("1 for the state of each agent")
        .read(|m, s| {
            for agent in &m.view().agents {
                for state in AgentState::ALL {
                    s.of(&[&agent.name, state.name()], agent.state == state);
                }
            }
        }),
    gauge("crivello_coordinator_obstacles", "obstacles")
        .labels(&["kind"])
        .help("Obstacles by kind: undecided (a silent agent cannot be declared dead), stalled, lagging, cut-link, only-copy (a dead agent may hold data that no other has), too-many-dead, copying, few-copies (fewer agents are active than are to hold each URL), never-ready (no process of a dead agent was ready for too long), undelivered (an agent has not stored what another one sent)")
        .read(|m, s| {
            let counts = m.counts.obstacles.iter().map(|count| count.load(Relaxed));
            s.each(ObstacleKind::ALL.map(ObstacleKind::name).into_iter().zip(counts));
        }),
    gauge("crivello_coordinator_watchers", "watchers")
        .help("Open streams of views and settings: two for each agent, and those of people")
        .read(|m, s| s.one(m.watchers.count())),
    counter("crivello_coordinator_requests_total", "requests")
        .help("Requests about members, heartbeats included")
        .read(|m, s| s.one(m.counts.requests.load(Relaxed))),
    counter("crivello_coordinator_heartbeats_total", "heartbeats")
        .help("Heartbeats of agents")
        .read(|m, s| s.one(m.counts.heartbeats.load(Relaxed))),
    counter("crivello_coordinator_refusals_total", "requests")
        .help("Requests that the membership refused")
        .read(|m, s| s.one(m.counts.refusals.load(Relaxed))),
    counter("crivello_coordinator_busy_total", "requests")
        .help("Requests rejected because the queue was full")
        .read(|m, s| s.one(m.counts.busy.load(Relaxed))),
    timing("crivello_coordinator_state_write_duration_seconds")
        .help("Writes of the state to disk, the sync included")
        .read(|m, s| s.one(&m.counts.writes)),
    counter("crivello_coordinator_state_write_errors_total", "writes")
        .help("Writes of the state to disk that failed")
        .read(|m, s| s.one(m.counts.write_errors.load(Relaxed))),
    gauge("crivello_coordinator_pages_granted", "pages")
        .help("Pages that agents may fetch, over all quotas; 0 without limits.pages-max")
        .read(|m, s| s.one(m.counts.pages_granted.load(Relaxed))),
    gauge("crivello_coordinator_pages_max", "pages")
        .help("limits.pages-max; absent without it")
        .read(|m, s| {
            let limit = m.counts.limit.load(Relaxed);
            if limit > 0 {
                s.one(limit);
            }
        }),
];
