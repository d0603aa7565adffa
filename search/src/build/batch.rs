//! A batch: documents inverted in memory, then written as a segment.

use super::manifest::UrlHasher;
use super::term_ids::TermIds;
use crate::document::Document;
use crate::error::IndexError;
use crate::postings::Preset;
use crate::segment::{CaptureRow, DocumentRow, LinkRow, NO_DOCUMENT, SegmentWriter, TextParts};
use crate::text::Stemmers;
use crivello_common::codec::{RowReader, RowWriter};
use std::path::Path;

/// Bytes of memory that a term takes beside its list.
const TERM_BYTES: usize = 120;
/// Bytes of memory that a link takes beside its text.
const LINK_BYTES: usize = 40;
/// Bytes of memory that a document takes: its length, its place among equal scores and its capture.
const DOCUMENT_BYTES: usize = 80;

/// The list of a term in memory.
#[derive(Default)]
struct MemoryList {
    documents: u32,
    /// The last document, plus 1.
    next: u32,
    /// For each document: gap, number of positions, gaps of positions.
    row: RowWriter,
}

/// A batch that is being filled.
pub(crate) struct Batch {
    writer: SegmentWriter,
    ids: TermIds,
    lists: Vec<MemoryList>,
    links: Vec<LinkRow>,
    memory: usize,
    /// Terms of the document and their positions.
    tokens: Vec<(u32, u32)>,
    key: Vec<u8>,
}

impl Batch {
    /// Creates a batch, and the directory of its segment.
    pub(crate) fn create(dir: &Path, preset: Preset) -> Result<Self, IndexError> {
        Ok(Self {
            writer: SegmentWriter::create(dir, preset)?,
            ids: TermIds::default(),
            lists: Vec::new(),
            links: Vec::new(),
            memory: 0,
            tokens: Vec::new(),
            key: Vec::new(),
        })
    }

    /// Returns the bytes that the batch takes in memory, about.
    pub(crate) fn memory(&self) -> usize {
        self.memory + self.writer.n_captures() * DOCUMENT_BYTES
    }

    /// Returns the number of documents.
    pub(crate) fn n_documents(&self) -> u32 {
        self.writer.n_documents()
    }

    /// Returns the number of captures.
    pub(crate) fn n_captures(&self) -> usize {
        self.writer.n_captures()
    }

    /// Adds a document.
    pub(crate) fn push(
        &mut self,
        document: &Document,
        source: u32,
        hasher: &UrlHasher,
        stemmers: &mut Stemmers,
    ) -> Result<(), IndexError> {
        let Self { ids, lists, memory, tokens, key, .. } = self;
        tokens.clear();
        let length = document.terms(stemmers, |term, (field, position)| {
            key.clear();
            key.push(field.byte());
            key.extend_from_slice(term.as_bytes());
            let id = ids.of(key, lists.len() as u32);
            if id == lists.len() as u32 {
                *memory += TERM_BYTES + key.len();
                lists.push(MemoryList::default());
            }
            tokens.push((id, position));
        });
        tokens.sort_unstable();
        tokens.dedup();
        let row = DocumentRow {
            date: document.date.0,
            url_hash: hasher.hash(&document.url),
            host_hash: hasher.hash(&document.host),
            near_hash: document.near_duplicate_of.as_deref().map_or(0, |url| hasher.hash(url)),
            source,
            language: language_bytes(&document.language),
            ..DocumentRow::default()
        };
        let number = self.writer.push_document(row, length, TextParts::of(document))?;
        document.link_stems(stemmers, |url, stems| {
            let (target, stems) = (hasher.hash(url), stems.into_boxed_str());
            self.memory += LINK_BYTES + stems.len();
            let (order, host) = ((row.url_hash >> 32) as u32, row.host_hash);
            self.links.push(LinkRow { target, order, linker: number, host, stems });
        });
        for tokens in self.tokens.chunk_by(|one, other| one.0 == other.0) {
            let list = &mut self.lists[tokens[0].0 as usize];
            let before = list.row.0.capacity();
            list.row.0.reserve(2 + tokens.len());
            list.row.number(u64::from(number - list.next)).number(tokens.len() as u64);
            let mut next = 0;
            for (_, position) in tokens {
                list.row.number(u64::from(position - next));
                next = position + 1;
            }
            list.next = number + 1;
            list.documents += 1;
            self.memory += list.row.0.capacity() - before;
        }
        Ok(())
    }

    /// Adds a capture of a URL that has no page, so that earlier documents of the URL count no more.
    pub(crate) fn push_capture(&mut self, url_hash: u64, date: u64, source: u32) {
        let document = NO_DOCUMENT;
        self.writer.push_capture(CaptureRow { url_hash, date, source, document });
    }

    /// Writes the lists by term. Returns the bytes of the segment.
    pub(crate) fn finish(mut self) -> Result<u64, IndexError> {
        self.links.sort_unstable();
        self.links.into_iter().try_for_each(|link| self.writer.push_link(link))?;
        let mut positions = Vec::new();
        for term in self.ids.sorted() {
            let list = &self.lists[term.id as usize];
            self.writer.start_term(term.bytes(&mut self.key), list.documents);
            let (mut row, mut document) = (RowReader(&list.row.0), 0);
            while let Some(gap) = row.small::<u32>() {
                document += gap;
                positions.clear();
                let mut next = 0;
                for _ in 0..row.small().unwrap_or(0_u32) {
                    let position = next + row.small().unwrap_or(0);
                    positions.push(position);
                    next = position + 1;
                }
                self.writer.push_posting(document, &positions)?;
                document += 1;
            }
            self.writer.end_term()?;
        }
        self.writer.finish()
    }
}

/// Returns the three letters of a language; `und` for others.
fn language_bytes(language: &str) -> [u8; 3] {
    language.as_bytes().try_into().unwrap_or(*b"und")
}
