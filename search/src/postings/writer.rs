//! Writing one posting list.

use super::block::{BlockParts, ListShape, PositionParts};
use super::skips::BlockEnd;
use super::{Impacts, ListEntry, POSITIONS_MAX, Preset, QUANTUM};
use crate::error::IndexError;
use crate::file::CheckedFileWriter;
use crivello_codes::CodeError;

/// A list that is being written. Its blocks are in memory until it ends, since the skip table is before them.
/// Blocks of positions are written at once.
pub(crate) struct ListWriter {
    preset: Preset,
    /// Documents of the segment.
    n_documents: u32,
    /// Documents of the list, and whether it has counts and positions.
    list: (u32, bool),
    /// Documents written.
    written: u32,
    occurrences: u64,
    /// The document that the next gap counts from: the last one, plus 1.
    next: u32,
    gaps: Vec<u32>,
    counts: Vec<u32>,
    /// Positions in the documents of the block, one document after another.
    positions: Vec<u32>,
    /// Lengths of the documents of the block.
    lengths: Vec<u32>,
    scratch: Vec<(u32, u32)>,
    blocks: Vec<u8>,
    of_positions: Vec<u8>,
    skips: Vec<u8>,
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
    pub(crate) fn new(preset: Preset, n_documents: u32) -> Self {
        Self {
            preset,
            n_documents,
            list: (0, false),
            written: 0,
            occurrences: 0,
            next: 0,
            gaps: Vec::with_capacity(QUANTUM),
            counts: Vec::with_capacity(QUANTUM),
            positions: Vec::new(),
            lengths: Vec::with_capacity(QUANTUM),
            scratch: Vec::new(),
            blocks: Vec::new(),
            of_positions: Vec::new(),
            skips: Vec::new(),
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
        (self.written, self.occurrences, self.next) = (0, 0, 0);
        self.blocks.clear();
        self.skips.clear();
        self.position_start = positions.position();
    }

    /// Adds a document of `length` words with the positions of the term in it, in their order. Documents ascend. A term
    /// with positions has at least one.
    pub(crate) fn push(
        &mut self,
        document: u32,
        length: u32,
        occurrences: &[u32],
        positions: &mut CheckedFileWriter,
    ) -> Result<(), IndexError> {
        debug_assert!(document >= self.next && document < self.n_documents);
        self.gaps.push(document - self.next);
        self.next = document + 1;
        self.written += 1;
        if self.list.1 {
            debug_assert!(!occurrences.is_empty());
            let occurrences = &occurrences[..occurrences.len().min(POSITIONS_MAX)];
            self.occurrences += occurrences.len() as u64;
            self.counts.push(occurrences.len() as u32);
            self.lengths.push(length);
            self.positions.extend_from_slice(occurrences);
        } else {
            self.occurrences += 1;
        }
        if self.gaps.len() == QUANTUM { self.end_block(positions) } else { Ok(()) }
    }

    fn end_block(&mut self, positions: &mut CheckedFileWriter) -> Result<(), IndexError> {
        let (documents, has_positions) = self.list;
        let list = ListShape { documents, of: self.n_documents };
        let parts = BlockParts { gaps: &self.gaps, counts: &self.counts };
        self.preset.write_block(list, &parts, &mut self.blocks).map_err(encode)?;
        if has_positions {
            let (counts, lengths) = (self.counts.as_slice(), self.lengths.as_slice());
            let parts = PositionParts { counts, lengths, positions: &self.positions };
            self.of_positions.clear();
            self.preset.write_positions(&parts, &mut self.of_positions).map_err(encode)?;
            positions.write(&self.of_positions)?;
        }
        // A list of one block has no skip table.
        if documents as usize > QUANTUM {
            let impacts = || Impacts::of(&self.counts, &self.lengths, &mut self.scratch);
            let impacts = has_positions.then(impacts);
            let end = BlockEnd {
                last: self.next - 1,
                end: self.blocks.len() as u64,
                position_end: positions.position() - self.position_start,
            };
            end.write(impacts, &mut self.skips);
        }
        self.gaps.clear();
        self.counts.clear();
        self.lengths.clear();
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
        postings.write(&self.skips)?;
        postings.write(&self.blocks)?;
        Ok(ListEntry {
            documents: self.written,
            occurrences: self.occurrences,
            skip_bytes: self.skips.len() as u64,
            bytes: postings.position() - start,
            position_bytes: positions.position() - self.position_start,
            start,
            position_start: self.position_start,
        })
    }
}
