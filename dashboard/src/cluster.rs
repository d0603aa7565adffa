//! The state of the cluster as JSON: `/api/cluster`.

use super::history::{Point, push_bounded};
use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, AgentState};
use crivello_proto::agents::{
    AgentCallError, AgentStatus, Answer, Listing, pages_by_class, weighted_mean,
};
use crivello_proto::{bottleneck, v1};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::Duration;

/// Period over which rates are measured.
const RECENT: Duration = Duration::from_secs(5);
/// Time for which the last numbers of a silent agent are shown.
const REMEMBERED: Duration = Duration::from_secs(5);
/// Number of samples kept for the rates.
const SAMPLES_MAX: usize = 16;

/// A counter or gauge of an agent.
type Counter = fn(&v1::Progress) -> u64;
/// A number about pages that are fetched again.
type RecrawlCounter = fn(&v1::RecrawlProgress) -> u64;

/// Numbers of each agent and of the cluster, with their names in the JSON.
const NUMBERS: [(&str, Counter); 14] = [
    ("pages", |p| p.pages),
    ("bytes", |p| p.bytes),
    ("errors", |p| p.errors),
    ("duplicates", |p| p.duplicates),
    ("discards", |p| p.discards),
    ("robots_fetched", |p| p.robots_fetched),
    ("urls_queued", |p| p.urls_queued),
    ("urls_seen", |p| p.urls_seen),
    ("hosts_ready", |p| p.hosts_ready),
    ("hosts_waiting", |p| p.hosts_waiting),
    ("hosts_resting", |p| p.hosts_resting),
    ("hosts_paused", |p| p.hosts_paused),
    ("hosts_resolving", |p| p.hosts_resolving),
    ("visits", |p| p.visits),
];
/// Counters whose growth per second is shown, with the names of the rates in the JSON.
const RATES: [(&str, Counter); 3] = [
    ("pages_per_second", |p| p.pages),
    ("bytes_per_second", |p| p.bytes),
    ("errors_per_second", |p| p.errors),
];

/// Numbers about pages that are fetched again, with their names in the JSON.
const RECRAWL: [(&str, RecrawlCounter); 7] = [
    ("new", |r| r.new),
    ("scheduled", |r| r.scheduled),
    ("queued", |r| r.queued),
    ("changed", |r| r.changed),
    ("unchanged", |r| r.unchanged),
    ("not_modified", |r| r.not_modified),
    ("failed", |r| r.failed),
];

/// The numbers of an agent at one time.
#[derive(Debug)]
struct Sample {
    at: Timestamp,
    progress: v1::Progress,
}

/// The last status of an agent.
#[derive(Debug, Default)]
pub(super) struct AgentHistory {
    status: Option<v1::StatusResponse>,
    details: Option<v1::DetailsResponse>,
    trouble: Option<AgentCallError>,
    /// The latest sample is that of the status.
    samples: VecDeque<Sample>,
}

impl AgentHistory {
    /// Stores the results of a poll.
    pub(super) fn update(
        &mut self,
        status: Answer<AgentStatus>,
        details: Option<Answer<v1::DetailsResponse>>,
        now: Timestamp,
    ) {
        match status {
            Ok((status, progress)) => {
                if self.status.as_ref().is_none_or(|last| last.process != status.process) {
                    self.forget();
                }
                push_bounded(&mut self.samples, Sample { at: now, progress }, SAMPLES_MAX);
                (self.status, self.trouble) = (Some(status), None);
            }
            Err(unreachable) => {
                self.trouble = Some(unreachable);
                if self.samples.back().is_some_and(|last| now.since(last.at) > REMEMBERED) {
                    self.forget();
                }
            }
        }
        if let Some(Ok(details)) = details {
            self.details = Some(details);
        }
    }

    fn forget(&mut self) {
        (self.status, self.details) = (None, None);
        self.samples.clear();
    }

    /// Returns the status and its numbers.
    fn answered(&self) -> Option<(&v1::StatusResponse, &v1::Progress)> {
        Some((self.status.as_ref()?, &self.samples.back()?.progress))
    }

    /// Returns the growth of a counter per second; `None` after a single sample.
    #[expect(clippy::cast_precision_loss, reason = "only three digits are shown")]
    fn rate(&self, counter: Counter) -> Option<f64> {
        let last = self.samples.back()?;
        let first = self.samples.iter().find(|s| last.at.since(s.at) <= RECENT)?;
        let time = last.at.since(first.at).as_secs_f64();
        let gained = counter(&last.progress).saturating_sub(counter(&first.progress)) as f64;
        (time > 0.0).then(|| gained / time)
    }
}

/// Input of a snapshot.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) listing: &'a Listing,
    /// Revision of the settings in force.
    pub(super) revision: u64,
    pub(super) agents: &'a BTreeMap<AgentId, AgentHistory>,
    pub(super) shares: &'a HashMap<AgentId, f64>,
    pub(super) now: Timestamp,
}

