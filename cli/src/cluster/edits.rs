//! Edits of a crawl's settings, and the wait until all agents use them.

use super::statuses::{AgentStatuses, query_statuses};
use super::{CoordinatorApi, connect, list};
use crate::args::connection::ConnectArgs;
use crate::exit::{CliError, Exit};
use crate::{format, screen};
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::Agent;
use crivello_proto::agents::{
    AgentClients, Answer, Client, Listing, Scope, ask_all, send_host_ranks,
};
use crivello_proto::v1::{self, setting_edit::Change};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;
use tonic::codegen::Bytes;
use tonic::{Response, Status};

/// Maximum wait for agents to use new settings. Slower agents are named.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between two queries.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Returns an edit of one setting.
pub fn edit(key: &str, change: Change) -> v1::SettingEdit {
    v1::SettingEdit { key: key.to_owned(), change: Some(change) }
}

/// Client of a coordinator and its agents, for settings.
pub struct SettingsClient {
    client: CoordinatorApi,
    agents: Arc<AgentClients>,
    clock: Clock,
    began: Timestamp,
}

impl SettingsClient {
    /// Connects to the coordinator.
    ///
    /// # Errors
    /// Fails if the coordinator cannot be reached.
    pub async fn connect_to(args: &ConnectArgs) -> Result<Self, CliError> {
        let (client, credentials) = connect(args).await?;
        let agents = credentials.agent_clients(client.clone());
        let clock = Clock::start();
        Ok(Self { client, agents, clock, began: clock.now() })
    }

    /// Applies all edits, or none. Returns the edited settings, and the keys of those that take
    /// effect only when the agents restart.
    ///
    /// # Errors
    /// Returns the invalid edit and the reason.
    pub async fn edit(
        &mut self,
        edits: Vec<v1::SettingEdit>,
    ) -> Result<(v1::CrawlSettings, Vec<String>), CliError> {
        self.began = self.clock.now();
        let request = v1::EditSettingsRequest { edits, known_revision: 0 };
        let answer = self.client.edit_settings(request).await?.into_inner();
        Ok((answer.settings.unwrap_or_default(), answer.at_restart))
    }

    /// Waits up to ten seconds until every live agent uses this revision. Prints the duration, or
    /// the agents that do not use it yet.
    ///
    /// # Errors
    /// Fails if the coordinator does not respond.
    pub async fn wait(&mut self, revision: u64) -> Result<Exit, CliError> {
        let in_force = |status: &v1::StatusResponse| status.settings_revision;
        self.wait_until(|status| match in_force(status) {
            used if used >= revision => None,
            used => Some(format!("is at revision {used}")),
        })
        .await
    }

    /// Waits as [`Self::wait`] does until every live agent uses the ranks of hosts with this digest.
    ///
    /// # Errors
    /// Fails if the coordinator does not respond.
    pub async fn wait_for_ranks(&mut self, digest: &str) -> Result<Exit, CliError> {
        self.wait_until(|status| {
            (status.host_ranks != digest).then(|| "has not these ranks yet".to_owned())
        })
        .await
    }

    /// Sends a file of ranks of hosts to all live agents.
    ///
    /// # Errors
    /// Fails if the coordinator does not respond.
    pub async fn send_host_ranks(
        &mut self,
        digest: &str,
        file: Bytes,
    ) -> Result<Vec<(Agent, Answer<()>)>, CliError> {
        let view = list(&mut self.client).await?.view;
        Ok(send_host_ranks(&self.agents, &view, digest, file).await)
    }

    /// Waits up to ten seconds until `lacks` returns for no live agent what it lacks.
    async fn wait_until(
        &mut self,
        lacks: impl Fn(&v1::StatusResponse) -> Option<String>,
    ) -> Result<Exit, CliError> {
        loop {
            let listing = list(&mut self.client).await?;
            let answers = query_statuses(&self.agents, &listing).await;
            let behind = behind(&listing, &answers, &lacks);
            let waited = self.clock.now().since(self.began);
            if behind.is_empty() {
                screen::print_line(&match format::plural(answers.len() as u64, "agent") {
                    _ if answers.is_empty() => {
                        "no agent is running: in force for agents that join".to_owned()
                    }
                    by => format!("in force with {by} after {}", format::duration(waited)),
                });
                return Ok(Exit::Finished);
            }
            if waited >= TIMEOUT {
                screen::print_line(&format!("not in force everywhere yet: {}", behind.join("; ")));
                return Ok(Exit::NotYet);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Calls all live agents, or only the one with the name or id `only`, with a call of this scope.
    ///
    /// # Errors
    /// Fails if the coordinator does not respond.
    pub async fn ask_agents<T>(
        &mut self,
        scope: Scope,
        only: Option<&str>,
        call: impl AsyncFn(Client) -> Result<Response<T>, Status>,
    ) -> Result<Vec<(Agent, Answer<T>)>, CliError> {
        let mut view = list(&mut self.client).await?.view;
        view.agents.retain(|agent| {
            only.is_none_or(|only| agent.name == only || agent.id.to_string() == only)
        });
        let call = &call;
        let ask =
            |clients: Arc<AgentClients>, to| async move { clients.ask_in(scope, &to, call).await };
        Ok(ask_all(&self.agents, &view, ask).await)
    }

    /// Returns the settings in force.
    ///
    /// # Errors
    /// Fails if the coordinator does not respond.
    pub async fn settings(&mut self) -> Result<v1::CrawlSettings, CliError> {
        Ok(self.client.get_settings(v1::GetSettingsRequest {}).await?.into_inner())
    }

    /// Changes the log filter of the coordinator and returns the previous one.
    ///
    /// # Errors
    /// Fails if the filter is invalid or the coordinator does not respond.
    pub async fn set_log_level(&mut self, filter: &str) -> Result<String, CliError> {
        let request = v1::SetLogLevelRequest { filter: filter.to_owned() };
        Ok(self.client.set_log_level(request).await?.into_inner().previous)
    }
}

/// Returns the agents that lack something, and what.
fn behind(
    listing: &Listing,
    answers: &AgentStatuses,
    lacks: impl Fn(&v1::StatusResponse) -> Option<String>,
) -> Vec<String> {
    let name = |id| listing.view.agent(id).map_or_else(String::new, |agent| agent.name.clone());
    let behind = answers.iter().filter_map(|(&id, answer)| match answer {
        Ok((status, _)) => lacks(status).map(|what| format!("{} {what}", name(id))),
        Err(why) => Some(format!("{} {why}", name(id))),
    });
    behind.collect()
}
