//! The settings in force and edits of them. Pure: the membership thread stores the result.

use crate::state::StoredSettings;
use crivello_common::config::{Edit, EditError, EditedSettings, Settings};
use crivello_proto::v1;

/// Maximum length of the settings in bytes of TOML: they must fit into a response.
const SIZE_MAX: usize = 4 << 20;

/// The reason why edits change nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EditRejected {
    /// An edit is invalid.
    #[error("{0}")]
    Edit(#[from] EditError),
    /// The settings were changed in the meantime.
    #[error(
        "the settings have changed: revision {in_force} is in force, not {known}; review them and \
         try again"
    )]
    Outdated {
        /// Revision known to the editor.
        known: u64,
        /// Revision in force.
        in_force: u64,
    },
    /// The settings would not fit into a response.
    #[error("the settings would have {0} bytes; the maximum is {SIZE_MAX}: shorten the lists")]
    TooLong(usize),
}

/// The settings in force.
#[derive(Debug)]
pub(crate) struct SettingsStore {
    settings: Settings,
    stored: StoredSettings,
}

impl SettingsStore {
    /// Returns a store. `stored` must hold `settings`.
    pub(crate) const fn new(settings: Settings, stored: StoredSettings) -> Self {
        Self { settings, stored }
    }

    /// Checks edits and returns the resulting settings. `known` must be the revision in force,
    /// unless it is 0.
    ///
    /// # Errors
    /// Returns the reason why the edits cannot be made.
    pub(crate) fn check(
        &self,
        edits: &[(String, Edit)],
        known: u64,
    ) -> Result<EditedSettings, EditRejected> {
        let in_force = self.stored.revision;
        if known != 0 && known != in_force {
            return Err(EditRejected::Outdated { known, in_force });
        }
        let edited = self.settings.edit(edits)?;
        edited.settings.check_shared().map_err(EditError::Invalid)?;
        let length = edited.settings.to_toml().len();
        if length > SIZE_MAX && !edited.changed.is_empty() {
            return Err(EditRejected::TooLong(length));
        }
        Ok(edited)
    }

    /// Returns a store with these settings under the next revision.
    pub(crate) fn with(&self, settings: &Settings) -> Self {
        let stored = StoredSettings {
            revision: self.stored.revision + 1,
            toml: settings.to_toml(),
            given: self.stored.given.clone(),
        };
        Self::new(settings.clone(), stored)
    }

    /// Returns the settings in force.
    pub(crate) const fn in_force(&self) -> &Settings {
        &self.settings
    }

    /// Returns the settings in stored form.
    pub(crate) const fn stored(&self) -> &StoredSettings {
        &self.stored
    }

    /// Returns the settings as a message.
    pub(crate) fn message(&self) -> v1::CrawlSettings {
        v1::CrawlSettings { revision: self.stored.revision, toml: self.stored.toml.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn store() -> SettingsStore {
        let mut settings = Settings::default();
        settings.fixed.identity.contact = "you@example.com".to_owned();
        let toml = settings.to_toml();
        SettingsStore::new(settings, StoredSettings { revision: 1, toml, ..Default::default() })
    }

    fn set(key: &str, value: &str) -> Vec<(String, Edit)> {
        vec![(key.to_owned(), Edit::Set(value.to_owned()))]
    }

    #[test]
    fn a_change_has_a_revision_of_its_own() {
        let store = store();
        let edited = store.check(&set("politeness.delay", "3s"), 1).unwrap();
        assert_eq!(edited.changed, ["politeness.delay"]);
        let store = store.with(&edited.settings);
        assert_eq!(store.settings.live.politeness.delay, Duration::from_secs(3));
        assert_eq!(store.message().revision, 2);
        assert!(store.message().toml.contains("delay = \"3s\""));
        assert_eq!(store.stored().toml, store.message().toml);
        assert!(store.check(&set("politeness.delay", "3000ms"), 0).unwrap().changed.is_empty());
    }

    #[test]
    fn an_edit_that_cannot_be_made_is_refused() {
        let store = store();
        assert!(matches!(
            store.check(&set("politeness.delay", "4s"), 2),
            Err(EditRejected::Outdated { known: 2, in_force: 1 })
        ));
        assert!(store.check(&set("politeness.delay", "4"), 0).is_err());
        assert!(store.check(&set("store.digest", "sha256"), 0).is_err());
        let alone = store.check(&set("state.sieve", "bloom"), 0).unwrap_err();
        assert!(alone.to_string().contains("write \"rocksdb\" or"), "{alone}");
    }
}
