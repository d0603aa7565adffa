//! Keeping of the archive: begins its periods, and deletes the files of those that are over.

use super::archive_periods::ArchiveFiles;
use crate::engines::writer::{Writer, WriterError};
use crivello_common::config::Archive;
use crivello_common::time::Timestamp;
use std::time::Duration;

/// Pause between two looks at the files.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Writer {
    /// Begins the next period of the archive if it is due, and deletes files that need not be kept.
    pub(super) fn keep_archive(&mut self, now: Timestamp) -> Result<(), WriterError> {
        let keep = &self.shared.live.latest().live.archive;
        if *keep == Archive::default() || now.since(self.archive_checked_at) < LOOK_EVERY {
            return Ok(());
        }
        self.archive_checked_at = now;
        let sizes = self.stores.archive.writer.file_sizes()?;
        let files = ArchiveFiles { sizes: &sizes, last: self.stores.archive.writer.last_file() };
        // Requests that began before references were withheld end within this time.
        let wait = self.shared.settings.fetch.total_timeout;
        if self.stores.archive.periods.is_next_due(now, keep, wait, files) {
            let first =
                self.retry_until_space(|this| Ok(this.stores.archive.writer.start_new_file()?))?;
            self.stores.archive.periods.begin(first, now);
        }
        let periods = &mut self.stores.archive.periods;
        periods.drop_old(now, keep, files);
        self.stores.duplicates.oldest_original().set(periods.oldest_original());
        let first = periods.first_kept();
        let deleted = self.stores.archive.writer.delete_before(first)?;
        if deleted > 0 {
            let bytes: u64 = sizes.range(..first).map(|(_, bytes)| bytes).sum();
            tracing::info!(
                files = deleted,
                bytes,
                "deleted the oldest archive files (archive.keep-age, archive.keep-size)"
            );
        }
        Ok(())
    }
}
