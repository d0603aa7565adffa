//! Membership of a running crawl in a cluster, held while it lasts.

use crate::cluster::coordinator_client::CoordinatorClient;
use crate::peers::PeerServer;
use crate::report::Ended;
use crate::shared::Shared;
use crate::shared::lifecycle::Lifecycle;
use crivello_common::view::AgentId;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::Relaxed;

/// Identity of the member, its client of the coordinator, and its server for other agents.
#[derive(Debug)]
pub struct ClusterSession {
    /// Client of the coordinator.
    pub coordinator: CoordinatorClient,
    /// Id of the agent.
    pub id: AgentId,
    /// Name of the agent.
    pub name: String,
    /// Random number of this process.
    pub process: u64,
    /// Address on which the agent listens.
    pub address: SocketAddr,
    /// Server for other agents, which listens as long as this exists.
    pub _server: PeerServer,
}

impl ClusterSession {
    /// Requests the drain of this agent from the coordinator.
    ///
    /// # Errors
    /// The reason for which the agent cannot leave, as a message for users.
    pub async fn drain(&self, lifecycle: &Lifecycle) -> Result<(), String> {
        // Set before the request: the view with the result may arrive before the response.
        lifecycle.drain_requested.store(true, Relaxed);
        let drained = self.coordinator.drain(self.id, self.process).await;
        lifecycle.drain_requested.store(drained.is_ok(), Relaxed);
        drained
    }

    /// Notifies the coordinator that this process ends. After a failure the lease just expires.
    pub async fn leave(&self, how: Ended, shared: &Shared) {
        let back = match how {
            Ended::Drained => false,
            Ended::Stopped => true,
            _ => return,
        };
        let stays = shared.lifecycle.stays_member.load(Relaxed);
        let fetched = shared.page_budget.get().map(|_| shared.status.totals.lock().0.pages);
        self.coordinator.leave((self.id, self.process), back, stays, fetched).await;
    }
}
