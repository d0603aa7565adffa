//! Instantaneous codes for integers (Notes 2.1, 2.2): the bits of inverted lists, filters and graphs; static functions
//! of keys, and the lexicographic rank of terms (Notes 2.3.2).
//!
//! ```text
//!  integers ──► Code, BlockCode ──► BitWriter ──► bytes ──► BitReader ──► Code, BlockCode ──► integers
//!                  ▲
//!  counts ──► Distribution: entropy, bits a value under each code
//! ```
//!
//! *Notes* are the lecture notes *Algoritmica per il web*. A [`Code`] encodes one integer at a time; a
//! [`BlockCode`] encodes a list of known length, and each code is one. All codes start at 0.
//!
//! | type | code | intended for |
//! | --- | --- | --- |
//! | [`Unary`], [`OrderedUnary`] | 0ˣ1, 1ˣ0 (the words of the latter are in the order of the integers) | 2⁻ˣ |
//! | [`Binary`], [`MinimalBinary`] | fixed width, minimal binary | all values below a bound alike |
//! | [`Gamma`], [`Delta`], [`Zeta`] | Elias γ and δ, Boldi and Vigna's ζ | power laws |
//! | [`Golomb`], [`Rice`] | Golomb with any modulus, or with a power of two | geometric: gaps of random sets |
//! | [`VariableBlocks`] | bytes or nibbles, with continuation bits in each of them or all in the first | power laws; fast |
//! | [`PforDelta`] | blocks of one width, exceptions appended | mostly small values; fast |
//! | [`Interpolative`] | ascending values, the middle one first, each within the bounds known by then | random or clustered sets |
//! | [`pack_lanes`] | blocks of 128 values of one width in four lanes | uniform below a power of two; the fastest |
//! | [`Ans`] | asymmetric numeral system over a measured model | any; within 1 % of the entropy |
//! | [`PrefixCode`] | a code with given lengths, such as those of [`huffman_lengths`] | any known distribution |
//!
//! [`StaticFunction`] maps keys to values without storing the keys; [`MonotoneHash`] maps terms to their ranks,
//! and [`FrontCodedList`] ranks to terms, and prefixes to ranges of ranks. Their bytes have a header and a checksum.
//!
//! Damaged bytes: our decoders fail or return wrong values; they never panic and never read beyond the input.
//! Codes of the crate `dsi-bitstream` trust their input ([`Code::checks_input`]): with damaged bits they return
//! wrong values, or panic where overflow checks are on. A caller that reads bytes from a disk or a network
//! checks the checksum of a block before it decodes the block.
#![forbid(unsafe_code)]

mod ans;
mod binary;
mod bits;
mod code;
mod distribution;
mod elias;
mod error;
mod functions;
mod golomb;
pub mod hash;
mod interpolative;
mod lanes;
mod lengths;
mod packed;
mod pfor;
mod rank;
mod unary;
mod variable_blocks;

pub use ans::{Ans, AnsModel};
pub use binary::{Binary, MinimalBinary};
pub use bits::{BitReader, BitWriter, CODEWORD_BITS_MAX};
pub use code::{BlockCode, Code};
pub use distribution::Distribution;
pub use elias::{Delta, Gamma, Zeta};
pub use error::{CodeError, FunctionError};
pub use functions::{StaticFunction, SystemSolver};
pub use golomb::{Golomb, Rice};
pub use interpolative::Interpolative;
pub use lanes::{LANES_BLOCK, lanes_bytes, pack_lanes, unpack_lanes, width_of_all};
pub use lengths::{KraftSum, PrefixCode, huffman_lengths};
pub use packed::PackedArray;
pub use pfor::PforDelta;
pub use rank::{FrontCodedList, MonotoneHash};
pub use unary::{OrderedUnary, Unary};
pub use variable_blocks::{ContinuationBits, VariableBlocks};

#[cfg(test)]
mod tests;
