//! Parameters of quotient filters.

use super::counter::REMAINDER_BITS_MIN;
use crate::FilterError;

/// Choice of the quotients with a stored offset. The run of any other is found from the nearest one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetSampling {
    /// None: r + 2 bits a slot, and a search reads all slots before.
    None,
    /// Each 64th: r + 2.125 bits a slot.
    Blocks,
    /// Each: r + 10 bits a slot.
    Slots,
}

impl OffsetSampling {
    /// Returns the distance of quotients with an offset.
    pub(super) const fn step(self) -> usize {
        match self {
            Self::None => usize::MAX,
            Self::Blocks => 64,
            Self::Slots => 1,
        }
    }
}

/// Parameters of a quotient filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotientShape {
    /// p: bits of a fingerprint, at most 64. With n keys, 2⁻ᵖ·n other keys are accepted.
    pub fingerprint_bits: u32,
    /// The largest memory of the table in bytes. While a table grows, the old one is there, too: half as much again.
    pub bytes_max: usize,
    /// Stored offsets.
    pub sampling: OffsetSampling,
}

impl QuotientShape {
    /// Returns the bits of a fingerprint.
    pub(super) const fn mask(&self) -> u64 {
        u64::MAX >> (64 - self.fingerprint_bits)
    }

    /// Returns the shape for a rate of false positives of at most `rate` with `n` keys: p = log₂ n/δ, with an offset
    /// for each block. p is larger if remainders had less than two bits otherwise.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] unless the rate is above 0 and at most 1, and p at most 64.
    pub fn for_rate(n: u64, rate: f64, bytes_max: usize) -> Result<Self, FilterError> {
        // Quotients for which n slots are 95 %.
        let quotient_bits = (n.max(1) as f64 / 0.95).log2().ceil();
        let least = quotient_bits + f64::from(REMAINDER_BITS_MIN);
        let bits = (n.max(1) as f64 / rate).log2().ceil().max(least);
        if !(rate > 0.0 && rate <= 1.0 && bits <= 64.0) {
            return Err(FilterError::Parameters);
        }
        let sampling = OffsetSampling::Blocks;
        Ok(Self { fingerprint_bits: (bits as u32).max(2), bytes_max, sampling })
    }
}
