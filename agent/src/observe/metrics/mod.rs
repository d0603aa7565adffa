//! The numbers of an agent, for Prometheus and for whoever asks for details.
//!
//! What exists anyway (totals, gauges, RocksDB's counters) is read when somebody asks. Only
//! durations are measured as things happen, in the rooms where they do; `Measurements` has those of the
//! assembly. Several agents may live in one process, so nothing here is global.

mod families;
mod process;
mod reading;

use crate::api::Details;
use crate::cluster::ClusterStatus;
use crate::fetch::{Dns, FetchContext};
use crate::messages::SchedulerQueues;
use crate::peers::Outgoing;
use crate::shared::Shared;
use crate::storage::Database;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::metrics::{self, FamilyInfo, Labels, Timer};
use crivello_common::view::AgentId;
use families::FAMILIES;
use parking_lot::RwLock;
use reading::Reading;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

/// Where an agent's numbers come from, for as long as it crawls. Clones are the same.
#[derive(Clone)]
pub struct Meter(Arc<Inner>);

struct Inner {
    /// Gone once the crawl is closed: nobody must hold its database any longer.
    sources: RwLock<Option<Sources>>,
    post: OnceLock<Post>,
}

/// What everything is read from.
pub(crate) struct Sources {
    pub crawl_id: String,
    pub dir: PathBuf,
    pub shared: Shared,
    pub queues: Arc<SchedulerQueues>,
    pub disk: Arc<Database>,
    pub context: Arc<FetchContext>,
    pub dns: Arc<Dns>,
    /// Of the sieve.
    pub look_ups: Timer,
}

/// The same of an agent that is not alone.
pub(crate) struct Post {
    pub me: AgentId,
    pub name: String,
    pub status: Arc<ClusterStatus>,
    pub outgoing: Arc<Outgoing>,
}

impl Post {
    /// Of agent `me`.
    pub fn new(
        me: AgentId,
        name: &str,
        status: &Arc<ClusterStatus>,
        outgoing: &Arc<Outgoing>,
    ) -> Self {
        Self { me, name: name.to_owned(), status: status.clone(), outgoing: outgoing.clone() }
    }
}

impl std::fmt::Debug for Meter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Meter").field(&self.name()).finish()
    }
}

impl Meter {
    /// The numbers of a crawl.
    pub(crate) fn new(sources: Sources) -> Self {
        let sources = RwLock::new(Some(sources));
        Self(Arc::new(Inner { sources, post: OnceLock::new() }))
    }

    /// It is a member of a cluster.
    pub(crate) fn among_others(&self, post: Post) {
        let _ = self.0.post.set(post);
    }

    /// The crawl ends: there is nothing to be read any more. Waits for whoever is reading.
    pub fn close(&self) {
        *self.0.sources.write() = None;
    }

    /// What tells it from others: the agent's name, or `crawl` for one that is alone.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.post.get().map_or("crawl", |post| &post.name)
    }

    fn read(&self) -> Option<Reading> {
        let sources = self.0.sources.read();
        Some(Reading::take(sources.as_ref()?, self.0.post.get()))
    }

    /// What people are told of it. Not to be asked for on a thread that others wait for: it looks
    /// through directories.
    #[must_use]
    pub fn details(&self) -> Option<Details> {
        let Reading { totals, process, used, cluster, .. } = self.read()?;
        let failures = Failure::ALL.map(|kind| (kind.name(), totals.failures[kind as usize]));
        let discards = Discard::ALL.map(|reason| (reason.name(), totals.discards.get(reason)));
        Some(Details {
            failures: failures.into_iter().filter(|&(_, n)| n > 0).collect(),
            discards: discards.into_iter().filter(|&(_, n)| n > 0).collect(),
            resident_bytes: process.resident,
            disk_used_bytes: used.state + used.archive,
            disk_free_bytes: used.free,
            groups_owned: cluster.as_ref().map_or(0, |cluster| cluster.roles.authority),
            outbox_bytes: cluster.iter().flat_map(|c| &c.peers).map(|p| p.bytes as u64).sum(),
        })
    }
}

/// What the numbers are called and mean, in the order in which they are told.
pub fn described() -> impl Iterator<Item = FamilyInfo> {
    FAMILIES.iter().copied().flatten().map(FamilyInfo::from)
}

/// The numbers of these agents, as [`metrics::CONTENT_TYPE`]. Not to be asked for on a thread that
/// others wait for.
#[must_use]
pub fn render(meters: &[Meter]) -> String {
    let read = |meter: &Meter| -> Option<(Labels, Reading)> {
        Some((vec![("agent", meter.name().to_owned())], meter.read()?))
    };
    let all: Vec<(Labels, Reading)> = meters.iter().filter_map(read).collect();
    metrics::render(FAMILIES, &all)
}
