//! The state of the cluster as JSON: `/api/cluster`.

use super::history::Point;
use super::listing::Listing;
use super::words;
use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, AgentState};
use crivello_proto::agents::{AgentCallError, Answer};
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

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Timestamp,
    pages: u64,
    bytes: u64,
    errors: u64,
}

/// The last status of an agent.
#[derive(Debug, Default)]
pub(super) struct Seen {
    status: Option<v1::StatusResponse>,
    /// Time of the status.
    at: Timestamp,
    details: Option<v1::DetailsResponse>,
    trouble: Option<AgentCallError>,
    samples: VecDeque<Sample>,
}

impl Seen {
    /// Stores the results of a poll.
    pub(super) fn update(
        &mut self,
        status: Answer<v1::StatusResponse>,
        details: Option<Answer<v1::DetailsResponse>>,
        now: Timestamp,
    ) {
        match status {
            Ok(status) => {
                if self.status.as_ref().is_none_or(|last| last.process != status.process) {
                    self.samples.clear();
                    self.details = None;
                }
                if self.samples.len() == SAMPLES_MAX {
                    self.samples.pop_front();
                }
                let v1::Progress { pages, bytes, errors, .. } =
                    status.progress.clone().unwrap_or_default();
                self.samples.push_back(Sample { at: now, pages, bytes, errors });
                (self.status, self.at, self.trouble) = (Some(status), now, None);
            }
            Err(silence) => {
                self.trouble = Some(silence);
                if now.since(self.at) > REMEMBERED {
                    self.status = None;
                    self.details = None;
                    self.samples.clear();
                }
            }
        }
        if let Some(Ok(details)) = details {
            self.details = Some(details);
        }
    }

    /// Returns the growth of a counter per second; `None` after a single sample.
    #[expect(clippy::cast_precision_loss, reason = "only three digits are shown")]
    fn rate(&self, counter: fn(&Sample) -> u64) -> Option<f64> {
        let last = self.samples.back()?;
        let first = self.samples.iter().find(|s| last.at.since(s.at) <= RECENT)?;
        let time = last.at.since(first.at).as_secs_f64();
        let gained = counter(last).saturating_sub(counter(first)) as f64;
        (time > 0.0).then(|| gained / time)
    }
}

/// Input of a snapshot.
#[derive(Debug)]
pub(super) struct Found<'a> {
    pub(super) listing: &'a Listing,
    pub(super) agents: &'a BTreeMap<AgentId, Seen>,
    pub(super) shares: &'a HashMap<AgentId, f64>,
    pub(super) now: Timestamp,
}

