//! Archive of the writer: its position is in the state.

use super::WriterError;
use super::archive_periods::ArchivePeriods;
use super::kept_archive::KeptArchive;
use crate::crawldb::{META_ARCHIVE, META_ARCHIVE_PERIODS};
use crate::storage::crawl_dir::CrawlDir;
use crate::storage::{Batch, Database, DiskError, Family};
use crivello_archive::{ArchivePosition, ArchiveWriter, CrawlLabel};
use crivello_common::config::Settings;
use std::path::PathBuf;

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
    let end = writer.sync()?;
    if position.is_none() {
        // From now on, archive files without a position in the state are an inconsistency.
        let mut batch = Batch::default();
        batch.put(Family::Meta, META_ARCHIVE, &end.to_bytes());
        disk.commit(&batch)?;
        disk.sync()?;
    }
    Ok(KeptArchive::new(writer, periods(disk)?, end))
}

fn periods(disk: &Database) -> Result<ArchivePeriods, WriterError> {
    let Some(bytes) = disk.get(Family::Meta, META_ARCHIVE_PERIODS)? else {
        return Ok(ArchivePeriods::default());
    };
    let what = "the periods of the archive are malformed";
    let damaged = DiskError::Row { family: "meta", what };
    Ok(ArchivePeriods::decode(&bytes).ok_or(damaged)?)
}
