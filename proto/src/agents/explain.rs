//! Explanations of a host or a URL, requested from the agents.

use super::{AgentCallError, AgentClients, Answer, Client, ask_all};
use crate::v1;
use crate::v1::explanation::ArchiveFile;
use crivello_common::view::{Agent, AgentId, AgentState, View};
use std::sync::Arc;

impl AgentClients {
    async fn explain(
        &self,
        agent: &Agent,
        request: v1::ExplainRequest,
    ) -> Answer<v1::ExplainResponse> {
        let question = async |mut client: Client| client.explain(request).await;
        let answer = self.ask(agent, question).await?;
        (answer.agent == agent.id.0).then_some(answer).ok_or_else(AgentCallError::other_agent)
    }
}

/// Queries all living agents of `view` about a host or a URL, concurrently.
pub async fn ask_about(
    clients: &Arc<AgentClients>,
    view: &View,
    subject: &str,
) -> Vec<(Agent, Answer<v1::ExplainResponse>)> {
    ask_all(clients, view, |clients, agent| {
        let request = v1::ExplainRequest { subject: subject.to_owned(), archive_file: None };
        async move { clients.explain(&agent, request).await }
    })
    .await
}

/// Combines the answers of [`ask_about`]. If the page was archived by another agent than the one
/// whose answer counts, requests the name of the archive file from that agent.
pub async fn explanation(
    clients: &AgentClients,
    view: &View,
    subject: &str,
    answers: &[(Agent, Answer<v1::ExplainResponse>)],
) -> v1::Explanation {
    let answers = answers.iter().map(|(agent, answer)| (agent, answer.clone()));
    let mut explanation = v1::Explanation::new(subject, false, answers);
    if explanation.archive_file.is_none()
        && let Some(url) = explanation.url()
    {
        explanation.archive_file = file_name(clients, view, url).await;
    }
    explanation
}

/// Returns the name of the archive file that has the record of a URL, or the reason why it is
/// unknown. Returns `None` if there is no record.
async fn file_name(
    clients: &AgentClients,
    view: &View,
    url: &v1::UrlStatus,
) -> Option<ArchiveFile> {
    let (by, serial) = (AgentId(url.archived_by?), url.file_serial?);
    let error = |text: &str| Some(ArchiveFile::FileError(text.to_owned()));
    let agent = match view.agent(by) {
        None => return error("the agent is no longer known"),
        Some(agent) if agent.state == AgentState::Dead => return error("the agent is dead"),
        Some(agent) => agent,
    };
    let request = v1::ExplainRequest { subject: url.url.clone(), archive_file: Some(serial) };
    match clients.explain(agent, request).await {
        Ok(answer) if answer.archive_file.is_empty() => error("the agent has no such file"),
        Ok(answer) => Some(ArchiveFile::FileName(answer.archive_file)),
        Err(unreachable) => error(&format!("the agent {unreachable}")),
    }
}
