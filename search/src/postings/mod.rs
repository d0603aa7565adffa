//! Posting lists (Notes 2.3.1): for each term the documents that have it, how often, and where.
//!
//! ```text
//! postings:   skip table │ block │ block │ …          block of 128 documents: gaps of documents │ counts
//! positions:  block │ block │ …                       block of 128 documents: positions
//! ```
//! Documents of a segment are numbered from 0. A gap is the difference to the element before, less 1. Blocks
//! begin at a byte. Lists of one block have no skip table. The codes are those of the preset.

mod block;
mod codes;
mod fast;
mod impacts;
mod reader;
mod skips;
mod small;
mod window;
mod writer;

pub use codes::Preset;
pub(crate) use impacts::Impacts;
pub(crate) use reader::{ListFiles, PostingReader, PostingStats};
pub(crate) use skips::skip_bytes;
pub(crate) use writer::ListWriter;

/// Documents of a block: the quantum of skips.
pub(crate) const QUANTUM: usize = 128;
/// Positions of a term in one document at most. Others are not indexed; the count has them.
pub(crate) const POSITIONS_MAX: usize = 1 << 16;

/// A place of a list, and its numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListEntry {
    /// Documents, at least 1.
    pub(crate) documents: u32,
    /// Occurrences in all documents.
    pub(crate) occurrences: u64,
    /// Bytes of the skip table.
    pub(crate) skip_bytes: u64,
    /// Bytes of skip table and blocks.
    pub(crate) bytes: u64,
    /// Bytes of the blocks of positions; 0 if there are none.
    pub(crate) position_bytes: u64,
    /// Offset of the list.
    pub(crate) start: u64,
    /// Offset of its positions.
    pub(crate) position_start: u64,
}

#[cfg(test)]
mod tests;
