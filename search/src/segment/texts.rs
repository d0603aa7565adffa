//! Stored texts: URL, title and text of each document, for results and snippets.

use super::documents::DocumentRow;
use crate::document::Document;
use crate::error::IndexError;
use crate::file::{CheckedFile, CheckedFileWriter, FileKind};
use std::path::Path;

/// Bytes at which a block ends, before compression.
const BLOCK: usize = 16 << 10;
/// Bytes of a block at most: one text may be longer than a block.
const BLOCK_MAX: usize = 16 << 20;
const LEVEL: i32 = 3;

/// Stored text of a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct StoredText {
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) text: String,
}

/// A text to be stored.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextParts<'d> {
    pub(crate) url: &'d str,
    title: &'d str,
    text: &'d str,
}

impl<'d> TextParts<'d> {
    /// Returns that of a document.
    pub(crate) fn of(document: &'d Document) -> Self {
        Self { url: &document.url, title: &document.title, text: &document.text }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        for part in [self.url, self.title, self.text] {
            out.extend((part.len() as u32).to_le_bytes());
            out.extend(part.as_bytes());
        }
    }
}

impl StoredText {
    /// Returns the parts, to be stored again.
    pub(crate) fn parts(&self) -> TextParts<'_> {
        TextParts { url: &self.url, title: &self.title, text: &self.text }
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let mut part = || {
            let (length, rest) = bytes.split_first_chunk()?;
            let (part, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
            bytes = rest;
            String::from_utf8(part.to_vec()).ok()
        };
        Some(Self { url: part()?, title: part()?, text: part()? })
    }
}

/// A reader of texts. It keeps the last block, which documents one after another share.
pub(crate) struct TextReader<'s> {
    file: &'s CheckedFile,
    at: Option<u64>,
    block: Vec<u8>,
}

impl<'s> TextReader<'s> {
    pub(super) const fn new(file: &'s CheckedFile) -> Self {
        Self { file, at: None, block: Vec::new() }
    }

    /// Reads the text of a document.
    pub(crate) fn read(&mut self, row: &DocumentRow) -> Result<StoredText, IndexError> {
        let damaged = || self.file.damaged("a text");
        if self.at != Some(row.block) {
            let mut bytes = Vec::new();
            let end = row.block.saturating_add(u64::from(row.block_bytes));
            self.file.read(0, row.block..end, &mut bytes)?;
            self.block = zstd::bulk::decompress(&bytes, BLOCK_MAX).map_err(|_| damaged())?;
            self.at = Some(row.block);
        }
        let text = self.block.get(row.offset as usize..).ok_or_else(damaged)?;
        StoredText::decode(text).ok_or_else(damaged)
    }
}

/// A writer of texts. Rows wait for the place of their block.
pub(super) struct TextWriter {
    file: CheckedFileWriter,
    block: Vec<u8>,
    /// Rows of the documents in the block.
    pending: Vec<DocumentRow>,
}

impl TextWriter {
    pub(super) fn create(path: &Path) -> Result<Self, IndexError> {
        let file = CheckedFileWriter::create(path, FileKind::Texts)?;
        Ok(Self { file, block: Vec::new(), pending: Vec::new() })
    }

    /// Adds a document. `done` is called with rows that have a place, in their order.
    pub(super) fn push(
        &mut self,
        mut row: DocumentRow,
        text: TextParts<'_>,
        done: impl FnMut(&DocumentRow) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        row.offset = self.block.len() as u32;
        text.encode(&mut self.block);
        self.pending.push(row);
        if self.block.len() >= BLOCK { self.end_block(done) } else { Ok(()) }
    }

    fn end_block(
        &mut self,
        mut done: impl FnMut(&DocumentRow) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        if self.block.len() > BLOCK_MAX {
            return Err(IndexError::TooLarge("a text is longer than 16 MiB"));
        }
        let bytes = zstd::bulk::compress(&self.block, LEVEL)
            .map_err(|_| IndexError::TooLarge("a text cannot be compressed"))?;
        let start = self.file.position();
        self.file.write(&bytes)?;
        for mut row in self.pending.drain(..) {
            (row.block, row.block_bytes) = (start, bytes.len() as u32);
            done(&row)?;
        }
        self.block.clear();
        Ok(())
    }

    pub(super) fn finish(
        mut self,
        done: impl FnMut(&DocumentRow) -> Result<(), IndexError>,
    ) -> Result<u64, IndexError> {
        if !self.pending.is_empty() {
            self.end_block(done)?;
        }
        self.file.finish()
    }
}
