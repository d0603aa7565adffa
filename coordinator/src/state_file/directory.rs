//! Durable state of the coordinator: one record in one file.
//!
//! ```text
//! DIR/coordinator.state   "crivello coordinator state 1\n", XXH3 of the record (8 bytes,
//!                         little-endian), the record (protobuf, see Stored)
//! DIR/identity.key        the secret key of the crawl (see `common/src/identity.rs`)
//! DIR/signing.key         the key with which views and tickets are signed
//! DIR/lock                locked while a coordinator works in the directory; holds the crawl's id
//! ```
//! Each change replaces the whole file (see [`replace_file`]). The new record is synced before the
//! change is in force or published, so a crash leaves either the old record or the new one. A file
//! that fails its checks is refused as damaged: an older state would issue epochs twice.

use crate::error::CoordinatorError;
use crate::members::{Death, FewHolders, MembersRecord, PublishedViews};
use crate::signing_key::{self, SIGNING_KEY_FILE};
use crivello_common::config::{Settings, TypedSettings};
use crivello_common::identity::{IDENTITY_KEY_FILE, IdentityKey};
use crivello_common::runtime::{
    IdentityKeyError, create_private_dir, replace_file, replacement_path,
};
use crivello_common::sealed::{seal, unseal};
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, View};
use crivello_proto::signing::SigningKey;
use crivello_proto::{FORMAT_VERSION, v1};
use prost::Message;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Name of the state file in a coordinator's directory.
pub const STATE_FILE: &str = "coordinator.state";
const LOCK_FILE: &str = "lock";
/// Format of the file and its version. [`FORMAT_VERSION`] is the version of the record.
const MAGIC: &[u8] = b"crivello coordinator state 1\n";

/// The state that a coordinator must keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    /// 16 hexadecimal digits, random.
    pub(crate) crawl_id: String,
    /// Start time of the crawl.
    pub(crate) begun: String,
    /// [`Settings::fingerprint_text`]: the settings that never change.
    pub(crate) meaning: String,
    /// The members, with the view in force.
    pub(crate) members: MembersRecord,
    /// Page quota of each agent, in a crawl with a page limit.
    pub(crate) page_quotas: BTreeMap<AgentId, u64>,
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
    #[prost(uint64, tag = "10")]
    settings_revision: u64,
    #[prost(string, tag = "11")]
    settings: String,
    #[prost(btree_map = "string, string", tag = "12")]
    given: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "13")]
    deaths: Vec<StoredDeath>,
    #[prost(message, repeated, tag = "14")]
    usable: Vec<StoredViews>,
    #[prost(message, repeated, tag = "15")]
    unreplicated: Vec<StoredFewHolders>,
}

/// Stored form of a [`Death`].
#[derive(Clone, PartialEq, Message)]
struct StoredDeath {
    #[prost(uint32, tag = "1")]
    agent: u32,
    #[prost(uint64, tag = "2")]
    epoch: u64,
    #[prost(bool, tag = "3")]
    covered: bool,
    #[prost(uint32, tag = "4")]
    holders: u32,
}

/// Stored form of a member with [`FewHolders`].
#[derive(Clone, PartialEq, Message)]
struct StoredFewHolders {
    #[prost(uint32, tag = "1")]
    agent: u32,
    #[prost(uint64, tag = "2")]
    epoch: u64,
    #[prost(uint32, tag = "3")]
    holders: u32,
}

/// Stored form of [`PublishedViews`].
#[derive(Clone, PartialEq, Message)]
struct StoredViews {
    #[prost(uint64, tag = "1")]
    first: u64,
    #[prost(uint64, tag = "2")]
    last: u64,
    #[prost(uint32, repeated, tag = "3")]
    living: Vec<u32>,
}

impl From<&Record> for Stored {
    fn from(record: &Record) -> Self {
        let settings = record.settings.clone();
        let members = &record.members;
        let death = |(id, death): (&AgentId, &Death)| StoredDeath {
            agent: id.0,
            epoch: death.epoch,
            covered: death.covered,
            holders: death.holders.unwrap_or_default() as u32,
        };
        let few = |(id, few): (&AgentId, &FewHolders)| StoredFewHolders {
            agent: id.0,
            epoch: few.epoch,
            holders: few.holders as u32,
        };
        let views = |views: &PublishedViews| StoredViews {
            first: views.first,
            last: views.last,
            living: views.living.iter().map(|id| id.0).collect(),
        };
        Self {
            format: FORMAT_VERSION,
            crawl_id: record.crawl_id.clone(),
            begun: record.begun.clone(),
            meaning: record.meaning.clone(),
            next_id: members.next_id,
            view: Some((&members.view).into()),
            page_quotas: record.page_quotas.iter().map(|(id, &pages)| (id.0, pages)).collect(),
            draining: members.draining.iter().map(|id| id.0).collect(),
            unreplicated: members.unreplicated.iter().map(few).collect(),
            settings_revision: settings.revision,
            settings: settings.toml,
            given: settings.given,
            deaths: members.deaths.iter().map(death).collect(),
            usable: members.usable.iter().map(views).collect(),
        }
    }
}

