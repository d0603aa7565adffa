//! Directory of a crawl: its identity, and the checks when it is opened.
//!
//! ```text
//! DIR/crawl.toml   the settings in force, all of them; written when a run begins
//! DIR/identity.key the secret key of the crawl (see `common/src/identity.rs`)
//! DIR/state/       the database (one RocksDB)
//! DIR/warc/        the archive
//! ```
//! A crawl has begun once `crawl.toml` exists. It is written last, and `crawl.toml.new` first: a
//! directory that a kill left unfinished is recognized, and begun again.

use crate::storage::{Batch, Database, DiskError, Family, OpenError};
use crivello_common::config::{NEW_SETTINGS_FILE, SETTINGS_FILE, Settings};
use crivello_common::identity::{IDENTITY_KEY_FILE, IdentityKey, KeyedHasher};
use crivello_common::runtime::{create_private_dir, replace_file};
use crivello_common::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Version of the format on disk; raised with every change that older builds cannot read.
const FORMAT: u32 = 18;
/// Number of further attempts to open a directory that is in use, and the pause between two of them.
const OPEN_TRIES: u32 = 100;
const OPEN_PAUSE: Duration = Duration::from_millis(50);
const META_CRAWL: &[u8] = b"crawl";
const META_CLOSED: &[u8] = b"closed";
/// Key in `meta`: the random number of the agent's directory, in a crawl by several agents.
const META_DISK: &[u8] = b"disk";
/// Key in `meta`, present once all seeds of a run are stored.
pub const META_SEEDED: &[u8] = b"seeded";

/// Identity of a crawl, stored in `meta`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrawlIdentity {
    /// The version of the format on disk.
    pub format: u32,
    /// Id that is drawn when the crawl begins: 16 hexadecimal digits.
    pub crawl_id: String,
    /// Time at which the crawl began.
    pub begun: String,
    /// Settings that must not change: [`Settings::fingerprint_text`].
    pub meaning: String,
}

/// The agent to which a directory belongs, in a crawl by several agents.
#[derive(Clone, Copy, Debug)]
pub struct DirOwner<'a> {
    /// Id and key of the crawl; `None` if they are not known yet, which is enough for a crawl that
    /// has begun.
    pub crawl: Option<(&'a str, IdentityKey)>,
    /// Random number of the agent's directory.
    pub disk_id: u64,
}

/// An opened directory.
#[derive(Debug)]
pub struct CrawlDir {
    /// The directory.
    pub dir: PathBuf,
    /// True if the crawl existed before.
    pub resumed: bool,
    /// Time at which the last run ended in an orderly way; `None` if it did not, or there was none.
    pub closed_at: Option<Timestamp>,
    /// True if all seeds of an earlier run are stored.
    pub seeded: bool,
    /// Identity of the crawl.
    pub identity: CrawlIdentity,
    /// The secret key of the crawl.
    pub identity_key: IdentityKey,
}

fn refused(why: impl Into<String>) -> OpenError {
    OpenError::Refused(why.into())
}

/// Checks that the state belongs to the directory with this number.
fn check_owner(dir: &Path, disk: &Database, disk_id: u64) -> Result<(), OpenError> {
    match disk.get(Family::Meta, META_DISK)? {
        Some(found) if found == disk_id.to_be_bytes() => Ok(()),
        _ => Err(OpenError::Broken(format!(
            "the state in {} belongs to another agent than agent.json: parts of the directory were \
             deleted or replaced; nothing was changed. Restore the whole directory, or see \"A \
             damaged agent directory\" in docs/operating.md",
            dir.display()
        ))),
    }
}

/// Reads the settings of the crawl in a directory, as of its last run.
///
/// # Errors
/// [`OpenError::Refused`] if there is no crawl; another error if the settings are damaged.
pub fn read_settings(dir: &Path) -> Result<Settings, OpenError> {
    let path = dir.join(SETTINGS_FILE);
    let text = fs::read_to_string(&path).map_err(|e| {
        refused(format!("{} holds no crawl: {}: {e}", dir.display(), path.display()))
    })?;
    Settings::from_toml(&path.display().to_string(), &text)
        .map_err(|errors| OpenError::Broken(errors.to_string()))
}

/// Opens the directory of a crawl that is not running for reading; changes nothing. Returns its
/// settings, its hashes and its state.
///
/// # Errors
/// [`OpenError::Refused`] if there is no crawl or it is running; another error if the state or the
/// key is damaged.
pub fn open_read_only(dir: &Path) -> Result<(Settings, KeyedHasher, Database), OpenError> {
    let settings = read_settings(dir)?;
    let disk = match Database::open_read_only(&dir.join("state"), &settings.fixed.state) {
        Ok(disk) => disk,
        Err(DiskError::InUse { .. }) => {
            return Err(refused(format!(
                "the crawl in {} is running: stop it first, or query its coordinator with \
                 --coordinator",
                dir.display()
            )));
        }
        Err(error) => return Err(error.into()),
    };
    let identity = read_identity(dir, &disk)?;
    let key = read_key(dir, &identity.crawl_id)?;
    let hasher = KeyedHasher::new(key, settings.fixed.identity.assign_by);
    Ok((settings, hasher, disk))
}

