//! Links of the documents of a segment: for each target the documents that link to it, with the text of the link.
//!
//! ```text
//! blocks of about 64 KiB: length in bytes (4) │ rows, compressed by zstd
//! row: keyed hash of the URL of the target (8) │ half of the keyed hash of the URL of the document (4) │ document (4)
//!      │ keyed hash of its host (8) │ length of the text (2) │ stems of its words, with a space between
//! ```
//! Rows ascend by these fields. A target has at most 64 different texts and hosts, and 4 rows for each, since the
//! documents of some may not count later. Those of the lowest orders are kept, so they are the same in any segments.

use crate::error::IndexError;
use crate::file::{CheckedFile, CheckedFileWriter, FileKind};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

/// Different pairs of text and host of a target at most.
pub(crate) const LINKERS_MAX: usize = 64;
/// Rows of a pair of text and host at most.
const ROWS_MAX: u8 = 4;
/// Bytes at which a block ends, before compression.
const BLOCK: usize = 64 << 10;
/// Bytes of a block at most: the last row may be beyond its end.
const BLOCK_MAX: usize = BLOCK + HEAD + u16::MAX as usize;
/// Bytes of a row before its text.
const HEAD: usize = 8 + 4 + 4 + 8 + 2;
const LEVEL: i32 = 3;

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkRow {
    /// Keyed hash of the URL of the target.
    pub(crate) target: u64,
    /// Half of the keyed hash of the URL of the document that has the link: nobody can choose a URL that comes first.
    pub(crate) order: u32,
    /// The document.
    pub(crate) linker: u32,
    /// Keyed hash of its host.
    pub(crate) host: u64,
    /// Stems of the words of its text, with a space between.
    pub(crate) stems: Box<str>,
}

/// A writer of links, in their order. Those of a target beyond the bounds are left out.
pub(crate) struct LinkWriter {
    file: CheckedFileWriter,
    block: Vec<u8>,
    last: Option<LinkRow>,
    /// Number of rows of the target, by host and text.
    rows: HashMap<(u64, Box<str>), u8>,
}

impl LinkWriter {
    pub(super) fn create(path: &Path) -> Result<Self, IndexError> {
        let file = CheckedFileWriter::create(path, FileKind::Links)?;
        Ok(Self { file, block: Vec::new(), last: None, rows: HashMap::new() })
    }

    /// Adds a link. One that repeats the last one is left out.
    pub(super) fn push(&mut self, row: LinkRow) -> Result<(), IndexError> {
        debug_assert!(self.last.as_ref().is_none_or(|last| *last <= row), "links ascend");
        if self.last.as_ref().is_some_and(|last| *last == row) {
            return Ok(());
        }
        if self.last.as_ref().is_none_or(|last| last.target != row.target) {
            self.rows.clear();
        }
        let n_texts = self.rows.len();
        let is_kept = match self.rows.entry((row.host, row.stems.clone())) {
            Entry::Vacant(entry) if n_texts < LINKERS_MAX => {
                entry.insert(1);
                true
            }
            Entry::Vacant(_) => false,
            Entry::Occupied(mut entry) => {
                *entry.get_mut() += u8::from(*entry.get() <= ROWS_MAX);
                *entry.get() <= ROWS_MAX
            }
        };
        if is_kept {
            let length = u16::try_from(row.stems.len());
            let length = length.map_err(|_| IndexError::TooLarge("the text of a link"))?;
            self.block.extend(row.target.to_le_bytes());
            self.block.extend(row.order.to_le_bytes());
            self.block.extend(row.linker.to_le_bytes());
            self.block.extend(row.host.to_le_bytes());
            self.block.extend(length.to_le_bytes());
            self.block.extend(row.stems.as_bytes());
        }
        self.last = Some(row);
        if self.block.len() >= BLOCK { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), IndexError> {
        let bytes = zstd::bulk::compress(&self.block, LEVEL)
            .map_err(|_| IndexError::TooLarge("links cannot be compressed"))?;
        self.file.write(&(bytes.len() as u32).to_le_bytes())?;
        self.file.write(&bytes)?;
        self.block.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<u64, IndexError> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.file.finish()
    }
}

/// The links of a segment, one after another.
pub(crate) struct LinkReader<'s> {
    file: &'s CheckedFile,
    position: u64,
    block: Vec<u8>,
    at: usize,
}

impl<'s> LinkReader<'s> {
    pub(super) const fn new(file: &'s CheckedFile) -> Self {
        Self { file, position: 0, block: Vec::new(), at: 0 }
    }

    /// Returns the next link.
    pub(crate) fn next(&mut self) -> Result<Option<LinkRow>, IndexError> {
        if self.at == self.block.len() && !self.read_block()? {
            return Ok(None);
        }
        let row = self.row().ok_or_else(|| self.file.damaged("a link"))?;
        Ok(Some(row))
    }

    fn read_block(&mut self) -> Result<bool, IndexError> {
        let damaged = || self.file.damaged("a block of links");
        if self.position == self.file.section_length(0) {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        let start = self.position.saturating_add(4);
        self.file.read(0, self.position..start, &mut bytes)?;
        let length = bytes.as_slice().try_into().map_err(|_| damaged())?;
        let end = start.saturating_add(u64::from(u32::from_le_bytes(length)));
        self.file.read(0, start..end, &mut bytes)?;
        self.block = zstd::bulk::decompress(&bytes, BLOCK_MAX).map_err(|_| damaged())?;
        (self.position, self.at) = (end, 0);
        if self.block.is_empty() { Err(damaged()) } else { Ok(true) }
    }

    fn row(&mut self) -> Option<LinkRow> {
        let (target, rest) = self.block.get(self.at..)?.split_first_chunk()?;
        let (order, rest) = rest.split_first_chunk()?;
        let (linker, rest) = rest.split_first_chunk()?;
        let (host, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let stems = std::str::from_utf8(rest.get(..length)?).ok()?.into();
        self.at += HEAD + length;
        let [target, host] = [target, host].map(|bytes| u64::from_le_bytes(*bytes));
        let [order, linker] = [order, linker].map(|bytes| u32::from_le_bytes(*bytes));
        Some(LinkRow { target, order, linker, host, stems })
    }
}
