//! The codes of blocks of posting lists.

use super::block::{BlockParts, ListShape, PositionParts};
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