impl Found<'_> {
    /// Returns the living agents that have answered.
    fn counted(&self) -> impl Iterator<Item = (&Seen, &v1::StatusResponse, v1::Progress)> {
        let view = &self.listing.view;
        let alive = |id: &AgentId| view.agent(*id).is_some_and(|a| a.state != AgentState::Dead);
        self.agents.iter().filter(move |(id, _)| alive(id)).filter_map(|(_, seen)| {
            let status = seen.status.as_ref()?;
            Some((seen, status, status.progress.clone().unwrap_or_default()))
        })
    }

    fn rate(&self, counter: fn(&Sample) -> u64) -> Option<f64> {
        let rates: Vec<f64> = self.counted().filter_map(|(seen, ..)| seen.rate(counter)).collect();
        (!rates.is_empty()).then(|| rates.iter().sum())
    }

    /// Returns the point for the charts.
    pub(super) fn point(&self) -> Point {
        let queued: Vec<u64> = self.counted().map(|(_, _, p)| p.urls_queued).collect();
        Point {
            at: self.now.0 / 1_000,
            pages_per_second: self.rate(|s| s.pages),
            bytes_per_second: self.rate(|s| s.bytes),
            queued: (!queued.is_empty()).then(|| queued.iter().sum()),
            errors_per_second: self.rate(|s| s.errors),
        }
    }

    /// Returns the JSON of `/api/cluster`.
    pub(super) fn json(&self, events: &Value) -> Value {
        let Listing { crawl, view, revision, .. } = self.listing;
        let agents: Vec<Value> = view.agents.iter().map(|agent| self.agent(agent)).collect();
        json!({
            "crawl": crawl,
            "run": words::run(view.run),
            "epoch": view.epoch,
            "settings_revision": revision,
            "now": self.now.0 / 1_000,
            "totals": self.totals(),
            "agents": agents,
            "events": events,
        })
    }

    fn totals(&self) -> Value {
        let sum =
            |of: fn(&v1::Progress) -> u64| self.counted().map(|(_, _, p)| of(&p)).sum::<u64>();
        let of = |of: fn(&v1::StatusResponse) -> u64| {
            self.counted().map(|(_, status, _)| of(status)).sum::<u64>()
        };
        let in_state =
            |state| self.listing.view.agents.iter().filter(|agent| agent.state == state).count();
        let mut by_class = [0_u64; 5];
        for (_, _, progress) in self.counted() {
            by_class.iter_mut().zip(progress.pages_by_class).for_each(|(sum, n)| *sum += n);
        }
        json!({
            "agents_active": in_state(AgentState::Active),
            "agents_draining": in_state(AgentState::Draining),
            "agents_dead": in_state(AgentState::Dead),
            "agents_heard": self.counted().count(),
            "pages": sum(|p| p.pages),
            "pages_per_second": self.rate(|s| s.pages),
            "pages_by_class": by_class,
            "bytes": sum(|p| p.bytes),
            "bytes_per_second": self.rate(|s| s.bytes),
            "errors": sum(|p| p.errors),
            "errors_per_second": self.rate(|s| s.errors),
            "duplicates": sum(|p| p.duplicates),
            "discards": sum(|p| p.discards),
            "robots_fetched": sum(|p| p.robots_fetched),
            "urls_queued": sum(|p| p.urls_queued),
            "urls_seen": sum(|p| p.urls_seen),
            "hosts_ready": sum(|p| p.hosts_ready),
            "hosts_waiting": sum(|p| p.hosts_waiting),
            "hosts_resting": sum(|p| p.hosts_resting),
            "hosts_paused": sum(|p| p.hosts_paused),
            "hosts_resolving": sum(|p| p.hosts_resolving),
            "visits": sum(|p| p.visits),
            "outbox": of(|s| s.outbox),
            "handoffs": of(|s| s.handoffs),
        })
    }

    fn agent(&self, agent: &Agent) -> Value {
        let lease = self.listing.leases.get(&agent.id);
        let lease =
            lease.filter(|_| agent.state != AgentState::Dead).map(|lease| lease.remaining_ms);
        let seen = self.agents.get(&agent.id).filter(|_| agent.state != AgentState::Dead);
        let mut value = json!({
            "id": agent.id.0,
            "name": agent.name,
            "address": agent.address,
            "state": words::state(agent.state),
            "weight": agent.weight,
            "share": self.shares.get(&agent.id).copied().unwrap_or(0.0),
            "lease_left_ms": lease,
            "unreachable": seen.and_then(|s| s.trouble.as_ref()).map(AgentCallError::to_string),
            "heard": seen.is_some_and(|s| s.status.is_some()),
        });
        let more = seen.map(load).unwrap_or(Value::Null);
        if let (Some(to), Value::Object(from)) = (value.as_object_mut(), more) {
            to.extend(from);
        }
        value
    }
}

/// Returns the bottleneck of an agent in the words of `crivello status`.
fn pace_words(progress: &v1::Progress) -> String {
    let unknown = || "unknown to this version of the coordinator".to_owned();
    bottleneck::from_wire(progress).map_or_else(unknown, |pace| pace.to_string())
}

/// Returns the status of an agent; `null` without a status.
fn load(seen: &Seen) -> Value {
    let Some(status) = &seen.status else { return Value::Null };
    let p = status.progress.clone().unwrap_or_default();
    let pace = match status.fence_open {
        true => pace_words(&p),
        false => "lease expired: fetches nothing".to_owned(),
    };
    let details = seen.details.as_ref();
    json!({
        "epoch": status.epoch,
        "settings_revision": status.settings_revision,
        "idle": status.idle,
        "may_fetch": status.fence_open,
        "outbox": status.outbox,
        "handoffs": status.handoffs,
        "pages": p.pages,
        "pages_per_second": seen.rate(|s| s.pages),
        "bytes": p.bytes,
        "bytes_per_second": seen.rate(|s| s.bytes),
        "errors": p.errors,
        "discards": p.discards,
        "duplicates": p.duplicates,
        "urls_queued": p.urls_queued,
        "urls_seen": p.urls_seen,
        "hosts_ready": p.hosts_ready,
        "hosts_waiting": p.hosts_waiting,
        "hosts_resting": p.hosts_resting,
        "hosts_paused": p.hosts_paused,
        "visits": p.visits,
        "pace": pace,
        "memory_bytes": details.map(|d| d.resident_bytes),
        "disk_used_bytes": details.map(|d| d.disk_used_bytes),
        "disk_free_bytes": details.map(|d| d.disk_free_bytes),
        "groups_owned": details.map(|d| d.groups_owned),
        "outbox_bytes": details.map(|d| d.outbox_bytes),
    })
}

#[cfg(test)]
#[path = "cluster_tests.rs"]
mod tests;
