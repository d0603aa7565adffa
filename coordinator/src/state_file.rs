//! Durable state of the coordinator: one record in one file.
//!
//! ```text
//! DIR/coordinator.state   "crivello coordinator state 1\n", XXH3 of the record (8 bytes,
//!                         little-endian), the record (protobuf, see Stored)
//! DIR/lock                locked while a coordinator works in the directory; holds the crawl's id
//! ```
//! Each change replaces the whole file (see [`replace_file`]). The new record is synced before the
//! change is in force or published, so a crash leaves either the old record or the new one. A file
//! that fails its checks is refused as damaged: an older state would issue epochs twice.

use crate::error::CoordinatorError;
use crivello_common::config::{Settings, TypedSettings};
use crivello_common::runtime::{replace_file, replacement_path};
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, View};
use crivello_proto::{FORMAT_VERSION, v1};
use prost::Message;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Name of the state file in a coordinator's directory.
pub const STATE_FILE: &str = "coordinator.state";
const LOCK_FILE: &str = "lock";
/// Format of the file and its version. [`FORMAT_VERSION`] is the version of the record.
const MAGIC: &[u8] = b"crivello coordinator state 1\n";

/// The state that a coordinator must keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Record {
    /// 16 hexadecimal digits, random.
    pub(crate) crawl_id: String,
    /// Start time of the crawl.
    pub(crate) begun: String,
    /// [`Settings::fingerprint_text`]: the settings that never change.
    pub(crate) meaning: String,
    /// The first id never assigned to an agent.
    pub(crate) next_id: u32,
    /// The view in force.
    pub(crate) view: View,
    /// Page quota of each agent, in a crawl with a page limit.
    pub(crate) page_quotas: BTreeMap<AgentId, u64>,
    /// Agents to be drained, including dead ones.
    pub(crate) draining: BTreeSet<AgentId>,
    /// Agents that may hold data that no other agent has.
    pub(crate) unreplicated: BTreeSet<AgentId>,
    /// The settings in force.
    pub(crate) settings: StoredSettings,
}

/// The settings in force, in stored form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoredSettings {
    /// Revision number, incremented by every change and every start.
    pub revision: u64,
    /// All settings, as TOML.
    pub toml: String,
    /// Settings typed at the last start. Typing them again changes nothing.
    pub given: TypedSettings,
}

/// The record on disk.
#[derive(Clone, PartialEq, Message)]
struct Stored {
    #[prost(uint32, tag = "1")]
    format: u32,
    #[prost(string, tag = "2")]
    crawl_id: String,
    #[prost(string, tag = "3")]
    begun: String,
    #[prost(string, tag = "4")]
    meaning: String,
    #[prost(uint32, tag = "5")]
    next_id: u32,
    #[prost(message, tag = "6")]
    view: Option<v1::View>,
    #[prost(btree_map = "uint32, uint64", tag = "7")]
    page_quotas: BTreeMap<u32, u64>,
    #[prost(uint32, repeated, tag = "8")]
    draining: Vec<u32>,
    #[prost(uint32, repeated, tag = "9")]
    unreplicated: Vec<u32>,
    #[prost(uint64, tag = "10")]
    settings_revision: u64,
    #[prost(string, tag = "11")]
    settings: String,
    #[prost(btree_map = "string, string", tag = "12")]
    given: BTreeMap<String, String>,
}

