//! The traits of codes, which have words for integers (Notes 2.1).

use crate::{BitReader, BitWriter, CodeError};

/// An instantaneous code: a word of bits for each integer, none of which is the prefix of another (Notes 2.1,
/// definition 3).
pub trait Code {
    /// Returns the name, with the parameters: `golomb(12)`.
    fn name(&self) -> String;

    /// Writes the word of a value.
    ///
    /// # Errors
    /// [`CodeError::OutOfDomain`] if the code has no word for it, [`CodeError::TooLong`] if the word is longer
    /// than [`CODEWORD_BITS_MAX`](crate::CODEWORD_BITS_MAX).
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError>;

    /// Reads a word, and returns its value. The position is undefined after an error.
    ///
    /// # Errors
    /// [`CodeError::EndOfInput`] if the input ends within the word, [`CodeError::NotAWord`] if the bits are
    /// none.
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError>;

    /// Returns the length of the word in bits, or `None` for a value outside the domain of the code.
    fn bits(&self, value: u64) -> Option<u64>;

    /// Returns the probability that the code intends for a value (Notes 2.2.5): 2 to the minus length of its word.
    /// The code is optimal for this distribution.
    fn probability(&self, value: u64) -> f64 {
        self.bits(value).map_or(0.0, |bits| (-(bits as f64)).exp2())
    }

    /// Returns whether reading damaged bits only fails or yields wrong values. If not, reading them may also
    /// panic where overflow checks or debug assertions are on, so the checksum of a block must be checked
    /// before it is decoded.
    fn checks_input(&self) -> bool {
        true
    }
}

/// A code for lists of integers, the length of which is known when they are read.
pub trait BlockCode {
    /// Returns the name, with the parameters.
    fn block_name(&self) -> String;

    /// Writes a list.
    ///
    /// # Errors
    /// As [`Code::write`]. Parts of the list may have been written.
    fn write_block(&self, writer: &mut BitWriter, values: &[u64]) -> Result<(), CodeError>;

    /// Reads a list of `n` integers, and appends them to `values`. Integers may take no bits, so the input does not
    /// bound their number: callers bound `n`, for which reading takes `8·n` bytes and as much time.
    ///
    /// # Errors
    /// As [`Code::read`]; also if `n` integers cannot be in memory. A part of the list may have been appended.
    fn read_block(
        &self,
        reader: &mut BitReader<'_>,
        n: usize,
        values: &mut Vec<u64>,
    ) -> Result<(), CodeError>;

    /// Returns the length of the encoded list in bits, or `None` if it cannot be encoded.
    fn block_bits(&self, values: &[u64]) -> Option<u64>;
}

impl<C: Code> BlockCode for C {
    fn block_name(&self) -> String {
        self.name()
    }

    fn write_block(&self, writer: &mut BitWriter, values: &[u64]) -> Result<(), CodeError> {
        values.iter().try_for_each(|&value| self.write(writer, value))
    }

    fn read_block(
        &self,
        reader: &mut BitReader<'_>,
        n: usize,
        values: &mut Vec<u64>,
    ) -> Result<(), CodeError> {
        for _ in 0..n {
            values.push(self.read(reader)?);
        }
        Ok(())
    }

    fn block_bits(&self, values: &[u64]) -> Option<u64> {
        values.iter().try_fold(0_u64, |sum, &value| sum.checked_add(self.bits(value)?))
    }
}
