//! Writing one posting list.

use super::codes::Density;
use super::{Impacts, ListCodes, ListEntry, POSITIONS_MAX, QUANTUM};
use crate::error::IndexError;
use crate::file::CheckedFileWriter;
use crivello_codes::{BitWriter, Code as _, CodeError, Delta};

/// A list that is being written. Its blocks are in memory until it ends, since the skip table is before them.
/// Blocks of positions are written at once.
pub(crate) struct ListWriter {
    codes: ListCodes,
    /// Documents of the segment.
    n_documents: u32,
    /// Documents of the list, and whether it has counts and positions.
    list: (u32, bool),
    /// Documents written.
    written: u32,
    occurrences: u64,
    /// The document that the next gap counts from: the last one, plus 1.
    next: u32,
    /// Last document of the last whole block, plus 1.
    block_start: u32,
    gaps: Vec<u64>,
    counts: Vec<u64>,
    positions: Vec<u64>,
    /// Lengths of the documents of the block.
    lengths: Vec<u32>,
    scratch: Vec<(u32, u32)>,
    blocks: Vec<u8>,
    skips: BitWriter,
    position_start: u64,
}

fn encode(error: CodeError) -> IndexError {
    IndexError::TooLarge(match error {
        CodeError::TooLong(_) => "a gap of a posting list is too long for its code",
        _ => "a number of a posting list is outside its code",
    })
}

impl ListWriter {
    /// Creates a writer of lists of a segment with this number of documents.
    pub(crate) fn new(codes: ListCodes, n_documents: u32) -> Self {
        Self {
            codes,
            n_documents,
            list: (0, false),
            written: 0,
            occurrences: 0,
            next: 0,
            block_start: 0,
            gaps: Vec::with_capacity(QUANTUM),
            counts: Vec::with_capacity(QUANTUM),
            positions: Vec::new(),
            lengths: Vec::with_capacity(QUANTUM),
            scratch: Vec::new(),
            blocks: Vec::new(),
            skips: BitWriter::new(),
            position_start: 0,
        }
    }

    /// Starts a list with this number of documents. Lists of terms without positions have only documents.
    pub(crate) fn start(
        &mut self,
        documents: u32,
        has_positions: bool,
        positions: &CheckedFileWriter,
    ) {
        self.list = (documents, has_positions);
        (self.written, self.occurrences, self.next, self.block_start) = (0, 0, 0, 0);
        self.blocks.clear();
        self.skips = BitWriter::new();
        self.position_start = positions.position();
    }

    /// Adds a document of `length` words with the positions of the term in it, in their order. Documents ascend.
    pub(crate) fn push(
        &mut self,
        document: u32,
        length: u32,
        occurrences: &[u32],
        positions: &mut CheckedFileWriter,
    ) -> Result<(), IndexError> {
        debug_assert!(document >= self.next && document < self.n_documents);
        self.gaps.push(u64::from(document - self.next));
        self.next = document + 1;
        self.written += 1;
        if self.list.1 {
            let occurrences = &occurrences[..occurrences.len().min(POSITIONS_MAX)];
            self.occurrences += occurrences.len() as u64;
            self.counts.push(occurrences.len().max(1) as u64 - 1);
            self.lengths.push(length);
            let mut next = 0;
            for &position in occurrences {
                self.positions.push(u64::from(position - next));
                next = position + 1;
            }
        } else {
            self.occurrences += 1;
        }
        if self.gaps.len() == QUANTUM { self.end_block(positions) } else { Ok(()) }
    }

    fn end_block(&mut self, positions: &mut CheckedFileWriter) -> Result<(), IndexError> {
        let (documents, has_positions) = self.list;
        let density = Density { n: u64::from(documents), of: u64::from(self.n_documents) };
        let mut bits = BitWriter::new();
        self.codes.documents.write(&mut bits, density, &self.gaps).map_err(encode)?;
        let mut position_bytes = 0;
        if has_positions {
            self.codes.counts.write(&mut bits, COUNTS, &self.counts).map_err(encode)?;
            let mut of_block = BitWriter::new();
            let code = self.codes.positions;
            code.write(&mut of_block, POSITIONS, &self.positions).map_err(encode)?;
            let bytes = of_block.into_bytes();
            positions.write(&bytes)?;
            position_bytes = bytes.len() as u64;
        }
        let block = bits.into_bytes();
        for value in
            [u64::from(self.next - self.block_start) - 1, block.len() as u64, position_bytes]
        {
            Delta.write(&mut self.skips, value).map_err(encode)?;
        }
        if has_positions {
            let impacts = Impacts::of(&self.counts, &self.lengths, &mut self.scratch);
            impacts.write(&mut self.skips).map_err(encode)?;
        }
        self.lengths.clear();
        self.blocks.extend_from_slice(&block);
        self.block_start = self.next;
        self.gaps.clear();
        self.counts.clear();
        self.positions.clear();
        Ok(())
    }

    /// Ends the list, and writes it. Returns its place.
    pub(crate) fn finish(
        &mut self,
        postings: &mut CheckedFileWriter,
        positions: &mut CheckedFileWriter,
    ) -> Result<ListEntry, IndexError> {
        if !self.gaps.is_empty() {
            self.end_block(positions)?;
        }
        debug_assert_eq!(self.written, self.list.0);
        let start = postings.position();
        let skips = std::mem::take(&mut self.skips).into_bytes();
        let has_skips = self.written as usize > QUANTUM;
        let skips = if has_skips { skips.as_slice() } else { &[] };
        postings.write(skips)?;
        postings.write(&self.blocks)?;
        Ok(ListEntry {
            documents: self.written,
            occurrences: self.occurrences,
            skip_bytes: skips.len() as u64,
            bytes: postings.position() - start,
            position_bytes: positions.position() - self.position_start,
            start,
            position_start: self.position_start,
        })
    }
}

/// Densities by which Golomb's and Rice's codes choose their parameters where no list has a better one: the mean
/// of counts, less 1, and of gaps between positions, less 1, in most texts.
pub(super) const COUNTS: Density = Density { n: 1, of: 2 };
pub(super) const POSITIONS: Density = Density { n: 1, of: 128 };
