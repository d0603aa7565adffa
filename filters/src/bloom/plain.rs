//! Bits anywhere in the filter.

use super::{HASHES_MAX, best_hashes, best_shape, cardinality};
use crate::{FilterError, KeyHash};
use crivello_codes::hash::place;
use crivello_common::codec::{RowReader, RowWriter};
use crivello_common::sealed::{seal, unseal};

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello bloom filter 1\n";

/// A Bloom filter. All k places of a key follow from two hashes (Kirsch and Mitzenmacher 2006).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BloomFilter {
    hashes: u32,
    /// A multiple of 64 bits.
    words: Vec<u64>,
    /// Number of bits that are set.
    ones: u64,
}

impl BloomFilter {
    /// Returns an empty filter for `n` keys with a rate of false positives of at most `rate`.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] unless the rate is above 0 and below 1, and the bits at most 2⁴⁶.
    pub fn for_rate(n: u64, rate: f64) -> Result<Self, FilterError> {
        let (bits, hashes) = best_shape(n, rate)?;
        Ok(Self::of_words(vec![0; bits.div_ceil(64).max(1) as usize], hashes))
    }

    /// Returns an empty filter of this size, at least 8 bytes, with the best k for `n` keys.
    #[must_use]
    pub fn for_bytes(n: u64, bytes: usize) -> Self {
        let words = vec![0; (bytes / 8).max(1)];
        let hashes = best_hashes(words.len() as u64 * 64, n);
        Self::of_words(words, hashes)
    }

    /// Returns an empty filter of this size, at least 8 bytes, with k from 1 to 50.
    #[must_use]
    pub fn with_hashes(bytes: usize, k: u32) -> Self {
        Self::of_words(vec![0; (bytes / 8).max(1)], k.clamp(1, HASHES_MAX))
    }

    fn of_words(words: Vec<u64>, hashes: u32) -> Self {
        let ones = words.iter().map(|word| u64::from(word.count_ones())).sum();
        Self { hashes, words, ones }
    }

    /// Returns the number of bits.
    #[must_use]
    pub const fn bits(&self) -> u64 {
        self.words.len() as u64 * 64
    }

    /// Returns k, the number of bits of a key.
    #[must_use]
    pub const fn hashes(&self) -> u32 {
        self.hashes
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.words.len() * size_of::<u64>()
    }

    #[inline]
    fn places(&self, hash: KeyHash) -> impl Iterator<Item = (usize, u64)> + use<> {
        let (bits, step) = (self.words.len() * 64, hash.high | 1);
        let mut at = hash.low;
        (0..self.hashes).map(move |_| {
            let bit = place(at, bits);
            at = at.wrapping_add(step);
            (bit / 64, 1 << (bit % 64))
        })
    }

    /// Inserts a key, and returns whether it changed the filter. If not, the key may have been in it.
    pub fn insert(&mut self, hash: KeyHash) -> bool {
        let mut added = 0;
        for (word, mask) in self.places(hash) {
            added += u64::from(self.words[word] & mask == 0);
            self.words[word] |= mask;
        }
        self.ones += added;
        added > 0
    }

    /// Returns whether the filter may have a key. `false` is certain.
    #[inline]
    #[must_use]
    pub fn contains(&self, hash: KeyHash) -> bool {
        self.places(hash).all(|(word, mask)| self.words[word] & mask != 0)
    }

    /// Returns the number of bits that are set.
    #[must_use]
    pub const fn ones(&self) -> u64 {
        self.ones
    }

    /// Returns the rate of false positives at the present fill.
    #[must_use]
    pub fn rate(&self) -> f64 {
        (self.ones() as f64 / self.bits() as f64).powf(f64::from(self.hashes))
    }

    /// Returns the estimated number of keys, from the bits that are not set; infinite if all are.
    #[must_use]
    pub fn cardinality(&self) -> f64 {
        cardinality(self.bits(), self.bits() - self.ones(), self.hashes)
    }

    fn combine(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Result<(), FilterError> {
        if (self.hashes, self.words.len()) != (other.hashes, other.words.len()) {
            return Err(FilterError::Mismatch);
        }
        let words = self.words.iter().zip(&other.words).map(|(&a, &b)| with(a, b)).collect();
        *self = Self::of_words(words, self.hashes);
        Ok(())
    }

    /// Inserts all keys of another filter.
    ///
    /// # Errors
    /// [`FilterError::Mismatch`] if the filters have different sizes or k. They must also have hashes of one seed.
    pub fn union(&mut self, other: &Self) -> Result<(), FilterError> {
        self.combine(other, |a, b| a | b)
    }

    /// Keeps the keys that another filter has, too. Its rate of false positives is between that of a filter of
    /// the common keys and those of the two.
    ///
    /// # Errors
    /// As [`Self::union`].
    pub fn intersect(&mut self, other: &Self) -> Result<(), FilterError> {
        self.combine(other, |a, b| a & b)
    }

    /// Returns the filter as bytes, with a header and a checksum.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = RowWriter::default();
        out.number(u64::from(self.hashes));
        let words: Vec<u8> = self.words.iter().flat_map(|word| word.to_le_bytes()).collect();
        seal(MAGIC, out.rest(&words).0.as_slice())
    }

    /// Reads a filter.
    ///
    /// # Errors
    /// [`FilterError::Damaged`] if the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FilterError> {
        let record = unseal(MAGIC, bytes).map_err(FilterError::Damaged)?;
        let mut from = RowReader(record);
        let hashes = from.small().filter(|k| (1..=HASHES_MAX).contains(k));
        let (words, rest) = from.rest().as_chunks::<8>();
        match hashes {
            Some(hashes) if !words.is_empty() && rest.is_empty() => {
                let words = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
                Ok(Self::of_words(words, hashes))
            }
            _ => Err(FilterError::malformed()),
        }
    }
}
