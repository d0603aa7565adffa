//! Segments: indexes of some documents, each a directory of files that never change.
//!
//! ```text
//! terms       the terms in order, front-coded in blocks of 16, each with the place of its list
//! postings    the lists ([`crate::postings`])
//! positions   the positions of the lists
//! documents   a row for each document; the captures by the hash of their URL; lengths in words; places among equal scores
//! texts       URL, title and text of documents, in blocks of about 16 KiB compressed by zstd
//! links       the links of documents by target, with their texts
//! anchors-N   the words of links to the documents, of generation N
//! dead-N      bits of documents that count no more, of generation N
//! ```

mod anchors;
mod dead;
mod documents;
mod links;
mod terms;
mod texts;
mod writer;

pub(crate) use anchors::{AnchorIndex, AnchorWriter, anchors_name};
pub(crate) use dead::{DeadSet, dead_name};
pub(crate) use documents::{CaptureRow, DocumentRow, MERGED_AWAY, NO_DOCUMENT};
pub(crate) use links::{LinkReader, LinkRow, LinksOfTarget};
pub(crate) use terms::{TermCursor, TermTable};
pub(crate) use texts::{StoredText, TextParts, TextReader};
pub(crate) use writer::SegmentWriter;

use crate::error::IndexError;
use crate::field::TermField;
use crate::file::{CheckedFile, ChunkCache, FileKind};
use crate::postings::{ListEntry, ListFiles, PostingReader, Preset};
use documents::{CAPTURE_BYTES, ROW_BYTES};
use std::path::Path;
use std::sync::Arc;

/// Sections of the file `documents`.
const ROWS: usize = 0;
const CAPTURES: usize = 1;
const LENGTHS: usize = 2;
const ORDERS: usize = 3;

/// A segment that is read.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) preset: Preset,
    pub(crate) terms: TermTable,
    postings: CheckedFile,
    positions: CheckedFile,
    documents: CheckedFile,
    texts: CheckedFile,
    links: CheckedFile,
    anchors: Option<AnchorIndex>,
    dead: DeadSet,
    /// Length of each document in words.
    pub(crate) lengths: Vec<u32>,
    /// Place of each document among those with the same score, by
    /// [`url_order`](crivello_common::hash::url_order).
    pub(crate) orders: Vec<u32>,
    /// True if some document is a near-duplicate.
    has_near: bool,
}

impl Segment {
    /// Opens a segment. `dead` is the generation of its dead documents; `None` if all are alive. `anchors` is that of
    /// the words of links to its documents; `None` if there are none.
    pub(crate) fn open(
        dir: &Path,
        preset: Preset,
        dead: Option<u64>,
        anchors: Option<u64>,
    ) -> Result<Self, IndexError> {
        let open = |name, kind, sections| CheckedFile::open(&dir.join(name), kind, sections);
        let documents = open("documents", FileKind::Documents, 4)?;
        let (lengths, orders) = (numbers(&documents, LENGTHS)?, numbers(&documents, ORDERS)?);
        if documents.section_length(ROWS) != lengths.len() as u64 * ROW_BYTES as u64
            || orders.len() != lengths.len()
        {
            return Err(documents.damaged("rows"));
        }
        let dead = match dead {
            None => DeadSet::default(),
            Some(generation) => {
                DeadSet::read(&dir.join(dead_name(generation)), lengths.len() as u32)?
            }
        };
        let terms = TermTable::open(open("terms", FileKind::Terms, 3)?)?;
        Ok(Self {
            preset,
            has_near: terms.get(&TermField::Near.term(""))?.is_some(),
            terms,
            postings: open("postings", FileKind::Postings, 1)?,
            positions: open("positions", FileKind::Positions, 1)?,
            texts: open("texts", FileKind::Texts, 1)?,
            links: open("links", FileKind::Links, 1)?,
            anchors: anchors
                .map(|generation| AnchorIndex::open(&dir.join(anchors_name(generation))))
                .transpose()?,
            documents,
            dead,
            lengths,
            orders,
        })
    }

    /// Shares a cache with other segments. Texts are in no cache.
    pub(crate) fn share(&mut self, cache: &Arc<ChunkCache>) {
        let lists = [self.terms.file_mut(), &mut self.postings, &mut self.positions];
        lists.into_iter().chain([&mut self.documents]).for_each(|file| file.share(cache));
        if let Some(anchors) = &mut self.anchors {
            anchors.share(cache);
        }
    }

