//! Archive of the writer: its position is in the state.

use super::WriterError;
use super::archive_periods::ArchivePeriods;
use crate::crawldb::{META_ARCHIVE, META_ARCHIVE_PERIODS};
use crate::storage::crawl_dir::CrawlDir;
use crate::storage::{Batch, Database, DiskError, Family};
use crivello_archive::{ArchiveError, ArchivePosition, ArchiveWriter, CrawlLabel};
use crivello_common::config::Settings;
use std::path::PathBuf;

/// The archive, and which of its files are kept.
pub struct KeptArchive {
    /// Writer of its files.
    pub writer: ArchiveWriter,
    /// Its periods.
    pub periods: ArchivePeriods,
    /// True if it was reported that old files cannot be deleted.
    pub is_reported: bool,
    /// Serial number before which the last commit needs no file; of the last synced commit; and before
    /// which all files are deleted.
    committed: u32,
    synced: u32,
    deleted: u32,
}

impl KeptArchive {
    /// Creates an archive with these periods.
    pub const fn new(writer: ArchiveWriter, periods: ArchivePeriods) -> Self {
        Self { writer, periods, is_reported: false, committed: 0, synced: 0, deleted: 0 }
    }

    /// Notes that a commit with the position and the periods is written.
    pub fn on_committed(&mut self) {
        self.committed = self.periods.first_kept().min(self.writer.last_file().unwrap_or(0));
    }

    /// Notes that the last commit is synced: after a power cut, no earlier position counts.
    pub const fn on_synced(&mut self) {
        self.synced = self.committed;
    }

    /// Deletes the files that no synced commit needs.
    ///
    /// # Errors
    /// [`ArchiveError::Io`]; may be repeated.
    pub fn delete_dropped(&mut self) -> Result<(), ArchiveError> {
        if self.synced > self.deleted {
            let files = self.writer.delete_before(self.synced)?;
            self.deleted = self.synced;
            if files > 0 {
                tracing::info!(
                    files,
                    "deleted the oldest archive files (archive.keep-age, archive.keep-size)"
                );
            }
        }
        Ok(())
    }
}

fn dir(home: &CrawlDir) -> PathBuf {
    home.dir.join("warc")
}

/// Returns the number of a crawl in the names of its files.
fn number(home: &CrawlDir) -> u32 {
    let digits = home.identity.crawl_id.get(..8);
    digits.and_then(|hex| u32::from_str_radix(hex, 16).ok()).unwrap_or_default()
}

fn position(disk: &Database) -> Result<Option<ArchivePosition>, WriterError> {
    let position = disk.get(Family::Meta, META_ARCHIVE)?;
    Ok(position.map(|bytes| ArchivePosition::from_bytes(&bytes)).transpose()?)
}

/// Checks that the archive is there and is not damaged. Changes nothing.
///
/// # Errors
/// [`WriterError`] otherwise.
pub fn check_archive(home: &CrawlDir, disk: &Database) -> Result<(), WriterError> {
    Ok(ArchiveWriter::check(&dir(home), position(disk)?.as_ref(), number(home))?)
}

/// Opens the archive at the position of the last commit.
///
/// # Errors
/// [`WriterError`] if it is missing or damaged, or the disk fails.
pub fn open_archive(
    home: &CrawlDir,
    disk: &Database,
    settings: &Settings,
) -> Result<KeptArchive, WriterError> {
    let position = position(disk)?;
    let label = CrawlLabel {
        id: number(home),
        contact: settings.fixed.identity.contact.clone(),
        settings_toml: settings.to_toml(),
    };
    let store = &settings.fixed.store;
    let mut writer = ArchiveWriter::open(&dir(home), position.as_ref(), store, label)?;
    if position.is_none() {
        // From now on, archive files without a position in the state are an inconsistency.
        let mut batch = Batch::default();
        batch.put(Family::Meta, META_ARCHIVE, &writer.sync()?.to_bytes());
        disk.commit(&batch)?;
        disk.sync()?;
    }
    Ok(KeptArchive::new(writer, periods(disk)?))
}

fn periods(disk: &Database) -> Result<ArchivePeriods, WriterError> {
    let Some(bytes) = disk.get(Family::Meta, META_ARCHIVE_PERIODS)? else {
        return Ok(ArchivePeriods::default());
    };
    let what = "the periods of the archive are malformed";
    let damaged = DiskError::Row { family: "meta", what };
    Ok(ArchivePeriods::decode(&bytes).ok_or(damaged)?)
}
