//! State shared by all requests.

use super::guard::Guard;
use super::poll::ClusterSnapshot;
use crivello_proto::LocalCoordinator;
use crivello_proto::agents::AgentClients;
use std::fmt;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// Maximum number of concurrent requests to agents or to the coordinator.
const REQUESTS_MAX: usize = 32;
/// Maximum number of open pages with a stream of events.
const LISTENERS_MAX: usize = 64;
/// Maximum number of concurrent counts of a dead agent's pages.
const COUNTS_MAX: usize = 4;

/// Source of `/metrics`, in the text format of Prometheus.
#[derive(Clone)]
pub struct MetricsText(Arc<dyn Fn() -> String + Send + Sync>);

impl MetricsText {
    /// Creates a source that calls `render` for each request.
    pub fn new(render: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(render))
    }

    pub(super) fn text(&self) -> String {
        (self.0)()
    }
}

impl fmt::Debug for MetricsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MetricsText")
    }
}

/// State shared by all requests. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// Client of the coordinator, limited to the calls that it also serves over the network.
    pub(super) coordinator: LocalCoordinator,
    /// Clients of the agents.
    pub(super) crowd: Arc<AgentClients>,
    /// Receiver of the latest snapshot.
    pub(super) board: watch::Receiver<Arc<ClusterSnapshot>>,
    pub(super) guard: Arc<Guard>,
    pub(super) metrics: Option<MetricsText>,
    pub(super) requests: Arc<Semaphore>,
    pub(super) listeners: Arc<Semaphore>,
    pub(super) counts: Arc<Semaphore>,
}

impl State {
    pub(super) fn new(
        coordinator: LocalCoordinator,
        crowd: Arc<AgentClients>,
        board: watch::Receiver<Arc<ClusterSnapshot>>,
        guard: Guard,
        metrics: Option<MetricsText>,
    ) -> Self {
        let seats = |n| Arc::new(Semaphore::new(n));
        let (requests, listeners) = (seats(REQUESTS_MAX), seats(LISTENERS_MAX));
        let (guard, counts) = (Arc::new(guard), seats(COUNTS_MAX));
        Self { coordinator, crowd, board, guard, metrics, requests, listeners, counts }
    }

    /// Returns the latest snapshot.
    pub(super) fn now(&self) -> Arc<ClusterSnapshot> {
        Arc::clone(&self.board.borrow())
    }
}
