//! The parts of a running member of a cluster that its API reads.

use crate::api::{HostArcsApi, IndexApi};
use crate::cluster::Inbox;
use crate::messages::SchedulerQueues;
use crate::observe::metrics::AgentMetrics;
use crate::process::RulesInForce;
use crate::shared::Shared;
use crate::storage::Database;
use crivello_common::view::AgentId;
use crivello_proto::signing::ViewBook;
use std::path::PathBuf;
use std::sync::Arc;

/// Parts of an agent that has joined.
pub struct RunningAgent {
    pub id: AgentId,
    pub name: String,
    pub crawl_id: String,
    pub process: u64,
    pub shared: Shared,
    pub rules: RulesInForce,
    pub disk: Arc<Database>,
    /// Directory of the archive.
    pub archive: PathBuf,
    /// The copy of the view and of the settings.
    pub view_file: PathBuf,
    /// The verified views.
    pub book: Arc<ViewBook>,
    pub queues: Arc<SchedulerQueues>,
    pub inbox: Inbox,
    pub meter: AgentMetrics,
    /// The source of host arcs.
    pub host_arcs: Option<Arc<dyn HostArcsApi>>,
    /// The index of the archive.
    pub index: Option<Arc<dyn IndexApi>>,
}