/// Reads the identity of the crawl from its state, if this build can read it.
fn read_identity(dir: &Path, disk: &Database) -> Result<CrawlIdentity, OpenError> {
    let damaged = |what: &str| {
        let state = dir.join("state");
        OpenError::Broken(format!("the state in {} {what}; nothing was changed", state.display()))
    };
    let value = disk.get(Family::Meta, META_CRAWL)?;
    let value = value.ok_or_else(|| damaged("has no crawl id: it is damaged"))?;
    let identity: CrawlIdentity = serde_json::from_slice(&value)
        .map_err(|e| damaged(&format!("has a crawl id that cannot be read ({e})")))?;
    if identity.format != FORMAT {
        return Err(refused(format!(
            "the crawl in {} has format {}, this build reads format {FORMAT}",
            dir.display(),
            identity.format
        )));
    }
    Ok(identity)
}

fn read_key(dir: &Path, crawl_id: &str) -> Result<IdentityKey, OpenError> {
    IdentityKey::read(dir, crawl_id)
        .map_err(|error| OpenError::Broken(format!("{error}; nothing was changed")))
}

impl CrawlDir {
    /// Returns true if the last run was killed.
    pub const fn is_unclean(&self) -> bool {
        self.resumed && self.closed_at.is_none()
    }

    /// Opens the crawl in `dir`, or begins one there. An existing one is only read;
    /// [`Self::record_settings`] changes it. In a cluster, `owner` is the agent to which it must belong;
    /// otherwise the id and the key of the crawl are drawn when it begins.
    ///
    /// # Errors
    /// [`OpenError::Refused`] if the directory contains something else, or another crawl by its
    /// settings or id; another error if the state is damaged or the disk fails.
    pub fn open(
        dir: &Path,
        settings: &Settings,
        now: Timestamp,
        owner: Option<DirOwner<'_>>,
    ) -> Result<(Self, Database), OpenError> {
        let crawl = owner.and_then(|owner| owner.crawl);
        if Self::has_begun(dir) {
            let (home, disk) = Self::resume(dir, settings)?;
            if let Some(owner) = owner {
                check_owner(dir, &disk, owner.disk_id)?;
            }
            let ours = (home.identity.crawl_id.as_str(), home.identity_key);
            if crawl.is_some_and(|crawl| crawl != ours) {
                return Err(refused(format!(
                    "{} holds another crawl (begun {}); choose another directory",
                    dir.display(),
                    home.identity.begun
                )));
            }
            return Ok((home, disk));
        }
        let (crawl_id, key) = match crawl {
            Some((crawl_id, key)) => (crawl_id.to_owned(), key),
            None => {
                let key = IdentityKey::draw().map_err(|error| {
                    OpenError::Broken(format!("cannot draw the key of the crawl: {error}"))
                })?;
                (format!("{:016x}", uuid::Uuid::new_v4().as_u64_pair().0), key)
            }
        };
        Self::begin(dir, settings, now, (crawl_id, key), owner.map(|owner| owner.disk_id))
    }

    /// Returns true if a crawl was begun in `dir`.
    #[must_use]
    pub fn has_begun(dir: &Path) -> bool {
        dir.join(SETTINGS_FILE).exists()
    }

    fn begin(
        dir: &Path,
        settings: &Settings,
        now: Timestamp,
        (crawl_id, identity_key): (String, IdentityKey),
        disk_id: Option<u64>,
    ) -> Result<(Self, Database), OpenError> {
        let half_begun = dir.join(NEW_SETTINGS_FILE).exists();
        for taken in ["state", "warc"] {
            if dir.join(taken).exists() && !half_begun {
                return Err(refused(format!(
                    "{} has a `{taken}` folder but no crawl.toml: it is not a crawl that can be \
                     resumed; choose another --out, or move the folder",
                    dir.display()
                )));
            }
        }
        let is_ours = |key| key == identity_key;
        if dir.join(IDENTITY_KEY_FILE).exists()
            && !half_begun
            && !IdentityKey::read(dir, &crawl_id).is_ok_and(is_ours)
        {
            return Err(refused(format!(
                "{} has the {IDENTITY_KEY_FILE} of another crawl, which cannot go on without it; \
                 choose another --out, or move the file",
                dir.display()
            )));
        }
        create_private_dir(dir)
            .and_then(|()| fs::write(dir.join(NEW_SETTINGS_FILE), ""))
            .and_then(|()| identity_key.write(dir, &crawl_id))
            .and_then(|()| create_private_dir(&dir.join("state")))
            .and_then(|()| create_private_dir(&dir.join("warc")))
            .map_err(|error| OpenError::create(dir, error, "--out"))?;
        let disk = Database::open(&dir.join("state"), true, &settings.fixed.state)?;
        let identity = CrawlIdentity {
            format: FORMAT,
            crawl_id,
            begun: now.to_string(),
            meaning: settings.fingerprint_text(),
        };
        let home = Self {
            dir: dir.to_owned(),
            resumed: false,
            closed_at: None,
            seeded: false,
            identity,
            identity_key,
        };
        home.save(&disk, None)?;
        if let Some(disk_id) = disk_id {
            let mut batch = Batch::default();
            batch.put(Family::Meta, META_DISK, &disk_id.to_be_bytes());
            disk.commit(&batch)?;
        }
        disk.sync()?;
        home.write_settings(settings)?;
        Ok((home, disk))
    }

