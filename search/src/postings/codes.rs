//! The codes of blocks of posting lists.

use super::{fast, small};
use crivello_codes::CodeError;
use crivello_common::closed_set;

closed_set! {
    /// The purpose of an index: size or speed.
    pub enum Preset {
        /// The smallest lists: Golomb, interpolative.
        Small => "small",
        /// The fastest ones: blocks of one width.
        Fast => "fast",
    }
}

/// Names of the codes of the three parts of posting lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeNames {
    pub(crate) documents: &'static str,
    pub(crate) counts: &'static str,
    pub(crate) positions: &'static str,
}

/// The list of a block, as far as its code depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListShape {
    /// Documents of the list.
    pub(super) documents: u32,
    /// Documents of the segment.
    pub(super) of: u32,
}

/// A block that is written.
pub(super) struct BlockParts<'b> {
    /// Gaps between documents.
    pub(super) gaps: &'b [u32],
    /// How often each document has the term; none if the list has no positions.
    pub(super) counts: &'b [u32],
}

/// A block whose positions are written.
pub(super) struct PositionParts<'b> {
    pub(super) counts: &'b [u32],
    /// Lengths of the documents in words.
    pub(super) lengths: &'b [u32],
    /// Positions in each document, those of all documents one after another.
    pub(super) positions: &'b [u32],
}

impl Preset {
    /// Returns the names of the codes.
    pub(crate) const fn code_names(self) -> CodeNames {
        match self {
            Self::Small => CodeNames {
                documents: "golomb",
                counts: "interpolative",
                positions: "interpolative",
            },
            Self::Fast => CodeNames { documents: "packed", counts: "packed", positions: "packed" },
        }
    }

    /// Appends the documents and counts of a block.
    pub(super) fn write_block(
        self,
        list: ListShape,
        parts: &BlockParts<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CodeError> {
        match self {
            Self::Small => small::write_block(list, parts, out),
            Self::Fast => fast::write_block(parts, out),
        }
    }

    /// Appends the positions of a block.
    pub(super) fn write_positions(
        self,
        parts: &PositionParts<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), CodeError> {
        match self {
            Self::Small => small::write_positions(parts, out),
            Self::Fast => fast::write_positions(parts, out),
        }
    }
}

impl<'b> PositionParts<'b> {
    /// Returns the positions in each document, and its length.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&'b [u32], u32)> {
        let mut rest = self.positions;
        self.counts.iter().zip(self.lengths).map(move |(count, length)| {
            let (positions, others) = rest.split_at(*count as usize);
            rest = others;
            (positions, *length)
        })
    }
}
