//! One WARC file with its index, open for writing.
//!
//! Bytes go to fixed offsets at the end of what is complete; whatever a failed write left behind
//! lies beyond that end and is cut off before the next one. While the file grows its index lies
//! in `<stem>.cdxj.part`, in the order of writing; finishing sorts it into `<stem>.cdxj`:
//!
//! 1. the sorted lines go to `<stem>.cdxj.tmp`, which is synced;
//! 2. that is renamed `<stem>.cdxj`: from here on the index is finished;
//! 3. `<stem>.cdxj.part` is removed.
//!
//! A crash between any two leaves files of which opening takes the one that counts.

use super::disk;
use super::error::Error;
use super::names::{INDEX, PART, SCRATCH, Stem, WARC};
use super::position::Position;
use super::sorting::sort_lines;
use crate::limits::INDEX_RUN_BYTES;
use std::fs::File;
use std::path::{Path, PathBuf};

/// The file that is being written.
pub(super) struct Segment {
    pub(super) stem: Stem,
    pub(super) file_name: String,
    dir: PathBuf,
    warc: Growing,
    index: Growing,
}

impl Segment {
    /// Begins a file with its first record. When that fails nothing is left of it.
    pub(super) fn begin(dir: &Path, stem: Stem, first: &[u8]) -> Result<Self, Error> {
        let paths = [stem.path(dir, WARC), stem.path(dir, PART)];
        let begun = Self::create(dir, stem, first);
        if begun.is_err() {
            for path in &paths {
                disk::remove(path)?;
            }
        }
        begun
    }

    fn create(dir: &Path, stem: Stem, first: &[u8]) -> Result<Self, Error> {
        let warc = Growing::create(stem.path(dir, WARC))?;
        let index = Growing::create(stem.path(dir, PART))?;
        let mut segment = Self::new(dir, stem, warc, index);
        segment.append(first, &[])?;
        disk::sync_dir(dir)?;
        Ok(segment)
    }

    /// Goes on with a file whose index is a part, cutting both back to the recorded lengths.
    pub(super) fn reopen(dir: &Path, stem: Stem, at: &Position) -> Result<Self, Error> {
        let warc = Growing::reopen(stem.path(dir, WARC), at.warc_len)?;
        let index = Growing::reopen(stem.path(dir, PART), at.index_len)?;
        Ok(Self::new(dir, stem, warc, index))
    }

    fn new(dir: &Path, stem: Stem, warc: Growing, index: Growing) -> Self {
        Self { file_name: stem.file_name(WARC), dir: dir.to_owned(), stem, warc, index }
    }

    /// Appends whole records and their index lines: all of them, or none.
    pub(super) fn append(&mut self, records: &[u8], lines: &[u8]) -> Result<(), Error> {
        self.warc.write(records)?;
        self.index.write(lines)?;
        self.warc.keep(records.len());
        self.index.keep(lines.len());
        Ok(())
    }

    /// Cuts off what a failed append left behind.
    pub(super) fn mend(&mut self) -> Result<(), Error> {
        self.warc.mend()?;
        self.index.mend()
    }

    pub(super) const fn warc_len(&self) -> u64 {
        self.warc.len
    }

    pub(super) fn position(&self) -> Position {
        Position {
            file: self.file_name.clone(),
            warc_len: self.warc.len,
            index_len: self.index.len,
        }
    }

    /// All that was appended outlives a power cut; costs nothing when nothing was.
    pub(super) fn sync(&mut self) -> Result<(), Error> {
        self.warc.sync()?;
        self.index.sync()
    }

    /// Syncs the file and turns its part into a sorted index. When it fails it may be tried again.
    pub(super) fn finish(&mut self) -> Result<(), Error> {
        self.mend()?;
        self.sync()?;
        finish_index(&self.dir, &self.stem)
    }
}

/// Sorts the part of a file into its index.
pub(super) fn finish_index(dir: &Path, stem: &Stem) -> Result<(), Error> {
    let (part, scratch) = (stem.path(dir, PART), stem.path(dir, SCRATCH));
    sort_lines(&part, &scratch, INDEX_RUN_BYTES)?;
    disk::sync(&disk::open_existing(&scratch)?, &scratch)?;
    disk::rename(&scratch, &stem.path(dir, INDEX))?;
    disk::remove(&part)?;
    disk::sync_dir(dir)
}

/// A file with a known good length.
struct Growing {
    file: File,
    path: PathBuf,
    len: u64,
    torn: bool,
    synced: bool,
}

impl Growing {
    fn create(path: PathBuf) -> Result<Self, Error> {
        Ok(Self { file: disk::create(&path)?, path, len: 0, torn: false, synced: false })
    }

    /// The file is known to be at least that long.
    fn reopen(path: PathBuf, len: u64) -> Result<Self, Error> {
        let file = disk::open_existing(&path)?;
        let mut growing = Self { file, path, len, torn: true, synced: false };
        growing.mend()?;
        Ok(growing)
    }

    /// Writes beyond the good length; [`Self::keep`] makes it part of that.
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.mend()?;
        (self.torn, self.synced) = (true, false);
        disk::write_at(&self.file, &self.path, bytes, self.len)
    }

    fn keep(&mut self, written: usize) {
        self.len += written as u64;
        self.torn = false;
    }

    fn mend(&mut self) -> Result<(), Error> {
        if self.torn {
            disk::truncate(&self.file, &self.path, self.len)?;
            (self.torn, self.synced) = (false, false);
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Error> {
        if !self.synced {
            disk::sync(&self.file, &self.path)?;
            self.synced = true;
        }
        Ok(())
    }
}
