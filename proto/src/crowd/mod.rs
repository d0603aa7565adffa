//! The agents of a crawl, as far as people ask them: a connection to each, made when it is needed.
//! The commands and the dashboard ask by the same ways, and hear the same words.

mod archived;
mod explain;

pub use archived::{Count, only_there};
pub use explain::{ask_about, explanation};

use crate::guard::{Line, Show};
use crate::tls::Tls;
use crate::v1::control_client::ControlClient;
use crate::{ANSWER_SIZE_MAX, dial, v1};
use crivello_common::view::{Agent, AgentState, View};
use futures_util::{StreamExt, stream};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::error::Error as _;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Response, Status};

const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// For an answer, with the connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// A connection with an open stream on which nothing comes for so long is asked for a sign of life,
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// and is dead when none comes for so long.
const KEEP_ALIVE_PATIENCE: Duration = Duration::from_secs(5);
/// Agents that are asked at once, for one question.
const ASKED_AT_ONCE: usize = 64;

/// Asks one agent.
pub type Client = ControlClient<Line>;

/// Why an agent gave no answer. Its words follow the agent's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It does not know the question: it is of an older version.
    NotAvailable,
    /// It says that the question is wrong.
    Refused(String),
    /// Nothing was heard of it.
    Unreachable(String),
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotAvailable => "cannot answer this: it runs an older version of crivello",
            Self::Refused(why) | Self::Unreachable(why) => why,
        })
    }
}

impl Silence {
    fn stranger() -> Self {
        Self::Unreachable("another agent answers at its address".to_owned())
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
pub type Answer<T> = Result<T, Silence>;

/// See the module.
#[derive(Debug)]
pub struct Crowd {
    tls: Option<Tls>,
    shown: Show,
    channels: Mutex<HashMap<String, Channel>>,
}

impl Crowd {
    /// Nobody is known yet.
    #[must_use]
    pub fn new(tls: Option<Tls>, shown: Show) -> Self {
        Self { tls, shown, channels: Mutex::default() }
    }

    /// Forgets the way to whoever is not in `view`.
    pub fn keep(&self, view: &View) {
        self.channels.lock().retain(|address, _| view.agents.iter().any(|a| a.address == *address));
    }

    /// The way to `agent`; nothing is sent yet. Within a runtime.
    ///
    /// # Errors
    /// When its address cannot be used.
    pub fn client(&self, agent: &Agent) -> Answer<Client> {
        let mut channels = self.channels.lock();
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
        let endpoint = dial::to(address, tls).map_err(|error| {
            // What it says itself is "transport error".
            let why = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            format!("cannot be reached at {address}: {why}")
        })?;
        let endpoint = endpoint
            .connect_timeout(CONNECT_PATIENCE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_PATIENCE);
        Ok(dial::lazy(&endpoint, tls))
    }

    /// Asks `agent` one thing.
    ///
    /// # Errors
    /// When it gives no answer.
    pub async fn ask<T>(
        &self,
        agent: &Agent,
        question: impl AsyncFnOnce(Client) -> Result<Response<T>, Status>,
    ) -> Answer<T> {
        self.ask_for(PATIENCE, agent, question).await
    }

    /// The same, for so long at most.
    async fn ask_for<T>(
        &self,
        patience: Duration,
        agent: &Agent,
        question: impl AsyncFnOnce(Client) -> Result<Response<T>, Status>,
    ) -> Answer<T> {
        let client = self.client(agent)?;
        match timeout(patience, question(client)).await {
            Err(_) => Err(Silence::Unreachable("does not answer".to_owned())),
            Ok(Err(status)) => Err(status.into()),
            Ok(Ok(answer)) => Ok(answer.into_inner()),
        }
    }

    /// How `agent` stands.
    ///
    /// # Errors
    /// When it gives no answer; that of somebody else at its address is none.
    pub async fn status(&self, agent: &Agent, crawl: &str) -> Answer<v1::StatusResponse> {
        let question = async |mut client: Client| client.status(v1::StatusRequest {}).await;
        let status = self.ask(agent, question).await?;
        let is_it = status.id == agent.id.0 && status.crawl_id == crawl;
        is_it.then_some(status).ok_or_else(Silence::stranger)
    }
}

/// Those of `view` that can be asked.
pub fn living(view: &View) -> impl Iterator<Item = &Agent> {
    view.agents.iter().filter(|agent| agent.state != AgentState::Dead)
}

/// Asks all agents of `view` that are alive the same, some at once; in the order of the view.
pub async fn ask_all<T, F>(
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
