//! Golomb codes (Notes 2.2.3) for geometric distributions, such as gaps between the elements of a random set.
//! Those of `dsi-bitstream`, which trusts its input.

use crate::unary::unary_bits;
use crate::{BitReader, BitWriter, Code, CodeError};
use dsi_bitstream::codes::{
    GolombRead as _, GolombWrite as _, RiceRead as _, RiceWrite as _, golomb, len_minimal_binary,
    rice,
};

/// Below this probability, 1 − p loses too many digits.
const PROBABILITY_MIN: f64 = 1e-9;

/// Returns the probability of 0 in the geometric distribution with this mean.
fn probability_of_mean(mean: f64) -> f64 {
    1.0 / (mean.max(0.0) + 1.0)
}

/// Returns the optimal modulus for a geometric distribution, in which 0 has the probability `p`:
/// ⌈−log(2 − p) / log(1 − p)⌉, about 0.69/p (Gallager and Van Voorhis 1975).
fn optimal_modulus(p: f64) -> u64 {
    match p {
        p if p >= 1.0 => 1,
        p if p >= PROBABILITY_MIN => golomb::b(p).max(1),
        // The conversion saturates, and makes 0 of NaN.
        p => ((std::f64::consts::LN_2 / p) as u64).max(1),
    }
}

/// The Golomb code with a modulus b: ⌊x/b⌋ in unary, and x mod b in minimal binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Golomb {
    modulus: u64,
}

impl Golomb {
    /// Returns the code with this modulus, at least 1.
    #[must_use]
    pub const fn new(modulus: u64) -> Self {
        Self { modulus: if modulus == 0 { 1 } else { modulus } }
    }

    /// Returns the optimal code for geometrically distributed values with this mean. Values begin with 0.
    #[must_use]
    pub fn for_mean(mean: f64) -> Self {
        Self::new(optimal_modulus(probability_of_mean(mean)))
    }

    /// Returns the optimal code for gaps between `n` random elements out of `of`, each gap less 1: those of the
    /// documents of a term, with its frequency and the number of documents.
    #[must_use]
    pub fn for_density(n: u64, of: u64) -> Self {
        Self::new(optimal_modulus(n as f64 / of.max(1) as f64))
    }

    /// Returns the modulus.
    #[must_use]
    pub const fn modulus(&self) -> u64 {
        self.modulus
    }
}

impl Code for Golomb {
    fn name(&self) -> String {
        format!("golomb({})", self.modulus)
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        if unary_bits(value / self.modulus).is_none() {
            return Err(CodeError::TooLong(value));
        }
        writer.write_golomb(value, self.modulus).map(drop)
    }

    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        reader.read_golomb(self.modulus)
    }

    fn bits(&self, value: u64) -> Option<u64> {
        let remainder = len_minimal_binary(value % self.modulus, self.modulus) as u64;
        Some(unary_bits(value / self.modulus)? + remainder)
    }

    fn checks_input(&self) -> bool {
        false
    }
}

/// The Rice code: the Golomb code with a power of two as modulus, which needs no division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rice {
    log2: u32,
}

impl Rice {
    /// Returns the code with the modulus 2ⁿ; n is at most 63.
    #[must_use]
    pub const fn new(log2: u32) -> Self {
        Self { log2: if log2 > 63 { 63 } else { log2 } }
    }

    /// Returns the optimal code for geometrically distributed values with this mean. Values begin with 0.
    #[must_use]
    pub fn for_mean(mean: f64) -> Self {
        Self::for_probability(probability_of_mean(mean))
    }

    /// Returns the optimal code for gaps between `n` random elements out of `of`, each gap less 1.
    #[must_use]
    pub fn for_density(n: u64, of: u64) -> Self {
        Self::for_probability(n as f64 / of.max(1) as f64)
    }

    /// The optimum is that of Kiely (2004).
    fn for_probability(p: f64) -> Self {
        Self::new(u32::try_from(rice::log2_b(p.clamp(0.0, 1.0))).unwrap_or(u32::MAX))
    }

    /// Returns the binary logarithm of the modulus.
    #[must_use]
    pub const fn log2(&self) -> u32 {
        self.log2
    }
}

impl Code for Rice {
    fn name(&self) -> String {
        format!("rice({})", self.log2)
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        if unary_bits(value >> self.log2).is_none() {
            return Err(CodeError::TooLong(value));
        }
        writer.write_rice(value, self.log2 as usize).map(drop)
    }

    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        reader.read_rice(self.log2 as usize)
    }

    fn bits(&self, value: u64) -> Option<u64> {
        Some(unary_bits(value >> self.log2)? + u64::from(self.log2))
    }

    fn checks_input(&self) -> bool {
        false
    }
}
