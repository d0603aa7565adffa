//! A set of fingerprints.

use super::shape::{OffsetSampling, QuotientShape};
use super::table::Table;
use crate::{FilterError, KeyHash};
use crivello_common::codec::{RowReader, RowWriter};
use crivello_common::sealed::{seal, unseal};
use std::cmp::Ordering;
use std::iter::Peekable;

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello quotient filter 1\n";

/// A quotient filter in the rank/select form. It begins with one slot, and when 95 % of its slots are used, or those
/// behind the last quotient, it doubles: a bit moves from the remainders to the quotients. Its rate of false positives is
/// 2⁻ᵖ·n, whatever its size.
///
/// Filters are equal if they have the same fingerprints, of the same length.
///
/// A key cannot be deleted, since others may have its fingerprint: [`CountingQuotientFilter`](crate::CountingQuotientFilter).
#[derive(Clone, Debug)]
pub struct QuotientFilter {
    shape: QuotientShape,
    table: Table,
}

impl PartialEq for QuotientFilter {
    fn eq(&self, other: &Self) -> bool {
        self.check_same(other).is_ok() && self.fingerprints().eq(other.fingerprints())
    }
}

impl Eq for QuotientFilter {}

/// Returns an empty table of one slot, or the largest remainder there is.
pub(super) fn first_table(shape: QuotientShape) -> Result<Table, FilterError> {
    if !(2..=64).contains(&shape.fingerprint_bits) {
        return Err(FilterError::Parameters);
    }
    let table = Table::new(0, shape.fingerprint_bits, shape.sampling)?;
    if table.bytes() > shape.bytes_max { Err(FilterError::Parameters) } else { Ok(table) }
}

/// Returns a table of twice as many slots with the same runs. `least` is the smallest remainder.
pub(super) fn doubled(
    shape: QuotientShape,
    table: &Table,
    least: u32,
) -> Result<Table, FilterError> {
    let (q, r) = (table.q() + 1, table.r() - 1);
    let bytes = Table::bytes_for(q, r, shape.sampling).ok_or(FilterError::Full)?;
    if bytes > shape.bytes_max || r < least {
        Err(FilterError::Full)
    } else {
        Table::new(q, r, shape.sampling)
    }
}

/// Returns the smallest table with these runs, given for a number of bits of remainders, of which `least` is the smallest.
pub(super) fn smallest_table<I: Iterator<Item = (usize, Vec<u64>)>>(
    shape: QuotientShape,
    least: u32,
    runs: impl Fn(u32) -> I,
) -> Result<Table, FilterError> {
    let mut table = first_table(shape)?;
    loop {
        match table.fill(runs(table.r())) {
            Ok(()) => return Ok(table),
            Err(FilterError::Full) => table = doubled(shape, &table, least)?,
            Err(error) => return Err(error),
        }
    }
}

/// Returns the quotient and the remainder of `r` bits of a fingerprint.
pub(super) fn split(fingerprint: u64, r: u32) -> (usize, u64) {
    (fingerprint.checked_shr(r).unwrap_or(0) as usize, fingerprint & (u64::MAX >> (64 - r)))
}

impl QuotientFilter {
    /// Returns an empty filter.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] with a fingerprint of less than 2 or more than 64 bits, or if the smallest
    /// table takes more memory than it may.
    pub fn new(shape: QuotientShape) -> Result<Self, FilterError> {
        Ok(Self { shape, table: first_table(shape)? })
    }

    fn split(&self, fingerprint: u64) -> (usize, u64) {
        split(fingerprint, self.table.r())
    }

    /// Returns the fingerprint of a key: the upper p bits of its hash.
    #[must_use]
    pub const fn fingerprint(&self, hash: KeyHash) -> u64 {
        hash.low >> (64 - self.shape.fingerprint_bits)
    }

    /// Inserts a key, and returns whether its fingerprint is new. If not, the key may have been in it.
    ///
    /// # Errors
    /// [`FilterError::Full`] if there is no room, and the filter may not grow.
    pub fn insert(&mut self, hash: KeyHash) -> Result<bool, FilterError> {
        self.insert_fingerprint(self.fingerprint(hash))
    }

