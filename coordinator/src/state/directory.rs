//! The directory of a coordinator: its lock, its keys, and its record, unless that is in etcd.

use super::record::{Record, StoredSettings};
use super::record_store::{FileRecord, RecordStore, STATE_FILE};
use crate::error::CoordinatorError;
use crate::signing_key::{self, SIGNING_KEY_FILE};
use crivello_common::config::{Settings, TypedSettings};
use crivello_common::identity::{IDENTITY_KEY_FILE, IdentityKey};
use crivello_common::runtime::{IdentityKeyError, create_private_dir, replacement_path};
use crivello_common::time::Timestamp;
use crivello_proto::signing::{COORDINATOR_KEY_FILE, SigningKey};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const LOCK_FILE: &str = "lock";
/// Ending of the name of a record that was taken over into etcd.
const IMPORTED: &str = "imported";

/// The durable state of this process. Only this process may write it.
#[derive(Debug)]
pub(crate) struct CoordinatorState {
    store: Box<dyn RecordStore>,
    /// Locked while the process lives.
    lock: File,
}

/// An opened directory.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) state: CoordinatorState,
    /// The record, already stored under an epoch and a settings revision that were never in use.
    pub(crate) record: Record,
    /// True if the crawl existed before.
    pub(crate) resumed: bool,
    /// The secret key of the crawl.
    pub(crate) identity_key: IdentityKey,
    /// The key that signs views and tickets.
    pub(crate) signing_key: SigningKey,
}

impl CoordinatorState {
    /// Resumes the crawl of a record, or begins one, in a directory, with keys in another or the same
    /// directory, with these settings. `given` holds the settings typed by the user. The record is in a file of the
    /// directory, or in a store elsewhere, which takes over a record in the file.
    ///
    /// # Errors
    /// [`CoordinatorError::Refused`] if the directory holds something else or a crawl with other
    /// fixed settings, or if another coordinator uses it; [`CoordinatorError::Broken`] if the state
    /// is damaged or the disk fails. In both cases nothing was changed.
    pub(crate) fn open(
        mut elsewhere: Option<Box<dyn RecordStore>>,
        (dir, keys): (&Path, &Path),
        settings: &Settings,
        given: TypedSettings,
        now: Timestamp,
    ) -> Result<Opened, CoordinatorError> {
        let checked = settings.check_shared();
        checked.map_err(|errors| CoordinatorError::Refused(errors.to_string()))?;
        // Checked before anything is created in the directory.
        if read(elsewhere.as_deref_mut(), dir)?.is_none()
            && keys.join(COORDINATOR_KEY_FILE).exists()
        {
            let shown = keys.display();
            return Err(CoordinatorError::Refused(format!(
                "{shown} has {COORDINATOR_KEY_FILE}, the key of a lost coordinator, and no record: make \
                 one with `crivello coordinator rebuild`, or choose another --data"
            )));
        }
        for dir in [dir, keys] {
            create_private_dir(dir).map_err(|error| {
                let dir = dir.display();
                CoordinatorError::Refused(format!(
                    "cannot create the directory {dir}: {error}; choose another"
                ))
            })?;
        }
        let lock = take_lock(dir)?;
        let last = read(elsewhere.as_deref_mut(), dir)?;
        let (resumed, is_elsewhere) = (last.is_some(), elsewhere.is_some());
        let store = elsewhere.unwrap_or_else(|| Box::new(FileRecord::in_dir(dir)));
        let (mut record, identity_key, signing_key) = match last {
            Some(record) => {
                check_meaning(&store.name(), &record, settings)?;
                let key = read_key(keys, &record.crawl_id)?;
                let signing_key = signing_key::read(keys)?;
                if signing_key.public().to_string() != record.signing_key {
                    return Err(CoordinatorError::Refused(format!(
                        "{} is not the key of this crawl: copy it from the coordinator that began the crawl",
                        keys.join(SIGNING_KEY_FILE).display()
                    )));
                }
                (record, key, signing_key)
            }
            None => begin(keys, settings, now)?,
        };
        record.members.view.epoch += 1;
        let revision = record.settings.revision + 1;
        record.settings = StoredSettings { revision, toml: settings.to_toml(), given };
        let mut state = Self { store, lock };
        // The lock file names the crawl, so that a lost state file is noticed.
        let saved = state.save(&record);
        saved.and_then(|()| (&state.lock).write_all(record.crawl_id.as_bytes())).map_err(
            |error| {
                let name = state.store.name();
                CoordinatorError::Broken(format!("{name} cannot be written: {error}"))
            },
        )?;
        if is_elsewhere {
            set_aside(dir)?;
        }
        Ok(Opened { state, record, resumed, identity_key, signing_key })
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
        if read(None, dir)?.is_some() {
            return Err(CoordinatorError::Refused(format!(
                "{shown} already has a record: choose another --data"
            )));
        }
        let broken = |error: io::Error| CoordinatorError::Broken(format!("{shown}: {error}"));
        create_private_dir(dir).map_err(broken)?;
        let mut state = Self { store: Box::new(FileRecord::in_dir(dir)), lock: take_lock(dir)? };
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
        let signed_by = signing_key.public().to_string();
        state.save(&Record { signing_key: signed_by, ..record.clone() }).map_err(broken)?;
        (&state.lock).write_all(record.crawl_id.as_bytes()).map_err(broken)?;
        Ok(signing_key)
    }

