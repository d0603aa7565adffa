//! Edits of a crawl's settings, and the wait until all agents use them.

use super::statuses::{AgentStatuses, query_statuses};
use super::{CoordinatorApi, Listing, call_error, connect, list};
use crate::args::cluster::CoordinatorUrl;
use crate::exit::{CliError, Exit};
use crate::{format, screen};
use crivello_common::time::{Clock, Timestamp};
use crivello_proto::agents::{self, AgentClients, living};
use crivello_proto::v1::{self, setting_edit::Change};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Maximum wait for agents to use new settings. Slower agents are named.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between two queries.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

fn edit(key: &str, change: Change) -> v1::SettingEdit {
    v1::SettingEdit { key: key.to_owned(), change: Some(change) }
}

/// Returns an edit that sets a setting.
pub fn set(key: &str, value: &str) -> v1::SettingEdit {
    edit(key, Change::Value(value.to_owned()))
}

/// Returns an edit that adds an entry to a list.
pub fn add(key: &str, entry: &str) -> v1::SettingEdit {
    edit(key, Change::Add(entry.to_owned()))
}

/// Returns an edit that removes an entry from a list.
pub fn remove(key: &str, entry: &str) -> v1::SettingEdit {
    edit(key, Change::Remove(entry.to_owned()))
}

/// Returns an edit that resets a setting to its default.
pub fn unset(key: &str) -> v1::SettingEdit {
    edit(key, Change::Unset(v1::Unset {}))
}

/// Result of edits.
pub struct EditResult(v1::EditSettingsResponse);

impl EditResult {
    /// Returns the revision of the edited settings.
    pub fn revision(&self) -> u64 {
        self.0.settings.as_ref().map_or(0, |settings| settings.revision)
    }

    /// Returns all settings as TOML.
    pub fn toml(&self) -> &str {
        self.0.settings.as_ref().map_or("", |settings| &settings.toml)
    }

    /// Returns the keys of settings that take effect only when the agents restart.
    pub fn at_restart(&self) -> &[String] {
        &self.0.at_restart
    }
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
    pub async fn connect_to(args: &CoordinatorUrl) -> Result<Self, CliError> {
        let (client, credentials) = connect(args).await?;
        let clock = Clock::start();
        Ok(Self { client, agents: credentials.agent_clients(), clock, began: clock.now() })
    }

    /// Applies all edits, or none.
    ///
    /// # Errors
    /// Returns the invalid edit and the reason.
    pub async fn edit(&mut self, edits: Vec<v1::SettingEdit>) -> Result<EditResult, CliError> {
        self.began = self.clock.now();
        let request = v1::EditSettingsRequest { edits, known_revision: 0 };
        let answer = self.client.edit_settings(request).await;
        answer.map(|answer| EditResult(answer.into_inner())).map_err(|status| call_error(&status))
    }

    /// Waits up to ten seconds until every live agent uses this revision. Prints the duration, or
    /// the agents that do not use it yet.
    ///
    /// # Errors
    /// Fails if the coordinator does not respond.
    pub async fn wait(&mut self, revision: u64) -> Result<Exit, CliError> {
        loop {
            let (listing, answers) = self.query().await?;
            let behind = behind(&listing, &answers, revision);
            let waited = self.clock.now().since(self.began);
            if behind.is_empty() {
                let n = answers.len();
                let by = if n == 1 { "1 agent".to_owned() } else { format!("{n} agents") };
                screen::print_line(&match n {
                    0 => "no agent is running: in force for agents that join".to_owned(),
                    _ => format!("in force with {by} after {}", format::duration(waited)),
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

    /// Queries the members and their status.
    async fn query(&mut self) -> Result<(Listing, AgentStatuses), CliError> {
        let listing = list(&mut self.client).await?;
        let answers = query_statuses(&self.agents, &listing.view, &listing.crawl_id).await;
        Ok((listing, answers))
    }

    /// Returns the name, id and client of each live agent.
    ///
    /// # Errors
    /// Fails if the coordinator does not respond.
    pub async fn agents(
        &mut self,
    ) -> Result<Vec<(String, u32, Result<agents::Client, String>)>, CliError> {
        let listing = list(&mut self.client).await?;
        let client = |agent| self.agents.client(agent).map_err(|silence| silence.to_string());
        let alive = living(&listing.view);
        Ok(alive.map(|agent| (agent.name.clone(), agent.id.0, client(agent))).collect())
    }

    /// Returns the settings in force.
    ///
    /// # Errors
    /// Fails if the coordinator does not respond.
    pub async fn settings(&mut self) -> Result<v1::CrawlSettings, CliError> {
        let settings = self.client.get_settings(v1::GetSettingsRequest {}).await;
        settings.map(tonic::Response::into_inner).map_err(|status| call_error(&status))
    }

    /// Changes the log filter of the coordinator and returns the previous one.
    ///
    /// # Errors
    /// Fails if the filter is invalid or the coordinator does not respond.
    pub async fn set_log_level(&mut self, filter: &str) -> Result<String, CliError> {
        let request = v1::SetLogLevelRequest { filter: filter.to_owned() };
        let answer = self.client.set_log_level(request).await;
        answer.map(|answer| answer.into_inner().previous).map_err(|status| call_error(&status))
    }
}

/// Returns the agents that do not use a revision yet, with the reason.
fn behind(listing: &Listing, answers: &AgentStatuses, revision: u64) -> Vec<String> {
    let name = |id| listing.view.agent(id).map_or_else(String::new, |agent| agent.name.clone());
    let behind = answers.iter().filter_map(|(&id, answer)| match answer {
        Ok(status) if status.settings_revision >= revision => None,
        Ok(status) => Some(format!("{} is at revision {}", name(id), status.settings_revision)),
        Err(why) => Some(format!("{} {why}", name(id))),
    });
    behind.collect()
}
