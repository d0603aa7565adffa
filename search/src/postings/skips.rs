//! The skip table of a list, which is decoded as far as it is needed.

use super::{Impacts, ListEntry, QUANTUM};
use crivello_codes::{BitReader, Code as _, CodeError, Delta};

/// The entry of a block in the skip table.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// Index of the block.
    pub(super) index: usize,
    /// Last document of the block before, plus 1.
    pub(super) base: u32,
    /// Last document.
    pub(super) last: u32,
    /// Offset behind the skip table.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Offset in the positions of the list.
    pub(super) position_start: u64,
    pub(super) position_end: u64,
    /// Bounds of scores.
    pub(super) impacts: Impacts,
}

/// A position in the skip table: the entry of one block.
pub(super) struct Skips {
    bytes: Vec<u8>,
    /// Bit at which the next entry begins.
    bit: u64,
    n_blocks: usize,
    entry: ListEntry,
    n_documents: u32,
    has_impacts: bool,
    block: Block,
}

impl Skips {
    /// Returns the table at its first entry.
    pub(super) fn new(
        bytes: Vec<u8>,
        entry: ListEntry,
        n_documents: u32,
        has_impacts: bool,
    ) -> Result<Self, CodeError> {
        let n_blocks = (entry.documents as usize).div_ceil(QUANTUM);
        let block = Block::default();
        let mut skips = Self { bytes, bit: 0, n_blocks, entry, n_documents, has_impacts, block };
        skips.read(0)?;
        Ok(skips)
    }

    /// Returns the entry.
    pub(super) const fn block(&self) -> &Block {
        &self.block
    }

    /// Returns true if the entry is that of the last block.
    pub(super) const fn is_last(&self) -> bool {
        self.block.index + 1 == self.n_blocks
    }

    /// Goes to the next entry. Returns false if there is none.
    pub(super) fn advance(&mut self) -> Result<bool, CodeError> {
        if self.is_last() {
            return Ok(false);
        }
        self.read(self.block.index + 1)?;
        Ok(true)
    }

    fn read(&mut self, index: usize) -> Result<(), CodeError> {
        let (before, body) = (&self.block, self.entry.bytes - self.entry.skip_bytes);
        let mut reader = BitReader::new(&self.bytes);
        reader.seek(self.bit)?;
        let base = if index == 0 { 0 } else { before.last + 1 };
        let (start, position_start) = (before.end, before.position_end);
        // A list of one block has no entry.
        let is_only = self.n_blocks == 1;
        let mut block = Block {
            index,
            base,
            last: self.n_documents - 1,
            start,
            end: body,
            position_start,
            position_end: self.entry.position_bytes,
            impacts: Impacts::default(),
        };
        if !is_only {
            let mut next = || Delta.read(&mut reader);
            let last = u64::from(base).saturating_add(next()?);
            block.last = u32::try_from(last).map_err(|_| CodeError::NotAWord)?;
            block.end = start.saturating_add(next()?);
            block.position_end = position_start.saturating_add(next()?);
        }
        if self.has_impacts && !is_only {
            block.impacts = Impacts::read(&mut reader)?;
        }
        if block.last >= self.n_documents
            || block.end > body
            || block.position_end > self.entry.position_bytes
        {
            return Err(CodeError::NotAWord);
        }
        self.bit = reader.position();
        self.block = block;
        Ok(())
    }
}
