//! All bits of a key in one cache line.

use super::{HASHES_MAX, best_hashes, best_shape};
use crate::{FilterError, KeyHash};
use crivello_codes::hash::place;
use crivello_common::codec::{RowReader, RowWriter};
use crivello_common::sealed::{seal, unseal};

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello blocked bloom filter 1\n";
const LINE_WORDS: usize = 8;
const LINE_BITS: usize = 512;
/// Number of hash bits that select a bit of a line.
const PLACE_BITS: u32 = LINE_BITS.ilog2();
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Bits of a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(align(64))]
struct Line([u64; LINE_WORDS]);

impl Line {
    fn ones(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }
}

/// A blocked Bloom filter (Putze, Sanders and Singler 2007): one cache miss a key. Lines fill unevenly, so its rate is
/// higher than that of a [`BloomFilter`](super::BloomFilter) of the same size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedBloomFilter {
    hashes: u32,
    lines: Vec<Line>,
    /// Number of lines by their number of set bits.
    fills: Vec<u64>,
}

impl BlockedBloomFilter {
    /// Returns an empty filter with as many bits as a [`BloomFilter`](super::BloomFilter) with this rate has. Its own
    /// rate is higher: [`Self::rate`].
    ///
    /// # Errors
    /// [`FilterError::Parameters`] unless the rate is above 0 and below 1, and the bits at most 2⁴⁶.
    pub fn for_rate(n: u64, rate: f64) -> Result<Self, FilterError> {
        let (bits, hashes) = best_shape(n, rate)?;
        let lines = bits.div_ceil(LINE_BITS as u64).max(1) as usize;
        Ok(Self::of_lines(vec![Line::default(); lines], hashes))
    }

    /// Returns an empty filter of this size, at least 64 bytes, for `n` keys. k is that of a
    /// [`BloomFilter`](super::BloomFilter) of this size.
    #[must_use]
    pub fn for_bytes(n: u64, bytes: usize) -> Self {
        let lines = vec![Line::default(); (bytes / size_of::<Line>()).max(1)];
        let hashes = best_hashes((lines.len() * LINE_BITS) as u64, n);
        Self::of_lines(lines, hashes)
    }

    /// Returns an empty filter of this size, at least 64 bytes, with k from 1 to 50.
    #[must_use]
    pub fn with_hashes(bytes: usize, k: u32) -> Self {
        let lines = vec![Line::default(); (bytes / size_of::<Line>()).max(1)];
        Self::of_lines(lines, k.clamp(1, HASHES_MAX))
    }

    fn of_lines(lines: Vec<Line>, hashes: u32) -> Self {
        let mut fills = vec![0; LINE_BITS + 1];
        lines.iter().for_each(|line| fills[line.ones() as usize] += 1);
        Self { hashes, lines, fills }
    }

    /// Returns the bytes of the bits in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.lines.len() * size_of::<Line>()
    }

    #[inline]
    fn bits_of(&self, hash: KeyHash) -> impl Iterator<Item = (usize, u64)> + use<> {
        let mut bits = hash.high | 1;
        (0..self.hashes).map(move |_| {
            let bit = (bits >> (u64::BITS - PLACE_BITS)) as usize;
            bits = bits.wrapping_mul(GOLDEN);
            (bit / 64, 1 << (bit % 64))
        })
    }

    /// Inserts a key, and returns whether it changed the filter. If not, the key may have been in it.
    pub fn insert(&mut self, hash: KeyHash) -> bool {
        let at = place(hash.low, self.lines.len());
        let mut added = 0;
        for (word, mask) in self.bits_of(hash) {
            let word = &mut self.lines[at].0[word];
            added += usize::from(*word & mask == 0);
            *word |= mask;
        }
        if added > 0 {
            let ones = self.lines[at].ones() as usize;
            self.fills[ones - added] -= 1;
            self.fills[ones] += 1;
        }
        added > 0
    }

    /// Returns whether the filter may have a key. `false` is certain.
    #[inline]
    #[must_use]
    pub fn contains(&self, hash: KeyHash) -> bool {
        let line = &self.lines[place(hash.low, self.lines.len())].0;
        self.bits_of(hash).all(|(word, mask)| line[word] & mask != 0)
    }

    /// Returns the rate of false positives at the present fill of its lines.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let k = f64::from(self.hashes);
        let share = |ones| (f64::from(ones) / LINE_BITS as f64).powf(k);
        let rates = (0_u32..).zip(&self.fills).map(|(ones, &lines)| lines as f64 * share(ones));
        rates.sum::<f64>() / self.lines.len() as f64
    }

    /// Returns the estimated number of keys, from the bits of each line that are not set; infinite if a line is full.
    #[must_use]
    pub fn cardinality(&self) -> f64 {
        let bits = LINE_BITS as u64;
        let fills = (0..).zip(&self.fills).filter(|&(_, &lines)| lines > 0);
        let keys = |ones| super::cardinality(bits, bits - ones, self.hashes);
        fills.map(|(ones, &lines)| lines as f64 * keys(ones)).sum()
    }

    fn combine(&mut self, other: &Self, with: impl Fn(u64, u64) -> u64) -> Result<(), FilterError> {
        if (self.hashes, self.lines.len()) != (other.hashes, other.lines.len()) {
            return Err(FilterError::Mismatch);
        }
        let mut lines = std::mem::take(&mut self.lines);
        for (a, b) in lines.iter_mut().zip(&other.lines) {
            a.0.iter_mut().zip(b.0).for_each(|(a, b)| *a = with(*a, b));
        }
        *self = Self::of_lines(lines, self.hashes);
        Ok(())
    }

    /// Inserts all keys of another filter.
    ///
    /// # Errors
    /// [`FilterError::Mismatch`] if the filters have different sizes or k. They must also have hashes of one seed.
    pub fn union(&mut self, other: &Self) -> Result<(), FilterError> {
        self.combine(other, |a, b| a | b)
    }

    /// Keeps the keys that another filter has, too.
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
        let words = self.lines.iter().flat_map(|line| line.0);
        let words: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
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
        let (lines, rest) = from.rest().as_chunks::<{ 8 * LINE_WORDS }>();
        match hashes {
            Some(hashes) if !lines.is_empty() && rest.is_empty() => {
                let line = |bytes: &[u8; 8 * LINE_WORDS]| {
                    let mut line = Line::default();
                    let words = bytes.as_chunks::<8>().0.iter();
                    line.0
                        .iter_mut()
                        .zip(words)
                        .for_each(|(to, word)| *to = u64::from_le_bytes(*word));
                    line
                };
                Ok(Self::of_lines(lines.iter().map(line).collect(), hashes))
            }
            _ => Err(FilterError::malformed()),
        }
    }
}
