//! Tickets for calls to agents, requested from the coordinator and kept for a while.

use super::call_error::{AgentCallError, Answer};
use crate::auth::{AuthChannel, BearerToken};
use crate::v1::coordinator_client::CoordinatorClient;
use crate::{LiveToken, LocalCoordinator, v1};
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::AgentId;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tonic::{Code, Response, Status};

pub use crate::signing::Scope;

/// Timeout of a request for tickets.
const TIMEOUT: Duration = Duration::from_secs(5);

type Requested = BoxFuture<'static, Result<Response<v1::TicketsResponse>, Status>>;

/// Credentials for calls to agents.
#[derive(Clone)]
pub enum AgentCredentials {
    /// Tickets of the coordinator that this function asks.
    Tickets(Arc<dyn Fn(v1::TicketsRequest) -> Requested + Send + Sync>),
    /// The node secret, for the few calls that need no ticket.
    NodeSecret(Option<LiveToken>),
}

impl fmt::Debug for AgentCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tickets(_) => "Tickets",
            Self::NodeSecret(_) => "NodeSecret",
        })
    }
}

impl From<CoordinatorClient<AuthChannel>> for AgentCredentials {
    fn from(client: CoordinatorClient<AuthChannel>) -> Self {
        Self::Tickets(Arc::new(move |request| {
            let mut client = client.clone();
            async move { client.tickets(request).await }.boxed()
        }))
    }
}

impl From<LocalCoordinator> for AgentCredentials {
    fn from(client: LocalCoordinator) -> Self {
        // The client cannot be shared between threads, only sent.
        let client = Mutex::new(client);
        Self::Tickets(Arc::new(move |request| {
            let mut client = client.lock().clone();
            async move { client.tickets(request).await }.boxed()
        }))
    }
}

/// Tickets that are kept, by scope.
#[derive(Debug)]
pub(super) struct TicketBook {
    credentials: AgentCredentials,
    kept: Mutex<HashMap<Scope, Kept>>,
    clock: Clock,
}

#[derive(Clone, Debug, Default)]
struct Kept {
    by_agent: HashMap<AgentId, BearerToken>,
    /// Time after which new ones are requested.
    until: Timestamp,
}

impl TicketBook {
    pub(super) fn new(credentials: AgentCredentials) -> Self {
        Self { credentials, kept: Mutex::default(), clock: Clock::start() }
    }

    /// Returns the credential for `agent`.
    ///
    /// # Errors
    /// Fails if the coordinator issues no ticket.
    pub(super) async fn for_agent(&self, agent: AgentId, scope: Scope) -> Answer<BearerToken> {
        let request = match &self.credentials {
            AgentCredentials::NodeSecret(secret) => return Ok(BearerToken::new(secret.as_ref())),
            AgentCredentials::Tickets(request) => request,
        };
        let requested_at = self.clock.now();
        if let Some(kept) = self.kept.lock().get(&scope)
            && requested_at < kept.until
            && let Some(bearer) = kept.by_agent.get(&agent)
        {
            return Ok(bearer.clone());
        }
        let wanted = match scope {
            Scope::Read => v1::TicketScope::Read,
            Scope::Order => v1::TicketScope::Order,
        };
        let answer = timeout(TIMEOUT, request(v1::TicketsRequest { scope: wanted.into() })).await;
        let answer = match answer {
            Ok(Ok(answer)) => answer.into_inner(),
            Ok(Err(status)) => return Err(refused(&status)),
            Err(_) => return Err(refused(&Status::deadline_exceeded("no response"))),
        };
        // Half of the time is for the calls.
        let until = requested_at + Duration::from_millis(answer.lifetime_ms / 2);
        let tickets = answer.tickets.into_iter();
        let by_agent: HashMap<AgentId, BearerToken> =
            tickets.map(|of| (AgentId(of.agent), BearerToken::ticket(&of.ticket))).collect();
        let bearer = by_agent.get(&agent).cloned();
        self.kept.lock().insert(scope, Kept { by_agent, until });
        bearer.ok_or_else(|| AgentCallError::Unreachable("is no living member".to_owned()))
    }

    /// Forgets all tickets, because one was refused.
    pub(super) fn forget(&self) {
        self.kept.lock().clear();
    }
}

fn refused(status: &Status) -> AgentCallError {
    let why = status.message();
    match status.code() {
        Code::Unimplemented => AgentCallError::Unsupported,
        _ => AgentCallError::Unreachable(format!(
            "cannot be called: the coordinator issues no ticket: {why}"
        )),
    }
}
