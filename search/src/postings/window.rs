//! A part of a file in memory, which moves ahead with what is read.

use crate::error::IndexError;
use crate::file::CheckedFile;
use std::ops::Range;

/// Bytes behind the window up to which a read counts as the next one.
const NEAR: u64 = 1 << 14;
/// Bytes that are read at once while reads follow one another.
const READ_AHEAD: u64 = 1 << 15;
/// Bytes that the first read has at least: a short list is read at once.
const FIRST: u64 = 1 << 12;

/// Bytes of the first section of a file.
pub(super) struct Window<'s> {
    file: &'s CheckedFile,
    bytes: Vec<u8>,
    start: u64,
    /// End of what may be read ahead.
    end: u64,
}

impl<'s> Window<'s> {
    /// Returns a window over a part of the file.
    pub(super) const fn new(file: &'s CheckedFile, part: Range<u64>) -> Self {
        Self { file, bytes: Vec::new(), start: part.start, end: part.end }
    }

    /// Returns bytes of the file.
    pub(super) fn read(&mut self, range: Range<u64>) -> Result<&[u8], IndexError> {
        let window_end = self.start + self.bytes.len() as u64;
        if range.start < self.start || range.end > window_end {
            let ahead = match () {
                () if self.bytes.is_empty() => FIRST,
                () if range.start >= self.start && range.start <= window_end + NEAR => READ_AHEAD,
                () => 0,
            };
            let ahead = range.start.saturating_add(ahead).min(self.end);
            // What failed to be read is in no window.
            self.start = range.start;
            self.bytes.clear();
            self.file.read(0, range.start..range.end.max(ahead), &mut self.bytes)?;
        }
        let at = |offset: u64| (offset - self.start) as usize;
        Ok(&self.bytes[at(range.start)..at(range.end)])
    }

    /// Returns the error of damage in the file.
    pub(super) fn damaged(&self, what: &'static str) -> IndexError {
        self.file.damaged(what)
    }
}