    /// Inserts a fingerprint, of which only the lower p bits count, and returns whether it is new.
    ///
    /// # Errors
    /// As [`Self::insert`].
    pub fn insert_fingerprint(&mut self, fingerprint: u64) -> Result<bool, FilterError> {
        let fingerprint = fingerprint & self.shape.mask();
        loop {
            let (quotient, remainder) = self.split(fingerprint);
            match self.table.insert(quotient, remainder) {
                Err(FilterError::Full) => self.grow()?,
                result => return result,
            }
        }
    }

    /// Doubles the number of slots.
    fn grow(&mut self) -> Result<(), FilterError> {
        let mut grown = doubled(self.shape, &self.table, 1)?;
        let r = grown.r();
        let halves = self.table.runs().flat_map(|(quotient, mut run)| {
            let upper = run.split_off(run.partition_point(|remainder| remainder >> r == 0));
            [(2 * quotient, run), (2 * quotient + 1, upper)]
        });
        grown.fill(halves)?;
        self.table = grown;
        Ok(())
    }

    /// Returns whether the filter may have a key. `false` is certain.
    #[inline]
    #[must_use]
    pub fn contains(&self, hash: KeyHash) -> bool {
        self.contains_fingerprint(self.fingerprint(hash))
    }

    /// Returns whether the filter has a fingerprint, of which only the lower p bits count.
    #[inline]
    #[must_use]
    pub fn contains_fingerprint(&self, fingerprint: u64) -> bool {
        let (quotient, remainder) = self.split(fingerprint & self.shape.mask());
        if !self.table.is_occupied(quotient) {
            return false;
        }
        let mut slot = self.table.run_start(quotient);
        loop {
            match self.table.remainder(slot).cmp(&remainder) {
                Ordering::Equal => return true,
                Ordering::Greater => return false,
                Ordering::Less if self.table.is_run_end(slot) => return false,
                Ordering::Less => slot += 1,
            }
        }
    }

    /// Returns the number of fingerprints.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.table.used()
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.table.bytes()
    }

    /// Returns the parameters.
    #[must_use]
    pub const fn shape(&self) -> QuotientShape {
        self.shape
    }

    /// Sets the largest memory of the table in bytes, for when it grows the next time.
    pub const fn limit_bytes(&mut self, bytes_max: usize) {
        self.shape.bytes_max = bytes_max;
    }

    /// Returns q: the filter has 2^q slots, and some behind them.
    #[must_use]
    pub const fn quotient_bits(&self) -> u32 {
        self.table.q()
    }

    /// Returns the rate of false positives at the present fill.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.len() as f64 * (-f64::from(self.shape.fingerprint_bits)).exp2()
    }

    /// Returns the fingerprints in ascending order.
    pub fn fingerprints(&self) -> impl Iterator<Item = u64> {
        let r = self.table.r();
        self.table.runs().flat_map(move |(quotient, run)| {
            let upper = (quotient as u64).checked_shl(r).unwrap_or(0);
            run.into_iter().map(move |remainder| upper | remainder)
        })
    }

    /// Returns a filter with these fingerprints, which are in ascending order.
    fn collect(shape: QuotientShape, all: &[u64]) -> Result<Self, FilterError> {
        let table = smallest_table(shape, 1, |r| {
            all.chunk_by(move |&a, &b| split(a, r).0 == split(b, r).0).map(move |run| {
                let remainders = run.iter().map(|&fingerprint| split(fingerprint, r).1).collect();
                (split(run[0], r).0, remainders)
            })
        })?;
        Ok(Self { shape, table })
    }

    fn check_same(&self, other: &Self) -> Result<(), FilterError> {
        let is_same = self.shape.fingerprint_bits == other.shape.fingerprint_bits;
        if is_same { Ok(()) } else { Err(FilterError::Mismatch) }
    }

    /// Returns a filter with the fingerprints of both, with the parameters of this one. It takes 8 bytes for each of them
    /// for a moment.
    ///
    /// # Errors
    /// [`FilterError::Mismatch`] if fingerprints have different lengths; [`FilterError::Full`]. Both filters must have
    /// hashes of one seed.
    pub fn merge(&self, other: &Self) -> Result<Self, FilterError> {
        self.check_same(other)?;
        let all: Vec<u64> = union(self.fingerprints(), other.fingerprints()).collect();
        Self::collect(self.shape, &all)
    }

    /// Returns a filter with the fingerprints that both have, with the parameters of this one.
    ///
    /// # Errors
    /// As [`Self::merge`].
    pub fn intersection(&self, other: &Self) -> Result<Self, FilterError> {
        self.check_same(other)?;
        let is_common = |fingerprint: &u64| other.contains_fingerprint(*fingerprint);
        let common: Vec<u64> = self.fingerprints().filter(is_common).collect();
        Self::collect(self.shape, &common)
    }

    /// Returns the filter as bytes, with a header and a checksum: its fingerprints, without what finds them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = RowWriter::default();
        write_shape(&mut out, self.shape);
        out.number(self.len() as u64);
        let mut last = 0;
        for fingerprint in self.fingerprints() {
            out.number(fingerprint - last);
            last = fingerprint;
        }
        seal(MAGIC, &out.0)
    }

    /// Reads a filter that may take up to `bytes_max` bytes, now and when it grows. Reading takes up to 40 times the bytes
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
        let mut all = Vec::new();
        for _ in 0..n {
            let next = read_next(&mut from, all.last().copied(), shape);
            all.push(next.ok_or_else(FilterError::malformed)?);
        }
        if from.0.is_empty() { Self::collect(shape, &all) } else { Err(FilterError::malformed()) }
    }
}

