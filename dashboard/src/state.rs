//! What all requests share.

use super::guard::Guard;
use super::poll::Board;
use crivello_proto::LocalCoordinator;
use crivello_proto::agents::AgentClients;
use std::fmt;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// Requests for answers of agents or of the lodge that are worked on at once.
const REQUESTS_MAX: usize = 32;
/// Pages that listen at once.
const LISTENERS_MAX: usize = 64;
/// Agents whose archives are counted at once.
const COUNTS_MAX: usize = 4;

/// Says what `/metrics` shows, in the text format of Prometheus.
#[derive(Clone)]
pub struct MetricsText(Arc<dyn Fn() -> String + Send + Sync>);

impl MetricsText {
    /// Asks `say` each time.
    pub fn new(say: impl Fn() -> String + Send + Sync + 'static) -> Self {
        Self(Arc::new(say))
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

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct State {
    /// The coordinator, by the calls that it also answers over the network.
    pub(super) coordinator: LocalCoordinator,
    /// The way to the agents.
    pub(super) crowd: Arc<AgentClients>,
    /// What was found in the last round.
    pub(super) board: watch::Receiver<Arc<Board>>,
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
        board: watch::Receiver<Arc<Board>>,
        guard: Guard,
        metrics: Option<MetricsText>,
    ) -> Self {
        let seats = |n| Arc::new(Semaphore::new(n));
        let (requests, listeners) = (seats(REQUESTS_MAX), seats(LISTENERS_MAX));
        let (guard, counts) = (Arc::new(guard), seats(COUNTS_MAX));
        Self { coordinator, crowd, board, guard, metrics, requests, listeners, counts }
    }

    /// What was found in the last round.
    pub(super) fn now(&self) -> Arc<Board> {
        Arc::clone(&self.board.borrow())
    }
}
