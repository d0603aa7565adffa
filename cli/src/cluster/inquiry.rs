//! Asking all agents at once about a host or a URL.

use super::crowd::{Client, Crowd};
use crivello_common::view::{AgentId, AgentState, View};
use crivello_proto::v1;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tonic::Code;

/// For an answer, with the connection.
const PATIENCE: Duration = Duration::from_secs(5);

/// What each agent that is alive knows, or why nothing was heard of it.
pub type Known = BTreeMap<AgentId, Result<v1::WhyResponse, String>>;

/// Asks all agents of `view` that are alive, all at once.
pub async fn ask_all(crowd: &mut Crowd, view: &View, text: &str) -> Known {
    let mut known = Known::new();
    let mut asked = JoinSet::new();
    for agent in view.agents.iter().filter(|agent| agent.state != AgentState::Dead) {
        match crowd.client(agent) {
            Ok(client) => drop(asked.spawn(ask(client, agent.id, text.to_owned(), None))),
            Err(why) => drop(known.insert(agent.id, Err(why))),
        }
    }
    while let Some(answer) = asked.join_next().await {
        known.extend(answer.ok());
    }
    known
}

/// Asks the agent that archived a page what the file is called.
///
/// # Errors
/// Why it cannot be had, in words.
pub async fn file_name(
    crowd: &mut Crowd,
    view: &View,
    by: AgentId,
    serial: u32,
    text: &str,
) -> Result<String, String> {
    let agent = view.agent(by).ok_or("the agent is not known any more")?;
    if agent.state == AgentState::Dead {
        return Err("the agent is dead".to_owned());
    }
    let (_, answer) = ask(crowd.client(agent)?, by, text.to_owned(), Some(serial)).await;
    match answer?.archive_file {
        name if name.is_empty() => Err("the agent has no such file".to_owned()),
        name => Ok(name),
    }
}

async fn ask(
    mut client: Client,
    id: AgentId,
    text: String,
    archive_file: Option<u32>,
) -> (AgentId, Result<v1::WhyResponse, String>) {
    let asked = client.why(v1::WhyRequest { text, archive_file });
    let answer = match timeout(PATIENCE, asked).await {
        Err(_) => Err("does not answer".to_owned()),
        Ok(Err(status)) if status.code() == Code::Unimplemented => {
            Err("is of a version that cannot be asked".to_owned())
        }
        Ok(Err(status)) => Err(format!("cannot be reached: {}", status.message())),
        Ok(Ok(answer)) => Ok(answer.into_inner()),
    };
    let answer = answer.and_then(|answer| match answer.agent == id.0 {
        true => Ok(answer),
        false => Err("another agent answers at its address".to_owned()),
    });
    (id, answer)
}
