//! Edits of the settings in force. Several edits apply as a whole or not at all.

use super::error::{ConfigError, ConfigErrors, SettingOrigin};
use super::raw::{RawSettings, unknown};
use super::settings::Settings;
use super::table::Setting;

/// A change of one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Sets the value, in the syntax of `--set KEY=VALUE`.
    Set(String),
    /// Adds an entry to a list, unless it is already present.
    Add(String),
    /// Removes an entry from a list, if it is present.
    Remove(String),
    /// Restores the default.
    Unset,
}

/// The result of edits.
#[derive(Clone, Debug, PartialEq)]
pub struct EditedSettings {
    /// All settings after the edits, checked.
    pub settings: Settings,
    /// Keys of the changed settings, in the order of the table.
    pub changed: Vec<String>,
    /// Keys of changed settings that take effect only when the agents restart.
    pub at_restart: Vec<String>,
}

/// The reason why edits were rejected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// An edit is invalid.
    #[error("{0}")]
    Invalid(ConfigErrors),
    /// An edit concerns a setting that never changes.
    #[error(
        "{key} is fixed for the life of a crawl ({value} in this one); start another crawl to use another value"
    )]
    Fixed {
        /// Key of the setting.
        key: String,
        /// Current value.
        value: String,
    },
}

impl Settings {
    /// Applies `edits` in order to a copy of these settings.
    ///
    /// # Errors
    /// Returns all invalid edits, by the rules of a settings file, or the first edit of a setting
    /// that never changes.
    pub fn edit(&self, edits: &[(String, Edit)]) -> Result<EditedSettings, EditError> {
        let mut raw = RawSettings::of(self.clone());
        let mut errors = Vec::new();
        for (key, edit) in edits {
            let Some(setting) = Setting::find(key) else {
                errors.push(ConfigError::of(key, unknown(key)));
                continue;
            };
            if setting.permanent {
                return Err(EditError::Fixed { key: key.clone(), value: (setting.write)(self) });
            }
            if let Err(problem) = raw.edit(setting, edit) {
                errors.push(ConfigError::of(key, problem));
            }
        }
        let raw = ConfigErrors::or(errors, raw);
        let settings = raw.and_then(RawSettings::check).map_err(EditError::Invalid)?;
        let changed = self.differences(&settings);
        let is_live = |key: &str| Setting::find(key).is_some_and(|setting| setting.live);
        let at_restart = changed.iter().filter(|key| !is_live(key)).cloned().collect();
        Ok(EditedSettings { settings, changed, at_restart })
    }

    /// Returns the value of one setting, in TOML.
    ///
    /// # Errors
    /// Fails if the key is unknown.
    pub fn value(&self, key: &str) -> Result<String, String> {
        let setting = Setting::find(key).ok_or_else(|| format!("{key}: {}", unknown(key)))?;
        Ok((setting.write)(self))
    }
}

impl RawSettings {
    /// Applies one edit. On error, returns the message.
    fn edit(&mut self, setting: &Setting, edit: &Edit) -> Result<(), String> {
        let settings = &mut self.settings;
        let made = match edit {
            Edit::Set(value) => (setting.read_text)(settings, value.trim()),
            Edit::Add(entry) => (setting.put_entry)(settings, entry.trim(), true),
            Edit::Remove(entry) => (setting.put_entry)(settings, entry.trim(), false),
            Edit::Unset => (setting.read_text)(settings, &(setting.write)(&Settings::default())),
        };
        made.map_err(|problem| problem.text)?;
        let key = setting.key();
        match edit {
            Edit::Unset => drop(self.origins.remove(&key)),
            _ => drop(self.origins.insert(key, SettingOrigin::Default)),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn reachable() -> Settings {
        let mut settings = Settings::default();
        settings.fixed.identity.contact = "you@example.com".to_owned();
        settings
    }

    fn edits(all: &[(&str, Edit)]) -> Vec<(String, Edit)> {
        all.iter().map(|(key, edit)| ((*key).to_owned(), edit.clone())).collect()
    }

    fn set(text: &str) -> Edit {
        Edit::Set(text.to_owned())
    }

    #[test]
    fn edits_apply_in_order_and_the_changed_keys_are_listed() {
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
        let Settings { live, fixed } = &edited.settings;
        let (politeness, links) = (&live.politeness, &live.links);
        assert_eq!((politeness.delay, fixed.fetch.visits_max), (Duration::from_secs(3), 7));
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
        assert_eq!(back.live.politeness.delay, Settings::default().live.politeness.delay);
        assert_eq!(back.live.links.blocked.len(), 1);
    }

    #[test]
    fn an_invalid_edit_changes_nothing_and_is_explained() {
        for (key, edit, part) in [
            ("politeness.delay", set("3"), "politeness.delay: "),
            ("politeness.burst", set("0"), "write at least 1"),
            ("politeness.dealy", set("3s"), "did you mean politeness.delay?"),
            ("politeness.delay", Edit::Add("3s".into()), "is not a list"),
            ("links.blocked", Edit::Add("a b".into()), "is not a host, domain or network"),
            ("politeness.backoff-max", set("1s"), "politeness.backoff-first"),
            ("identity.contact", Edit::Unset, "owners of the sites"),
            ("cluster.replication", set("2"), "fixed for the life of a crawl (2 in this one)"),
        ] {
            let error =
                reachable().edit(&edits(&[("politeness.ip-delay", set("1s")), (key, edit)]));
            let error = error.unwrap_err();
            assert!(error.to_string().contains(part), "{key}: {error}");
            assert_eq!(matches!(error, EditError::Fixed { .. }), key == "cluster.replication");
        }
    }

    #[test]
    fn a_limit_per_domain_stays_unset_if_groups_are_hosts() {
        let mut by_host = reachable();
        by_host.fixed.identity.assign_by = crate::config::AssignBy::Host;
        by_host.live.limits.hosts_per_domain_max = None;
        let unset = by_host.edit(&edits(&[("limits.hosts-per-domain-max", Edit::Unset)]));
        assert_eq!(unset.unwrap().settings.live.limits.hosts_per_domain_max, None);
        assert!(by_host.edit(&edits(&[("limits.hosts-per-domain-max", set("5"))])).is_err());
        assert!(by_host.edit(&edits(&[("politeness.delay", set("5s"))])).is_ok());
    }
}
