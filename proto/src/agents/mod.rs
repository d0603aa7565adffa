//! Clients of the agents' control service, for the commands and the dashboard. Connections are opened
//! on demand and reused.

mod archived;
mod call_error;
mod explain;
mod host_arcs;
mod listing;
mod ranks;
mod search;
mod status;
mod sums;
mod tickets;

pub use archived::{ArchivedCount, archived_only_by, sum_archived};
pub use call_error::{AgentCallError, Answer};
pub use explain::{ask_about, explanation};
pub use host_arcs::host_arcs;
pub use listing::{Listing, ObstacleText};
pub use ranks::send_host_ranks;
pub use search::{
    AgentHit, ClusterResults, PREFIXES_MAX, prefix_words, search_agents, stored_page,
};
pub use status::AgentStatus;
pub use sums::{pages_by_class, weighted_mean};
pub use tickets::{AgentCredentials, Scope};

use crate::auth::AuthChannel;
use crate::tls::Tls;
use crate::v1::control_client::ControlClient;
use crate::{CONTROL_RESPONSE_SIZE_MAX, dial, v1};
use crivello_common::view::{Agent, View};
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::error::Error as _;
use std::sync::Arc;
use std::time::Duration;
use tickets::TicketBook;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout of a call, including the connection.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Idle time after which a connection with an open stream is probed by a ping.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Time without a reply to the ping after which the connection is closed.
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(5);
/// Number of agents called at once by [`ask_all`].
const CALLS_MAX: usize = 64;

/// A client of one agent.
pub type Client = ControlClient<AuthChannel>;

/// Connections to agents, by address.
#[derive(Debug)]
pub struct AgentClients {
    tls: Option<Tls>,
    tickets: TicketBook,
    channels: Mutex<HashMap<String, Channel>>,
}

impl AgentClients {
    /// Creates clients without connections.
    #[must_use]
    pub fn new(tls: Option<Tls>, credentials: impl Into<AgentCredentials>) -> Self {
        let tickets = TicketBook::new(credentials.into());
        Self { tls, tickets, channels: Mutex::default() }
    }

    /// Drops the connections to agents that are not in `view`.
    pub fn retain(&self, view: &View) {
        self.channels.lock().retain(|address, _| view.agents.iter().any(|a| a.address == *address));
    }

    /// Returns a client of `agent` for calls of this scope, for some seconds. Nothing is sent to the
    /// agent yet.
    ///
    /// # Errors
    /// Fails if the address is invalid, or if the coordinator issues no ticket.
    pub async fn client(&self, agent: &Agent, scope: Scope) -> Answer<Client> {
        let bearer = self.tickets.for_agent(agent.id, scope).await?;
        let channel = self.channel(agent)?;
        let client = ControlClient::new(bearer.wrap(channel));
        Ok(client.max_decoding_message_size(CONTROL_RESPONSE_SIZE_MAX))
    }

    fn channel(&self, agent: &Agent) -> Answer<Channel> {
        let mut channels = self.channels.lock();
        Ok(match channels.entry(agent.address.clone()) {
            Entry::Occupied(channel) => channel.get().clone(),
            Entry::Vacant(place) => place.insert(self.open(&agent.address)?).clone(),
        })
    }

    fn open(&self, address: &str) -> Answer<Channel> {
        let tls = self.tls.as_ref();
        let endpoint = dial::to(address, tls).map_err(|error| {
            // The error's own text is only "transport error".
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            AgentCallError::Unreachable(format!("cannot be reached at {address}: {why}"))
        })?;
        let endpoint = endpoint
            .connect_timeout(CONNECT_TIMEOUT)
            .http2_keep_alive_interval(KEEP_ALIVE_INTERVAL)
            .keep_alive_timeout(KEEP_ALIVE_TIMEOUT);
        Ok(dial::lazy(&endpoint.into(), tls))
    }

    /// Calls `agent`, with a call that changes nothing.
    ///
    /// # Errors
    /// Fails if the call fails or times out.
    pub async fn ask<T>(
        &self,
        agent: &Agent,
        call: impl AsyncFnOnce(Client) -> Result<Response<T>, Status>,
    ) -> Answer<T> {
        self.ask_within(CALL_TIMEOUT, (agent, Scope::Read), call).await
    }

    /// Calls `agent`, with a call of this scope.
    ///
    /// # Errors
    /// Fails if the call fails or times out.
    pub async fn ask_in<T>(
        &self,
        scope: Scope,
        agent: &Agent,
        call: impl AsyncFnOnce(Client) -> Result<Response<T>, Status>,
    ) -> Answer<T> {
        self.ask_within(CALL_TIMEOUT, (agent, scope), call).await
    }

    /// Calls `agent` with the given timeout.
    async fn ask_within<T>(
        &self,
        limit: Duration,
        (agent, scope): (&Agent, Scope),
        call: impl AsyncFnOnce(Client) -> Result<Response<T>, Status>,
    ) -> Answer<T> {
        let client = self.client(agent, scope).await?;
        match timeout(limit, call(client)).await {
            Err(_) => Err(AgentCallError::Unreachable("does not respond".to_owned())),
            Ok(Err(status)) => {
                if status.code() == Code::Unauthenticated {
                    self.tickets.forget();
                }
                Err(status.into())
            }
            Ok(Ok(response)) => Ok(response.into_inner()),
        }
    }

    /// Requests the status of `agent`.
    ///
    /// # Errors
    /// Fails if the call fails, or if another agent responds at this address.
    pub async fn status(&self, agent: &Agent, crawl: &str) -> Answer<AgentStatus> {
        let call = async |mut client: Client| client.status(v1::StatusRequest {}).await;
        let mut status = self.ask(agent, call).await?;
        let is_it = status.id == agent.id.0 && status.crawl_id == crawl;
        let progress = status.progress.take().filter(|_| is_it);
        progress.map(|progress| (status, progress)).ok_or_else(AgentCallError::other_agent)
    }
}

/// Calls all agents of `view` that are not dead, concurrently. The results have the order of the view.
pub async fn ask_all<T, F>(
    clients: &Arc<AgentClients>,
    view: &View,
    call: impl Fn(Arc<AgentClients>, Agent) -> F,
) -> Vec<(Agent, Answer<T>)>
where
    F: Future<Output = Answer<T>>,
{
    // Each call owns its arguments, so that none of them borrows from the request.
    let agents: Vec<Agent> = view.living().cloned().collect();
    let calls = agents.iter().map(|agent| call(Arc::clone(clients), agent.clone()));
    let calls: Vec<F> = calls.collect();
    let answers: Vec<Answer<T>> = stream::iter(calls).buffered(CALLS_MAX).collect().await;
    agents.into_iter().zip(answers).collect()
}
