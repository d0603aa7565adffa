//! Binary codes (Notes 2.2.1) for values below a bound.

use crate::{BitReader, BitWriter, Code, CodeError};
use dsi_bitstream::codes::{MinimalBinaryRead as _, MinimalBinaryWrite as _, len_minimal_binary};

/// Binary words of one width, from 0 to 64 bits. Their order is that of the values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binary {
    width: u32,
}

impl Binary {
    /// Returns the code with words of this many bits, at most 64.
    #[must_use]
    pub const fn new(width: u32) -> Self {
        Self { width: if width > 64 { 64 } else { width } }
    }

    const fn has(self, value: u64) -> bool {
        64 - value.leading_zeros() <= self.width
    }
}

impl Code for Binary {
    fn name(&self) -> String {
        format!("binary({})", self.width)
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        if !self.has(value) {
            return Err(CodeError::OutOfDomain(value));
        }
        writer.bits(value, self.width);
        Ok(())
    }

    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        reader.bits(self.width)
    }

    fn bits(&self, value: u64) -> Option<u64> {
        self.has(value).then_some(u64::from(self.width))
    }
}

/// The minimal binary code of `dsi-bitstream` for values below a bound k: with s = ⌈log₂ k⌉, the first 2ˢ − k
/// values have words of s − 1 bits, all others of s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MinimalBinary {
    bound: u64,
}

impl MinimalBinary {
    /// Returns the code for values below `bound`, which is at least 1.
    #[must_use]
    pub const fn new(bound: u64) -> Self {
        Self { bound: if bound == 0 { 1 } else { bound } }
    }
}

impl Code for MinimalBinary {
    fn name(&self) -> String {
        format!("minimal binary({})", self.bound)
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        if value >= self.bound {
            return Err(CodeError::OutOfDomain(value));
        }
        writer.write_minimal_binary(value, self.bound).map(drop)
    }

    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        reader.read_minimal_binary(self.bound)
    }

    fn bits(&self, value: u64) -> Option<u64> {
        (value < self.bound).then(|| len_minimal_binary(value, self.bound) as u64)
    }
}
