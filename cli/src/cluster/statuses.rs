//! Status of all agents of a crawl.

use super::Credentials;
use crivello_common::view::AgentId;
use crivello_proto::agents::{AgentClients, AgentCredentials, AgentStatus, Listing, ask_all};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Status of each live agent, or the reason why it could not be queried.
pub type AgentStatuses = BTreeMap<AgentId, Result<AgentStatus, String>>;

impl Credentials {
    /// Returns the clients of the agents of a crawl, with tickets of the coordinator of `client`.
    pub fn agent_clients(&self, client: impl Into<AgentCredentials>) -> Arc<AgentClients> {
        Arc::new(AgentClients::new(self.tls.clone(), client))
    }
}

/// Queries the status of all live agents of `listing` concurrently.
pub async fn query_statuses(clients: &Arc<AgentClients>, listing: &Listing) -> AgentStatuses {
    clients.retain(&listing.view);
    let query = |clients: Arc<AgentClients>, agent| {
        let crawl_id = listing.crawl_id.clone();
        async move { clients.status(&agent, &crawl_id).await }
    };
    let answers = ask_all(clients, &listing.view, query).await.into_iter();
    answers.map(|(agent, answer)| (agent.id, answer.map_err(|error| error.to_string()))).collect()
}

/// Returns true if all agents answered, use the view of `epoch`, and have no handoffs.
pub fn are_settled(statuses: &AgentStatuses, epoch: u64) -> bool {
    let settled = |(status, _): &AgentStatus| status.epoch == epoch && status.handoffs == 0;
    statuses.values().all(|status| status.as_ref().is_ok_and(settled))
}
