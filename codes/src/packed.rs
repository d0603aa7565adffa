//! Arrays of numbers of one width.

use crivello_common::codec::{RowReader, RowWriter};

/// Numbers of `width` bits each, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedArray {
    width: u32,
    len: usize,
    /// The numbers from the lowest bits on, and one more word, so that each number lies in two words.
    words: Vec<u64>,
}

impl PackedArray {
    /// Returns `len` zeros of `width` bits, at most 64.
    #[must_use]
    pub fn new(width: u32, len: usize) -> Self {
        let width = width.min(64);
        let bits = len as u128 * u128::from(width);
        // An array that does not fit in memory cannot be allocated; this is not the place to say so.
        let words = usize::try_from(bits.div_ceil(64)).unwrap_or(usize::MAX - 1);
        Self { width, len, words: vec![0; words + 1] }
    }

    /// Returns the bits of a number.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Returns the number of numbers.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    const fn mask(&self) -> u64 {
        if self.width == 0 { 0 } else { u64::MAX >> (64 - self.width) }
    }

    /// Returns the word and the shift at which a number begins.
    #[inline]
    const fn place(&self, at: usize) -> (usize, u32) {
        // The array is in memory, so its bits are fewer than 2⁶⁴.
        let bit = at as u64 * self.width as u64;
        ((bit / 64) as usize, (bit % 64) as u32)
    }

    /// Returns a number.
    ///
    /// # Panics
    /// Panics if there are not so many.
    #[inline]
    #[must_use]
    pub fn get(&self, at: usize) -> u64 {
        assert!(at < self.len, "number {at} of {}", self.len);
        if self.width == 0 {
            return 0;
        }
        let (word, shift) = self.place(at);
        let low = self.words[word] >> shift;
        // Two shifts, since a shift by 64 overflows.
        let high = self.words[word + 1] << 1 << (63 - shift);
        (low | high) & self.mask()
    }

    /// Stores the lower bits of a value.
    ///
    /// # Panics
    /// Panics if there are not so many numbers.
    #[inline]
    pub fn set(&mut self, at: usize, value: u64) {
        assert!(at < self.len, "number {at} of {}", self.len);
        if self.width == 0 {
            return;
        }
        let (mask, value) = (self.mask(), value & self.mask());
        let (word, shift) = self.place(at);
        self.words[word] = self.words[word] & !(mask << shift) | value << shift;
        if shift + self.width > 64 {
            let written = 64 - shift;
            self.words[word + 1] = self.words[word + 1] & !(mask >> written) | value >> written;
        }
    }

    /// Appends the array to a record.
    pub fn write(&self, out: &mut RowWriter) {
        let words = &self.words[..self.words.len() - 1];
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        out.number(u64::from(self.width)).number(self.len as u64).bytes(&bytes);
    }

    /// Reads an array, or returns `None` if the record does not have as many numbers as it says. Numbers of width 0 take
    /// no bytes, so there may be any number of them: whoever reads an array bounds its length.
    #[must_use]
    pub fn read(from: &mut RowReader<'_>) -> Option<Self> {
        let width: u32 = from.small().filter(|&width| width <= 64)?;
        let len: usize = from.small()?;
        let bytes = from.bytes()?;
        let bits = len as u128 * u128::from(width);
        let (words, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() || words.len() as u128 != bits.div_ceil(64) {
            return None;
        }
        let words = words.iter().map(|word| u64::from_le_bytes(*word)).chain([0]).collect();
        Some(Self { width, len, words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn an_array_is_a_vector(
            width in 0_u32..=64,
            len in 1_usize..200,
            writes in prop::collection::vec((any::<prop::sample::Index>(), any::<u64>()), 0..300),
        ) {
            let mut array = PackedArray::new(width, len);
            let mut model = vec![0; len];
            for (at, value) in writes {
                let at = at.index(len);
                array.set(at, value);
                model[at] = if width == 0 { 0 } else { value & (u64::MAX >> (64 - width)) };
            }
            let read = |array: &PackedArray| (0..len).map(|at| array.get(at)).collect::<Vec<_>>();
            prop_assert_eq!(read(&array), model);
            let mut out = RowWriter::default();
            array.write(&mut out);
            prop_assert_eq!(PackedArray::read(&mut RowReader(&out.0)), Some(array));
            let cut = &out.0[..out.0.len() - 1];
            prop_assert_eq!(PackedArray::read(&mut RowReader(cut)), None);
        }
    }
}