impl Record {
    fn encode(&self) -> Vec<u8> {
        seal(MAGIC, &Stored::from(self).encode_to_vec())
    }

    /// Decodes a record. The error text completes "the file is …".
    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let damaged = |what: &str| format!("damaged: {what}");
        let stored =
            Stored::decode(unseal(MAGIC, bytes)?).map_err(|error| damaged(&error.to_string()))?;
        if stored.format != FORMAT_VERSION {
            let format = stored.format;
            return Err(format!(
                "of another version: it has format {format}, this build reads {FORMAT_VERSION}"
            ));
        }
        let view = View::try_from(stored.view.unwrap_or_default());
        let view = view.map_err(|error| damaged(&error.to_string()))?;
        let quotas = stored.page_quotas.into_iter();
        let deaths =
            stored.deaths.into_iter().map(|StoredDeath { agent, epoch, covered, holders }| {
                let holders = Some(holders as usize).filter(|&holders| holders > 0);
                (AgentId(agent), Death { epoch, covered, holders })
            });
        let usable = stored.usable.into_iter().map(|StoredViews { first, last, living }| {
            let living = living.into_iter().map(AgentId).collect();
            PublishedViews { first, last, living }
        });
        let few = |few: StoredFewHolders| {
            let StoredFewHolders { agent, epoch, holders } = few;
            (AgentId(agent), FewHolders { epoch, holders: holders as usize })
        };
        let unreplicated = stored.unreplicated.into_iter().map(few);
        Ok(Self {
            crawl_id: stored.crawl_id,
            begun: stored.begun,
            meaning: stored.meaning,
            members: MembersRecord {
                view,
                next_id: stored.next_id,
                draining: stored.draining.into_iter().map(AgentId).collect(),
                unreplicated: unreplicated.collect(),
                deaths: deaths.collect(),
                usable: usable.collect(),
            },
            page_quotas: quotas.map(|(id, pages)| (AgentId(id), pages)).collect(),
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
    lock: File,
}

/// An opened directory.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) file: StateFile,
    /// The record, already stored under an epoch and a settings revision that were never in use.
    pub(crate) record: Record,
    /// True if the crawl existed before.
    pub(crate) resumed: bool,
    /// The secret key of the crawl.
    pub(crate) identity_key: IdentityKey,
    /// The key that signs views and tickets.
    pub(crate) signing_key: SigningKey,
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
        let shown = dir.display();
        create_private_dir(dir).map_err(|error| {
            CoordinatorError::Refused(format!(
                "cannot create the directory {shown}: {error}; choose another --data"
            ))
        })?;
        let lock = take_lock(dir)?;
        let last = read(dir)?;
        let resumed = last.is_some();
        let (mut record, identity_key, signing_key) = match last {
            Some(record) => {
                check_meaning(dir, &record, settings)?;
                let key = read_key(dir, &record.crawl_id)?;
                (record, key, signing_key::read(dir)?)
            }
            None => begin(dir, settings, now)?,
        };
        record.members.view.epoch += 1;
        let revision = record.settings.revision + 1;
        record.settings = StoredSettings { revision, toml: settings.to_toml(), given };
        let file = Self { path: dir.join(STATE_FILE), lock };
        // The lock file names the crawl, so that a lost state file is noticed.
        let name_crawl = |()| (&file.lock).write_all(record.crawl_id.as_bytes());
        file.save(&record).and_then(name_crawl).map_err(|error| {
            CoordinatorError::Broken(format!("{} cannot be written: {error}", file.path.display()))
        })?;
        Ok(Opened { file, record, resumed, identity_key, signing_key })
    }

    /// Begins a directory with this record and a new signing key. The identity key of the crawl must
    /// be there, or in one of the directories `key_from`, from which it is copied.
    ///
    /// # Errors
    /// [`CoordinatorError::Refused`] if the directory has a record or holds something else;
    /// [`CoordinatorError::Broken`] if there is no key or the disk fails.
    pub(crate) fn create(
        dir: &Path,
        record: &Record,
        key_from: &[PathBuf],
    ) -> Result<SigningKey, CoordinatorError> {
        let shown = dir.display();
        if read(dir)?.is_some() {
            return Err(CoordinatorError::Refused(format!(
                "{shown} already has a record: choose another --data"
            )));
        }
        let broken = |error: io::Error| CoordinatorError::Broken(format!("{shown}: {error}"));
        create_private_dir(dir).map_err(broken)?;
        let file = Self { path: dir.join(STATE_FILE), lock: take_lock(dir)? };
        let crawl_id = &record.crawl_id;
        match IdentityKey::read(dir, crawl_id) {
            Ok(_) => {}
            Err(error) => {
                let keys = key_from.iter().map(|from| IdentityKey::read(from, crawl_id));
                let key = keys.flatten().next().filter(|_| is_missing(&error));
                let key = key.ok_or_else(|| CoordinatorError::Broken(error.to_string()))?;
                key.write(dir, crawl_id).map_err(broken)?;
            }
        }
        let signing_key = create_signing_key(dir)?;
        file.save(record).map_err(broken)?;
        (&file.lock).write_all(record.crawl_id.as_bytes()).map_err(broken)?;
        Ok(signing_key)
    }

