//! State shared by all requests.

use super::guard::Guard;
use super::poll::ClusterSnapshot;
use crivello_proto::LocalCoordinator;
use crivello_proto::agents::AgentClients;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// Maximum number of concurrent requests to agents or to the coordinator.
const REQUESTS_MAX: usize = 32;
/// Maximum number of open pages with a stream of events.
const LISTENERS_MAX: usize = 64;
/// Maximum number of concurrent counts of a dead agent's pages.
const COUNTS_MAX: usize = 4;

/// Source of `/metrics`, in the text format of Prometheus. It is called for each request.
pub type MetricsText = Arc<dyn Fn() -> String + Send + Sync>;

/// State shared by all requests. Clones share it.
#[derive(Clone)]
pub(super) struct State {
    /// Client of the coordinator, limited to the calls that it also serves over the network.
    pub(super) coordinator: LocalCoordinator,
    /// Clients of the agents.
    pub(super) agents: Arc<AgentClients>,
    /// Receiver of the latest snapshot.
    pub(super) snapshot: watch::Receiver<Arc<ClusterSnapshot>>,
    pub(super) guard: Arc<Guard>,
    pub(super) metrics: Option<MetricsText>,
    pub(super) requests: Arc<Semaphore>,
    pub(super) listeners: Arc<Semaphore>,
    pub(super) counts: Arc<Semaphore>,
}

impl State {
    pub(super) fn new(
        coordinator: LocalCoordinator,
        agents: Arc<AgentClients>,
        snapshot: watch::Receiver<Arc<ClusterSnapshot>>,
        guard: Arc<Guard>,
        metrics: Option<MetricsText>,
    ) -> Self {
        let [requests, listeners, counts] =
            [REQUESTS_MAX, LISTENERS_MAX, COUNTS_MAX].map(|max| Arc::new(Semaphore::new(max)));
        Self { coordinator, agents, snapshot, guard, metrics, requests, listeners, counts }
    }

    /// Returns the latest snapshot.
    pub(super) fn now(&self) -> Arc<ClusterSnapshot> {
        Arc::clone(&self.snapshot.borrow())
    }
}
