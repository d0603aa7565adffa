//! The agents, as far as the dashboard asks them: a connection to each, made when it is needed.

use crivello_common::view::{Agent, AgentState, View};
use crivello_proto::guard::{Line, Show};
use crivello_proto::tls::Tls;
use crivello_proto::v1::control_client::ControlClient;
use crivello_proto::{ANSWER_SIZE_MAX, dial, v1};
use futures_util::{StreamExt, stream};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

const CONNECT_PATIENCE: Duration = Duration::from_secs(2);
/// For an answer, with the connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// A connection on which nothing comes for so long is asked for a sign of life.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// Agents that are asked at once, for one request.
const ASKED_AT_ONCE: usize = 64;

/// Asks one agent.
pub(super) type Client = ControlClient<Line>;

/// Why an agent gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// It does not know the question: it is of an older version.
    NotAvailable,
    /// It says that the question is wrong.
    Refused(String),
    /// Nothing was heard of it.
    Unreachable(String),
}

impl Silence {
    /// In words.
    pub(super) fn words(&self) -> &str {
        match self {
            Self::NotAvailable => "cannot answer this: it runs an older version of crivello",
            Self::Refused(why) | Self::Unreachable(why) => why,
        }
    }
}

impl From<Status> for Silence {
    fn from(status: Status) -> Self {
        match status.code() {
            Code::Unimplemented => Self::NotAvailable,
            Code::InvalidArgument | Code::NotFound | Code::FailedPrecondition => {
                Self::Refused(status.message().to_owned())
            }
            Code::ResourceExhausted => Self::Unreachable(format!("is busy: {}", status.message())),
            _ => Self::Unreachable(format!("cannot be reached: {}", status.message())),
        }
    }
}

/// What came of asking one.
pub(super) type Answer<T> = Result<T, Silence>;

/// See the module.
#[derive(Debug)]
pub(super) struct Crowd {
    tls: Option<Tls>,
    shown: Show,
    channels: Mutex<HashMap<String, Channel>>,
}

impl Crowd {
    /// Nobody is known yet.
    pub(super) fn new(tls: Option<Tls>, shown: Show) -> Self {
        Self { tls, shown, channels: Mutex::default() }
    }

    /// Forgets the way to whoever is not in `view`.
    pub(super) fn keep(&self, view: &View) {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        channels.retain(|address, _| view.agents.iter().any(|a| a.address == *address));
    }

    /// The way to `agent`; nothing is sent yet.
    fn client(&self, agent: &Agent) -> Answer<Client> {
        let mut channels = self.channels.lock().unwrap_or_else(PoisonError::into_inner);
        let channel = match channels.get(&agent.address) {
            Some(channel) => channel.clone(),
            None => {
                let channel = self.open(&agent.address).map_err(Silence::Unreachable)?;
                channels.insert(agent.address.clone(), channel.clone());
                channel
            }
        };
        Ok(ControlClient::new(self.shown.over(channel)).max_decoding_message_size(ANSWER_SIZE_MAX))
    }

    fn open(&self, address: &str) -> Result<Channel, String> {
        let tls = self.tls.as_ref();
        let endpoint = dial::to(address, tls).map_err(|error| format!("{address}: {error}"))?;
        let endpoint =
            endpoint.connect_timeout(CONNECT_PATIENCE).http2_keep_alive_interval(KEEP_ALIVE);
        Ok(dial::lazy(&endpoint, tls))
    }

    /// Asks `agent` one thing.
    pub(super) async fn ask<T>(
        &self,
        agent: &Agent,
        question: impl AsyncFnOnce(Client) -> Result<Response<T>, Status>,
    ) -> Answer<T> {
        let client = self.client(agent)?;
        match timeout(PATIENCE, question(client)).await {
            Err(_) => Err(Silence::Unreachable("does not answer".to_owned())),
            Ok(Err(status)) => Err(status.into()),
            Ok(Ok(answer)) => Ok(answer.into_inner()),
        }
    }

    /// How `agent` stands; an answer of somebody else at its address is none.
    pub(super) async fn status(&self, agent: &Agent, crawl: &str) -> Answer<v1::StatusResponse> {
        let question = async |mut client: Client| client.status(v1::StatusRequest {}).await;
        let status = self.ask(agent, question).await?;
        match status.id == agent.id.0 && status.crawl_id == crawl {
            true => Ok(status),
            false => Err(Silence::Unreachable("another agent answers at its address".to_owned())),
        }
    }
}

/// Those of `view` that can be asked.
pub(super) fn living(view: &View) -> impl Iterator<Item = &Agent> {
    view.agents.iter().filter(|agent| agent.state != AgentState::Dead)
}

/// Asks all agents of `view` that are alive the same, some at once; in the order of the view.
pub(super) async fn ask_all<T, F>(
    crowd: &Arc<Crowd>,
    view: &View,
    question: impl Fn(Arc<Crowd>, Agent) -> F,
) -> Vec<(Agent, Answer<T>)>
where
    F: Future<Output = Answer<T>>,
{
    // Owned by each question, so that none of them borrows from the request.
    let agents: Vec<Agent> = living(view).cloned().collect();
    let asked = agents.iter().map(|agent| question(Arc::clone(crowd), agent.clone()));
    let asked: Vec<F> = asked.collect();
    let answers: Vec<Answer<T>> = stream::iter(asked).buffered(ASKED_AT_ONCE).collect().await;
    agents.into_iter().zip(answers).collect()
}
