//! The coordinator's directory: what makes it that crawl's, and what may be opened there.
//!
//! ```text
//! DIR/crawl.toml      the settings in force, all of them
//! DIR/revision.toml   their number, see the page of the settings
//! DIR/journal         the members, see the journal's own page
//! DIR/lock            held by the coordinator that works here
//! ```
//! A crawl is begun once `crawl.toml` is there. It comes last; `crawl.toml.new` comes first, so
//! that what a kill left half made is known for that, and made anew.

use crate::journal::{Crawl, JOURNAL, Journal, JournalError, Opened, Record};
use crate::members::EPOCHS_A_STEP;
use crate::settings::Charter;
use crivello_common::config::{NEW_SETTINGS_FILE, SETTINGS_FILE, Settings, TypedSettings};
use crivello_common::time::Timestamp;
use crivello_common::view::View;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

/// Why a coordinator cannot begin, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// Mended by asking for something else; nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// Not so.
    #[error("{0}")]
    Broken(String),
}

impl CoordinatorError {
    /// Whether it is a mistake in what was asked for.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

impl From<JournalError> for CoordinatorError {
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Locked(_) => Self::Refused(error.to_string()),
            error => Self::Broken(error.to_string()),
        }
    }
}

/// An opened directory.
#[derive(Debug)]
pub(crate) struct Home {
    /// Its journal.
    pub(crate) journal: Journal,
    /// What it says, under an epoch of its own.
    pub(crate) record: Record,
    /// Whether there was a crawl.
    pub(crate) resumed: bool,
    /// Its settings.
    pub(crate) charter: Charter,
}

impl Home {
    /// Opens the crawl in `dir`, or begins one there.
    ///
    /// # Errors
    /// A refusal when the directory holds something else, a crawl of other settings, or another
    /// coordinator works there; a breakdown when it is damaged or the disk fails.
    pub(crate) fn open(
        dir: &Path,
        settings: &Settings,
        given: TypedSettings,
        now: Timestamp,
    ) -> Result<Self, CoordinatorError> {
        let shared = settings.check_shared();
        shared.map_err(|errors| CoordinatorError::Refused(errors.to_string()))?;
        let resumed = dir.join(SETTINGS_FILE).exists();
        let found = if resumed { resume(dir, settings)? } else { begin(dir, settings, now)? };
        let (mut journal, record) = found;
        let write = |error: io::Error| {
            CoordinatorError::Broken(format!("{} cannot be written: {error}", dir.display()))
        };
        journal.append(&record).map_err(write)?;
        let charter = Charter::open(dir, settings, given)?;
        Ok(Self { journal, record, resumed, charter })
    }
}

fn begin(
    dir: &Path,
    settings: &Settings,
    now: Timestamp,
) -> Result<(Journal, Record), CoordinatorError> {
    if dir.join(JOURNAL).exists() && !dir.join(NEW_SETTINGS_FILE).exists() {
        return Err(CoordinatorError::Refused(format!(
            "{} has a journal but no {SETTINGS_FILE}: it is not a crawl that can be resumed; choose another --data, or move it away",
            dir.display()
        )));
    }
    let made = fs::create_dir_all(dir).and_then(|()| fs::write(dir.join(NEW_SETTINGS_FILE), ""));
    made.map_err(|error| {
        let dir = dir.display();
        CoordinatorError::Refused(format!(
            "the directory {dir} cannot be made: {error}; choose another --data"
        ))
    })?;
    let Opened { journal, .. } = Journal::open(dir)?;
    let id = format!("{:016x}", uuid::Uuid::new_v4().as_u64_pair().0);
    let crawl = Crawl { id, begun: now.to_string(), meaning: settings.fingerprint_text() };
    let view = View { epoch: 1, ..View::default() };
    let (allowed, drains, lone) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    let record = Record { crawl, next_id: 1, view, allowed, drains, lone };
    Ok((journal, record))
}

fn resume(dir: &Path, settings: &Settings) -> Result<(Journal, Record), CoordinatorError> {
    if !dir.join(JOURNAL).exists() {
        let why = if dir.join("state").exists() {
            return Err(CoordinatorError::Refused(format!(
                "{} is the directory of an agent or of `crivello crawl`, not a coordinator's; choose another --data",
                dir.display()
            )));
        } else {
            "the journal is missing although a crawl was begun here; nothing was changed"
        };
        return Err(CoordinatorError::Broken(format!("{}: {why}", dir.display())));
    }
    let Opened { journal, last, cut } = Journal::open(dir)?;
    let mut record = last.ok_or_else(|| {
        CoordinatorError::Broken(format!("{}: the journal vanished", dir.display()))
    })?;
    let differences = settings.fingerprint_differences(&record.crawl.meaning);
    if !differences.is_empty() {
        let differences: Vec<String> = differences.iter().map(ToString::to_string).collect();
        return Err(CoordinatorError::Refused(format!(
            "{} holds another crawl (begun {}): {}; resume it without these settings, or choose another --data",
            dir.display(),
            record.crawl.begun,
            differences.join("; ")
        )));
    }
    // Epochs and ids go on beyond all that anyone can have heard of, even if what was cut off was
    // whole once.
    record.view.epoch += 1;
    if cut {
        record.view.epoch += EPOCHS_A_STEP;
        record.next_id = record.next_id.saturating_add(1);
        tracing::warn!("{}: an unfinished record was cut off", dir.join(JOURNAL).display());
    }
    Ok((journal, record))
}
