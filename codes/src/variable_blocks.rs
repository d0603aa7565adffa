//! Variable-length blocks (Notes 2.2.4): as many bytes, or nibbles, as a value needs.

use crate::{BitReader, BitWriter, Code, CodeError};
use dsi_bitstream::codes::{VByteBeRead as _, VByteBeWrite as _};

/// Where the bits are that tell how many blocks follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContinuationBits {
    /// One on top of each block: 1 if another one follows.
    Each,
    /// All before the value: with k blocks, k − 1 ones and a zero. The length is known from the first block.
    First,
}

/// Blocks of a fixed size, each with one continuation bit. k blocks hold the values that fewer cannot, so the
/// code is complete: with bytes, 0 to 127 take one, and 128 to 16,511 two.
///
/// Bytes with a bit in each are those of `dsi-bitstream`, which trusts its input. The others are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VariableBlocks {
    block_bits: u32,
    continuation: ContinuationBits,
}

const BYTE_BITS: u32 = 8;
const NIBBLE_BITS: u32 = 4;
/// Bits that a window of the reader always has.
const WINDOW_BITS: u32 = 57;

impl VariableBlocks {
    /// Returns the code with blocks of eight bits.
    #[must_use]
    pub const fn bytes(continuation: ContinuationBits) -> Self {
        Self { block_bits: BYTE_BITS, continuation }
    }

    /// Returns the code with blocks of four bits.
    #[must_use]
    pub const fn nibbles(continuation: ContinuationBits) -> Self {
        Self { block_bits: NIBBLE_BITS, continuation }
    }

    const fn payload_bits(self) -> u32 {
        self.block_bits - 1
    }

    /// Returns the number of blocks of a value, and its place among the values with this number.
    #[inline]
    fn split(self, value: u64) -> (u32, u64) {
        let (mut n, mut place) = (1, value);
        loop {
            let bits = n * self.payload_bits();
            if bits >= 64 || place < 1 << bits {
                return (n, place);
            }
            place -= 1 << bits;
            n += 1;
        }
    }

    /// Returns the smallest value with `n` blocks, or `None` if there is none.
    #[inline]
    fn smallest(self, n: u32) -> Option<u64> {
        let (mut sum, mut bits) = (0_u64, self.payload_bits());
        for _ in 1..n {
            if bits >= 64 {
                return None;
            }
            sum = sum.checked_add(1 << bits)?;
            bits += self.payload_bits();
        }
        Some(sum)
    }

    fn uses_dsi(self) -> bool {
        self.block_bits == BYTE_BITS && self.continuation == ContinuationBits::Each
    }

    /// Writes bits, of which the value has at most 64.
    #[inline]
    fn write_wide(writer: &mut BitWriter, value: u64, bits: u32) {
        writer.bits(0, bits.saturating_sub(64));
        writer.bits(value, bits.min(64));
    }

    fn write_each(self, writer: &mut BitWriter, value: u64) {
        let (n, place) = self.split(value);
        for block in (0..n).rev() {
            let shift = block * self.payload_bits();
            let payload = place.checked_shr(shift).unwrap_or(0) & ((1 << self.payload_bits()) - 1);
            let more = u64::from(block > 0) << self.payload_bits();
            writer.bits(more | payload, self.block_bits);
        }
    }

    #[inline]
    fn read_each(self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        let more = 1 << self.payload_bits();
        let mut block = reader.bits(self.block_bits)?;
        let mut value = block & (more - 1);
        while block & more != 0 {
            block = reader.bits(self.block_bits)?;
            let next = value.checked_add(1).and_then(|value| value.checked_mul(more));
            value = next.ok_or(CodeError::NotAWord)? | (block & (more - 1));
        }
        Ok(value)
    }

    #[inline]
    fn read_first(self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        let window = reader.window();
        let n = window.leading_ones() + 1;
        if n * self.block_bits > WINDOW_BITS {
            return self.read_long(reader);
        }
        // Skipping fails if the word is cut off; bits behind the end have no effect then.
        reader.skip(u64::from(n * self.block_bits))?;
        let place = window << n >> (64 - n * self.payload_bits());
        self.smallest(n).map(|smallest| smallest + place).ok_or(CodeError::NotAWord)
    }