    fn resume(dir: &Path, settings: &Settings) -> Result<(Self, Database), OpenError> {
        let state = dir.join("state");
        if !state.join("CURRENT").exists() {
            return Err(OpenError::Broken(format!(
                "{} is missing or damaged although {} exists; nothing was changed",
                state.display(),
                dir.join(SETTINGS_FILE).display()
            )));
        }
        let disk = Database::open(&state, false, &settings.fixed.state)?;
        let identity = read_identity(dir, &disk)?;
        let identity_key = read_key(dir, &identity.crawl_id)?;
        let differences = settings.fingerprint_differences(&identity.meaning);
        if !differences.is_empty() {
            let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
            return Err(refused(format!(
                "{} holds another crawl (begun {}): {}; resume it without these settings, or choose another --out",
                dir.display(),
                identity.begun,
                differences.join("; ")
            )));
        }
        let closed_at = disk
            .get(Family::Meta, META_CLOSED)?
            .and_then(|value| value.try_into().ok())
            .map(|bytes| Timestamp(u64::from_be_bytes(bytes)));
        let seeded = disk.get(Family::Meta, META_SEEDED)?.is_some();
        let resumed = true;
        let dir = dir.to_owned();
        let home = Self { dir, resumed, closed_at, seeded, identity, identity_key };
        Ok((home, disk))
    }

