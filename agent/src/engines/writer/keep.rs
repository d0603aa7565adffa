//! Keeping of the archive: begins its periods, and deletes the files of those that are over.

use super::archive_periods::ArchiveFiles;
use crate::engines::writer::{Writer, WriterError};
use crivello_archive::ArchiveError;
use crivello_common::config::Archive;
use crivello_common::time::Timestamp;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Time between two checks of the files.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl Writer {
    /// Begins the next period of the archive if it is due, and deletes files that need not be kept.
    pub(super) fn keep_archive(&mut self, now: Timestamp) -> Result<(), WriterError> {
        let settings = self.shared.live.latest();
        let keep = &settings.live.archive;
        if *keep == Archive::default() {
            self.stores.archive.periods.stop_withholding();
        } else if now.since(self.archive_checked_at) >= CHECK_INTERVAL {
            self.archive_checked_at = now;
            if let Err(error) = self.update_periods(keep, now)? {
                if !std::mem::replace(&mut self.stores.archive.is_reported, true) {
                    tracing::warn!(%error, "old archive files cannot be deleted; trying again");
                }
            } else {
                self.stores.archive.is_reported = false;
            }
        }
        self.publish_oldest_original(keep);
        Ok(())
    }

    /// Seals the last file if an earlier run has uploaded it: it must not change.
    pub(super) fn seal_uploaded_file(&mut self) -> Result<(), WriterError> {
        let last = self.stores.archive.writer.last_file();
        if last.is_some_and(|last| self.stores.uploaded.binary_search(&last).is_ok()) {
            self.retry_until_space(|this| Ok(this.stores.archive.writer.seal()?))?;
        }
        Ok(())
    }

    /// Publishes which archive files are missing, because somebody has deleted them, and not because they are stored
    /// elsewhere: a 304 must not refer to them.
    pub(super) fn publish_missing_files(&self) {
        let uploaded = &self.stores.uploaded;
        match self.stores.archive.writer.missing_files() {
            Ok(mut missing) => {
                missing.retain(|file| uploaded.binary_search(file).is_err());
                self.stores.duplicates.oldest_original().set_missing(missing);
            }
            Err(error) => tracing::warn!(%error, "cannot list the archive files"),
        }
    }

    /// Publishes the captures to which new revisits may refer.
    pub(super) fn publish_oldest_original(&self, keep: &Archive) {
        let periods = &self.stores.archive.periods;
        let is_limited = *keep != Archive::default();
        // From the first period on, revisits do not refer to archives of other agents.
        let least = if is_limited { Timestamp(1) } else { Timestamp::ZERO };
        let at = periods.oldest_original().max(least);
        self.stores.duplicates.oldest_original().set(at, periods.first_current());
    }

    /// Deletes old files, and begins the next period if it is due. The inner result is the error of listing
    /// or deleting files.
    fn update_periods(
        &mut self,
        keep: &Archive,
        now: Timestamp,
    ) -> Result<Result<(), ArchiveError>, WriterError> {
        let archive = &mut self.stores.archive;
        let sizes = match keep.keep_size.0 {
            0 => BTreeMap::new(),
            _ => match archive.writer.file_sizes() {
                Ok(sizes) => sizes,
                Err(error) => return Ok(Err(error)),
            },
        };
        // Requests that began before references were withheld end within this time.
        let wait = self.shared.settings.fetch.total_timeout;
        let files = ArchiveFiles { sizes: &sizes, last: archive.writer.last_file() };
        archive.periods.drop_old(now, keep, wait, files);
        let deleted = archive.delete_dropped().map(|files| {
            self.shared.measured.archive_files_deleted.fetch_add(files as u64, Relaxed);
        });
        if archive.periods.is_next_due(now, keep, wait, files) {
            let first = self
                .retry_until_space(|this| Ok(this.stores.archive.writer.start_new_file(now)?))?;
            self.stores.archive.periods.begin(first, now);
        }
        Ok(deleted)
    }
}
