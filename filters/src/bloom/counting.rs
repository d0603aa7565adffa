//! A counter instead of each bit.

use super::{HASHES_MAX, best_hashes, best_shape};
use crate::{FilterError, KeyHash};
use crivello_codes::hash::place;
use crivello_common::codec::{RowReader, RowWriter};
use crivello_common::sealed::{seal, unseal};

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello counting bloom filter 1\n";
/// The largest count, at which a counter stays.
const COUNT_MAX: u8 = 15;

/// A Bloom filter with counters of 4 bits, so that keys can be removed (Fan et al. 2000). A counter that reaches 15 is
/// never changed again, so keys may stay, but no other key is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountingBloomFilter {
    hashes: u32,
    /// Two counters each.
    pairs: Vec<u8>,
}

impl CountingBloomFilter {
    /// Returns an empty filter for `n` keys with a rate of false positives of at most `rate`.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] unless the rate is above 0 and below 1, and the counters at most 2⁴⁶.
    pub fn for_rate(n: u64, rate: f64) -> Result<Self, FilterError> {
        let (counters, hashes) = best_shape(n, rate)?;
        Ok(Self { hashes, pairs: vec![0; counters.div_ceil(2).max(1) as usize] })
    }

    /// Returns an empty filter of this size, at least a byte, with the best k for `n` keys.
    #[must_use]
    pub fn for_bytes(n: u64, bytes: usize) -> Self {
        let pairs = vec![0; bytes.max(1)];
        Self { hashes: best_hashes(pairs.len() as u64 * 2, n), pairs }
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the byte and the shift of each counter of a key.
    #[inline]
    fn places(&self, hash: KeyHash) -> impl Iterator<Item = (usize, u32)> + use<> {
        let (counters, step) = (self.pairs.len() * 2, hash.high | 1);
        let mut at = hash.low;
        (0..self.hashes).map(move |_| {
            let counter = place(at, counters);
            at = at.wrapping_add(step);
            (counter / 2, (counter % 2 * 4) as u32)
        })
    }

    fn change(&mut self, (at, shift): (usize, u32), by: impl Fn(u8) -> u8) {
        let pair = &mut self.pairs[at];
        let count = *pair >> shift & COUNT_MAX;
        if count < COUNT_MAX {
            *pair = *pair & !(COUNT_MAX << shift) | by(count) << shift;
        }
    }

    /// Inserts a key once more.
    pub fn insert(&mut self, hash: KeyHash) {
        self.places(hash).for_each(|place| self.change(place, |count| count + 1));
    }

    /// Removes a key once, which must have been inserted: others are lost if the filter only seems to have it. Returns
    /// whether the filter may have had it; if not, nothing changes.
    pub fn remove(&mut self, hash: KeyHash) -> bool {
        if !self.contains(hash) {
            return false;
        }
        self.places(hash).for_each(|place| self.change(place, |count| count.saturating_sub(1)));
        true
    }

    /// Returns whether the filter may have a key. `false` is certain.
    #[must_use]
    pub fn contains(&self, hash: KeyHash) -> bool {
        self.count(hash) > 0
    }

    /// Returns how often a key was inserted, at most: the least of its counters. 15 stands for that and more.
    #[must_use]
    pub fn count(&self, hash: KeyHash) -> u8 {
        let counts = self.places(hash).map(|(at, shift)| self.pairs[at] >> shift & COUNT_MAX);
        counts.min().unwrap_or(0)
    }

    /// Returns the filter as bytes, with a header and a checksum.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = RowWriter::default();
        out.number(u64::from(self.hashes)).rest(&self.pairs);
        seal(MAGIC, &out.0)
    }

    /// Reads a filter.
    ///
    /// # Errors
    /// [`FilterError::Damaged`] if the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FilterError> {
        let record = unseal(MAGIC, bytes).map_err(FilterError::Damaged)?;
        let mut from = RowReader(record);
        let hashes = from.small().filter(|k| (1..=HASHES_MAX).contains(k));
        match (hashes, from.rest()) {
            (Some(hashes), pairs @ [_, ..]) => Ok(Self { hashes, pairs: pairs.to_vec() }),
            _ => Err(FilterError::malformed()),
        }
    }
}
