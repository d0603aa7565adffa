//! Reading one posting list: forwards, or by skips.

use super::codes::Density;
use super::skips::Skips;
use super::window::Window;
use super::writer::{COUNTS, POSITIONS};
use super::{Impacts, ListCodes, ListEntry, POSITIONS_MAX, QUANTUM};
use crate::error::IndexError;
use crate::file::CheckedFile;
use crivello_codes::{BitReader, CodeError};
use std::ops::Range;

/// Numbers of one list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PostingStats {
    /// Postings that were decoded.
    pub(crate) postings: u64,
    /// Blocks that were decoded.
    pub(crate) blocks: u64,
    /// Positions that were decoded.
    pub(crate) positions: u64,
}

/// A list that is read. It is at a block, which is decoded when a document of it is wanted.
pub(crate) struct PostingReader<'s> {
    postings: Window<'s>,
    positions: Window<'s>,
    codes: ListCodes,
    entry: ListEntry,
    n_documents: u32,
    has_positions: bool,
    skips: Skips,
    is_ended: bool,
    /// Documents of the block; none if it is not decoded.
    documents: Vec<u32>,
    /// Index of the document in the block.
    at: usize,
    /// Counts of the block, less 1.
    counts: Vec<u64>,
    /// Bit at which the counts of the block begin; `None` if they are decoded.
    counts_at: Option<u64>,
    /// Gaps between positions of all documents of the block, and where those of each begin; none if they are not
    /// decoded.
    position_gaps: Vec<u64>,
    position_starts: Vec<u32>,
    /// Positions of the last document that was asked for.
    of_document: Vec<u32>,
    scratch: Vec<u64>,
    stats: PostingStats,
}

/// Documents of a block, and how often each has the term, less 1.
pub(crate) type Run<'r> = (&'r [u32], &'r [u64]);

impl<'s> PostingReader<'s> {
    /// Opens a list, before its first document.
    pub(crate) fn open(
        postings: &'s CheckedFile,
        positions: &'s CheckedFile,
        codes: ListCodes,
        entry: ListEntry,
        n_documents: u32,
        has_positions: bool,
    ) -> Result<Self, IndexError> {
        let damaged = || postings.damaged("a posting list");
        let (start, end) = (entry.start, entry.start.checked_add(entry.bytes));
        let position_end = entry.position_start.checked_add(entry.position_bytes);
        let (Some(end), Some(position_end)) = (end, position_end) else { return Err(damaged()) };
        if !(1..=n_documents).contains(&entry.documents) || entry.skip_bytes > entry.bytes {
            return Err(damaged());
        }
        let mut window = Window::new(postings, start..end);
        let skips = window.read(start..start + entry.skip_bytes)?.to_vec();
        let skips = Skips::new(skips, entry, n_documents, has_positions).map_err(|_| damaged())?;
        Ok(Self {
            postings: window,
            positions: Window::new(positions, entry.position_start..position_end),
            codes,
            entry,
            n_documents,
            has_positions,
            skips,
            is_ended: false,
            documents: Vec::with_capacity(QUANTUM),
            at: 0,
            counts: Vec::new(),
            counts_at: None,
            position_gaps: Vec::new(),
            position_starts: Vec::new(),
            of_document: Vec::new(),
            scratch: Vec::with_capacity(QUANTUM),
            stats: PostingStats::default(),
        })
    }

    fn damaged(&self) -> IndexError {
        self.postings.damaged("a posting list")
    }

    /// Returns the document; `None` before the first and after the last one.
    #[inline]
    pub(crate) fn document(&self) -> Option<u32> {
        self.documents.get(self.at).copied()
    }

