//! The metrics of an agent, for Prometheus and for queries of details.
//!
//! Values that exist anyway (totals, gauges, RocksDB's counters) are read on request. Only
//! durations are measured as the work is done, in the stages and engines that do it; `Measurements`
//! has those of the engines. Several agents may run in one process, so nothing here is global.

mod families;
mod process;
mod reading;
mod sources;

pub(crate) use sources::{ClusterSources, Sources};

use crate::report;
use crivello_common::metrics::{self, FamilyInfo, Labels};
use crivello_proto::v1;
use families::FAMILIES;
use parking_lot::RwLock;
use reading::Reading;
use std::sync::{Arc, OnceLock};

/// Reader of an agent's metrics, for as long as it crawls. Clones share the same state.
#[derive(Clone)]
pub struct AgentMetrics(Arc<Inner>);

struct Inner {
    /// `None` once the crawl is closed, so that its database is not held open.
    sources: RwLock<Option<Sources>>,
    /// Set once the agent is a member of a cluster.
    cluster_sources: OnceLock<ClusterSources>,
}

impl std::fmt::Debug for AgentMetrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("AgentMetrics").field(&self.name()).finish()
    }
}

impl AgentMetrics {
    /// Creates the meter of a crawl.
    pub(crate) fn new(sources: Sources) -> Self {
        let sources = RwLock::new(Some(sources));
        Self(Arc::new(Inner { sources, cluster_sources: OnceLock::new() }))
    }

    /// Adds the metrics of a cluster member.
    pub(crate) fn add_cluster(&self, sources: ClusterSources) {
        let _ = self.0.cluster_sources.set(sources);
    }

    /// Drops the sources because the crawl ends. Waits for concurrent readers.
    pub fn close(&self) {
        *self.0.sources.write() = None;
    }

    /// Returns the label of its metrics: the agent's name, or `crawl` for an agent that is alone.
    pub fn name(&self) -> &str {
        self.0.cluster_sources.get().map_or("crawl", |sources| &sources.name)
    }

    fn read(&self) -> Option<Reading> {
        let sources = self.0.sources.read();
        Some(Reading::take(sources.as_ref()?, self.0.cluster_sources.get()))
    }

    /// Returns the details that the agent's API reports. It scans directories, so it must not be
    /// called on a thread that others wait for.
    pub fn details(&self) -> Option<v1::DetailsResponse> {
        let reading = self.read()?;
        let (totals, cluster) = (reading.totals, reading.cluster);
        Some(v1::DetailsResponse {
            failures: report::failures(&totals.failures).collect(),
            discards: report::discards(&totals.discards).collect(),
            resident_bytes: reading.process.resident,
            disk_used_bytes: reading.state_bytes + reading.archive_bytes,
            disk_free_bytes: reading.free_bytes,
            groups_owned: cluster.as_ref().map_or(0, |cluster| cluster.roles.authority),
            outbox_bytes: cluster.iter().flat_map(|c| &c.peers).map(|p| p.bytes as u64).sum(),
        })
    }
}

/// Returns the name and meaning of all metrics, in the order in which they are rendered.
pub fn described() -> impl Iterator<Item = FamilyInfo> {
    FAMILIES.iter().copied().flatten().map(|family| family.info)
}

/// Renders the metrics of these agents, as [`metrics::CONTENT_TYPE`]. Must not be called on a
/// thread that others wait for.
#[must_use]
pub fn render(meters: &[AgentMetrics]) -> String {
    let read = |meter: &AgentMetrics| -> Option<(Labels, Reading)> {
        Some((vec![("agent", meter.name().to_owned())], meter.read()?))
    };
    let all: Vec<(Labels, Reading)> = meters.iter().filter_map(read).collect();
    metrics::render(FAMILIES, &all)
}