    /// Opens the directory as [`Self::open`] does. Retries for some seconds while another process, or
    /// an earlier crawl of this one, is about to release it.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub async fn open_once_released(
        (dir, now): (&Path, Timestamp),
        settings: &Settings,
        owner: DirOwner<'_>,
    ) -> Result<(Self, Database), OpenError> {
        let mut tries = OPEN_TRIES;
        loop {
            match Self::open(dir, settings, now, Some(owner)) {
                Err(OpenError::Disk(DiskError::InUse { .. })) if tries > 0 => tries -= 1,
                opened => return opened,
            }
            tokio::time::sleep(OPEN_PAUSE).await;
        }
    }

    /// Starts the run of a resumed crawl: removes the mark of an orderly end, and writes these
    /// settings.
    ///
    /// # Errors
    /// [`OpenError`] if the disk fails.
    pub fn record_settings(&self, disk: &Database, settings: &Settings) -> Result<(), OpenError> {
        if self.resumed {
            self.save(disk, None)?;
            self.write_settings(settings)?;
        }
        Ok(())
    }

    /// Marks the state as closed in an orderly way. A failure is logged: then the next run starts as
    /// after a crash.
    pub fn close(&self, disk: &Database, now: Timestamp) {
        let closed = self.save(disk, Some(now)).and_then(|()| Ok(disk.sync()?));
        if let Err(error) = closed {
            tracing::error!(%error, "the state cannot be marked as closed; the next run starts as \
                                     after a crash");
        }
    }

    /// Stores the identity, and the time at which the state was closed in an orderly way.
    ///
    /// # Errors
    /// [`OpenError`] if the disk fails.
    fn save(&self, disk: &Database, closed_at: Option<Timestamp>) -> Result<(), OpenError> {
        let identity = serde_json::to_vec(&self.identity)
            .map_err(|e| OpenError::Broken(format!("cannot encode the crawl's identity: {e}")))?;
        let mut batch = Batch::default();
        batch.put(Family::Meta, META_CRAWL, &identity);
        let closed_at = closed_at.map(|at| at.0.to_be_bytes());
        batch.change(Family::Meta, META_CLOSED, closed_at.as_ref().map(<[u8; 8]>::as_slice));
        Ok(disk.commit(&batch)?)
    }

    /// Writes `crawl.toml` completely or not at all, also if the power is cut.
    ///
    /// # Errors
    /// [`OpenError`] if the disk fails.
    pub fn write_settings(&self, settings: &Settings) -> Result<(), OpenError> {
        let path = self.dir.join(SETTINGS_FILE);
        let text = format!(
            "# The settings of the crawl in this directory, as of its last run.\n{}",
            settings.to_toml()
        );
        replace_file(&path, text.as_bytes()).map_err(|error| OpenError::write(&path, error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::config::AssignBy;
    use std::os::unix::fs::PermissionsExt;
    use tempfile::{TempDir, tempdir};

    fn open(dir: &Path, cluster: Option<(&str, IdentityKey)>) -> Result<CrawlDir, OpenError> {
        let owner = cluster.map(|crawl| DirOwner { crawl: Some(crawl), disk_id: 5 });
        let opened = CrawlDir::open(dir, &Settings::default(), Timestamp::from_secs(1), owner);
        opened.map(|(home, disk)| {
            disk.close();
            home
        })
    }

    fn error(dir: &Path, cluster: Option<(&str, IdentityKey)>) -> String {
        open(dir, cluster).expect_err("the directory is refused").to_string()
    }

    fn begun() -> (TempDir, CrawlDir) {
        let dir = tempdir().unwrap();
        let home = open(&dir.path().join("crawl"), None).unwrap();
        (dir, home)
    }

    #[test]
    fn a_crawl_keeps_its_own_key_in_a_private_directory() {
        let (_dir, first) = begun();
        let (_dir, second) = begun();
        assert!(first.identity_key != second.identity_key, "two crawls have one key");
        let again = open(&first.dir, None).unwrap();
        assert!(again.resumed && again.identity_key == first.identity_key);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&first.dir.join(IDENTITY_KEY_FILE)), 0o600);
        for inner in ["", "state", "warc"] {
            assert_eq!(mode(&first.dir.join(inner)), 0o700, "{inner:?}");
        }
        let (shown, key) = (format!("{first:?}"), format!("{:?}", first.identity_key.to_bytes()));
        assert!(shown.contains("IdentityKey") && !shown.contains(&key), "{shown}");
        let (_, hasher, disk) = open_read_only(&first.dir).unwrap();
        disk.close();
        let ours = KeyedHasher::new(first.identity_key, AssignBy::Domain);
        assert_eq!(hasher.host_key("a.test"), ours.host_key("a.test"));
        let theirs = KeyedHasher::new(second.identity_key, AssignBy::Domain);
        assert_ne!(theirs.host_key("a.test"), ours.host_key("a.test"));
    }

    #[test]
    fn a_key_that_is_missing_or_damaged_or_another_one_is_refused() {
        let (_dir, home) = begun();
        let (_other_dir, other) = begun();
        let path = home.dir.join(IDENTITY_KEY_FILE);
        let whole = fs::read(&path).unwrap();
        let expect = |what: &str| {
            let opened = error(&home.dir, None);
            let read = open_read_only(&home.dir)
                .map(drop)
                .expect_err("the directory is refused")
                .to_string();
            for error in [opened, read] {
                assert!(error.contains(what) && error.contains("copy the file"), "{error}");
                assert!(error.contains("nothing was changed"), "{error}");
            }
        };
        fs::remove_file(&path).unwrap();
        expect("identity.key is missing");
        fs::write(&path, &whole[1..]).unwrap();
        expect("identity.key is damaged");
        fs::copy(other.dir.join(IDENTITY_KEY_FILE), &path).unwrap();
        expect("is the key of crawl");
        fs::write(&path, &whole).unwrap();
        assert!(open(&home.dir, None).unwrap().resumed);
    }

    #[test]
    fn an_agent_of_another_crawl_or_with_another_key_is_refused() {
        let dir = tempdir().unwrap();
        let (id, key) = ("0123456789abcdef", IdentityKey::from_bytes([5; 16]));
        assert!(!open(dir.path(), Some((id, key))).unwrap().resumed);
        assert!(open(dir.path(), Some((id, key))).unwrap().resumed);
        let other = IdentityKey::from_bytes([6; 16]);
        for cluster in [(id, other), ("fedcba9876543210", key)] {
            let error = error(dir.path(), Some(cluster));
            assert!(error.contains("holds another crawl"), "{error}");
        }
    }

    #[test]
    fn the_key_of_another_crawl_is_not_overwritten() {
        let dir = tempdir().unwrap();
        let key = IdentityKey::from_bytes([5; 16]);
        key.write(dir.path(), "fedcba9876543210").unwrap();
        let error = error(dir.path(), None);
        assert!(error.contains("identity.key of another crawl"), "{error}");
        assert_eq!(IdentityKey::read(dir.path(), "fedcba9876543210").unwrap(), key);
        // An agent stores the key before it begins the crawl.
        assert!(!open(dir.path(), Some(("fedcba9876543210", key))).unwrap().resumed);
    }
}