    /// Reads a word with its continuation bits first, of any length.
    #[cold]
    fn read_long(self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        let n = u32::try_from(reader.ones()?).ok().and_then(|ones| ones.checked_add(1));
        let n = n.filter(|&n| n <= 64).ok_or(CodeError::NotAWord)?;
        let smallest = self.smallest(n).ok_or(CodeError::NotAWord)?;
        let bits = n * self.payload_bits();
        if reader.bits(bits.saturating_sub(64))? != 0 {
            return Err(CodeError::NotAWord);
        }
        let place = reader.bits(bits.min(64))?;
        smallest.checked_add(place).ok_or(CodeError::NotAWord)
    }
}

impl Code for VariableBlocks {
    fn name(&self) -> String {
        let blocks = if self.block_bits == BYTE_BITS { "bytes" } else { "nibbles" };
        match self.continuation {
            ContinuationBits::Each => format!("{blocks}(each)"),
            ContinuationBits::First => format!("{blocks}(first)"),
        }
    }

    #[inline]
    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        if self.uses_dsi() {
            return writer.write_vbyte_be(value).map(drop);
        }
        match self.continuation {
            ContinuationBits::Each => self.write_each(writer, value),
            ContinuationBits::First => {
                let (n, place) = self.split(value);
                writer.ones(u64::from(n - 1))?;
                Self::write_wide(writer, place, n * self.payload_bits());
            }
        }
        Ok(())
    }

    #[inline]
    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        match self.continuation {
            _ if self.uses_dsi() => reader.read_vbyte_be(),
            ContinuationBits::Each => self.read_each(reader),
            ContinuationBits::First => self.read_first(reader),
        }
    }

    fn bits(&self, value: u64) -> Option<u64> {
        Some(u64::from(self.split(value).0 * self.block_bits))
    }

    fn checks_input(&self) -> bool {
        !self.uses_dsi()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Our blocks of eight bits are those of `dsi-bitstream`.
    #[test]
    fn bytes_are_those_of_dsi_bitstream() {
        let code = VariableBlocks::bytes(ContinuationBits::Each);
        let edges = (0..64).flat_map(|n| [(1 << n) - 1, 1 << n, (1 << n) + 127, (1 << n) + 128]);
        for value in edges.chain([16_511, 16_512, u64::MAX - 1, u64::MAX]) {
            let (mut ours, mut theirs) = (BitWriter::new(), BitWriter::new());
            code.write_each(&mut ours, value);
            code.write(&mut theirs, value).unwrap();
            let bytes = theirs.into_bytes();
            assert_eq!(ours.into_bytes(), bytes, "{value}");
            assert_eq!(code.read_each(&mut BitReader::new(&bytes)), Ok(value));
        }
    }

    #[test]
    fn words_have_their_continuation_bits_in_the_right_place() {
        let word = |code: VariableBlocks, value| {
            let mut writer = BitWriter::new();
            code.write(&mut writer, value).unwrap();
            writer.into_bytes()
        };
        let [each, first] =
            [ContinuationBits::Each, ContinuationBits::First].map(VariableBlocks::nibbles);
        assert_eq!(word(each, 7), [0b0111_0000]);
        assert_eq!(word(each, 8), [0b1000_0000]);
        assert_eq!(word(each, 71), [0b1111_0111]);
        assert_eq!(word(first, 71), [0b1011_1111]);
        assert_eq!(word(first, 72), [0b1100_0000, 0]);
        let bytes = VariableBlocks::bytes(ContinuationBits::First);
        assert_eq!(word(bytes, 16_511), [0b1011_1111, 0xff]);
    }

    proptest! {
        #[test]
        fn words_that_overflow_are_refused(bytes in prop::collection::vec(128_u8.., 8..40)) {
            for code in [
                VariableBlocks::bytes(ContinuationBits::First),
                VariableBlocks::nibbles(ContinuationBits::Each),
                VariableBlocks::nibbles(ContinuationBits::First),
            ] {
                let _ = code.read(&mut BitReader::new(&bytes));
            }
            let ones = vec![0xff; bytes.len()];
            let each = VariableBlocks::bytes(ContinuationBits::Each);
            prop_assert!(each.read_each(&mut BitReader::new(&ones)).is_err());
        }
    }
}
