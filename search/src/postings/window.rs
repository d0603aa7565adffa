//! A part of a file in memory, which moves ahead with what is read.

use crate::error::IndexError;
use crate::file::{CheckedBytes, CheckedFile};
use std::ops::Range;

/// Bytes of the first section of a file.
pub(super) struct Window<'s> {
    file: &'s CheckedFile,
    bytes: CheckedBytes,
}

impl<'s> Window<'s> {
    /// Returns a window over a file.
    pub(super) fn new(file: &'s CheckedFile) -> Self {
        Self { file, bytes: CheckedBytes::none() }
    }

    /// Returns bytes of the file.
    #[inline]
    pub(super) fn read(&mut self, range: Range<u64>) -> Result<&[u8], IndexError> {
        if self.bytes.get(&range).is_none() {
            self.bytes = self.file.bytes_of(0, &range)?;
        }
        self.bytes.get(&range).ok_or_else(|| self.file.damaged("a posting list"))
    }

    /// Returns the error of damage in the file.
    pub(super) fn damaged(&self, what: &'static str) -> IndexError {
        self.file.damaged(what)
    }
}