    /// Replaces the state. When this returns, the new state survives a power cut.
    ///
    /// # Errors
    /// Disk errors. The old state then counts, although a restart may find the new one.
    pub(crate) fn save(&self, record: &Record) -> io::Result<()> {
        replace_file(&self.path, &record.encode())
    }
}

/// Begins a crawl: its first record, and its keys, which are stored before any record names the crawl.
fn begin(
    dir: &Path,
    settings: &Settings,
    now: Timestamp,
) -> Result<(Record, IdentityKey, SigningKey), CoordinatorError> {
    let record = Record {
        crawl_id: format!("{:016x}", uuid::Uuid::new_v4().as_u64_pair().0),
        begun: now.to_string(),
        meaning: settings.fingerprint_text(),
        ..Record::default()
    };
    let drawn = IdentityKey::draw();
    let stored = drawn.and_then(|key| key.write(dir, &record.crawl_id).map(|()| key));
    let key = stored.map_err(|error| {
        let path = dir.join(IDENTITY_KEY_FILE);
        CoordinatorError::Broken(format!("{} cannot be written: {error}", path.display()))
    })?;
    Ok((record, key, create_signing_key(dir)?))
}

fn create_signing_key(dir: &Path) -> Result<SigningKey, CoordinatorError> {
    signing_key::create(dir).map_err(|error| {
        let path = dir.join(SIGNING_KEY_FILE);
        CoordinatorError::Broken(format!("{} cannot be written: {error}", path.display()))
    })
}

const fn is_missing(error: &IdentityKeyError) -> bool {
    matches!(error, IdentityKeyError::Missing(_))
}

fn read_key(dir: &Path, crawl_id: &str) -> Result<IdentityKey, CoordinatorError> {
    IdentityKey::read(dir, crawl_id)
        .map_err(|error| CoordinatorError::Broken(format!("{error}; nothing was changed")))
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
    let key = dir.join(IDENTITY_KEY_FILE);
    let signing = dir.join(SIGNING_KEY_FILE);
    let new = [&path, &key, &signing].map(|path| replacement_path(path));
    let ours: Vec<PathBuf> = new.into_iter().chain([lock, key, signing]).collect();
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let why = format!("{}: {error}; choose another --data", dir.display());
            return Err(CoordinatorError::Refused(why));
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
            members: MembersRecord {
                next_id: 2,
                view: View { epoch, ..View::of_one(&format!("agent-{epoch}")) },
                draining: [AgentId(2)].into(),
                unreplicated: [(AgentId(1), FewHolders { epoch: 7, holders: 2 })].into(),
                deaths: [(AgentId(4), Death { epoch: 3, covered: true, holders: Some(2) })].into(),
                usable: vec![PublishedViews { first: 2, last: 3, living: [AgentId(4)].into() }],
            },
            page_quotas: BTreeMap::from([(AgentId(3), epoch)]),
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
        assert_eq!((opened.record.members.view.epoch, opened.record.settings.revision), (1, 1));
        for epoch in 1..5 {
            opened.file.save(&record(epoch)).unwrap();
        }
        opened.identity_key.write(dir.path(), &record(4).crawl_id).unwrap();
        drop(opened);
        assert_eq!(stored_settings(dir.path()).unwrap().unwrap(), record(4).settings);
        let again = open(dir.path()).unwrap();
        assert!(again.resumed);
        let mut expected = record(4);
        expected.members.view.epoch = 5;
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
        let opened = open(dir.path()).unwrap();
        opened.file.save(&record(4)).unwrap();
        opened.identity_key.write(dir.path(), &record(4).crawl_id).unwrap();
        drop(opened);
        let path = dir.path().join(STATE_FILE);
        let next = record(5).encode();
        for len in [0, 1, next.len() / 2, next.len()] {
            // Simulates a kill before the rename.
            fs::write(replacement_path(&path), &next[..len]).unwrap();
            assert_eq!(read(dir.path()).unwrap(), Some(record(4)));
        }
        assert_eq!(open(dir.path()).unwrap().record.members.view.epoch, 5);
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
        let bytes = seal(MAGIC, &bytes);
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