impl From<&Record> for Stored {
    fn from(record: &Record) -> Self {
        let numbers = |agents: &BTreeSet<AgentId>| agents.iter().map(|id| id.0).collect();
        let settings = record.settings.clone();
        Self {
            format: FORMAT_VERSION,
            crawl_id: record.crawl_id.clone(),
            begun: record.begun.clone(),
            meaning: record.meaning.clone(),
            next_id: record.next_id,
            view: Some((&record.view).into()),
            page_quotas: record.page_quotas.iter().map(|(id, &pages)| (id.0, pages)).collect(),
            draining: numbers(&record.draining),
            unreplicated: numbers(&record.unreplicated),
            settings_revision: settings.revision,
            settings: settings.toml,
            given: settings.given,
        }
    }
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        let record = Stored::from(self).encode_to_vec();
        [MAGIC, &xxh3_64(&record).to_le_bytes(), &record].concat()
    }

    /// Decodes a record. The error text completes "the file is …".
    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let damaged = |what: &str| format!("damaged: {what}");
        let rest = bytes
            .strip_prefix(MAGIC)
            .ok_or("damaged, or written by another version: its magic number is missing")?;
        let (sum, record) =
            rest.split_first_chunk::<8>().ok_or_else(|| damaged("it is too short"))?;
        if xxh3_64(record) != u64::from_le_bytes(*sum) {
            return Err(damaged("its checksum is wrong"));
        }
        let stored = Stored::decode(record).map_err(|error| damaged(&error.to_string()))?;
        if stored.format != FORMAT_VERSION {
            let format = stored.format;
            return Err(format!(
                "of another version: it has format {format}, this build reads {FORMAT_VERSION}"
            ));
        }
        let view = View::try_from(stored.view.unwrap_or_default());
        let view = view.map_err(|error| damaged(&error.to_string()))?;
        let agents = |numbers: Vec<u32>| numbers.into_iter().map(AgentId).collect();
        let quotas = stored.page_quotas.into_iter();
        Ok(Self {
            crawl_id: stored.crawl_id,
            begun: stored.begun,
            meaning: stored.meaning,
            next_id: stored.next_id,
            view,
            page_quotas: quotas.map(|(id, pages)| (AgentId(id), pages)).collect(),
            draining: agents(stored.draining),
            unreplicated: agents(stored.unreplicated),
            settings: StoredSettings {
                revision: stored.settings_revision,
                toml: stored.settings,
                given: stored.given,
            },
        })
    }
}

/// The state file of this process. Only this process may write it.
#[derive(Debug)]
pub(crate) struct StateFile {
    path: PathBuf,
    _lock: File,
}

/// An opened directory.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: StateFile,
    /// The record, already stored under an epoch and a settings revision that were never in use.
    pub(crate) record: Record,
    /// True if the crawl existed before.
    pub(crate) resumed: bool,
}

impl StateFile {
    /// Resumes the crawl in `dir`, or begins one there, with these settings. `given` holds the
    /// settings typed by the user.
    ///
    /// # Errors
    /// [`CoordinatorError::Refused`] if the directory holds something else or a crawl with other
    /// fixed settings, or if another coordinator uses it; [`CoordinatorError::Broken`] if the state
    /// is damaged or the disk fails. In both cases nothing was changed.
    pub(crate) fn open(
        dir: &Path,
        settings: &Settings,
        given: TypedSettings,
        now: Timestamp,
    ) -> Result<Opened, CoordinatorError> {
        let checked = settings.check_shared();
        checked.map_err(|errors| CoordinatorError::Refused(errors.to_string()))?;
        // Checked before anything is created in the directory.
        read(dir)?;
        fs::create_dir_all(dir).map_err(|error| {
            let dir = dir.display();
            CoordinatorError::Refused(format!(
                "cannot create the directory {dir}: {error}; choose another --data"
            ))
        })?;
        let lock = take_lock(dir)?;
        let last = read(dir)?;
        let resumed = last.is_some();
        let mut record = match last {
            Some(mut record) => {
                check_meaning(dir, &record, settings)?;
                record.view.epoch += 1;
                record
            }
            None => Record {
                crawl_id: format!("{:016x}", uuid::Uuid::new_v4().as_u64_pair().0),
                begun: now.to_string(),
                meaning: settings.fingerprint_text(),
                next_id: 1,
                view: View { epoch: 1, ..View::default() },
                page_quotas: BTreeMap::new(),
                draining: BTreeSet::new(),
                unreplicated: BTreeSet::new(),
                settings: StoredSettings::default(),
            },
        };
        record.settings = StoredSettings {
            revision: record.settings.revision + 1,
            toml: settings.to_toml(),
            given,
        };
        let file = Self { path: dir.join(STATE_FILE), _lock: lock };
        let stored = file.save(&record).and_then(|()| file.name_crawl(&record.crawl_id));
        stored.map_err(|error| {
            CoordinatorError::Broken(format!("{} cannot be written: {error}", file.path.display()))
        })?;
        Ok(Opened { file, record, resumed })
    }

    /// Replaces the state. When this returns, the new state survives a power cut.
    ///
    /// # Errors
    /// Disk errors. The old state then counts, although a restart may find the new one.
    pub(crate) fn save(&self, record: &Record) -> io::Result<()> {
        replace_file(&self.path, &record.encode())
    }

