//! Settings that the coordinator changes while the crawl runs: received, checked, and put in force.
//! While the coordinator is unreachable, the settings in force stay.

use super::Heartbeat;
use crate::cluster::RETRY_PAUSE;
use crate::process::links::LinkRules;
use crivello_common::config::Settings;
use crivello_proto::v1;

impl Heartbeat {
    /// Receives settings, and puts them in force.
    pub async fn watch_settings(&self) {
        loop {
            let known_revision = self.shared.live.revision();
            let mut client = self.coordinator.client.clone();
            let watch = v1::WatchSettingsRequest { known_revision };
            if let Ok(settings) = client.watch_settings(watch).await {
                let mut settings = settings.into_inner();
                while let Ok(Some(settings)) = settings.message().await {
                    let revision = settings.revision;
                    match self.take_settings(settings) {
                        Ok(changed) if changed.is_empty() => {}
                        Ok(changed) => tracing::info!(
                            "settings of revision {revision}: {} changed",
                            changed.join(", ")
                        ),
                        Err(why) => {
                            tracing::error!("settings of revision {revision} are rejected: {why}");
                        }
                    }
                }
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// Puts settings in force. Returns the names of the settings that changed here, or the reason
    /// why they were rejected.
    fn take_settings(&self, sent: v1::CrawlSettings) -> Result<Vec<String>, String> {
        let live = &self.shared.live;
        let v1::CrawlSettings { revision, toml } = sent;
        if revision <= live.revision() {
            return Ok(Vec::new());
        }
        let settings = Settings::from_toml("the coordinator's settings", &toml)
            .and_then(|settings| settings.check().map(|()| settings))
            .map_err(|errors| errors.to_string())?;
        let rules = LinkRules::compile(&settings.live, &self.shared.settings, self.shared.hasher)
            .map_err(|error| error.to_string())?
            .ranked(self.shared.ranks.in_force().clone());
        let fixed = (*self.shared.settings).clone();
        let before = Settings { fixed: fixed.clone(), live: live.latest().live.clone() };
        let settings = Settings { fixed, ..settings };
        let changed = before.differences(&settings);
        self.view_file.put_settings(revision, toml);
        live.put(settings.live, revision, &self.rules, rules);
        Ok(changed)
    }
}
