//! One reading of all metrics of an agent.

use crate::crawldb::{InlinkCounts, RoleCounts, SieveCounts, Totals, count_roles};
use crate::fetch::{DnsResolver, FetchContext};
use crate::observe::metrics::process::{Process, bytes_free, bytes_in};
use crate::observe::metrics::sources::{ClusterSources, Sources};
use crate::peers::Lane;
use crate::shared::Shared;
use crate::shared::snapshot::snapshot;
use crate::storage::Health;
use crate::workbench::WorkbenchStats;
use crivello_common::metrics::Timer;
use crivello_common::view::AgentState;
use crivello_proto::v1::Progress;
use std::sync::Arc;
use std::time::Duration;

/// Values of all metrics at one moment.
pub struct Reading {
    pub crawl_id: String,
    pub shared: Shared,
    pub context: Arc<FetchContext>,
    pub dns: Arc<DnsResolver>,
    pub look_ups: Timer,
    pub progress: Progress,
    pub totals: Totals,
    pub sieve: SieveCounts,
    pub inlinks: InlinkCounts,
    pub workbench: WorkbenchStats,
    /// Number of items in each queue, see [`queues`].
    pub queues: [(&'static str, usize); 9],
    pub health: Health,
    pub process: Process,
    /// Bytes of the state.
    pub state_bytes: u64,
    /// Bytes of the archive.
    pub archive_bytes: u64,
    /// Free bytes of the disk.
    pub free_bytes: u64,
    pub cluster: Option<ClusterReading>,
}

/// Values of a cluster member.
#[derive(Debug)]
pub struct ClusterReading {
    pub epoch: u64,
    pub handoffs: u64,
    pub is_idle: bool,
    pub work: u64,
    pub roles: RoleCounts,
    pub peers: Vec<Peer>,
}

/// Values of another agent of the view.
#[derive(Debug)]
pub struct Peer {
    pub name: String,
    pub rows: usize,
    pub bytes: usize,
    pub lag: Duration,
    /// Bytes of unacknowledged packets, for each of its two streams.
    pub sending: [(&'static str, usize); 2],
}

impl Reading {
    /// Reads all values; takes milliseconds.
    pub fn take(sources: &Sources, member: Option<&ClusterSources>) -> Self {
        let shared = sources.shared.clone();
        let (totals, sieve) = shared.status.totals.lock().clone();
        let inlinks = *shared.status.inlinks.lock();
        let workbench = *shared.status.workbench.lock();
        let cluster = member.map(|member| ClusterReading::look(member, sources));
        let arrivals = member.map_or(0, |member| member.status.state().arrivals);
        Self {
            crawl_id: sources.crawl_id.clone(),
            context: sources.context.clone(),
            dns: sources.dns.clone(),
            look_ups: sources.look_ups.clone(),
            progress: snapshot(&shared),
            totals,
            sieve,
            inlinks,
            workbench,
            queues: queues(sources, arrivals),
            health: sources.disk.health(),
            process: Process::look(),
            state_bytes: bytes_in(&sources.dir.join("state")),
            archive_bytes: bytes_in(&sources.dir.join("warc")),
            free_bytes: bytes_free(&sources.dir),
            cluster,
            shared,
        }
    }
}

/// Returns the number of items in each queue.
fn queues(sources: &Sources, arrivals: usize) -> [(&'static str, usize); 9] {
    let (queues, pipeline) = (&sources.queues, &sources.shared.pipeline);
    let (unparsed, uncommitted) = pipeline.pages();
    [
        ("visits", queues.visits.len()),
        ("names", queues.names.len()),
        ("answers", queues.replies.len()),
        ("to-workbench", queues.from_writer.len()),
        ("ip-lease-events", queues.lease_events.len()),
        ("parser", unparsed),
        ("commit", uncommitted),
        ("seeds", pipeline.seed_batches()),
        ("arrivals", arrivals),
    ]
}

impl ClusterReading {
    fn look(member: &ClusterSources, sources: &Sources) -> Self {
        let state = member.status.state();
        let now = sources.shared.clock.now();
        let agents = state.view.iter().flat_map(|view| &view.agents);
        let others = agents.filter(|a| a.id != member.me && a.state != AgentState::Dead);
        let peer = |agent: &crivello_common::view::Agent| {
            let waiting = state.waiting.iter().find(|waiting| waiting.to == agent.id);
            let sending = |lane| member.outgoing.bytes_waiting(agent.id, lane);
            Peer {
                name: agent.name.clone(),
                rows: waiting.map_or(0, |waiting| waiting.rows),
                bytes: waiting.map_or(0, |waiting| waiting.bytes),
                lag: waiting.map_or(Duration::ZERO, |waiting| now.since(waiting.since)),
                sending: [("main", sending(Lane::Main)), ("copies", sending(Lane::Replicas))],
            }
        };
        Self {
            peers: others.map(peer).collect(),
            epoch: state.view.as_ref().map_or(0, |view| view.epoch),
            handoffs: state.handoffs,
            is_idle: state.idle,
            work: member.status.work(),
            // Errors of the disk are reported where they matter.
            roles: count_roles(&sources.disk).unwrap_or_default(),
        }
    }
}