    /// Replaces the state. When this returns, the new state survives a power cut.
    ///
    /// # Errors
    /// Disk errors. The old state then counts, although a restart may find the new one.
    pub(crate) fn save(&mut self, record: &Record) -> io::Result<()> {
        self.store.save(record)
    }
}

/// Begins a crawl: its first record, and its keys, which are stored before any record names the crawl.
fn begin(
    dir: &Path,
    settings: &Settings,
    now: Timestamp,
) -> Result<(Record, IdentityKey, SigningKey), CoordinatorError> {
    let mut record = Record {
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
    let signing_key = create_signing_key(dir)?;
    record.signing_key = signing_key.public().to_string();
    Ok((record, key, signing_key))
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
    Ok(read(None, dir)?.map(|record| record.settings))
}

/// Renames a record in a file once it is in another store, so that it is never taken over again.
fn set_aside(dir: &Path) -> Result<(), CoordinatorError> {
    let path = dir.join(STATE_FILE);
    match fs::rename(&path, path.with_extension(IMPORTED)) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(CoordinatorError::Broken(format!("{}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

/// Returns the record in a store elsewhere, or else the one in a file in `dir`; `None` if no crawl was begun with it.
pub(super) fn read(
    elsewhere: Option<&mut (dyn RecordStore + 'static)>,
    dir: &Path,
) -> Result<Option<Record>, CoordinatorError> {
    let mut file = FileRecord::in_dir(dir);
    let in_file = file.read()?;
    let (stored, name) = match elsewhere {
        Some(store) => (store.read()?, store.name()),
        None => (None, file.name()),
    };
    if let (Some(stored), Some(in_file)) = (&stored, &in_file) {
        let is_taken_over = stored.crawl_id == in_file.crawl_id
            && stored.members.view.epoch > in_file.members.view.epoch;
        if !is_taken_over {
            return Err(CoordinatorError::Refused(format!(
                "{name} and {} have a record: remove the file if the other one counts",
                file.name()
            )));
        }
    }
    if let Some(record) = stored.or(in_file) {
        return Ok(Some(record));
    }
    let broken =
        |what: String| CoordinatorError::Broken(format!("{name} {what}; nothing was changed"));
    let path = dir.join(STATE_FILE);
    let lock = dir.join(LOCK_FILE);
    if let Ok(crawl_id) = fs::read_to_string(&lock)
        && !crawl_id.is_empty()
    {
        return Err(broken(format!("is missing although crawl {crawl_id} was begun here")));
    }
    // Left over from an interrupted first start, or put there for `rebuild`.
    let key = dir.join(IDENTITY_KEY_FILE);
    let signing = dir.join(SIGNING_KEY_FILE);
    let lost = dir.join(COORDINATOR_KEY_FILE);
    let new = [&path, &key, &signing].map(|path| replacement_path(path));
    let ours: Vec<PathBuf> = new.into_iter().chain([lock, key, signing, lost]).collect();
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

fn check_meaning(
    stored_in: &str,
    record: &Record,
    settings: &Settings,
) -> Result<(), CoordinatorError> {
    let differences = settings.fingerprint_differences(&record.meaning);
    if differences.is_empty() {
        return Ok(());
    }
    let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
    Err(CoordinatorError::Refused(format!(
        "{stored_in} holds another crawl (begun {}): {}; resume it without these settings, or choose another --data",
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
