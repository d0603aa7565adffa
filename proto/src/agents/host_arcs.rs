//! Host arcs of the archive of an agent.

use super::{AgentClients, Answer, Client, Scope};
use crate::v1;
use crivello_common::view::Agent;
use tonic::Streaming;

/// Asks an agent for the host arcs of its archive. The first of them may take long.
///
/// # Errors
/// Fails if the agent cannot be reached, or refuses.
pub async fn host_arcs(
    clients: &AgentClients,
    agent: &Agent,
) -> Answer<Streaming<v1::HostArcsResponse>> {
    let call = async |mut client: Client| client.host_arcs(v1::HostArcsRequest {}).await;
    clients.ask_in(Scope::Read, agent, call).await
}
