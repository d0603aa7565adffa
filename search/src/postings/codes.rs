//! The codes of posting lists.

use crivello_codes::{
    BitReader, BitWriter, BlockCode as _, CodeError, ContinuationBits, Delta, Gamma, Golomb,
    PforDelta, Rice, VariableBlocks, Zeta,
};
use crivello_common::closed_set;

closed_set! {
    /// The purpose of an index: size or speed.
    pub enum Preset {
        /// The smallest lists: Golomb, γ, ζ.
        Small => "small",
        /// The fastest ones: PFOR-delta.
        Fast => "fast",
    }
}

closed_set! {
    /// A code of one part of posting lists.
    pub enum ListCode {
        /// Golomb with the optimal modulus for the list.
        Golomb => "golomb",
        /// Rice with the optimal parameter for the list.
        Rice => "rice",
        /// Elias' γ.
        Gamma => "gamma",
        /// Elias' δ.
        Delta => "delta",
        /// ζ of Boldi and Vigna with the parameter 3.
        Zeta => "zeta",
        /// Bytes with a continuation bit in each.
        Bytes => "bytes",
        /// PFOR-delta with the width that makes the block smallest.
        Pfor => "pfor",
    }
}

/// The codes of the three parts of posting lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListCodes {
    /// Code of gaps between documents.
    pub documents: ListCode,
    /// Code of counts, less 1.
    pub counts: ListCode,
    /// Code of gaps between positions.
    pub positions: ListCode,
}

impl Preset {
    /// Returns the codes.
    #[must_use]
    pub const fn codes(self) -> ListCodes {
        match self {
            Self::Small => ListCodes {
                documents: ListCode::Golomb,
                counts: ListCode::Gamma,
                positions: ListCode::Zeta,
            },
            Self::Fast => ListCodes {
                documents: ListCode::Pfor,
                counts: ListCode::Pfor,
                positions: ListCode::Pfor,
            },
        }
    }
}

/// Parameter of ζ.
const ZETA_K: u32 = 3;

/// Density of the elements of a list: `n` out of `of`. Golomb's and Rice's parameters follow from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Density {
    pub(crate) n: u64,
    pub(crate) of: u64,
}

impl ListCode {
    /// Writes a block of values.
    pub(crate) fn write(
        self,
        writer: &mut BitWriter,
        density: Density,
        values: &[u64],
    ) -> Result<(), CodeError> {
        match self {
            Self::Golomb => Golomb::for_density(density.n, density.of).write_block(writer, values),
            Self::Rice => Rice::for_density(density.n, density.of).write_block(writer, values),
            Self::Gamma => Gamma.write_block(writer, values),
            Self::Delta => Delta.write_block(writer, values),
            Self::Zeta => Zeta::new(ZETA_K).write_block(writer, values),
            Self::Bytes => {
                VariableBlocks::bytes(ContinuationBits::Each).write_block(writer, values)
            }
            Self::Pfor => PforDelta::smallest().write_block(writer, values),
        }
    }

    /// Reads a block of `n` values, and replaces `values` by it.
    pub(crate) fn read(
        self,
        reader: &mut BitReader<'_>,
        density: Density,
        n: usize,
        values: &mut Vec<u64>,
    ) -> Result<(), CodeError> {
        values.clear();
        match self {
            Self::Golomb => {
                Golomb::for_density(density.n, density.of).read_block(reader, n, values)
            }
            Self::Rice => Rice::for_density(density.n, density.of).read_block(reader, n, values),
            Self::Gamma => Gamma.read_block(reader, n, values),
            Self::Delta => Delta.read_block(reader, n, values),
            Self::Zeta => Zeta::new(ZETA_K).read_block(reader, n, values),
            Self::Bytes => {
                VariableBlocks::bytes(ContinuationBits::Each).read_block(reader, n, values)
            }
            Self::Pfor => PforDelta::smallest().read_block(reader, n, values),
        }
    }
}
