//! Reading bits from bytes.

use crate::CodeError;
use dsi_bitstream::traits::{BE, BitRead};

/// Bits that a window has at least, whatever the position within a byte.
const WINDOW_BITS: u64 = 57;

/// A position in a slice of bytes, from which bits are read, most significant bit first. It never reads
/// beyond its end. A copy of it is a bookmark.
///
/// It implements `BitRead` of `dsi-bitstream`, so that the codes of that crate work on it, too.
#[derive(Clone, Copy, Debug)]
pub struct BitReader<'a> {
    bytes: &'a [u8],
    /// Position, in bits; at most `end`.
    position: u64,
    /// Number of bits of the input.
    end: u64,
}

impl<'a> BitReader<'a> {
    /// Returns a reader at the first bit.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, position: 0, end: bytes.len() as u64 * 8 }
    }

    /// Returns a reader of the first `bits` bits.
    ///
    /// # Errors
    /// [`CodeError::EndOfInput`] if there are fewer bits.
    pub const fn with_len(bytes: &'a [u8], bits: u64) -> Result<Self, CodeError> {
        if bits > bytes.len() as u64 * 8 {
            return Err(CodeError::EndOfInput);
        }
        Ok(Self { bytes, position: 0, end: bits })
    }

    /// Returns the position in bits.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// Returns the number of bits that are left.
    #[must_use]
    pub const fn remaining(&self) -> u64 {
        self.end - self.position
    }

    /// Moves to a position in bits.
    ///
    /// # Errors
    /// [`CodeError::EndOfInput`] if it lies beyond the end.
    #[inline]
    pub const fn seek(&mut self, position: u64) -> Result<(), CodeError> {
        if position > self.end {
            return Err(CodeError::EndOfInput);
        }
        self.position = position;
        Ok(())
    }

    /// Skips this many bits.
    ///
    /// # Errors
    /// [`CodeError::EndOfInput`] if fewer are left.
    #[inline]
    pub const fn skip(&mut self, bits: u64) -> Result<(), CodeError> {
        if bits > self.end - self.position {
            return Err(CodeError::EndOfInput);
        }
        self.position += bits;
        Ok(())
    }

    /// Returns the next bits, the first one on top, without moving. At least 57 are those of the input;
    /// bits beyond its bytes are 0.
    #[inline]
    #[must_use]
    pub fn window(&self) -> u64 {
        let (at, shift) = ((self.position / 8) as usize, self.position % 8);
        let tail = self.bytes.get(at..).unwrap_or_default();
        let word = match tail.first_chunk::<8>() {
            Some(chunk) => u64::from_be_bytes(*chunk),
            None => {
                let mut chunk = [0; 8];
                chunk[..tail.len()].copy_from_slice(tail);
                u64::from_be_bytes(chunk)
            }
        };
        word << shift
    }

    /// Reads up to 64 bits as a number, the first bit on top.
    ///
    /// # Errors
    /// [`CodeError::EndOfInput`] if fewer bits are left; [`CodeError::NotAWord`] if more than 64 are wanted.
    #[inline]
    pub fn bits(&mut self, n: u32) -> Result<u64, CodeError> {
        let n = u64::from(n);
        if n > self.end - self.position {
            return Err(CodeError::EndOfInput);
        }
        if n <= WINDOW_BITS {
            // Two shifts, since a shift by 64 overflows.
            let value = self.window() >> 1 >> (63 - n.min(63));
            self.position += n;
            return Ok(if n == 0 { 0 } else { value });
        }
        if n > 64 {
            return Err(CodeError::NotAWord);
        }
        let high = self.window() >> 32;
        self.position += 32;
        let low = self.window() >> (96 - n);
        self.position += n - 32;
        Ok(high << (n - 32) | low)
    }

    /// Reads `n` numbers of `width` bits each, up to 64, and appends them.
    ///
    /// # Errors
    /// Those of [`Self::bits`]. Nothing is appended then.
    #[inline]
    pub fn numbers(
        &mut self,
        n: usize,
        width: u32,
        numbers: &mut Vec<u64>,
    ) -> Result<(), CodeError> {
        let bits = (n as u64).checked_mul(u64::from(width)).ok_or(CodeError::EndOfInput)?;
        if bits > self.remaining() {
            return Err(CodeError::EndOfInput);
        }
        if width > 64 {
            return Err(CodeError::NotAWord);
        }
        numbers.reserve(n);
        let width = u64::from(width);
        let mut done = 0;
        if (1..=WINDOW_BITS).contains(&width)
            && let Some(last) = (self.bytes.len() as u64 * 8).checked_sub(64)
            && self.position <= last
        {
            // Numbers whose windows are in the input need no other check.
            done = ((last - self.position) / width + 1).min(n as u64);
            let (bytes, start) = (self.bytes, self.position);
            numbers.extend((0..done).map(|i| {
                let at = start + i * width;
                let word = bytes[(at / 8) as usize..].first_chunk::<8>();
                let word = word.map_or(0, |chunk| u64::from_be_bytes(*chunk));
                word << (at % 8) >> (64 - width)
            }));
            self.position += done * width;
        }
        for _ in done..n as u64 {
            numbers.push(self.bits(width as u32)?);
        }
        Ok(())
    }

    /// Reads zeros up to the next one, and returns their number.
    ///
    /// # Errors
    /// [`CodeError::EndOfInput`] if there is no one.
    #[inline]
    pub fn zeros(&mut self) -> Result<u64, CodeError> {
        self.run(0)
    }

    /// Reads ones up to the next zero, and returns their number.
    ///
    /// # Errors
    /// [`CodeError::EndOfInput`] if there is no zero.
    #[inline]
    pub fn ones(&mut self) -> Result<u64, CodeError> {
        self.run(u64::MAX)
    }

    /// Reads a run of bits equal to those of `flip`, and the bit that ends it.
    #[inline]
    fn run(&mut self, flip: u64) -> Result<u64, CodeError> {
        let start = self.position;
        loop {
            let valid = (64 - self.position % 8).min(self.end - self.position);
            let zeros = u64::from((self.window() ^ flip).leading_zeros());
            if zeros < valid {
                let run = self.position - start + zeros;
                self.position += zeros + 1;
                return Ok(run);
            }
            self.position += valid;
            if self.position == self.end {
                return Err(CodeError::EndOfInput);
            }
        }
    }
}

impl BitRead<BE> for BitReader<'_> {
    type Error = CodeError;
    type PeekWord = u32;
    const PEEK_BITS: usize = 32;

    #[inline]
    fn read_bits(&mut self, n: usize) -> Result<u64, CodeError> {
        self.bits(u32::try_from(n).unwrap_or(u32::MAX))
    }

    /// Fails if fewer than `n` bits are left, so that tables of codewords never see bits beyond the end.
    #[inline]
    fn peek_bits(&mut self, n: usize) -> Result<u32, CodeError> {
        if n as u64 > self.remaining() || !(1..=32).contains(&n) {
            return Err(CodeError::EndOfInput);
        }
        Ok((self.window() >> (64 - n)) as u32)
    }

    #[inline]
    fn skip_bits(&mut self, n: usize) -> Result<(), CodeError> {
        self.skip(n as u64)
    }

    #[inline]
    fn skip_bits_after_peek(&mut self, n: usize) {
        self.position = (self.position + n as u64).min(self.end);
    }

    #[inline]
    fn read_unary(&mut self) -> Result<u64, CodeError> {
        self.zeros()
    }
}