impl Found<'_> {
    /// Returns the last status of `agent`, unless it is dead.
    fn history(&self, agent: &Agent) -> Option<&AgentHistory> {
        self.agents.get(&agent.id).filter(|_| agent.state != AgentState::Dead)
    }

    /// Returns the living agents that have answered.
    fn counted(&self) -> impl Iterator<Item = (&AgentHistory, &v1::StatusResponse, &v1::Progress)> {
        let history = self.listing.view.agents.iter().filter_map(|agent| self.history(agent));
        history.filter_map(|history| {
            history.answered().map(|(status, progress)| (history, status, progress))
        })
    }

    fn rate(&self, counter: Counter) -> Option<f64> {
        let rates: Vec<f64> =
            self.counted().filter_map(|(history, ..)| history.rate(counter)).collect();
        (!rates.is_empty()).then(|| rates.iter().sum())
    }

    /// Returns the point for the charts.
    pub(super) fn point(&self) -> Point {
        let queued: Vec<u64> = self.counted().map(|(.., p)| p.urls_queued).collect();
        Point {
            at: self.now.0 / 1_000,
            pages_per_second: self.rate(|p| p.pages),
            bytes_per_second: self.rate(|p| p.bytes),
            queued: (!queued.is_empty()).then(|| queued.iter().sum()),
            errors_per_second: self.rate(|p| p.errors),
            fresh: self.fresh(),
        }
    }

    fn recrawls(&self) -> impl Iterator<Item = &v1::RecrawlProgress> {
        self.counted().filter_map(|(.., progress)| progress.recrawl.as_ref())
    }

    /// Returns the estimated share of fresh copies.
    fn fresh(&self) -> Option<f64> {
        weighted_mean(self.recrawls().map(|r| (r.scheduled + r.queued, r.freshness)))
    }

    /// Returns the numbers about pages that are fetched again; null if none are.
    fn recrawl(&self) -> Value {
        if self.recrawls().next().is_none() {
            return Value::Null;
        }
        let mut totals = json!({});
        for (name, number) in RECRAWL {
            totals[name] = self.recrawls().map(number).sum::<u64>().into();
        }
        let late = weighted_mean(self.recrawls().map(|r| (r.visits(), r.lateness)));
        totals["lateness"] = late.into();
        let overdue = self.recrawls().filter_map(|r| r.overdue).reduce(|a, b| a + b);
        totals["overdue"] = overdue.into();
        totals
    }

    /// Returns the JSON of `/api/cluster`.
    pub(super) fn json(&self, events: &Value) -> Value {
        let view = &self.listing.view;
        let agents: Vec<Value> = view.agents.iter().map(|agent| self.agent(agent)).collect();
        json!({
            "crawl": self.listing.crawl_id,
            "run": view.run.name(),
            "epoch": view.epoch,
            "settings_revision": self.revision,
            "now": self.now.0 / 1_000,
            "totals": self.totals(),
            "agents": agents,
            "obstacles": self.listing.obstacle_texts(),
            "events": events,
        })
    }

    fn totals(&self) -> Value {
        let in_state =
            |state| self.listing.view.agents.iter().filter(|agent| agent.state == state).count();
        let by_class = pages_by_class(self.counted().map(|(.., progress)| progress));
        let mut totals = json!({
            "agents_active": in_state(AgentState::Active),
            "agents_draining": in_state(AgentState::Draining),
            "agents_dead": in_state(AgentState::Dead),
            "agents_answered": self.counted().count(),
            "pages_by_class": by_class,
            "outbox": self.counted().map(|(_, status, _)| status.outbox).sum::<u64>(),
            "handoffs": self.counted().map(|(_, status, _)| status.handoffs).sum::<u64>(),
            "recrawl": self.recrawl(),
            "fresh": self.fresh(),
        });
        for (name, number) in NUMBERS {
            totals[name] = self.counted().map(|(.., p)| number(p)).sum::<u64>().into();
        }
        for (name, counter) in RATES {
            totals[name] = self.rate(counter).into();
        }
        totals
    }

    fn agent(&self, agent: &Agent) -> Value {
        let lease = self.listing.leases.get(&agent.id);
        let lease = lease.filter(|_| agent.state != AgentState::Dead);
        let history = self.history(agent);
        let mut value = json!({
            "id": agent.id.0,
            "name": agent.name,
            "address": agent.address,
            "state": agent.state.name(),
            "weight": agent.weight,
            "share": self.shares.get(&agent.id).copied().unwrap_or(0.0),
            "lease_left_ms": lease.map(|lease| lease.remaining_ms),
            "unreachable": history.and_then(|s| s.trouble.as_ref()).map(AgentCallError::to_string),
            "answered": history.is_some_and(|s| s.status.is_some()),
        });
        if let (Some(to), Some(Value::Object(from))) =
            (value.as_object_mut(), history.and_then(load))
        {
            to.extend(from);
        }
        value
    }
}

/// Returns the status of an agent; `None` without a status.
fn load(history: &AgentHistory) -> Option<Value> {
    let (status, progress) = history.answered()?;
    let details = history.details.as_ref();
    let mut value = json!({
        "epoch": status.epoch,
        "settings_revision": status.settings_revision,
        "idle": status.idle,
        "may_fetch": status.fence_open,
        "outbox": status.outbox,
        "handoffs": status.handoffs,
        "pace": bottleneck::pace(status, progress),
        "memory_bytes": details.map(|d| d.resident_bytes),
        "disk_used_bytes": details.map(|d| d.disk_used_bytes),
        "disk_free_bytes": details.map(|d| d.disk_free_bytes),
        "groups_owned": details.map(|d| d.groups_owned),
        "outbox_bytes": details.map(|d| d.outbox_bytes),
    });
    for (name, number) in NUMBERS {
        value[name] = number(progress).into();
    }
    for (name, counter) in RATES {
        value[name] = history.rate(counter).into();
    }
    Some(value)
}

#[cfg(test)]
mod tests;
