//! Status of an agent, and its conversion from and to messages.

use crate::progress::{HostGauges, RecrawlGauges, Snapshot};
use crivello_common::completion::AgentReply;
use crivello_common::time::millis;
use crivello_common::view::{AgentId, AgentState, RunState};
use crivello_proto::bottleneck;
use crivello_proto::v1;
use crivello_proto::view::{agent_state, run_state};
use std::array;
use std::time::Duration;

/// The status of an agent at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentStatus {
    /// The agent's id.
    pub id: AgentId,
    /// The agent's name.
    pub name: String,
    /// The id of its crawl.
    pub crawl_id: String,
    /// A random number that identifies the process; not 0.
    pub process: u64,
    /// The epoch of the view in force.
    pub epoch: u64,
    /// The run state of the crawl, by that view.
    pub run: RunState,
    /// The state of the agent, by that view.
    pub state: AgentState,
    /// True if there is nothing to do: nothing is queued that this agent may fetch within the
    /// limits of the crawl, now or later; nothing is in flight or waits for a commit; other agents
    /// have acknowledged everything; no handoff is in progress; no batch of seeds is unanswered. An
    /// agent that does not know yet if it may fetch a group with queued URLs is not idle.
    pub idle: bool,
    /// A counter that rises whenever the agent receives (before it acknowledges), sends or fetches.
    /// If two statuses of one process have the same value, nothing happened in between.
    pub work: u64,
    /// True if the agent may fetch: its lease runs, or all others have granted it peer leases.
    pub fence_open: bool,
    /// Number of batches that other agents have not acknowledged.
    pub outbox: u64,
    /// Number of groups that are being handed off from or to this agent.
    pub handoffs: u64,
    /// Number of agents that store each URL.
    pub replication: u32,
    /// The revision of the settings in force.
    pub settings_revision: u64,
    /// The progress of this agent's part of the crawl.
    pub snapshot: Snapshot,
}

/// A status with a value that this build does not know: the field, and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the agent's {0} is {1}, which is unknown to this build")]
pub struct BadStatus(pub &'static str, pub i64);

impl AgentStatus {
    /// Returns the part of the status that decides if the crawl is complete.
    #[must_use]
    pub const fn reply(&self) -> AgentReply {
        AgentReply { process: self.process, epoch: self.epoch, idle: self.idle, work: self.work }
    }
}

impl From<&AgentStatus> for v1::StatusResponse {
    fn from(s: &AgentStatus) -> Self {
        Self {
            id: s.id.0,
            name: s.name.clone(),
            crawl_id: s.crawl_id.clone(),
            process: s.process,
            epoch: s.epoch,
            run: v1::RunState::from(s.run).into(),
            state: v1::AgentState::from(s.state).into(),
            idle: s.idle,
            work: s.work,
            fence_open: s.fence_open,
            outbox: s.outbox,
            handoffs: s.handoffs,
            replication: s.replication,
            progress: Some(progress(&s.snapshot)),
            settings_revision: s.settings_revision,
        }
    }
}

impl TryFrom<v1::StatusResponse> for AgentStatus {
    type Error = BadStatus;

    fn try_from(s: v1::StatusResponse) -> Result<Self, BadStatus> {
        let run = run_state(s.run).ok_or_else(|| BadStatus("run state", s.run.into()))?;
        let state = agent_state(s.state).ok_or_else(|| BadStatus("state", s.state.into()))?;
        Ok(Self {
            id: AgentId(s.id),
            name: s.name,
            crawl_id: s.crawl_id,
            process: s.process,
            epoch: s.epoch,
            run,
            state,
            idle: s.idle,
            work: s.work,
            fence_open: s.fence_open,
            outbox: s.outbox,
            handoffs: s.handoffs,
            replication: s.replication,
            settings_revision: s.settings_revision,
            snapshot: snapshot(&s.progress.unwrap_or_default())?,
        })
    }
}

fn progress(s: &Snapshot) -> v1::Progress {
    let (pace, delay) = bottleneck::to_wire(s.pace);
    v1::Progress {
        elapsed_ms: millis(s.elapsed),
        pages: s.pages,
        bytes: s.bytes,
        pages_by_class: s.by_class.to_vec(),
        duplicates: s.duplicates,
        robots_fetched: s.robots_fetched,
        errors: s.errors,
        discards: s.discards,
        urls_queued: s.urls_queued,
        urls_seen: s.urls_seen,
        hosts_ready: s.hosts.ready,
        hosts_waiting: s.hosts.waiting,
        hosts_resting: s.hosts.resting,
        hosts_resolving: s.hosts.resolving,
        hosts_paused: s.hosts.paused,
        visits: s.visits,
        pipeline_pages: s.pipeline_pages,
        pages_left: s.pages_left,
        bottleneck: pace.into(),
        bottleneck_delay_ms: millis(delay),
        recrawl: s.recrawl.map(|recrawl| v1::RecrawlProgress {
            scheduled: recrawl.scheduled,
            queued: recrawl.queued,
            changed: recrawl.changed,
            unchanged: recrawl.unchanged,
            not_modified: recrawl.not_modified,
            failed: recrawl.failed,
            freshness: recrawl.freshness,
            threshold: recrawl.threshold,
        }),
    }
}

fn snapshot(p: &v1::Progress) -> Result<Snapshot, BadStatus> {
    let hosts = HostGauges {
        ready: p.hosts_ready,
        waiting: p.hosts_waiting,
        resting: p.hosts_resting,
        resolving: p.hosts_resolving,
        paused: p.hosts_paused,
    };
    Ok(Snapshot {
        elapsed: Duration::from_millis(p.elapsed_ms),
        pages: p.pages,
        bytes: p.bytes,
        by_class: array::from_fn(|class| p.pages_by_class.get(class).copied().unwrap_or_default()),
        duplicates: p.duplicates,
        robots_fetched: p.robots_fetched,
        errors: p.errors,
        discards: p.discards,
        urls_queued: p.urls_queued,
        urls_seen: p.urls_seen,
        hosts,
        visits: p.visits,
        pipeline_pages: p.pipeline_pages,
        pages_left: p.pages_left,
        pace: bottleneck::from_wire(p).ok_or_else(|| BadStatus("pace", p.bottleneck.into()))?,
        recrawl: p.recrawl.as_ref().map(|recrawl| RecrawlGauges {
            scheduled: recrawl.scheduled,
            queued: recrawl.queued,
            changed: recrawl.changed,
            unchanged: recrawl.unchanged,
            not_modified: recrawl.not_modified,
            failed: recrawl.failed,
            freshness: recrawl.freshness,
            threshold: recrawl.threshold,
        }),
    })
}
