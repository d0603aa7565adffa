//! The coordinator's numbers, for Prometheus. The table in `docs/metrics.md` says the same,
//! and a test holds both together.

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

/// What is counted as it happens.
#[derive(Debug)]
pub(crate) struct Counts {
    /// Writing a record of the journal, the sync included; those that were written.
    pub(crate) writes: Histogram,
    pub(crate) write_errors: AtomicU64,
    pub(crate) heartbeats: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) refusals: AtomicU64,
    /// Requests that found too many before them.
    pub(crate) turned_away: AtomicU64,
    /// Pages in all portions.
    pub(crate) dealt: AtomicU64,
    /// `limits.pages-max`; 0 without it.
    pub(crate) limit: AtomicU64,
}

impl Default for Counts {
    fn default() -> Self {
        let [write_errors, heartbeats, requests, refusals, turned_away, dealt, limit] =
            std::array::from_fn(|_| AtomicU64::new(0));
        let writes = Histogram::new(WORK_BUCKETS);
        Self { writes, write_errors, heartbeats, requests, refusals, turned_away, dealt, limit }
    }
}

impl Counts {
    /// `limits.pages-max` as it is now.
    pub(crate) fn set_limit(&self, pages_max: Option<u64>) {
        self.limit.store(pages_max.unwrap_or_default(), Relaxed);
    }
}

/// Where a coordinator's numbers come from. Clones are the same.
#[derive(Clone, Debug)]
pub struct Meter {
    pub(crate) counts: Arc<Counts>,
    pub(crate) views: watch::Receiver<Arc<View>>,
    pub(crate) watchers: Watchers,
    pub(crate) clock: Clock,
    pub(crate) started: Timestamp,
    pub(crate) crawl_id: String,
}

impl Meter {
    fn view(&self) -> Arc<View> {
        Arc::clone(&self.views.borrow())
    }
}

/// All numbers, as [`metrics::CONTENT_TYPE`]; takes no time to speak of.
#[must_use]
pub fn render(meter: &Meter) -> String {
    metrics::render(&[FAMILIES], &[(Vec::new(), meter.clone())])
}

const STATES: [(&str, AgentState); 3] = [
    ("active", AgentState::Active),
    ("draining", AgentState::Draining),
    ("dead", AgentState::Dead),
];

/// What the numbers are called and mean, in the order in which they are told.
pub fn described() -> impl Iterator<Item = FamilyInfo> {
    FAMILIES.iter().map(FamilyInfo::from)
}

/// Every number that a coordinator tells.
const FAMILIES: &[MetricFamily<Meter>] = &[
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
        "Since this process began",
        |m, s| s.one(m.clock.now().since(m.started)),
    ),
    gauge("crivello_coordinator_epoch", "1", &[], "The number of the view in force", |m, s| {
        s.one(m.view().epoch);
    }),
    gauge(
        "crivello_coordinator_run",
        "1",
        &["run"],
        "1 for what the crawl is to do: running, paused, stopping",
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
        "Streams on which views or settings are told: two for each agent, and those of people",
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
        "Requests that were refused",
        |m, s| s.one(m.counts.refusals.load(Relaxed)),
    ),
    counter(
        "crivello_coordinator_turned_away_total",
        "requests",
        &[],
        "Requests that were not heard because too many waited",
        |m, s| s.one(m.counts.turned_away.load(Relaxed)),
    ),
    timing(
        "crivello_coordinator_journal_write_duration_seconds",
        &[],
        "Writing a record of the journal, and the sync",
        |m, s| s.one(&m.counts.writes),
    ),
    counter(
        "crivello_coordinator_journal_errors_total",
        "records",
        &[],
        "Records of the journal that could not be written",
        |m, s| s.one(m.counts.write_errors.load(Relaxed)),
    ),
    gauge(
        "crivello_coordinator_pages_dealt",
        "pages",
        &[],
        "Pages of limits.pages-max that agents were allowed to fetch; 0 without that limit",
        |m, s| s.one(m.counts.dealt.load(Relaxed)),
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