    /// Writes the crawl's id to the lock file, so that a lost state file is noticed.
    fn name_crawl(&self, crawl_id: &str) -> io::Result<()> {
        (&self._lock).write_all(crawl_id.as_bytes())
    }
}

/// Returns the settings of the crawl in `dir`; `None` if no crawl was begun there.
///
/// # Errors
/// Fails if the directory holds something else, or if the state is damaged.
pub fn stored_settings(dir: &Path) -> Result<Option<StoredSettings>, CoordinatorError> {
    Ok(read(dir)?.map(|record| record.settings))
}

/// Returns the record in `dir`; `None` if no crawl was begun there.
fn read(dir: &Path) -> Result<Option<Record>, CoordinatorError> {
    let path = dir.join(STATE_FILE);
    let broken = |what: String| {
        CoordinatorError::Broken(format!("{} {what}; nothing was changed", path.display()))
    };
    match fs::read(&path) {
        Ok(bytes) => {
            return Record::decode(&bytes).map(Some).map_err(|what| broken(format!("is {what}")));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(broken(format!("cannot be read: {error}"))),
    }
    let lock = dir.join(LOCK_FILE);
    if let Ok(crawl_id) = fs::read_to_string(&lock)
        && !crawl_id.is_empty()
    {
        return Err(broken(format!("is missing although crawl {crawl_id} was begun here")));
    }
    // Left over from an interrupted first start.
    let ours = [lock, replacement_path(&path)];
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let dir = dir.display();
            return Err(CoordinatorError::Refused(format!(
                "{dir}: {error}; choose another --data"
            )));
        }
    };
    if entries.filter_map(Result::ok).all(|entry| ours.contains(&entry.path())) {
        return Ok(None);
    }
    let what = match dir.join("state").exists() {
        true => "is the directory of an agent or of `crivello crawl`",
        false => "is not empty",
    };
    Err(CoordinatorError::Refused(format!(
        "{} {what} and has no {STATE_FILE}, so it does not belong to a coordinator; choose \
         another --data",
        dir.display()
    )))
}

fn check_meaning(dir: &Path, record: &Record, settings: &Settings) -> Result<(), CoordinatorError> {
    let differences = settings.fingerprint_differences(&record.meaning);
    if differences.is_empty() {
        return Ok(());
    }
    let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
    Err(CoordinatorError::Refused(format!(
        "{} holds another crawl (begun {}): {}; resume it without these settings, or choose another --data",
        dir.display(),
        record.begun,
        differences.join("; ")
    )))
}

