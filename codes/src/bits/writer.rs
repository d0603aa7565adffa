//! Writing bits to bytes.

use crate::CodeError;
use dsi_bitstream::traits::{BE, BitWrite};

/// Length of the longest word that is written, in bits. It bounds the memory that one value takes, since the
/// length of unary and Golomb codes grows with the value.
pub const CODEWORD_BITS_MAX: u64 = 1 << 24;

/// Bytes that grow by bits, most significant bit first.
///
/// It implements `BitWrite` of `dsi-bitstream`, so that the codes of that crate work on it, too.
#[derive(Clone, Debug, Default)]
pub struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that are not in `bytes` yet, the first one on top.
    pending: u64,
    /// Number of pending bits, below 64.
    n_pending: u32,
}

impl BitWriter {
    /// Returns a writer without bits.
    #[must_use]
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), pending: 0, n_pending: 0 }
    }

    /// Returns the number of bits that were written.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.bytes.len() as u64 * 8 + self.n_pending as u64
    }

    /// Writes the lower `n` bits of a value, at most 64, the uppermost one first.
    #[inline]
    pub fn bits(&mut self, value: u64, n: u32) {
        let n = n.min(64);
        if n == 0 {
            return;
        }
        let value = value << (64 - n);
        self.pending |= value >> self.n_pending;
        let total = self.n_pending + n;
        if total < 64 {
            self.n_pending = total;
            return;
        }
        self.bytes.extend_from_slice(&self.pending.to_be_bytes());
        // `64 - self.n_pending` bits of the value are written; it is 64 if there were none pending.
        let written = 64 - self.n_pending;
        self.pending = value.checked_shl(written).unwrap_or(0);
        self.n_pending = total - 64;
    }

    /// Writes `n` zeros and a one.
    ///
    /// # Errors
    /// [`CodeError::TooLong`] if these are more than [`CODEWORD_BITS_MAX`] bits.
    #[inline]
    pub fn zeros(&mut self, n: u64) -> Result<(), CodeError> {
        self.run(n, 0)?;
        self.bits(1, 1);
        Ok(())
    }

    /// Writes `n` ones and a zero.
    ///
    /// # Errors
    /// [`CodeError::TooLong`] if these are more than [`CODEWORD_BITS_MAX`] bits.
    #[inline]
    pub fn ones(&mut self, n: u64) -> Result<(), CodeError> {
        self.run(n, u64::MAX)?;
        self.bits(0, 1);
        Ok(())
    }

    #[inline]
    fn run(&mut self, n: u64, word: u64) -> Result<(), CodeError> {
        if n >= CODEWORD_BITS_MAX {
            return Err(CodeError::TooLong(n));
        }
        for _ in 0..n / 64 {
            self.bits(word, 64);
        }
        self.bits(word, (n % 64) as u32);
        Ok(())
    }

    /// Writes zeros up to the end of the last byte.
    pub fn align(&mut self) {
        self.bits(0, (8 - self.n_pending % 8) % 8);
    }

    /// Returns the bytes; the last one is filled with zeros.
    #[must_use]
    pub fn into_bytes(mut self) -> Vec<u8> {
        let n = self.n_pending.div_ceil(8) as usize;
        self.bytes.extend_from_slice(&self.pending.to_be_bytes()[..n]);
        self.bytes
    }
}

impl BitWrite<BE> for BitWriter {
    type Error = CodeError;

    #[inline]
    fn write_bits(&mut self, value: u64, n: usize) -> Result<usize, CodeError> {
        self.bits(value, n.min(64) as u32);
        Ok(n)
    }

    #[inline]
    fn write_unary(&mut self, n: u64) -> Result<usize, CodeError> {
        self.zeros(n)?;
        Ok(n as usize + 1)
    }

    /// Does nothing: [`Self::into_bytes`] ends the stream.
    fn flush(&mut self) -> Result<usize, CodeError> {
        Ok(0)
    }
}
