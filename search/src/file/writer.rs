//! Writing a file of sections.

use super::{FORMAT_VERSION, FileKind, MAGIC, PAGE, SECTIONS_MAX};
use crate::error::IndexError;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 16;

/// A file that is being written. It is whole only after [`Self::finish`].
pub(crate) struct CheckedFileWriter {
    path: PathBuf,
    file: File,
    kind: FileKind,
    /// Bytes not written yet; a multiple of pages was taken from it.
    buffer: Vec<u8>,
    /// Length of all sections, with `buffer`.
    length: u64,
    checksums: Vec<u8>,
    sections: Vec<(u64, u64)>,
}

impl CheckedFileWriter {
    /// Creates a file with one section, which is empty.
    pub(crate) fn create(path: &Path, kind: FileKind) -> Result<Self, IndexError> {
        let file = File::create(path).map_err(IndexError::io(path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            kind,
            buffer: Vec::with_capacity(BUFFER),
            length: 0,
            checksums: Vec::new(),
            sections: vec![(0, 0)],
        })
    }

    /// Appends bytes to the section.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), IndexError> {
        self.buffer.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
        if self.buffer.len() >= BUFFER {
            self.flush(self.buffer.len() / PAGE * PAGE)
        } else {
            Ok(())
        }
    }

    /// Returns the length of the section.
    pub(crate) fn position(&self) -> u64 {
        self.length - self.sections.last().map_or(0, |(start, _)| *start)
    }

    /// Ends the section, and starts the next one.
    pub(crate) fn next_section(&mut self) {
        self.end_section();
        self.sections.push((self.length, 0));
        debug_assert!(self.sections.len() <= SECTIONS_MAX);
    }

    fn end_section(&mut self) {
        if let Some((start, length)) = self.sections.last_mut() {
            *length = self.length - *start;
        }
    }

    fn flush(&mut self, n: usize) -> Result<(), IndexError> {
        for page in self.buffer[..n].chunks(PAGE) {
            self.checksums.extend_from_slice(&xxh3_64(page).to_le_bytes());
        }
        self.file.write_all(&self.buffer[..n]).map_err(IndexError::io(&self.path))?;
        self.buffer.drain(..n);
        Ok(())
    }

    /// Writes the checksums and the footer, and syncs the file. Returns its length in bytes.
    pub(crate) fn finish(mut self) -> Result<u64, IndexError> {
        self.end_section();
        self.flush(self.buffer.len())?;
        let mut end = std::mem::take(&mut self.checksums);
        let of_checksums = xxh3_64(&end);
        let start = end.len();
        end.extend((self.sections.len() as u32).to_le_bytes());
        for (offset, length) in &self.sections {
            end.extend(offset.to_le_bytes());
            end.extend(length.to_le_bytes());
        }
        end.extend(self.length.to_le_bytes());
        end.extend(of_checksums.to_le_bytes());
        end.extend((self.kind as u32).to_le_bytes());
        end.extend(FORMAT_VERSION.to_le_bytes());
        let footer = end.len() - start;
        end.extend((footer as u32).to_le_bytes());
        let of_footer = xxh3_64(&end[start..]);
        end.extend(of_footer.to_le_bytes());
        end.extend(MAGIC);
        let io = |result: std::io::Result<()>| result.map_err(IndexError::io(&self.path));
        io(self.file.write_all(&end))?;
        io(self.file.sync_all())?;
        Ok(self.length + end.len() as u64)
    }
}