fn take_lock(dir: &Path) -> Result<File, CoordinatorError> {
    let path = dir.join(LOCK_FILE);
    let failed =
        |error: io::Error| CoordinatorError::Broken(format!("{}: {error}", path.display()));
    let lock = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
    let lock = lock.map_err(failed)?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(CoordinatorError::Refused(format!(
            "another coordinator uses {}: two would assign the same epochs",
            dir.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::tempdir;

    fn settings() -> Settings {
        let mut settings = Settings::default();
        settings.fixed.identity.contact = "you@example.com".to_owned();
        settings
    }

    fn open(dir: &Path) -> Result<Opened, CoordinatorError> {
        let given = TypedSettings::from([("politeness.delay".to_owned(), "\"1s\"".to_owned())]);
        StateFile::open(dir, &settings(), given, Timestamp::from_secs(1))
    }

    fn record(epoch: u64) -> Record {
        Record {
            crawl_id: "c0ffee".into(),
            begun: "today".into(),
            meaning: settings().fingerprint_text(),
            next_id: 2,
            view: View { epoch, ..View::of_one(&format!("agent-{epoch}")) },
            page_quotas: BTreeMap::from([(AgentId(3), epoch)]),
            draining: [AgentId(2)].into(),
            unreplicated: [AgentId(1)].into(),
            settings: StoredSettings {
                revision: 7,
                toml: settings().to_toml(),
                given: TypedSettings::from([("a".into(), "b".into())]),
            },
        }
    }

    fn error(dir: &Path) -> String {
        open(dir).expect_err("the directory is refused").to_string()
    }

    #[test]
    fn a_restart_finds_the_last_record_under_a_new_epoch_and_revision() {
        let dir = tempdir().unwrap();
        assert_eq!(stored_settings(dir.path()).unwrap(), None);
        let opened = open(dir.path()).unwrap();
        assert!(!opened.resumed);
        assert_eq!((opened.record.view.epoch, opened.record.settings.revision), (1, 1));
        for epoch in 1..5 {
            opened.file.save(&record(epoch)).unwrap();
        }
        drop(opened);
        assert_eq!(stored_settings(dir.path()).unwrap().unwrap(), record(4).settings);
        let again = open(dir.path()).unwrap();
        assert!(again.resumed);
        let mut expected = record(4);
        expected.view.epoch = 5;
        expected.settings.revision = 8;
        expected.settings.given = again.record.settings.given.clone();
        assert_eq!(again.record, expected);
        assert_eq!(again.record.settings.given["politeness.delay"], "\"1s\"");
        // The record is stored before the coordinator serves requests.
        drop(again);
        assert_eq!(stored_settings(dir.path()).unwrap().unwrap().revision, 8);
    }

    #[test]
    fn a_crash_during_a_write_leaves_the_record_before() {
        let dir = tempdir().unwrap();
        open(dir.path()).unwrap().file.save(&record(4)).unwrap();
        let path = dir.path().join(STATE_FILE);
        let next = record(5).encode();
        for len in [0, 1, next.len() / 2, next.len()] {
            // Simulates a kill before the rename.
            fs::write(replacement_path(&path), &next[..len]).unwrap();
            assert_eq!(read(dir.path()).unwrap(), Some(record(4)));
        }
        assert_eq!(open(dir.path()).unwrap().record.view.epoch, 5);
    }

    #[test]
    fn damage_is_refused_at_every_byte_and_length() {
        let dir = tempdir().unwrap();
        open(dir.path()).unwrap().file.save(&record(4)).unwrap();
        let path = dir.path().join(STATE_FILE);
        let whole = fs::read(&path).unwrap();
        let check = |bytes: &[u8]| {
            fs::write(&path, bytes).unwrap();
            let error = error(dir.path());
            assert!(error.contains("damaged") && error.contains("nothing was changed"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "a refused file was changed");
        };
        for at in 0..whole.len() {
            check(&whole[..at]);
            let mut bytes = whole.clone();
            bytes[at] ^= 0x80;
            check(&bytes);
        }
        check(&[&whole[..], b"x"].concat());
    }

    #[test]
    fn a_record_of_another_version_is_refused() {
        let mut stored = Stored::from(&record(1));
        stored.format += 1;
        let bytes = stored.encode_to_vec();
        let bytes = [MAGIC, &xxh3_64(&bytes).to_le_bytes(), &bytes].concat();
        let error = Record::decode(&bytes).unwrap_err();
        assert!(error.contains("another version"), "{error}");
    }

    #[test]
    fn a_second_coordinator_is_refused() {
        let dir = tempdir().unwrap();
        let first = open(dir.path()).unwrap();
        assert!(error(dir.path()).contains("another coordinator uses"));
        drop(first);
        open(dir.path()).unwrap();
    }

    #[test]
    fn a_lost_state_is_not_taken_for_a_new_crawl() {
        let dir = tempdir().unwrap();
        let crawl_id = open(dir.path()).unwrap().record.crawl_id;
        fs::remove_file(dir.path().join(STATE_FILE)).unwrap();
        let missing = error(dir.path());
        assert!(missing.contains("is missing") && missing.contains(&crawl_id), "{missing}");
    }

    #[test]
    fn a_directory_of_something_else_is_refused_untouched() {
        let dir = tempdir().unwrap();
        fs::create_dir(dir.path().join("state")).unwrap();
        assert!(error(dir.path()).contains("directory of an agent"));
        fs::remove_dir(dir.path().join("state")).unwrap();
        fs::write(dir.path().join("notes"), "").unwrap();
        assert!(error(dir.path()).contains("is not empty"));
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_failed_write_changes_nothing_and_the_next_may_succeed() {
        let dir = tempdir().unwrap();
        let opened = open(dir.path()).unwrap();
        opened.file.save(&record(1)).unwrap();
        let new = replacement_path(&dir.path().join(STATE_FILE));
        fs::create_dir(&new).unwrap();
        opened.file.save(&record(2)).unwrap_err();
        assert_eq!(read(dir.path()).unwrap(), Some(record(1)));
        fs::remove_dir(&new).unwrap();
        opened.file.save(&record(3)).unwrap();
        assert_eq!(read(dir.path()).unwrap(), Some(record(3)));
    }
}
