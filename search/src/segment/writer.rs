//! Writing a segment: its documents first, then its terms in order.

use super::documents::{CaptureRow, DocumentRow, MERGED_AWAY, ROW_BYTES};
use super::links::{LinkRow, LinkWriter};
use super::terms::TermWriter;
use super::texts::{TextParts, TextWriter};
use crate::error::IndexError;
use crate::field::has_positions;
use crate::file::{CheckedFileWriter, FileKind};
use crate::postings::{ListWriter, Preset};
use crivello_common::hash::url_order;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Documents of a segment at most.
const DOCUMENTS_MAX: u32 = MERGED_AWAY;

/// A segment that is being written. It is whole only after [`Self::finish`].
pub(crate) struct SegmentWriter {
    dir: PathBuf,
    preset: Preset,
    texts: TextWriter,
    documents: CheckedFileWriter,
    captures: Vec<CaptureRow>,
    lengths: Vec<u32>,
    orders: Vec<u32>,
    links: LinkWriter,
    terms: TermWriter,
    postings: CheckedFileWriter,
    positions: CheckedFileWriter,
    list: Option<ListWriter>,
    term: Vec<u8>,
}

impl SegmentWriter {
    /// Creates the directory of a segment, and its files.
    pub(crate) fn create(dir: &Path, preset: Preset) -> Result<Self, IndexError> {
        fs::create_dir(dir).map_err(IndexError::io(dir))?;
        let create = |name, kind| CheckedFileWriter::create(&dir.join(name), kind);
        Ok(Self {
            dir: dir.to_owned(),
            preset,
            texts: TextWriter::create(&dir.join("texts"))?,
            documents: create("documents", FileKind::Documents)?,
            captures: Vec::new(),
            lengths: Vec::new(),
            orders: Vec::new(),
            links: LinkWriter::create(&dir.join("links"))?,
            terms: TermWriter::create(&dir.join("terms"))?,
            postings: create("postings", FileKind::Postings)?,
            positions: create("positions", FileKind::Positions)?,
            list: None,
            term: Vec::new(),
        })
    }

    /// Returns the number of documents.
    pub(crate) fn n_documents(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Returns the number of captures, with those that have no document.
    pub(crate) fn n_captures(&self) -> usize {
        self.captures.len()
    }

    /// Adds a document of `length` words. Its place in the file of texts is set. Returns its number.
    pub(crate) fn push_document(
        &mut self,
        row: DocumentRow,
        length: u32,
        text: TextParts<'_>,
    ) -> Result<u32, IndexError> {
        let document = self.n_documents();
        if document >= DOCUMENTS_MAX {
            return Err(IndexError::TooLarge("a segment has too many documents"));
        }
        let (url_hash, date, source) = (row.url_hash, row.date, row.source);
        self.captures.push(CaptureRow { url_hash, date, source, document });
        self.lengths.push(length);
        self.orders.push(url_order(text.url));
        let documents = &mut self.documents;
        self.texts.push(row, text, |row| write_row(documents, row))?;
        Ok(document)
    }

    /// Adds a capture without a document of the segment.
    pub(crate) fn push_capture(&mut self, capture: CaptureRow) {
        debug_assert!(capture.document >= DOCUMENTS_MAX, "documents have their captures");
        self.captures.push(capture);
    }

    /// Adds a link. They ascend.
    pub(crate) fn push_link(&mut self, link: LinkRow) -> Result<(), IndexError> {
        self.links.push(link)
    }

    /// Starts the list of a term, which has this number of documents. All documents have been added.
    pub(crate) fn start_term(&mut self, term: &[u8], documents: u32) {
        self.term.clear();
        self.term.extend_from_slice(term);
        let (preset, n) = (self.preset, self.n_documents());
        let list = self.list.get_or_insert_with(|| ListWriter::new(preset, n));
        list.start(documents, has_positions(term), &self.positions);
    }

    /// Adds a document to the list.
    pub(crate) fn push_posting(
        &mut self,
        document: u32,
        positions: &[u32],
    ) -> Result<(), IndexError> {
        match &mut self.list {
            Some(list) => {
                let length = self.lengths[document as usize];
                list.push(document, length, positions, &mut self.positions)
            }
            None => Ok(()),
        }
    }

    /// Ends the list.
    pub(crate) fn end_term(&mut self) -> Result<(), IndexError> {
        let Some(list) = &mut self.list else { return Ok(()) };
        let entry = list.finish(&mut self.postings, &mut self.positions)?;
        self.terms.push(&self.term, &entry)
    }

    /// Ends and syncs all files. Returns their length in bytes.
    pub(crate) fn finish(mut self) -> Result<u64, IndexError> {
        let documents = &mut self.documents;
        let mut bytes = self.texts.finish(|row| write_row(documents, row))?;
        self.documents.next_section();
        self.captures.sort_unstable();
        let mut buffer = Vec::new();
        for capture in &self.captures {
            buffer.clear();
            capture.encode(&mut buffer);
            self.documents.write(&buffer)?;
        }
        for numbers in [&self.lengths, &self.orders] {
            self.documents.next_section();
            for number in numbers {
                self.documents.write(&number.to_le_bytes())?;
            }
        }
        bytes += self.documents.finish()? + self.terms.finish()? + self.links.finish()?;
        bytes += self.postings.finish()? + self.positions.finish()?;
        File::open(&self.dir).and_then(|dir| dir.sync_all()).map_err(IndexError::io(&self.dir))?;
        Ok(bytes)
    }
}

fn write_row(file: &mut CheckedFileWriter, row: &DocumentRow) -> Result<(), IndexError> {
    let mut bytes = Vec::with_capacity(ROW_BYTES);
    row.encode(&mut bytes);
    file.write(&bytes)
}
