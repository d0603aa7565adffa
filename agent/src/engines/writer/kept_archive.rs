//! The archive of the writer: its files are deleted once no synced commit needs them.

use super::archive_periods::ArchivePeriods;
use crivello_archive::{ArchiveError, ArchivePosition, ArchiveWriter};

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
    /// End of the archive that the last commit covers.
    end: ArchivePosition,
}

impl KeptArchive {
    /// Creates an archive with these periods; the state has `end` as its end.
    pub const fn new(writer: ArchiveWriter, periods: ArchivePeriods, end: ArchivePosition) -> Self {
        Self { writer, periods, is_reported: false, committed: 0, synced: 0, deleted: 0, end }
    }

    /// Notes that a commit with this position and the periods is written.
    pub fn on_committed(&mut self, end: ArchivePosition) {
        self.end = end;
        self.committed = self.periods.first_kept().min(self.writer.last_file().unwrap_or(0));
    }

    /// Notes that the last commit is synced: after a power cut, no earlier position counts. Returns the end of
    /// the archive that it covers.
    pub const fn on_synced(&mut self) -> &ArchivePosition {
        self.synced = self.committed;
        &self.end
    }

    /// Deletes the files that no synced commit needs. Returns their number.
    ///
    /// # Errors
    /// [`ArchiveError::Io`]; may be repeated.
    pub fn delete_dropped(&mut self) -> Result<usize, ArchiveError> {
        if self.synced <= self.deleted {
            return Ok(0);
        }
        let files = self.writer.delete_before(self.synced)?;
        self.deleted = self.synced;
        if files > 0 {
            tracing::info!(
                files,
                "deleted the oldest archive files (archive.keep-age, archive.keep-size)"
            );
        }
        Ok(files)
    }
}
