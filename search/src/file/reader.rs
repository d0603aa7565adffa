//! Reading a file of sections.

use super::{FORMAT_VERSION, FileKind, MAGIC, PAGE, SECTIONS_MAX, TAIL};
use crate::error::IndexError;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_64;

/// A whole file. Its checksums of pages are in memory: 8 bytes for 4096.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    path: PathBuf,
    file: File,
    checksums: Vec<u64>,
    /// Offset and length of each section.
    sections: Vec<(u64, u64)>,
    /// Length of all sections.
    length: u64,
}

/// A reader of the integers of a footer.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn u32(&mut self) -> Option<u32> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*bytes))
    }

    fn u64(&mut self) -> Option<u64> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*bytes))
    }
}

impl CheckedFile {
    /// Opens a file, and checks its footer.
    pub(crate) fn open(path: &Path, kind: FileKind, sections: usize) -> Result<Self, IndexError> {
        let damaged = |what| IndexError::damaged(path, what);
        let file = File::open(path).map_err(IndexError::io(path))?;
        let file_length = file.metadata().map_err(IndexError::io(path))?.len();
        let before_tail = file_length.checked_sub(TAIL as u64).ok_or(damaged("too short"))?;
        let mut tail = [0; TAIL];
        file.read_exact_at(&mut tail, before_tail).map_err(IndexError::io(path))?;
        if tail[TAIL - MAGIC.len()..] != MAGIC {
            return Err(damaged("magic number"));
        }
        let mut fields = Fields(&tail);
        let (footer_length, of_footer) = fields.u32().zip(fields.u64()).ok_or(damaged("footer"))?;
        let footer_max = 4 + SECTIONS_MAX * 16 + 8 + 8 + 4 + 4;
        let start = before_tail.checked_sub(u64::from(footer_length));
        let start = start.filter(|_| footer_length as usize <= footer_max);
        let start = start.ok_or(damaged("footer"))?;
        let mut footer = vec![0; footer_length as usize + 4];
        file.read_exact_at(&mut footer, start).map_err(IndexError::io(path))?;
        if xxh3_64(&footer) != of_footer {
            return Err(damaged("footer"));
        }
        let parsed = Self::parse_footer(&footer).ok_or(damaged("footer"))?;
        let (found_sections, length, of_checksums, found_kind, version) = parsed;
        if version != FORMAT_VERSION {
            let (found, expected) = (version, FORMAT_VERSION);
            return Err(IndexError::Version { path: path.to_owned(), found, expected });
        }
        let n_pages = length.div_ceil(PAGE as u64);
        let are_within =
            |(offset, n): &(u64, u64)| offset.checked_add(*n).is_some_and(|end| end <= length);
        if found_kind != kind as u32
            || found_sections.len() != sections
            || !found_sections.iter().all(are_within)
            || n_pages.checked_mul(8).and_then(|n| n.checked_add(length)) != Some(start)
        {
            return Err(damaged("another file"));
        }
        let mut bytes = vec![0; (n_pages * 8) as usize];
        file.read_exact_at(&mut bytes, length).map_err(IndexError::io(path))?;
        if xxh3_64(&bytes) != of_checksums {
            return Err(damaged("checksums"));
        }
        let (chunks, _) = bytes.as_chunks::<8>();
        let checksums = chunks.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Ok(Self { path: path.to_owned(), file, checksums, sections: found_sections, length })
    }

    #[allow(clippy::type_complexity, reason = "the fields of a footer, used once")]
    fn parse_footer(footer: &[u8]) -> Option<(Vec<(u64, u64)>, u64, u64, u32, u32)> {
        let mut fields = Fields(footer);
        let n = fields.u32().filter(|n| *n as usize <= SECTIONS_MAX)?;
        let sections = (0..n).map(|_| fields.u64().zip(fields.u64())).collect::<Option<_>>()?;
        Some((sections, fields.u64()?, fields.u64()?, fields.u32()?, fields.u32()?))
    }

    /// Returns the length of a section.
    pub(crate) fn section_length(&self, section: usize) -> u64 {
        self.sections.get(section).map_or(0, |(_, length)| *length)
    }

    /// Returns the length of all sections, with their checksums.
    pub(crate) fn bytes(&self) -> u64 {
        self.length + self.checksums.len() as u64 * 8
    }

    /// Reads a range of a section into `out`, which it replaces.
    pub(crate) fn read(
        &self,
        section: usize,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), IndexError> {
        let (offset, length) = *self.sections.get(section).ok_or(self.damaged("sections"))?;
        if range.start > range.end || range.end > length {
            return Err(self.damaged("a reference beyond its end"));
        }
        let (start, end) = (offset + range.start, offset + range.end);
        let page_start = start / PAGE as u64 * PAGE as u64;
        let page_end = (end.div_ceil(PAGE as u64) * PAGE as u64).min(self.length);
        out.clear();
        if start == end {
            return Ok(());
        }
        out.resize((page_end - page_start) as usize, 0);
        self.file.read_exact_at(out, page_start).map_err(IndexError::io(&self.path))?;
        let first = (page_start / PAGE as u64) as usize;
        for (page, checksum) in out.chunks(PAGE).zip(&self.checksums[first..]) {
            if xxh3_64(page) != *checksum {
                return Err(self.damaged("a page"));
            }
        }
        out.truncate((end - page_start) as usize);
        out.drain(..(start - page_start) as usize);
        Ok(())
    }

    /// Reads a whole section.
    pub(crate) fn read_section(&self, section: usize) -> Result<Vec<u8>, IndexError> {
        let mut bytes = Vec::new();
        self.read(section, 0..self.section_length(section), &mut bytes)?;
        Ok(bytes)
    }

    /// Checks all pages.
    pub(crate) fn check(&self) -> Result<(), IndexError> {
        let mut buffer = vec![0; 256 * PAGE];
        for (n, checksums) in self.checksums.chunks(256).enumerate() {
            let start = (n * 256 * PAGE) as u64;
            let length = (self.length - start).min(buffer.len() as u64) as usize;
            let pages = &mut buffer[..length];
            self.file.read_exact_at(pages, start).map_err(IndexError::io(&self.path))?;
            if pages.chunks(PAGE).zip(checksums).any(|(page, sum)| xxh3_64(page) != *sum) {
                return Err(self.damaged("a page"));
            }
        }
        Ok(())
    }

    /// Returns the error of damage in this file.
    pub(crate) fn damaged(&self, what: &'static str) -> IndexError {
        IndexError::damaged(&self.path, what)
    }
}
