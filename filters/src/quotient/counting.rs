//! A multiset of fingerprints.

use super::counter::{Counted, REMAINDER_BITS_MIN, decode, encode};
use super::set::{doubled, first_table, read_next, read_shape, smallest_table, split, write_shape};
use super::shape::QuotientShape;
use super::table::Table;
use crate::{FilterError, KeyHash};
use crivello_common::codec::{RowReader, RowWriter};
use crivello_common::sealed::{seal, unseal};

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello counting quotient filter 1\n";

/// A counting quotient filter: how often each fingerprint was inserted, in one slot for fingerprints that occur once, and
/// in few for others. Counts are never too low; those of keys whose fingerprints are equal are added.
///
/// It grows as a [`QuotientFilter`](crate::QuotientFilter) does, until remainders have two bits. Filters are equal if they
/// have the same counts of fingerprints, of the same length.
#[derive(Clone, Debug)]
pub struct CountingQuotientFilter {
    shape: QuotientShape,
    table: Table,
    /// Number of different fingerprints.
    distinct: usize,
}

impl PartialEq for CountingQuotientFilter {
    fn eq(&self, other: &Self) -> bool {
        self.shape.fingerprint_bits == other.shape.fingerprint_bits
            && self.counts().eq(other.counts())
    }
}

impl Eq for CountingQuotientFilter {}

impl CountingQuotientFilter {
    /// Returns an empty filter.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] with a fingerprint of less than 2 or more than 64 bits, or if the smallest
    /// table takes more memory than it may.
    pub fn new(shape: QuotientShape) -> Result<Self, FilterError> {
        Ok(Self { shape, table: first_table(shape)?, distinct: 0 })
    }

    fn split(&self, fingerprint: u64) -> (usize, u64) {
        split(fingerprint, self.table.r())
    }

    /// Returns the fingerprint of a key: the upper p bits of its hash.
    #[must_use]
    pub const fn fingerprint(&self, hash: KeyHash) -> u64 {
        hash.low >> (64 - self.shape.fingerprint_bits)
    }

    /// Changes the count of a fingerprint, and returns the new one.
    fn change(&mut self, fingerprint: u64, by: impl Fn(u64) -> u64) -> Result<u64, FilterError> {
        loop {
            let (quotient, remainder) = self.split(fingerprint);
            let r = self.table.r();
            let old = self.table.run(quotient);
            let mut run = decode(&old, r);
            let found = run.binary_search_by_key(&remainder, |counted| counted.remainder);
            let before = found.map_or(0, |at| run[at].count);
            let count = by(before);
            match (found, count) {
                (Ok(at), 0) => drop(run.remove(at)),
                (Ok(at), count) => run[at].count = count,
                (Err(_), 0) => return Ok(0),
                (Err(at), count) => run.insert(at, Counted { remainder, count }),
            }
            let new = encode(&run, r);
            let more = new.len().saturating_sub(old.len());
            let has_load = more == 0 || self.table.has_load_for(more);
            if has_load && self.table.replace_run(quotient, &new).is_ok() {
                self.distinct = self.distinct + usize::from(count > 0) - usize::from(before > 0);
                return Ok(count);
            }
            self.grow()?;
        }
    }

    fn grow(&mut self) -> Result<(), FilterError> {
        let mut grown = doubled(self.shape, &self.table, REMAINDER_BITS_MIN)?;
        let r = grown.r();
        let halves = self.table.runs().flat_map(|(quotient, run)| {
            let mut lower = decode(&run, r + 1);
            let mut upper = lower.split_off(lower.partition_point(|of| of.remainder >> r == 0));
            upper.iter_mut().for_each(|of| of.remainder &= u64::MAX >> (64 - r));
            [(2 * quotient, encode(&lower, r)), (2 * quotient + 1, encode(&upper, r))]
        });
        grown.fill(halves)?;
        self.table = grown;
        Ok(())
    }

    /// Inserts a key `n` times, and returns its count.
    ///
    /// # Errors
    /// [`FilterError::Full`] if there is no room, and the filter may not grow.
    pub fn insert(&mut self, hash: KeyHash, n: u64) -> Result<u64, FilterError> {
        self.insert_fingerprint(self.fingerprint(hash), n)
    }