    /// Goes to the next document, and returns it.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<u32>, IndexError> {
        if self.at + 1 < self.documents.len() {
            self.at += 1;
            return Ok(Some(self.documents[self.at]));
        }
        if !self.documents.is_empty() && !self.next_block()? || self.is_ended {
            return Ok(None);
        }
        self.decode()?;
        Ok(self.document())
    }

    /// Goes to the first document that is `target` or later, and returns it. Never goes backwards.
    #[inline]
    pub(crate) fn skip_to(&mut self, target: u32) -> Result<Option<u32>, IndexError> {
        if self.document().is_some_and(|document| document >= target) {
            return Ok(self.document());
        }
        if self.documents.last().is_none_or(|last| *last < target) {
            if !self.go_to_block(target)? {
                return Ok(None);
            }
            self.decode()?;
        }
        // The next ones first, since lists of about one length are near one another.
        let rest = &self.documents[self.at.min(self.documents.len())..];
        let mut bound = 1;
        while bound < rest.len() && rest[bound] < target {
            bound *= 2;
        }
        let (low, high) = (bound / 2, rest.len().min(bound + 1));
        self.at += low + rest[low..high].partition_point(|&document| document < target);
        if self.at >= self.documents.len() {
            // Only a list of one block may end before `last`.
            self.end();
        }
        Ok(self.document())
    }

    /// Goes to the block in which `target` or a later document is, without decoding it. Returns false if there is none.
    pub(crate) fn go_to_block(&mut self, target: u32) -> Result<bool, IndexError> {
        while !self.is_ended && self.skips.block().last < target {
            self.next_block()?;
        }
        Ok(!self.is_ended)
    }

    fn next_block(&mut self) -> Result<bool, IndexError> {
        self.documents.clear();
        self.at = 0;
        self.is_ended = !self.skips.advance().map_err(|_| self.damaged())?;
        Ok(!self.is_ended)
    }

    fn end(&mut self) {
        self.is_ended = true;
        self.documents.clear();
        self.at = 0;
    }

    /// Returns true if no document is left, or the list was passed by.
    pub(crate) const fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Returns true if the block is decoded.
    pub(crate) const fn is_decoded(&self) -> bool {
        !self.documents.is_empty()
    }

    /// Returns a document that no later one is before.
    pub(crate) fn floor(&self) -> u32 {
        let after = || self.skips.block().last.saturating_add(1);
        match self.documents.is_empty() {
            true => self.skips.block().base,
            false => self.document().unwrap_or_else(after),
        }
    }

    /// Returns the last document that may be in the block.
    pub(crate) const fn block_last(&self) -> u32 {
        self.skips.block().last
    }

    /// Returns bounds of the counts and lengths in the block; `None` if the list has none.
    pub(crate) fn impacts(&self) -> Option<&Impacts> {
        let impacts = &self.skips.block().impacts;
        (!impacts.pairs().is_empty()).then_some(impacts)
    }

    /// Passes the documents before `target`, without decoding a block. Returns false if none is left.
    pub(crate) fn pass(&mut self, target: u32) -> Result<bool, IndexError> {
        if self.go_to_block(target)? && self.is_decoded() {
            let rest = &self.documents[self.at..];
            self.at += rest.partition_point(|document| *document < target);
            if self.at == self.documents.len() {
                self.next_block()?;
            }
        }
        Ok(!self.is_ended)
    }

    /// Returns the next documents of one block that are in a range, and passes them. Counts are empty if they are not
    /// wanted. The list is at the start of the range, by [`Self::pass`] or the last call.
    pub(crate) fn run(
        &mut self,
        range: Range<u32>,
        with_counts: bool,
    ) -> Result<Option<Run<'_>>, IndexError> {
        let documents = self.find_run(range)?;
        self.at = documents.end;
        if documents.is_empty() {
            return Ok(None);
        }
        let mut counts: &[u64] = &[];
        if with_counts {
            self.read_counts()?;
            counts = &self.counts[documents.clone()];
        }
        Ok(Some((&self.documents[documents], counts)))
    }

    /// Returns what [`Self::run`] does, without counts, and stays.
    pub(crate) fn peek(&mut self, range: Range<u32>) -> Result<&[u32], IndexError> {
        let documents = self.find_run(range)?;
        Ok(&self.documents[documents])
    }

    fn find_run(&mut self, range: Range<u32>) -> Result<Range<usize>, IndexError> {
        if self.is_decoded() && self.at == self.documents.len() {
            self.next_block()?;
        }
        if self.is_ended || self.skips.block().base >= range.end {
            return Ok(self.at..self.at);
        }
        if !self.is_decoded() {
            self.decode()?;
            self.at = self.documents.partition_point(|document| *document < range.start);
        }
        let rest = &self.documents[self.at..];
        let n = match rest.last() {
            Some(last) if *last < range.end => rest.len(),
            _ => rest.partition_point(|document| *document < range.end),
        };
        Ok(self.at..self.at + n)
    }

    /// Decodes the documents of the block, and goes to the first one.
    fn decode(&mut self) -> Result<(), IndexError> {
        if !self.documents.is_empty() {
            return Ok(());
        }
        let block = self.skips.block();
        let start = self.entry.start + self.entry.skip_bytes;
        let bytes = self.postings.read(start + block.start..start + block.end)?;
        let n = match self.skips.is_last() {
            true => self.entry.documents as usize - block.index * QUANTUM,
            false => QUANTUM,
        };
        let density =
            Density { n: u64::from(self.entry.documents), of: u64::from(self.n_documents) };
        let mut reader = BitReader::new(bytes);
        let result = self.codes.documents.read(&mut reader, density, n, &mut self.scratch);
        self.counts_at = Some(reader.position());
        self.position_starts.clear();
        let base = block.base;
        if result.is_err() || !self.fill_documents(base) {
            self.documents.clear();
            return Err(self.damaged());
        }
        self.at = 0;
        self.stats.blocks += 1;
        self.stats.postings += n as u64;
        Ok(())
    }

    /// Returns false if the documents do not ascend within the segment.
    fn fill_documents(&mut self, base: u32) -> bool {
        let mut next = u64::from(base);
        self.documents.extend(self.scratch.iter().map(|gap| {
            let document = next.saturating_add(*gap);
            next = document.saturating_add(1);
            document as u32
        }));
        // They ascend, so the last one tells of all.
        next <= u64::from(self.n_documents)
    }

    fn read_counts(&mut self) -> Result<(), IndexError> {
        let Some(bit) = self.counts_at else { return Ok(()) };
        let n = self.documents.len();
        if self.has_positions {
            let (start, block) = (self.entry.start + self.entry.skip_bytes, self.skips.block());
            let bytes = self.postings.read(start + block.start..start + block.end)?;
            let mut reader = BitReader::new(bytes);
            let counts = &mut self.counts;
            let read = reader
                .seek(bit)
                .and_then(|()| self.codes.counts.read(&mut reader, COUNTS, n, counts));
            if read.is_err() || self.counts.iter().any(|&count| count >= POSITIONS_MAX as u64) {
                return Err(self.damaged());
            }
        } else {
            self.counts.clear();
            self.counts.resize(n, 0);
        }
        self.counts_at = None;
        Ok(())
    }

    /// Returns how often the term is in the document.
    #[inline]
    pub(crate) fn count(&mut self) -> Result<u32, IndexError> {
        self.read_counts()?;
        Ok(self.counts.get(self.at).map_or(0, |count| *count as u32 + 1))
    }

    /// Returns the positions of the term in the document, ascending.
    pub(crate) fn positions(&mut self) -> Result<&[u32], IndexError> {
        let mut positions = std::mem::take(&mut self.of_document);
        positions.clear();
        let result = self.push_positions(&mut positions);
        self.of_document = positions;
        result.map(|()| self.of_document.as_slice())
    }

    /// Appends the positions of the term in the document, ascending.
    pub(crate) fn push_positions(&mut self, out: &mut Vec<u32>) -> Result<(), IndexError> {
        if !self.has_positions || self.document().is_none() {
            return Ok(());
        }
        self.read_counts()?;
        if self.position_starts.is_empty() {
            self.read_positions().map_err(|error| match error {
                Ok(error) => error,
                Err(_) => self.positions.damaged("positions"),
            })?;
        }
        let start = self.position_starts[self.at] as usize;
        let n = self.counts[self.at] as usize + 1;
        let mut next = 0_u64;
        out.extend(self.position_gaps[start..start + n].iter().map(|gap| {
            let position = next.saturating_add(*gap);
            next = position.saturating_add(1);
            position as u32
        }));
        if next > u64::from(u32::MAX) + 1 {
            return Err(self.positions.damaged("positions"));
        }
        Ok(())
    }

    fn read_positions(&mut self) -> Result<(), Result<IndexError, CodeError>> {
        let (start, block) = (self.entry.position_start, self.skips.block());
        let range = start + block.position_start..start + block.position_end;
        let bytes = self.positions.read(range).map_err(Ok)?;
        let mut n = 0;
        let starts = self.counts.iter().map(|count| {
            n += *count as u32 + 1;
            n - *count as u32 - 1
        });
        self.position_starts.extend(starts);
        let mut reader = BitReader::new(bytes);
        let read =
            self.codes.positions.read(&mut reader, POSITIONS, n as usize, &mut self.position_gaps);
        if let Err(error) = read {
            self.position_starts.clear();
            return Err(Err(error));
        }
        self.stats.positions += u64::from(n);
        Ok(())
    }

    /// Returns the number of documents of the list.
    pub(crate) const fn n_documents(&self) -> u32 {
        self.entry.documents
    }

    /// Returns what was decoded so far.
    pub(crate) const fn stats(&self) -> PostingStats {
        self.stats
    }
}