    /// Returns the number of documents, also of dead ones.
    pub(crate) fn n_documents(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Returns the documents that count no more.
    pub(crate) const fn dead(&self) -> &DeadSet {
        &self.dead
    }

    /// Returns the number of dead documents.
    pub(crate) fn n_dead(&self) -> u32 {
        self.dead.len()
    }

    /// Returns true if a document counts no more.
    pub(crate) fn is_dead(&self, document: u32) -> bool {
        self.dead.contains(document)
    }

    /// Returns true if some document may be a near-duplicate of another one.
    pub(crate) const fn has_near_duplicates(&self) -> bool {
        self.has_near
    }

    /// Returns true if there are words of links to its documents.
    pub(crate) const fn has_anchors(&self) -> bool {
        self.anchors.is_some()
    }

    /// Returns true if these are its dead documents.
    pub(crate) fn is_same_dead(&self, dead: &DeadSet) -> bool {
        self.dead == *dead
    }

    /// Returns the place of the list of a term; `None` if no document has it.
    pub(crate) fn entry(&self, term: &[u8]) -> Result<Option<ListEntry>, IndexError> {
        self.table(term).map_or(Ok(None), |table| table.get(term))
    }

    /// Returns the table in which a term would be; `None` if there are no anchors.
    pub(crate) fn table(&self, term: &[u8]) -> Option<&TermTable> {
        match term.first() == Some(&TermField::Anchor.byte()) {
            true => self.anchors.as_ref().map(|anchors| &anchors.terms),
            false => Some(&self.terms),
        }
    }

    fn files<'s>(&'s self, postings: &'s CheckedFile, positions: &'s CheckedFile) -> ListFiles<'s> {
        ListFiles { postings, positions, preset: self.preset, lengths: &self.lengths }
    }

    /// Opens a list.
    pub(crate) fn list(
        &self,
        entry: ListEntry,
        has_positions: bool,
    ) -> Result<PostingReader<'_>, IndexError> {
        PostingReader::open(self.files(&self.postings, &self.positions), entry, has_positions)
    }

    /// Opens a list of a field.
    pub(crate) fn list_of(
        &self,
        field: TermField,
        entry: ListEntry,
    ) -> Result<PostingReader<'_>, IndexError> {
        match (field, &self.anchors) {
            (TermField::Anchor, Some(anchors)) => {
                let files = self.files(&anchors.postings, &anchors.positions);
                PostingReader::open(files, entry, true)
            }
            _ => self.list(entry, field.has_positions()),
        }
    }

    /// Returns the links of its documents, by target.
    pub(crate) const fn links(&self) -> LinkReader<'_> {
        LinkReader::new(&self.links)
    }

    /// Returns the row of a document.
    pub(crate) fn row(&self, document: u32) -> Result<DocumentRow, IndexError> {
        let start = u64::from(document) * ROW_BYTES as u64;
        let range = start..start + ROW_BYTES as u64;
        let bytes = self.documents.bytes_of(ROWS, &range)?;
        let row = bytes.get(&range).and_then(DocumentRow::decode);
        row.ok_or_else(|| self.documents.damaged("a row"))
    }

    /// Returns a reader of stored texts.
    pub(crate) const fn texts(&self) -> TextReader<'_> {
        TextReader::new(&self.texts)
    }

    /// Returns the number of captures.
    pub(crate) fn n_captures(&self) -> u64 {
        self.documents.section_length(CAPTURES) / CAPTURE_BYTES as u64
    }

    /// Returns `n` captures from `start` on, ordered by the hash of their URL.
    pub(crate) fn captures(&self, start: u64, n: u64) -> Result<Vec<CaptureRow>, IndexError> {
        let end = start.saturating_add(n).min(self.n_captures());
        let bytes_of = |n: u64| n * CAPTURE_BYTES as u64;
        let mut bytes = Vec::new();
        self.documents.read(CAPTURES, bytes_of(start)..bytes_of(end), &mut bytes)?;
        Ok(bytes.chunks_exact(CAPTURE_BYTES).filter_map(CaptureRow::decode).collect())
    }

    /// Returns the captures of a URL, by the hash of it.
    pub(crate) fn captures_of(&self, url_hash: u64) -> Result<Vec<CaptureRow>, IndexError> {
        let (mut low, mut high) = (0, self.n_captures());
        while low < high {
            let middle = low.midpoint(high);
            let is_before = |capture: &CaptureRow| capture.url_hash < url_hash;
            match self.captures(middle, 1)?.first().is_some_and(is_before) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let mut found = Vec::new();
        loop {
            let start = low + found.len() as u64;
            match self.captures(start, 1)?.first() {
                Some(capture) if capture.url_hash == url_hash => found.push(*capture),
                _ => return Ok(found),
            }
        }
    }

    /// Returns the bytes of its files: lists and terms, and texts and rows of documents.
    pub(crate) fn bytes(&self) -> SegmentBytes {
        SegmentBytes {
            terms: self.terms.file().bytes(),
            postings: self.postings.bytes(),
            positions: self.positions.bytes(),
            documents: self.documents.bytes(),
            texts: self.texts.bytes(),
            links: self.links.bytes() + self.anchors.as_ref().map_or(0, AnchorIndex::bytes),
        }
    }

    /// Checks all pages of all files.
    pub(crate) fn check(&self) -> Result<(), IndexError> {
        let lists = [self.terms.file(), &self.postings, &self.positions];
        let others = [&self.documents, &self.texts, &self.links];
        lists.into_iter().chain(others).try_for_each(CheckedFile::check)
    }
}

/// Returns the numbers of four bytes of a section.
fn numbers(file: &CheckedFile, section: usize) -> Result<Vec<u32>, IndexError> {
    let bytes = file.read_section(section)?;
    let (chunks, _) = bytes.as_chunks::<4>();
    Ok(chunks.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect())
}

/// Sizes of the files of segments, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentBytes {
    /// Terms and places of lists.
    pub terms: u64,
    /// Documents and counts of lists.
    pub postings: u64,
    /// Positions.
    pub positions: u64,
    /// Rows of documents.
    pub documents: u64,
    /// Stored texts.
    pub texts: u64,
    /// Links, and words of the links to documents.
    pub links: u64,
}

impl SegmentBytes {
    /// Adds those of another segment.
    pub(crate) fn add(&mut self, other: Self) {
        self.terms += other.terms;
        self.postings += other.postings;
        self.positions += other.positions;
        self.documents += other.documents;
        self.texts += other.texts;
        self.links += other.links;
    }

    /// Returns the sum.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.terms + self.postings + self.positions + self.documents + self.texts + self.links
    }
}
