//! Queries about a host or a URL.

use super::{AgentCallError, AgentClients, Answer, Client};
use crate::v1;
use crivello_common::view::{Agent, AgentId, AgentState, View};

impl AgentClients {
    /// The state of a host or a URL at `agent`.
    ///
    /// # Errors
    /// The call fails, or another agent responds at this address.
    pub async fn why(&self, agent: &Agent, text: &str) -> Answer<v1::WhyResponse> {
        self.call_why(agent, v1::WhyRequest { text: text.to_owned(), archive_file: None }).await
    }

    async fn call_why(&self, agent: &Agent, request: v1::WhyRequest) -> Answer<v1::WhyResponse> {
        let call = async |mut client: Client| client.why(request).await;
        let answer = self.ask(agent, call).await?;
        (answer.agent == agent.id.0).then_some(answer).ok_or_else(AgentCallError::other_agent)
    }
}

/// The name of the archive file with the record of a URL, from the agent that archived it: the agent
/// that sent `story` knows only the serial number. `None` if `story` has the name or there is no
/// record; an error message if the name is not available.
pub async fn archive_file_name(
    clients: &AgentClients,
    view: &View,
    story: &v1::UrlStory,
) -> Option<Result<String, String>> {
    let by = AgentId(story.archived_by.filter(|_| story.file.is_empty())?);
    let serial = story.file_serial?;
    let agent = match view.agent(by) {
        None => return Some(Err("the agent is no longer known".to_owned())),
        Some(agent) if agent.state == AgentState::Dead => {
            return Some(Err("the agent is dead".to_owned()));
        }
        Some(agent) => agent,
    };
    let request = v1::WhyRequest { text: story.url.clone(), archive_file: Some(serial) };
    Some(match clients.call_why(agent, request).await {
        Ok(answer) if answer.archive_file.is_empty() => {
            Err("the agent has no such file".to_owned())
        }
        Ok(answer) => Ok(answer.archive_file),
        Err(error) => Err(format!("the agent {error}")),
    })
}
