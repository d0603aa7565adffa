//! Directory of a crawl: its identity, and the checks when it is opened.
//!
//! ```text
//! DIR/crawl.toml   the settings in force, all of them; written when a run begins
//! DIR/state/       the database (one RocksDB)
//! DIR/warc/        the archive
//! ```
//! A crawl has begun once `crawl.toml` exists. It is written last, and `crawl.toml.new` first: a
//! directory that a kill left unfinished is recognized, and begun again.

use crate::storage::{Batch, Database, DiskError, Family, OpenError};
use crivello_common::config::{NEW_SETTINGS_FILE, SETTINGS_FILE, Settings};
use crivello_common::runtime::replace_file;
use crivello_common::time::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Version of the format on disk; raised with every change that older builds cannot read.
const FORMAT: u32 = 4;
const META_CRAWL: &[u8] = b"crawl";
const META_CLOSED: &[u8] = b"closed";
/// Key in `meta`, present once all seeds of a run are stored.
pub const META_SEEDED: &[u8] = b"seeded";

/// Identity of a crawl, stored in `meta`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// The version of the format on disk.
    pub format: u32,
    /// Id that is drawn when the crawl begins: 16 hexadecimal digits.
    pub crawl_id: String,
    /// Time at which the crawl began.
    pub begun: String,
    /// Settings that must not change: [`Settings::fingerprint_text`].
    pub meaning: String,
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
    pub identity: Identity,
}

fn refused(why: impl Into<String>) -> OpenError {
    OpenError::Refused(why.into())
}

/// Opens the directory of a crawl that is not running for reading; changes nothing.
///
/// # Errors
/// [`OpenError::Refused`] if there is no crawl or it is running; another error if the state is
/// damaged.
pub fn look_into(dir: &Path) -> Result<(Settings, Database), OpenError> {
    let path = dir.join(SETTINGS_FILE);
    let text = fs::read_to_string(&path).map_err(|e| {
        refused(format!("{} holds no crawl: {}: {e}", dir.display(), path.display()))
    })?;
    let settings = Settings::from_toml(&path.display().to_string(), &text)
        .map_err(|errors| OpenError::Broken(errors.to_string()))?;
    match Database::look_into(&dir.join("state"), &settings.fixed.state) {
        Ok(disk) => Ok((settings, disk)),
        Err(DiskError::InUse { .. }) => Err(refused(format!(
            "the crawl in {} is running: stop it first, or query its coordinator with \
             --coordinator",
            dir.display()
        ))),
        Err(error) => Err(error.into()),
    }
}

impl CrawlDir {
    /// Returns true if the last run was killed.
    #[must_use]
    pub const fn is_unclean(&self) -> bool {
        self.resumed && self.closed_at.is_none()
    }

    /// Opens the crawl in `dir`, or begins one there. An existing one is only read;
    /// [`Self::take_over`] changes it. `crawl_id` is the id of a cluster's crawl; without it, an id
    /// is drawn when the crawl begins.
    ///
    /// # Errors
    /// [`OpenError::Refused`] if the directory contains something else, or another crawl by its
    /// settings or id; another error if the state is damaged or the disk fails.
    pub fn open(
        dir: &Path,
        settings: &Settings,
        now: Timestamp,
        crawl_id: Option<&str>,
    ) -> Result<(Self, Database), OpenError> {
        if dir.join(SETTINGS_FILE).exists() {
            let (home, disk) = Self::resume(dir, settings)?;
            if crawl_id.is_some_and(|id| id != home.identity.crawl_id) {
                return Err(refused(format!(
                    "{} holds another crawl (begun {}); choose another directory",
                    dir.display(),
                    home.identity.begun
                )));
            }
            return Ok((home, disk));
        }
        let drawn = || format!("{:016x}", uuid::Uuid::new_v4().as_u64_pair().0);
        Self::begin(dir, settings, now, crawl_id.map_or_else(drawn, str::to_owned))
    }

    fn begin(
        dir: &Path,
        settings: &Settings,
        now: Timestamp,
        crawl_id: String,
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
        fs::create_dir_all(dir)
            .and_then(|()| fs::write(dir.join(NEW_SETTINGS_FILE), ""))
            .and_then(|()| fs::create_dir_all(dir.join("warc")))
            .map_err(|e| {
                let dir = dir.display();
                refused(format!("cannot create the directory {dir}: {e}; choose another --out"))
            })?;
        let disk = Database::open(&dir.join("state"), true, &settings.fixed.state)?;
        let identity = Identity {
            format: FORMAT,
            crawl_id,
            begun: now.to_string(),
            meaning: settings.fingerprint_text(),
        };
        let home =
            Self { dir: dir.to_owned(), resumed: false, closed_at: None, seeded: false, identity };
        home.keep(&disk, None)?;
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
        let damaged = |what: &str| {
            OpenError::Broken(format!(
                "the state in {} {what}; nothing was changed",
                state.display()
            ))
        };
        let value = disk.get(Family::Meta, META_CRAWL)?;
        let value = value.ok_or_else(|| damaged("has no crawl id: it is damaged"))?;
        let identity: Identity = serde_json::from_slice(&value)
            .map_err(|e| damaged(&format!("has a crawl id that cannot be read ({e})")))?;
        if identity.format != FORMAT {
            return Err(refused(format!(
                "the crawl in {} has format {}, this build reads format {FORMAT}",
                dir.display(),
                identity.format
            )));
        }
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
        let home = Self { dir: dir.to_owned(), resumed: true, closed_at, seeded, identity };
        Ok((home, disk))
    }

    /// Starts the run of a resumed crawl: removes the mark of an orderly end, and writes these
    /// settings.
    ///
    /// # Errors
    /// [`OpenError`] if the disk fails.
    pub fn take_over(&self, disk: &Database, settings: &Settings) -> Result<(), OpenError> {
        if self.resumed {
            self.keep(disk, None)?;
            self.write_settings(settings)?;
        }
        Ok(())
    }

    /// Stores the identity, and the time at which the state was closed in an orderly way.
    ///
    /// # Errors
    /// [`OpenError`] if the disk fails.
    pub fn keep(&self, disk: &Database, closed_at: Option<Timestamp>) -> Result<(), OpenError> {
        let identity = serde_json::to_vec(&self.identity)
            .map_err(|e| OpenError::Broken(format!("cannot encode the crawl's identity: {e}")))?;
        let mut batch = Batch::default();
        disk.put(&mut batch, Family::Meta, META_CRAWL, &identity);
        match closed_at {
            Some(at) => disk.put(&mut batch, Family::Meta, META_CLOSED, &at.0.to_be_bytes()),
            None => disk.delete(&mut batch, Family::Meta, META_CLOSED),
        }
        Ok(disk.commit(&batch)?)
    }

    /// Writes `crawl.toml` completely or not at all, also if the power is cut.
    fn write_settings(&self, settings: &Settings) -> Result<(), OpenError> {
        let path = self.dir.join(SETTINGS_FILE);
        let text = format!(
            "# The settings of the crawl in this directory, as of its last run.\n{}",
            settings.to_toml()
        );
        replace_file(&path, text.as_bytes())
            .map_err(|e| OpenError::Broken(format!("{} cannot be written: {e}", path.display())))
    }
}
