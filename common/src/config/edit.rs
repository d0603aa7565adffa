//! Changing settings while they are in force, one by one, all or none.

use super::error::{ConfigError, ConfigErrors, Place};
use super::raw::{Raw, unknown};
use super::settings::{Settings, TABLE};
use super::table::Setting;

/// A change of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// The new value, as behind `--set KEY=`.
    Set(String),
    /// Of a list: an entry that it is to have.
    Add(String),
    /// Of a list: an entry that it is not to have.
    Remove(String),
    /// Back to the default.
    Unset,
}

/// What came of some edits.
#[derive(Clone, Debug, PartialEq)]
pub struct Edited {
    /// All settings, checked.
    pub settings: Settings,
    /// The keys of those that have changed, in the order of the file.
    pub changed: Vec<String>,
    /// Those of them that take effect only when the agents start again.
    pub at_restart: Vec<String>,
}

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// What is wrong with which of them.
    #[error("{0}")]
    Invalid(ConfigErrors),
    /// A setting that stays as it is.
    #[error(
        "{key} is fixed for the life of a crawl ({value} in this one): begin another crawl to have it otherwise"
    )]
    Fixed {
        /// Which.
        key: String,
        /// Its value.
        value: String,
    },
}

impl Settings {
    /// These settings with the edits made in their order.
    ///
    /// # Errors
    /// All that is wrong with them, by the rules of a settings file; or that one of them is fixed.
    pub fn edit(&self, edits: &[(String, Edit)]) -> Result<Edited, EditError> {
        let mut raw = Raw::of(self.clone());
        let mut errors = Vec::new();
        for (key, edit) in edits {
            let Some(setting) = Setting::find(key) else {
                errors.push(error(key, unknown(key)));
                continue;
            };
            if setting.fixed {
                return Err(EditError::Fixed { key: key.clone(), value: (setting.write)(self) });
            }
            if let Err(problem) = raw.edit(setting, edit) {
                errors.push(error(key, problem));
            }
        }
        if !errors.is_empty() {
            return Err(EditError::Invalid(ConfigErrors(errors)));
        }
        let settings = raw.check().map_err(EditError::Invalid)?;
        let changed = self.differences(&settings);
        let at_restart = changed.iter().filter(|key| !is_live(key)).cloned().collect();
        Ok(Edited { settings, changed, at_restart })
    }

    /// The settings that a crawl goes by which began with these and has heard of `later`: those that
    /// are live are as there.
    #[must_use]
    pub fn with_live_of(&self, later: &Self) -> Self {
        let mut settings = self.clone();
        for setting in TABLE.iter().filter(|setting| setting.live) {
            // Whatever is written can be read.
            let _ = (setting.read_text)(&mut settings, &(setting.write)(later));
        }
        settings
    }

    /// The value of one setting, as in a file.
    ///
    /// # Errors
    /// When there is none of this name: in words.
    pub fn value(&self, key: &str) -> Result<String, String> {
        let setting = Setting::find(key).ok_or_else(|| format!("{key}: {}", unknown(key)))?;
        Ok((setting.write)(self))
    }
}

/// Whether a change of this setting takes effect while the crawl runs.
fn is_live(key: &str) -> bool {
    Setting::find(key).is_some_and(|setting| setting.live)
}

