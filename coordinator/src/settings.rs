//! The settings in force, and their changes while the crawl runs.
//!
//! ```text
//! DIR/crawl.toml      the settings in force, all of them
//! DIR/revision.toml   their revision, and what was typed at the last start
//! ```
//! Each file is replaced as a whole, synced first. The revision is written before the settings that
//! it is of, so a kill between the two only skips a number: no two settings ever have the same one.
//! What was typed is written after them: a kill between the two has it count once more.

use crate::home::CoordinatorError;
use crivello_common::config::{
    Edit, EditError, EditedSettings, NEW_SETTINGS_FILE, SETTINGS_FILE, Settings, TypedSettings,
};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::sync::watch;

/// The file of the revision.
const REVISION_FILE: &str = "revision.toml";
const REVISION_NEW: &str = "revision.toml.new";
const HEADING: &str = "# Kept by the coordinator; the settings themselves are in crawl.toml.\n";
/// The longest settings, as TOML: they must fit into an answer.
const SIZE_MAX: usize = 4 << 20;

/// Settings in force, with their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Revised {
    /// Rises with every change.
    pub(crate) revision: u64,
    /// All of them.
    pub(crate) toml: String,
}

/// Why settings stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unchanged {
    /// The edits cannot be made.
    #[error("{0}")]
    Edit(#[from] EditError),
    /// Somebody else was quicker.
    #[error(
        "the settings have changed since: revision {in_force} is in force, not {known}; look at them and try again"
    )]
    Outdated {
        /// What the editor knew.
        known: u64,
        /// What is so.
        in_force: u64,
    },
    /// They would not fit.
    #[error("the settings would take {0} bytes, {SIZE_MAX} at most: shorten the lists")]
    TooLong(usize),
    /// The disk says no.
    #[error("nothing was changed, because the settings cannot be written: {0}")]
    Unwritten(String),
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Charter {
    dir: PathBuf,
    settings: Settings,
    revision: u64,
    given: TypedSettings,
    in_force: watch::Sender<Arc<Revised>>,
}

impl Charter {
    /// Puts the settings of a run in force: of a crawl in `dir` that was begun, for which `given` was
    /// typed.
    ///
    /// # Errors
    /// When the files are damaged, or cannot be written.
    pub(crate) fn open(
        dir: &Path,
        settings: &Settings,
        given: TypedSettings,
    ) -> Result<Self, CoordinatorError> {
        let (last, typed_last) = read(dir)?;
        let write = |error: io::Error| {
            CoordinatorError::Broken(format!("{} cannot be written: {error}", dir.display()))
        };
        let revision = last + 1;
        write_revision(dir, revision, &typed_last).map_err(write)?;
        write_settings(dir, settings).map_err(write)?;
        write_revision(dir, revision, &given).map_err(write)?;
        let revised = Revised { revision, toml: settings.to_toml() };
        let (in_force, _) = watch::channel(Arc::new(revised));
        Ok(Self { dir: dir.to_owned(), settings: settings.clone(), revision, given, in_force })
    }

    /// Whoever wants to know.
    pub(crate) fn watch(&self) -> watch::Receiver<Arc<Revised>> {
        self.in_force.subscribe()
    }

    /// Makes edits, and writes down what comes of them; they are in force once [`Self::publish`] says
    /// so. `known` is the revision that must be in force, if it is not 0. Edits that change nothing
    /// leave the revision as it is.
    ///
    /// # Errors
    /// Why nothing was changed.
    pub(crate) fn edit(
        &mut self,
        edits: &[(String, Edit)],
        known: u64,
    ) -> Result<EditedSettings, Unchanged> {
        let in_force = self.revision;
        if known != 0 && known != in_force {
            return Err(Unchanged::Outdated { known, in_force });
        }
        let edited = self.settings.edit(edits)?;
        edited.settings.check_shared().map_err(EditError::Invalid)?;
        if edited.changed.is_empty() {
            return Ok(edited);
        }
        let length = edited.settings.to_toml().len();
        if length > SIZE_MAX {
            return Err(Unchanged::TooLong(length));
        }
        let revision = in_force + 1;
        write_revision(&self.dir, revision, &self.given)
            .and_then(|()| write_settings(&self.dir, &edited.settings))
            .map_err(|error| Unchanged::Unwritten(error.to_string()))?;
        self.revision = revision;
        self.settings = edited.settings.clone();
        Ok(edited)
    }

    /// Tells everyone; says what is in force.
    pub(crate) fn publish(&self) -> Arc<Revised> {
        let revised = Revised { revision: self.revision, toml: self.settings.to_toml() };
        if self.in_force.borrow().revision != revised.revision {
            self.in_force.send_replace(Arc::new(revised));
        }
        Arc::clone(&self.in_force.borrow())
    }
}

/// What was typed when the coordinator of the crawl in `dir` was last started; nothing where there is
/// no crawl.
///
/// # Errors
/// When the file is damaged.
pub fn given_last(dir: &Path) -> Result<TypedSettings, CoordinatorError> {
    read(dir).map(|(_, given)| given)
}

fn read(dir: &Path) -> Result<(u64, TypedSettings), CoordinatorError> {
    let path = dir.join(REVISION_FILE);
    let damaged = |why: String| {
        CoordinatorError::Broken(format!(
            "{} is damaged: {why}; nothing was changed. Without the file, what is typed counts for all settings",
            path.display()
        ))
    };
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((0, TypedSettings::new()));
        }
        Err(error) => return Err(damaged(error.to_string())),
    };
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| damaged(error.message().to_owned()))?;
    let revision = table.get("revision").and_then(toml::Value::as_integer);
    let revision = revision.and_then(|n| u64::try_from(n).ok());
    let revision = revision.ok_or_else(|| damaged("it has no revision".to_owned()))?;
    let typed = table.get("typed").and_then(toml::Value::as_table);
    let typed = typed.ok_or_else(|| damaged("it does not say what was typed".to_owned()))?;
    let typed = typed.iter().filter_map(|(key, v)| Some((key.clone(), v.as_str()?.to_owned())));
    Ok((revision, typed.collect()))
}

