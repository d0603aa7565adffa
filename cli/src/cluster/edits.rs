//! Edits of a crawl's settings, and waiting until all agents go by them.

use super::crowd::{Answers, ask};
use super::{Client, Listing, connect, list, refused};
use crate::args::cluster::CoordinatorUrl;
use crate::exit::{Exit, Trouble};
use crate::{human, screen};
use crivello_common::time::{Clock, Timestamp};
use crivello_proto::crowd::{self, Crowd, living};
use crivello_proto::v1::{self, setting_edit::Change};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Agents that do not go by new settings after this are named.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

fn edit(key: &str, change: Change) -> v1::SettingEdit {
    v1::SettingEdit { key: key.to_owned(), change: Some(change) }
}

/// The new value of a setting.
pub fn set(key: &str, value: &str) -> v1::SettingEdit {
    edit(key, Change::Value(value.to_owned()))
}

/// An entry that a list is to have.
pub fn add(key: &str, entry: &str) -> v1::SettingEdit {
    edit(key, Change::Add(entry.to_owned()))
}

/// An entry that a list is not to have.
pub fn remove(key: &str, entry: &str) -> v1::SettingEdit {
    edit(key, Change::Remove(entry.to_owned()))
}

/// Back to the default.
pub fn unset(key: &str) -> v1::SettingEdit {
    edit(key, Change::Unset(v1::Unset {}))
}

/// What came of edits.
pub struct Answer(v1::EditSettingsResponse);

impl Answer {
    /// The revision that has them.
    pub fn revision(&self) -> u64 {
        self.0.settings.as_ref().map_or(0, |settings| settings.revision)
    }

    /// All settings, as TOML.
    pub fn toml(&self) -> &str {
        self.0.settings.as_ref().map_or("", |settings| &settings.toml)
    }

    /// Keys of what takes effect only when the agents start again.
    pub fn at_restart(&self) -> &[String] {
        &self.0.at_restart
    }
}

/// The way to a crawl's settings and to its agents.
pub struct Steer {
    client: Client,
    crowd: Arc<Crowd>,
    clock: Clock,
    began: Timestamp,
}

impl Steer {
    /// Connects to the coordinator.
    ///
    /// # Errors
    /// When it cannot be reached.
    pub async fn at(typed: &CoordinatorUrl) -> Result<Self, Trouble> {
        let (client, papers) = connect(typed).await?;
        let clock = Clock::start();
        Ok(Self { client, crowd: papers.crowd(), clock, began: clock.now() })
    }

    /// Makes edits, all or none.
    ///
    /// # Errors
    /// What is wrong with which of them.
    pub async fn edit(&mut self, edits: Vec<v1::SettingEdit>) -> Result<Answer, Trouble> {
        self.began = self.clock.now();
        let request = v1::EditSettingsRequest { edits, known_revision: 0 };
        let answer = self.client.edit_settings(request).await;
        answer.map(|answer| Answer(answer.into_inner())).map_err(|status| refused(&status))
    }

    /// Waits until every agent that is alive goes by this revision, but not for long; says after how
    /// long that was, or who does not.
    ///
    /// # Errors
    /// When the coordinator does not answer.
    pub async fn wait(&mut self, revision: u64) -> Result<Exit, Trouble> {
        loop {
            let (listing, answers) = self.ask().await?;
            let behind = behind(&listing, &answers, revision);
            let waited = self.clock.now().since(self.began);
            if behind.is_empty() {
                let n = answers.len();
                let by = if n == 1 { "1 agent".to_owned() } else { format!("{n} agents") };
                screen::say(&match n {
                    0 => "no agent is there: in force for those that come".to_owned(),
                    _ => format!("in force with {by} after {}", human::duration(waited)),
                });
                return Ok(Exit::Finished);
            }
            if waited >= PATIENCE {
                screen::say(&format!("not in force everywhere yet: {}", behind.join("; ")));
                return Ok(Exit::NotYet);
            }
            sleep(PAUSE).await;
        }
    }

    /// Asks all agents that are alive how they stand.
    async fn ask(&mut self) -> Result<(Listing, Answers), Trouble> {
        let listing = list(&mut self.client).await?;
        let answers = ask(&self.crowd, &listing.view, &listing.crawl_id).await;
        Ok((listing, answers))
    }

    /// The agents that are alive, with a way to each or why there is none.
    ///
    /// # Errors
    /// When the coordinator does not answer.
    pub async fn agents(
        &mut self,
    ) -> Result<Vec<(String, u32, Result<crowd::Client, String>)>, Trouble> {
        let listing = list(&mut self.client).await?;
        let way = |agent| self.crowd.client(agent).map_err(|silence| silence.to_string());
        let alive = living(&listing.view);
        Ok(alive.map(|agent| (agent.name.clone(), agent.id.0, way(agent))).collect())
    }

    /// The settings in force.
    ///
    /// # Errors
    /// When the coordinator does not answer.
    pub async fn settings(&mut self) -> Result<v1::CrawlSettings, Trouble> {
        let settings = self.client.get_settings(v1::GetSettingsRequest {}).await;
        settings.map(tonic::Response::into_inner).map_err(|status| refused(&status))
    }

    /// Has the coordinator log by another filter; says which one was in force.
    ///
    /// # Errors
    /// When it is none, or the coordinator does not answer.
    pub async fn set_log_level(&mut self, filter: &str) -> Result<String, Trouble> {
        let request = v1::SetLogLevelRequest { filter: filter.to_owned() };
        let answer = self.client.set_log_level(request).await;
        answer.map(|answer| answer.into_inner().before).map_err(|status| refused(&status))
    }
}

/// Who does not go by a revision yet, and why that is known.
fn behind(listing: &Listing, answers: &Answers, revision: u64) -> Vec<String> {
    let name = |id| listing.view.agent(id).map_or_else(String::new, |agent| agent.name.clone());
    let behind = answers.iter().filter_map(|(&id, answer)| match answer {
        Ok(status) if status.settings_revision >= revision => None,
        Ok(status) => Some(format!("{} is at revision {}", name(id), status.settings_revision)),
        Err(why) => Some(format!("{} {why}", name(id))),
    });
    behind.collect()
}
