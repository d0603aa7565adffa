//! Reading a file of sections.

use super::cache::{CHUNK, ChunkCache};
use super::{FORMAT_VERSION, FileKind, MAGIC, PAGE, SECTIONS_MAX, TAIL};
use crate::error::IndexError;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the chunks that a file keeps if it shares no cache.
const OWN_BYTES: usize = 4 * CHUNK as usize;

/// A whole file. Its checksums of pages are in memory: 8 bytes for 4096.
#[derive(Debug)]
pub(crate) struct CheckedFile {
    path: PathBuf,
    /// Number of the file in caches. No other one of the process has it.
    number: u64,
    cache: Arc<ChunkCache>,
    file: File,
    checksums: Vec<u64>,
    /// Offset and length of each section.
    sections: Vec<(u64, u64)>,
    /// Length of all sections.
    length: u64,
}

/// Bytes of a section, and others around them if these are in memory anyway.
#[derive(Debug)]
pub(crate) struct CheckedBytes {
    /// Offset in the section; below 0 if bytes before the section are there, too.
    start: i64,
    bytes: Arc<[u8]>,
}

impl CheckedBytes {
    /// Returns no bytes.
    pub(crate) fn none() -> Self {
        Self { start: 0, bytes: Arc::new([]) }
    }

    /// Returns the bytes of a range of the section, if they are there.
    #[inline]
    pub(crate) fn get(&self, range: &Range<u64>) -> Option<&[u8]> {
        let at = |offset: u64| usize::try_from(offset as i64 - self.start).ok();
        self.bytes.get(at(range.start)?..at(range.end)?)
    }
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
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Ok(Self {
            path: path.to_owned(),
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            cache: Arc::new(ChunkCache::new(OWN_BYTES)),
            file,
            checksums,
            sections: found_sections,
            length,
        })
    }

    /// Shares a cache with other files.
    pub(crate) fn share(&mut self, cache: &Arc<ChunkCache>) {
        self.cache = cache.clone();
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

    /// Returns the offsets in the file of a range of a section.
    fn offsets(&self, section: usize, range: &Range<u64>) -> Result<Range<u64>, IndexError> {
        let (offset, length) = *self.sections.get(section).ok_or(self.damaged("sections"))?;
        if range.start > range.end || range.end > length {
            return Err(self.damaged("a reference beyond its end"));
        }
        Ok(offset + range.start..offset + range.end)
    }

    /// Returns a range of a section, with what is around it in memory.
    pub(crate) fn bytes_of(
        &self,
        section: usize,
        range: &Range<u64>,
    ) -> Result<CheckedBytes, IndexError> {
        let offsets = self.offsets(section, range)?;
        if offsets.is_empty() {
            return Ok(CheckedBytes { start: range.start as i64, bytes: Arc::new([]) });
        }
        let section_start = (offsets.start - range.start) as i64;
        let (first, last) = (offsets.start / CHUNK, (offsets.end - 1) / CHUNK);
        if first == last {
            let start = (first * CHUNK) as i64 - section_start;
            return Ok(CheckedBytes { start, bytes: self.chunk(first)? });
        }
        let mut bytes = Vec::with_capacity((offsets.end - offsets.start) as usize);
        for index in first..=last {
            let chunk = self.chunk(index)?;
            let start = offsets.start.saturating_sub(index * CHUNK) as usize;
            let end = (offsets.end - index * CHUNK).min(CHUNK) as usize;
            bytes.extend_from_slice(&chunk[start..end]);
        }
        Ok(CheckedBytes { start: range.start as i64, bytes: bytes.into() })
    }

    fn chunk(&self, index: u64) -> Result<Arc<[u8]>, IndexError> {
        self.cache.get((self.number, index), || {
            let start = index * CHUNK;
            let mut bytes = vec![0; (self.length - start).min(CHUNK) as usize];
            self.read_pages(start, &mut bytes)?;
            Ok(bytes.into())
        })
    }

    /// Reads whole pages, and checks them.
    fn read_pages(&self, start: u64, pages: &mut [u8]) -> Result<(), IndexError> {
        self.file.read_exact_at(pages, start).map_err(IndexError::io(&self.path))?;
        let first = (start / PAGE as u64) as usize;
        for (page, checksum) in pages.chunks(PAGE).zip(&self.checksums[first..]) {
            if xxh3_64(page) != *checksum {
                return Err(self.damaged("a page"));
            }
        }
        Ok(())
    }

    /// Reads a range of a section into `out`, which it replaces. It is kept in no cache.
    pub(crate) fn read(
        &self,
        section: usize,
        range: Range<u64>,
        out: &mut Vec<u8>,
    ) -> Result<(), IndexError> {
        let Range { start, end } = self.offsets(section, &range)?;
        let page_start = start / PAGE as u64 * PAGE as u64;
        let page_end = (end.div_ceil(PAGE as u64) * PAGE as u64).min(self.length);
        out.clear();
        if start == end {
            return Ok(());
        }
        out.resize((page_end - page_start) as usize, 0);
        self.read_pages(page_start, out)?;
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
        let bytes = buffer.len() as u64;
        for start in (0..self.length).step_by(buffer.len()) {
            self.read_pages(start, &mut buffer[..(self.length - start).min(bytes) as usize])?;
        }
        Ok(())
    }

    /// Returns the error of damage in this file.
    pub(crate) fn damaged(&self, what: &'static str) -> IndexError {
        IndexError::damaged(&self.path, what)
    }
}
