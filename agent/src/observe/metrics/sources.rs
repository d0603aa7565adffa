//! Sources of the metrics: the parts of an agent that are read.

use crate::cluster::ClusterStatus;
use crate::fetch::{DnsResolver, FetchContext};
use crate::messages::SchedulerQueues;
use crate::peers::Outgoing;
use crate::shared::Shared;
use crate::storage::Database;
use crivello_common::metrics::Timer;
use crivello_common::view::AgentId;
use std::path::PathBuf;
use std::sync::Arc;

/// Sources of an agent's metrics.
pub(crate) struct Sources {
    pub crawl_id: String,
    pub dir: PathBuf,
    pub shared: Shared,
    pub queues: Arc<SchedulerQueues>,
    pub disk: Arc<Database>,
    pub context: Arc<FetchContext>,
    pub dns: Arc<DnsResolver>,
    /// Timer of the sieve's look-ups.
    pub look_ups: Timer,
}

/// Sources of the further metrics of a member of a cluster.
pub(crate) struct ClusterSources {
    pub me: AgentId,
    pub name: String,
    pub status: Arc<ClusterStatus>,
    pub outgoing: Arc<Outgoing>,
}
