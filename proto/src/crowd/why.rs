//! Questions about a host or a URL.

use super::{Answer, Client, Crowd, Silence};
use crate::v1;
use crivello_common::view::{Agent, AgentId, AgentState, View};

impl Crowd {
    /// What `agent` knows of a host or a URL.
    ///
    /// # Errors
    /// When it gives no answer; that of somebody else at its address is none.
    pub async fn why(&self, agent: &Agent, text: &str) -> Answer<v1::WhyResponse> {
        self.inquire(agent, v1::WhyRequest { text: text.to_owned(), archive_file: None }).await
    }

    async fn inquire(&self, agent: &Agent, request: v1::WhyRequest) -> Answer<v1::WhyResponse> {
        let question = async |mut client: Client| client.why(request).await;
        let answer = self.ask(agent, question).await?;
        (answer.agent == agent.id.0).then_some(answer).ok_or_else(Silence::stranger)
    }
}

/// The name of the archive file that has the record of a URL, asked of the agent that archived it:
/// whoever told the `story` knows only the file's number. `None` where it knows the name, or there
/// is no record; else the name, or why it cannot be had, in words.
pub async fn file_name(
    crowd: &Crowd,
    view: &View,
    story: &v1::UrlStory,
) -> Option<Result<String, String>> {
    let by = AgentId(story.archived_by.filter(|_| story.file.is_empty())?);
    let serial = story.file_serial?;
    let agent = match view.agent(by) {
        None => return Some(Err("the agent is not known any more".to_owned())),
        Some(agent) if agent.state == AgentState::Dead => {
            return Some(Err("the agent is dead".to_owned()));
        }
        Some(agent) => agent,
    };
    let request = v1::WhyRequest { text: story.url.clone(), archive_file: Some(serial) };
    Some(match crowd.inquire(agent, request).await {
        Ok(answer) if answer.archive_file.is_empty() => {
            Err("the agent has no such file".to_owned())
        }
        Ok(answer) => Ok(answer.archive_file),
        Err(silence) => Err(format!("the agent {silence}")),
    })
}
