//! The agents of a crawl, as far as people ask them: a connection to each, made when it is needed.

use super::{Papers, whole};
use crivello_agent::control::AgentStatus;
use crivello_common::view::{Agent, AgentId, AgentState, View};
use crivello_proto::guard::{Line, Show};
use crivello_proto::v1::control_client::ControlClient;
use crivello_proto::{ANSWER_SIZE_MAX, dial, v1};
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::transport::Channel;

const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// For an answer, with the connection.
const PATIENCE: Duration = Duration::from_secs(5);
/// A connection with an open stream on which nothing comes for so long is asked for a sign of life,
const KEEP_ALIVE: Duration = Duration::from_secs(5);
/// and is dead when none comes for so long.
const KEEP_ALIVE_PATIENCE: Duration = Duration::from_secs(5);

/// Asks one agent.
pub type Client = ControlClient<Line>;
/// What each agent that is alive says, or why nothing was heard of it.
pub type Answers = BTreeMap<AgentId, Result<AgentStatus, String>>;

/// See the module.
#[derive(Debug)]
pub struct Crowd {
    papers: Papers,
    shown: Show,
    channels: HashMap<String, Channel>,
}

impl Crowd {
    /// Nobody is known yet. With TLS, within a runtime.
    pub fn new(papers: Papers) -> Self {
        if let Some(tls) = &papers.tls {
            tls.keep_fresh();
        }
        let shown = Show::new(papers.token.as_ref());
        Self { papers, shown, channels: HashMap::new() }
    }

    /// The way to `agent`; nothing is sent yet.
    ///
    /// # Errors
    /// When its address or the TLS files cannot be used.
    pub fn client(&mut self, agent: &Agent) -> Result<Client, String> {
        let channel = match self.channels.get(&agent.address) {
            Some(channel) => channel.clone(),
            None => {
                let channel = self.open(&agent.address)?;
                self.channels.insert(agent.address.clone(), channel.clone());
                channel
            }
        };
        Ok(ControlClient::new(self.shown.over(channel)).max_decoding_message_size(ANSWER_SIZE_MAX))
    }

    fn open(&self, address: &str) -> Result<Channel, String> {
        let tls = self.papers.tls.as_ref();
        let endpoint = dial::to(address, tls);
        let endpoint = endpoint.map_err(|error| format!("{address}: {}", whole(error)))?;
        let endpoint = endpoint
            .connect_timeout(CONNECT_PATIENCE)
            .http2_keep_alive_interval(KEEP_ALIVE)
            .keep_alive_timeout(KEEP_ALIVE_PATIENCE);
        Ok(dial::lazy(&endpoint, tls))
    }

    /// Asks all agents of `view` that are alive how they stand, all at once.
    pub async fn ask(&mut self, view: &View, crawl_id: &str) -> Answers {
        self.channels.retain(|address, _| view.agents.iter().any(|a| a.address == *address));
        let mut answers = Answers::new();
        let mut asked = JoinSet::new();
        for agent in view.agents.iter().filter(|agent| agent.state != AgentState::Dead) {
            match self.client(agent) {
                Ok(client) => drop(asked.spawn(ask(client, agent.id, crawl_id.to_owned()))),
                Err(why) => drop(answers.insert(agent.id, Err(why))),
            }
        }
        while let Some(answer) = asked.join_next().await {
            answers.extend(answer.ok());
        }
        answers
    }
}

/// Whether all have answered, go by the view of this epoch, and have nothing to hand over.
pub fn are_settled(answers: &Answers, epoch: u64) -> bool {
    let settled = |status: &AgentStatus| status.epoch == epoch && status.handoffs == 0;
    answers.values().all(|answer| answer.as_ref().is_ok_and(settled))
}

async fn ask(
    mut client: Client,
    id: AgentId,
    crawl_id: String,
) -> (AgentId, Result<AgentStatus, String>) {
    let answer = match timeout(PATIENCE, client.status(v1::StatusRequest {})).await {
        Err(_) => Err("does not answer".to_owned()),
        Ok(Err(status)) => Err(format!("cannot be reached: {}", status.message())),
        Ok(Ok(answer)) => AgentStatus::try_from(answer.into_inner()).map_err(|e| e.to_string()),
    };
    let answer = answer.and_then(|status| match status.id == id && status.crawl_id == crawl_id {
        true => Ok(status),
        false => Err("another agent answers at its address".to_owned()),
    });
    (id, answer)
}
