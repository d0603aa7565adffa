//! The Kraft sum.

use crate::CodeError;

/// The length of the longest word, in bits.
const LENGTH_MAX: u32 = 64;

/// The sum of 2⁻ˡ over the lengths of words, exact, in units of 2⁻⁶⁴. It is at most 1 for an instantaneous code,
/// and 1 if and only if the code is complete. Conversely, lengths with a sum of at most 1 have such a code:
/// [`PrefixCode`](super::PrefixCode).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KraftSum(u128);

impl KraftSum {
    /// Returns the sum for these lengths.
    ///
    /// # Errors
    /// [`CodeError::Lengths`] for a length of 0 or above 64.
    pub fn of(lengths: impl IntoIterator<Item = u32>) -> Result<Self, CodeError> {
        let mut sum = 0_u128;
        for length in lengths {
            if !(1..=LENGTH_MAX).contains(&length) {
                return Err(CodeError::Lengths);
            }
            sum = sum.saturating_add(1 << (LENGTH_MAX - length));
        }
        Ok(Self(sum))
    }

    /// Returns whether an instantaneous code has these lengths.
    #[must_use]
    pub const fn has_code(self) -> bool {
        self.0 <= 1 << LENGTH_MAX
    }

    /// Returns whether such a code is complete: every sequence of bits begins with one of its words, or is the
    /// beginning of one.
    #[must_use]
    pub const fn is_complete(self) -> bool {
        self.0 == 1 << LENGTH_MAX
    }

    /// Returns the sum as a number.
    #[must_use]
    pub fn value(self) -> f64 {
        self.0 as f64 / (1_u128 << LENGTH_MAX) as f64
    }
}