    /// Inserts a fingerprint, of which only the lower p bits count, `n` times, and returns its count.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_fingerprint(&mut self, fingerprint: u64, n: u64) -> Result<u64, FilterError> {
        let fingerprint = fingerprint & self.shape.mask();
        self.change(fingerprint, |count| count.saturating_add(n))
    }

    /// Removes a key `n` times, and returns the rest of its count. Only keys that were inserted may be removed; others
    /// may take a key along that has their fingerprint.
    ///
    /// # Errors
    /// [`FilterError::Full`] if the new count takes more slots than there are: a count can have a digit more than a
    /// larger one has, with a 0 before it.
    pub fn remove(&mut self, hash: KeyHash, n: u64) -> Result<u64, FilterError> {
        self.change(self.fingerprint(hash), |count| count.saturating_sub(n))
    }

    /// Returns how often a key was inserted, at most. 0 is certain.
    #[must_use]
    pub fn count(&self, hash: KeyHash) -> u64 {
        self.count_fingerprint(self.fingerprint(hash))
    }

    /// Returns how often a fingerprint was inserted, of which only the lower p bits count.
    #[must_use]
    pub fn count_fingerprint(&self, fingerprint: u64) -> u64 {
        let (quotient, remainder) = self.split(fingerprint & self.shape.mask());
        let run = decode(&self.table.run(quotient), self.table.r());
        let found = run.binary_search_by_key(&remainder, |counted| counted.remainder);
        found.map_or(0, |at| run[at].count)
    }

    /// Returns the number of different fingerprints.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.distinct
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.distinct == 0
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// Returns the slots that are used.
    #[must_use]
    pub const fn slots_used(&self) -> usize {
        self.table.used()
    }

    /// Returns the fingerprints in ascending order, with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (u64, u64)> {
        let r = self.table.r();
        self.table.runs().flat_map(move |(quotient, run)| {
            let upper = (quotient as u64).checked_shl(r).unwrap_or(0);
            decode(&run, r).into_iter().map(move |of| (upper | of.remainder, of.count))
        })
    }

    /// Returns a filter in which all counts of both are added, with the parameters of this one.
    ///
    /// # Errors
    /// [`FilterError::Mismatch`] if fingerprints have different lengths; [`FilterError::Full`]. Both filters must have
    /// hashes of one seed.
    pub fn merge(&self, other: &Self) -> Result<Self, FilterError> {
        if self.shape.fingerprint_bits != other.shape.fingerprint_bits {
            return Err(FilterError::Mismatch);
        }
        let mut merged = self.clone();
        for (fingerprint, count) in other.counts() {
            merged.insert_fingerprint(fingerprint, count)?;
        }
        Ok(merged)
    }

    /// Returns the filter as bytes, with a header and a checksum.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = RowWriter::default();
        write_shape(&mut out, self.shape);
        out.number(self.len() as u64);
        let mut last = 0;
        for (fingerprint, count) in self.counts() {
            out.number(fingerprint - last).number(count);
            last = fingerprint;
        }
        seal(MAGIC, &out.0)
    }

    /// Reads a filter that may take up to `bytes_max` bytes, now and when it grows. Reading takes up to 80 times the bytes
    /// more for a moment. A filter without offsets is read as one with an offset for each block. Others may have chosen
    /// fingerprints of one quotient: a query of it reads them all.
    ///
    /// # Errors
    /// [`FilterError::Damaged`] if the bytes are damaged; [`FilterError::Full`] if the filter is too large.
    pub fn from_bytes(bytes: &[u8], bytes_max: usize) -> Result<Self, FilterError> {
        let record = unseal(MAGIC, bytes).map_err(FilterError::Damaged)?;
        let mut from = RowReader(record);
        let shape = read_shape(&mut from, bytes_max).ok_or_else(FilterError::malformed)?;
        let n = from.number().ok_or_else(FilterError::malformed)?;
        let mut all: Vec<(u64, u64)> = Vec::new();
        for _ in 0..n {
            let next = read_next(&mut from, all.last().map(|&(last, _)| last), shape);
            let count = from.number().filter(|&count| count > 0);
            all.push(next.zip(count).ok_or_else(FilterError::malformed)?);
        }
        if !from.0.is_empty() {
            return Err(FilterError::malformed());
        }
        let table = smallest_table(shape, REMAINDER_BITS_MIN, |r| {
            all.chunk_by(move |a, b| split(a.0, r).0 == split(b.0, r).0).map(move |run| {
                let counted = run.iter().map(|&(fingerprint, count)| {
                    let (_, remainder) = split(fingerprint, r);
                    Counted { remainder, count }
                });
                (split(run[0].0, r).0, encode(&counted.collect::<Vec<_>>(), r))
            })
        })?;
        Ok(Self { shape, table, distinct: all.len() })
    }

    /// Checks the table, for tests.
    #[cfg(test)]
    pub(super) fn check(&self) {
        self.table.check();
    }
}
