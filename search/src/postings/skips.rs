//! The skip table of a list: an entry of one width for each block, so that any of them is found at once.
//!
//! ```text
//! entry:  last document (4 bytes) │ end of the block behind the table (5), and if the list has positions,
//!         end of its positions (5) │ bounds of scores (6, Impacts)
//! ```

use super::impacts::IMPACT_BYTES;
use super::{Impacts, ListEntry, QUANTUM};
use crate::error::IndexError;
use crate::file::{CheckedBytes, CheckedFile};

/// Bytes of the end of a block.
const END_BYTES: usize = 5;
const PLAIN_BYTES: usize = 4 + END_BYTES;
/// Bytes of the entry of a block with positions.
const ENTRY_BYTES: usize = PLAIN_BYTES + END_BYTES + IMPACT_BYTES;

/// Returns the bytes of the skip table of a list.
pub(crate) fn skip_bytes(documents: u32, has_positions: bool) -> u64 {
    match (documents as usize).div_ceil(QUANTUM) {
        ..=1 => 0,
        n_blocks => n_blocks as u64 * entry_bytes(has_positions) as u64,
    }
}

/// Returns the bytes of an entry.
const fn entry_bytes(has_positions: bool) -> usize {
    if has_positions { ENTRY_BYTES } else { PLAIN_BYTES }
}

/// A block of a list.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Block {
    /// Index of the block.
    pub(super) index: usize,
    /// Last document of the block before, plus 1.
    pub(super) base: u32,
    /// Last document; of a list of one block, that of the segment.
    pub(super) last: u32,
    /// Offset behind the skip table.
    pub(super) start: u64,
    pub(super) end: u64,
    /// Offset in the positions of the list.
    pub(super) position_start: u64,
    pub(super) position_end: u64,
}

/// The end of a block.
#[derive(Clone, Copy, Default)]
pub(super) struct BlockEnd {
    pub(super) last: u32,
    pub(super) end: u64,
    pub(super) position_end: u64,
}

impl BlockEnd {
    /// Appends the entry of a block. The entry has its positions and bounds if it has bounds.
    pub(super) fn write(&self, impacts: Option<Impacts>, out: &mut Vec<u8>) {
        out.extend(self.last.to_le_bytes());
        out.extend(&self.end.to_le_bytes()[..END_BYTES]);
        if let Some(impacts) = impacts {
            out.extend(&self.position_end.to_le_bytes()[..END_BYTES]);
            out.extend(impacts.bytes());
        }
    }

    fn read(entry: &[u8]) -> Option<Self> {
        let (last, rest) = entry.split_first_chunk::<4>()?;
        let (end, rest) = rest.split_first_chunk::<END_BYTES>()?;
        let position_end = rest.first_chunk::<END_BYTES>();
        let number = |bytes: &[u8; END_BYTES]| {
            let mut all = [0; 8];
            all[..END_BYTES].copy_from_slice(bytes);
            u64::from_le_bytes(all)
        };
        Some(Self {
            last: u32::from_le_bytes(*last),
            end: number(end),
            position_end: position_end.map_or(0, number),
        })
    }
}

/// A place in the skip table: a block.
pub(super) struct Skips {
    /// The table, from `start` on; none of a list of one block.
    table: CheckedBytes,
    start: u64,
    entry_bytes: usize,
    n_blocks: usize,
    block: Block,
}

impl Skips {
    /// Returns the table at its first block; `None` if the list has another number of blocks.
    pub(super) fn open(
        file: &CheckedFile,
        list: &ListEntry,
        n_documents: u32,
        has_positions: bool,
    ) -> Result<Option<Self>, IndexError> {
        let range = list.start..list.start + list.skip_bytes;
        let n_blocks = (list.documents as usize).div_ceil(QUANTUM);
        let entry_bytes = entry_bytes(has_positions);
        let is_only = n_blocks == 1;
        if list.skip_bytes != skip_bytes(list.documents, has_positions) {
            return Ok(None);
        }
        let block = Block {
            last: n_documents - 1,
            end: list.bytes - list.skip_bytes,
            position_end: list.position_bytes,
            ..Block::default()
        };
        let table = if is_only { CheckedBytes::none() } else { file.bytes_of(0, &range)? };
        let mut skips = Self { table, start: list.start, entry_bytes, n_blocks, block };
        Ok((is_only || skips.go_to(0, list, n_documents)).then_some(skips))
    }

    /// Returns the block.
    #[inline]
    pub(super) const fn block(&self) -> &Block {
        &self.block
    }

    /// Returns true if the block is the last one.
    #[inline]
    pub(super) const fn is_last(&self) -> bool {
        self.block.index + 1 == self.n_blocks
    }

    fn entry(&self, index: usize) -> Option<&[u8]> {
        let start = self.start + (index * self.entry_bytes) as u64;
        self.table.get(&(start..start + self.entry_bytes as u64))
    }

    fn last(&self, index: usize) -> u32 {
        let last = self.entry(index).and_then(|entry| entry.first_chunk());
        last.map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes))
    }

    /// Returns the index of the first block whose last document is `target` or later, from the block on.
    pub(super) fn find(&self, target: u32) -> usize {
        let mut low = self.block.index;
        if self.block.last >= target {
            return low;
        }
        let mut step = 1;
        while low + step < self.n_blocks && self.last(low + step) < target {
            low += step;
            step *= 2;
        }
        // The last document of `low` is before the target, that of `high` is not, or there is none.
        let mut high = (low + step).min(self.n_blocks);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.last(middle) < target { low = middle } else { high = middle }
        }
        high
    }

    /// Goes to a block that is there. Returns false if its entry is damaged.
    pub(super) fn go_to(&mut self, index: usize, list: &ListEntry, n_documents: u32) -> bool {
        let before = match index.checked_sub(1) {
            None => Some(None),
            Some(before) => self.entry(before).map(BlockEnd::read),
        };
        let this = self.entry(index).and_then(BlockEnd::read);
        let (Some(before), Some(this)) = (before, this) else { return false };
        self.block = Block {
            index,
            base: before.map_or(0, |before| before.last.saturating_add(1)),
            last: this.last,
            start: before.map_or(0, |before| before.end),
            end: this.end,
            position_start: before.map_or(0, |before| before.position_end),
            position_end: this.position_end,
        };
        let block = &self.block;
        block.base <= block.last
            && block.last < n_documents
            && block.start <= block.end
            && block.end <= list.bytes - list.skip_bytes
            && block.position_start <= block.position_end
            && block.position_end <= list.position_bytes
    }

    /// Returns bounds of the counts and lengths in the block; `None` if the list has none.
    pub(super) fn impacts(&self) -> Option<Impacts> {
        self.entry(self.block.index)?
            .last_chunk()
            .copied()
            .map(Impacts::from_bytes)
            .filter(|_| self.entry_bytes == ENTRY_BYTES)
    }
}