fn write_revision(dir: &Path, revision: u64, given: &TypedSettings) -> io::Result<()> {
    let typed: toml::Table =
        given.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
    let text = format!(
        "{HEADING}revision = {revision}\n\n# What was typed at the last start: what is typed the same \
         again changes nothing.\n[typed]\n{typed}"
    );
    replace(dir, REVISION_NEW, REVISION_FILE, &text)
}

fn write_settings(dir: &Path, settings: &Settings) -> io::Result<()> {
    let text =
        format!("# The settings in force of the crawl in this directory.\n{}", settings.to_toml());
    replace(dir, NEW_SETTINGS_FILE, SETTINGS_FILE, &text)
}

/// Writes a file, whole or not at all, also when the power is cut.
fn replace(dir: &Path, new: &str, name: &str, text: &str) -> io::Result<()> {
    let new = dir.join(new);
    File::create(&new)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&new, dir.join(name)))
        .and_then(|()| File::open(dir)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tempfile::tempdir;

    fn settings() -> Settings {
        let mut settings = Settings::default();
        settings.identity.contact = "you@example.com".to_owned();
        settings
    }

    fn set(key: &str, value: &str) -> Vec<(String, Edit)> {
        vec![(key.to_owned(), Edit::Set(value.to_owned()))]
    }

    fn kept(dir: &Path) -> Settings {
        let text = fs::read_to_string(dir.join(SETTINGS_FILE)).unwrap();
        Settings::from_toml("kept", &text).unwrap()
    }

    #[test]
    fn an_edit_is_on_disk_before_anybody_hears_of_it_and_the_revision_rises_across_starts() {
        let dir = tempdir().unwrap();
        let given = TypedSettings::from([("politeness.delay".to_owned(), "\"1s\"".to_owned())]);
        let mut charter = Charter::open(dir.path(), &settings(), given.clone()).unwrap();
        let watched = charter.watch();
        assert_eq!(watched.borrow().revision, 1);
        let edited = charter.edit(&set("politeness.delay", "3s"), 1).unwrap();
        assert_eq!(edited.changed, ["politeness.delay"]);
        assert_eq!(kept(dir.path()).politeness.delay, Duration::from_secs(3));
        assert_eq!(watched.borrow().revision, 1, "not yet told");
        assert_eq!(charter.publish().revision, 2);
        assert!(watched.borrow().toml.contains("delay = \"3s\""));
        // What changes nothing, and what cannot be, has no number.
        assert!(charter.edit(&set("politeness.delay", "3000ms"), 0).unwrap().changed.is_empty());
        assert!(matches!(
            charter.edit(&set("politeness.delay", "4s"), 1),
            Err(Unchanged::Outdated { known: 1, in_force: 2 })
        ));
        assert!(charter.edit(&set("politeness.delay", "4"), 0).is_err());
        assert!(charter.edit(&set("store.digest", "sha256"), 0).is_err());
        let alone = charter.edit(&set("state.sieve", "bloom"), 0).unwrap_err();
        assert!(alone.to_string().contains("write \"rocksdb\""), "{alone}");
        assert_eq!(charter.publish().revision, 2);
        drop(charter);

        // Killed in the middle of a write: what was half written is nothing.
        for new in [REVISION_NEW, NEW_SETTINGS_FILE] {
            fs::write(dir.path().join(new), "revision = 9").unwrap();
        }
        assert_eq!(given_last(dir.path()).unwrap(), given);
        let again = Charter::open(dir.path(), &kept(dir.path()), given).unwrap();
        assert_eq!(again.watch().borrow().revision, 3);
        assert_eq!(again.settings.politeness.delay, Duration::from_secs(3));
    }

    #[test]
    fn a_kill_between_the_two_files_only_skips_a_number() {
        let dir = tempdir().unwrap();
        let charter = Charter::open(dir.path(), &settings(), TypedSettings::new()).unwrap();
        write_revision(dir.path(), 2, &charter.given).unwrap();
        drop(charter);
        let mut again = Charter::open(dir.path(), &kept(dir.path()), TypedSettings::new()).unwrap();
        assert_eq!(again.publish().revision, 3);
        again.edit(&set("politeness.delay", "3s"), 0).unwrap();
        assert_eq!(again.publish().revision, 4);
    }

    #[test]
    fn what_cannot_be_written_has_not_happened() {
        let dir = tempdir().unwrap();
        let mut charter = Charter::open(dir.path(), &settings(), TypedSettings::new()).unwrap();
        fs::create_dir(dir.path().join(REVISION_NEW)).unwrap();
        let refused = charter.edit(&set("politeness.delay", "3s"), 0);
        assert!(matches!(refused, Err(Unchanged::Unwritten(_))), "{refused:?}");
        assert_eq!(charter.settings, settings());
        assert_eq!((charter.publish().revision, kept(dir.path())), (1, settings()));
    }

    #[test]
    fn a_damaged_file_is_refused() {
        let dir = tempdir().unwrap();
        for text in ["revision = ", "revision = -1\n[typed]\n", "revision = 1\n", "[typed]\n", "\0"]
        {
            fs::write(dir.path().join(REVISION_FILE), text).unwrap();
            let error = Charter::open(dir.path(), &settings(), TypedSettings::new()).unwrap_err();
            assert!(error.to_string().contains("revision.toml is damaged"), "{text}: {error}");
            assert!(!dir.path().join(SETTINGS_FILE).exists());
        }
    }
}