/// Reads the gap to the next fingerprint, and returns it. `None` if it is not above the last one, or has too many bits.
pub(super) fn read_next(
    from: &mut RowReader<'_>,
    last: Option<u64>,
    shape: QuotientShape,
) -> Option<u64> {
    let gap = from.number()?;
    let next = last.unwrap_or(0).checked_add(gap)?;
    (last.is_none_or(|last| next > last) && next <= shape.mask()).then_some(next)
}

pub(super) fn write_shape(out: &mut RowWriter, shape: QuotientShape) {
    let sampling = match shape.sampling {
        OffsetSampling::None => 0,
        OffsetSampling::Blocks => 1,
        OffsetSampling::Slots => 2,
    };
    out.byte(sampling).number(u64::from(shape.fingerprint_bits));
}

pub(super) fn read_shape(from: &mut RowReader<'_>, bytes_max: usize) -> Option<QuotientShape> {
    let sampling = match from.byte()? {
        // Without offsets, each query reads all slots: the sender of a filter is not to choose that.
        0 | 1 => OffsetSampling::Blocks,
        2 => OffsetSampling::Slots,
        _ => return None,
    };
    let fingerprint_bits = from.small().filter(|bits| (2..=64).contains(bits))?;
    Some(QuotientShape { fingerprint_bits, bytes_max, sampling })
}

#[cfg(test)]
impl QuotientFilter {
    /// Checks the table.
    pub(super) fn check(&self) {
        self.table.check();
    }
}

/// Returns the union of two ascending sequences.
fn union(a: impl Iterator<Item = u64>, b: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    fn next(
        a: &mut Peekable<impl Iterator<Item = u64>>,
        b: &mut Peekable<impl Iterator<Item = u64>>,
    ) -> Option<u64> {
        match (a.peek(), b.peek()) {
            (Some(x), Some(y)) if x == y => {
                b.next();
                a.next()
            }
            (Some(x), Some(y)) if y < x => b.next(),
            (Some(_), _) => a.next(),
            (None, _) => b.next(),
        }
    }
    let (mut a, mut b) = (a.peekable(), b.peekable());
    std::iter::from_fn(move || next(&mut a, &mut b))
}
