//! One WARC file with its index, open for writing.
//!
//! Bytes are written at the end of the complete records. Remains of a failed write lie beyond that
//! end and are cut off before the next write. While the file grows, its index is
//! `<stem>.cdxj.part`, in the order of writing. Finishing sorts it to `<stem>.cdxj`:
//!
//! 1. the sorted lines are written to `<stem>.cdxj.tmp`, which is synced;
//! 2. that file is renamed `<stem>.cdxj`: the index is now finished;
//! 3. `<stem>.cdxj.part` is removed.
//!
//! After a crash between any two steps, opening chooses the valid file.

use super::io;
use super::position::ArchivePosition;
use crate::error::ArchiveError;
use crate::format::file_names::{FileStem, INDEX, PART, SCRATCH};
use crate::index::sort::sort_lines;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Number of bytes of index lines that are sorted in memory at once. Longer indexes are sorted in
/// runs, which are merged.
const SORT_BYTES: usize = 16 << 20;

/// The file that is being written.
pub(crate) struct Segment {
    pub(crate) stem: FileStem,
    pub(crate) file_name: String,
    dir: PathBuf,
    warc: GrowingFile,
    index: GrowingFile,
}

impl Segment {
    /// Creates a file with its first record. On failure, no file remains.
    pub(crate) fn begin(
        dir: &Path,
        stem: FileStem,
        file_name: &str,
        first: &[u8],
    ) -> Result<Self, ArchiveError> {
        let paths = [dir.join(file_name), stem.path(dir, PART)];
        let created = Self::create(dir, stem, file_name, first);
        if created.is_err() {
            for path in &paths {
                io::remove(path)?;
            }
        }
        created
    }

    fn create(
        dir: &Path,
        stem: FileStem,
        file_name: &str,
        first: &[u8],
    ) -> Result<Self, ArchiveError> {
        let warc = GrowingFile::create(dir.join(file_name))?;
        let index = GrowingFile::create(stem.path(dir, PART))?;
        let mut segment = Self::new(dir, stem, file_name, warc, index);
        segment.append(first, &[])?;
        io::sync_dir(dir)?;
        Ok(segment)
    }

    /// Opens a file whose index is not finished, and truncates both to the committed lengths.
    pub(crate) fn reopen(
        dir: &Path,
        stem: FileStem,
        at: &ArchivePosition,
    ) -> Result<Self, ArchiveError> {
        let warc = GrowingFile::reopen(dir.join(&at.file), at.warc_len)?;
        let index = GrowingFile::reopen(stem.path(dir, PART), at.index_len)?;
        Ok(Self::new(dir, stem, &at.file, warc, index))
    }

    fn new(
        dir: &Path,
        stem: FileStem,
        file_name: &str,
        warc: GrowingFile,
        index: GrowingFile,
    ) -> Self {
        Self { file_name: file_name.to_owned(), dir: dir.to_owned(), stem, warc, index }
    }

    /// Appends whole records and their index lines, all of them or none.
    pub(crate) fn append(&mut self, records: &[u8], lines: &[u8]) -> Result<(), ArchiveError> {
        self.warc.write(records)?;
        self.index.write(lines)?;
        self.warc.written(records.len());
        self.index.written(lines.len());
        Ok(())
    }

    /// Cuts off the remains of a failed append.
    pub(crate) fn truncate_tail(&mut self) -> Result<(), ArchiveError> {
        self.warc.truncate_tail()?;
        self.index.truncate_tail()
    }

    pub(crate) const fn warc_len(&self) -> u64 {
        self.warc.len
    }

    pub(crate) fn position(&self) -> ArchivePosition {
        ArchivePosition {
            file: self.file_name.clone(),
            warc_len: self.warc.len,
            index_len: self.index.len,
        }
    }

    /// Syncs all appended data. Costs nothing if there is none.
    pub(crate) fn sync(&mut self) -> Result<(), ArchiveError> {
        self.warc.sync()?;
        self.index.sync()
    }

    /// Syncs the file and sorts its index. May be retried after a failure.
    pub(crate) fn finish(&mut self) -> Result<(), ArchiveError> {
        self.truncate_tail()?;
        self.sync()?;
        finish_index(&self.dir, &self.stem)
    }
}

/// Sorts the index of a file and replaces the unsorted one.
pub(crate) fn finish_index(dir: &Path, stem: &FileStem) -> Result<(), ArchiveError> {
    let (part, scratch) = (stem.path(dir, PART), stem.path(dir, SCRATCH));
    sort_lines(&part, &scratch, SORT_BYTES)?;
    io::sync(&io::open_existing(&scratch)?, &scratch)?;
    io::rename(&scratch, &stem.path(dir, INDEX))?;
    io::remove(&part)?;
    io::sync_dir(dir)
}

/// A file whose first `len` bytes are complete.
struct GrowingFile {
    file: File,
    path: PathBuf,
    len: u64,
    /// True if there may be bytes beyond `len`.
    torn: bool,
    synced: bool,
}

impl GrowingFile {
    fn create(path: PathBuf) -> Result<Self, ArchiveError> {
        Ok(Self { file: io::create(&path)?, path, len: 0, torn: false, synced: false })
    }

    /// Opens a file that has at least `len` bytes, and truncates it to `len`.
    fn reopen(path: PathBuf, len: u64) -> Result<Self, ArchiveError> {
        let file = io::open_existing(&path)?;
        let mut file = Self { file, path, len, torn: true, synced: false };
        file.truncate_tail()?;
        Ok(file)
    }

    /// Writes beyond `len`. [`Self::written`] then adds the bytes to `len`.
    fn write(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.truncate_tail()?;
        (self.torn, self.synced) = (true, false);
        io::write_at(&self.file, &self.path, bytes, self.len)
    }

    fn written(&mut self, bytes: usize) {
        self.len += bytes as u64;
        self.torn = false;
    }

    fn truncate_tail(&mut self) -> Result<(), ArchiveError> {
        if self.torn {
            io::truncate(&self.file, &self.path, self.len)?;
            (self.torn, self.synced) = (false, false);
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), ArchiveError> {
        if !self.synced {
            io::sync(&self.file, &self.path)?;
            self.synced = true;
        }
        Ok(())
    }
}