fn error(key: &str, problem: String) -> ConfigError {
    ConfigError { place: Place::Default, key: Some(key.to_owned()), problem }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn reachable() -> Settings {
        let mut settings = Settings::default();
        settings.identity.contact = "you@example.com".to_owned();
        settings
    }

    fn edits(all: &[(&str, Edit)]) -> Vec<(String, Edit)> {
        all.iter().map(|(key, edit)| ((*key).to_owned(), edit.clone())).collect()
    }

    fn set(text: &str) -> Edit {
        Edit::Set(text.to_owned())
    }

    #[test]
    fn edits_are_made_in_their_order_and_named() {
        let edited = reachable()
            .edit(&edits(&[
                ("politeness.delay", set("1s")),
                ("politeness.delay", set("3s")),
                ("fetch.visits-max", set("7")),
                ("politeness.burst", set("1")),
                ("links.blocked", Edit::Add("a.example".into())),
                ("links.blocked", Edit::Add(".B.example".into())),
                ("links.blocked", Edit::Add("a.example.".into())),
                ("links.exclude", Edit::Add("{path-prefix='/x'}".into())),
                ("politeness.domains", Edit::Add("{suffix='a.example', delay='9s'}".into())),
                ("politeness.paused", Edit::Remove("a.example".into())),
            ]))
            .unwrap();
        let Settings { politeness, links, fetch, .. } = &edited.settings;
        assert_eq!((politeness.delay, fetch.visits_max), (Duration::from_secs(3), 7));
        let blocked: Vec<String> = links.blocked.iter().map(ToString::to_string).collect();
        assert_eq!(blocked, ["a.example", "*.b.example"]);
        assert_eq!(links.exclude.len() + politeness.domains.len(), 2);
        let changed = [
            "politeness.delay",
            "politeness.domains",
            "fetch.visits-max",
            "links.exclude",
            "links.blocked",
        ];
        assert_eq!(edited.changed, changed);
        assert_eq!(edited.at_restart, ["fetch.visits-max"]);

        let back = edited.settings.edit(&edits(&[
            ("politeness.delay", Edit::Unset),
            ("links.blocked", Edit::Remove("A.example".into())),
        ]));
        let back = back.unwrap().settings;
        assert_eq!(back.politeness.delay, Settings::default().politeness.delay);
        assert_eq!(back.links.blocked.len(), 1);
    }

    #[test]
    fn what_is_wrong_changes_nothing_and_is_said_in_words() {
        for (key, edit, words) in [
            ("politeness.delay", set("3"), "politeness.delay: "),
            ("politeness.burst", set("0"), "write at least 1"),
            ("politeness.dealy", set("3s"), "did you mean politeness.delay?"),
            ("politeness.delay", Edit::Add("3s".into()), "is no list"),
            ("links.blocked", Edit::Add("a b".into()), "is no host, domain or network"),
            ("politeness.backoff-max", set("1s"), "politeness.backoff-first"),
            ("identity.contact", Edit::Unset, "owners of the sites"),
            ("cluster.replication", set("2"), "fixed for the life of a crawl (2 in this one)"),
        ] {
            let error =
                reachable().edit(&edits(&[("politeness.ip-delay", set("1s")), (key, edit)]));
            let error = error.unwrap_err();
            assert!(error.to_string().contains(words), "{key}: {error}");
            assert_eq!(matches!(error, EditError::Fixed { .. }), key == "cluster.replication");
        }
    }

    #[test]
    fn a_limit_that_only_domains_can_have_stays_away_from_hosts() {
        let mut by_host = reachable();
        by_host.identity.assign_by = crate::config::AssignBy::Host;
        by_host.limits.hosts_per_domain_max = None;
        let unset = by_host.edit(&edits(&[("limits.hosts-per-domain-max", Edit::Unset)]));
        assert_eq!(unset.unwrap().settings.limits.hosts_per_domain_max, None);
        assert!(by_host.edit(&edits(&[("limits.hosts-per-domain-max", set("5"))])).is_err());
        assert!(by_host.edit(&edits(&[("politeness.delay", set("5s"))])).is_ok());
    }

    #[test]
    fn what_is_live_is_taken_over_and_nothing_else() {
        let began = reachable();
        let later = began
            .edit(&edits(&[
                ("politeness.delay", set("1s")),
                ("fetch.visits-max", set("7")),
                ("links.blocked", set("a.example,*.b.example")),
            ]))
            .unwrap()
            .settings;
        let goes_by = began.with_live_of(&later);
        assert_eq!(began.differences(&goes_by), ["politeness.delay", "links.blocked"]);
        assert_eq!(later.differences(&goes_by), ["fetch.visits-max"]);
        assert_eq!(later.value("politeness.delay"), Ok("\"1s\"".to_owned()));
        assert!(later.value("politeness.dealy").is_err());
    }
}
