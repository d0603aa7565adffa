//! Blocks of the preset `small`, bit by bit.
//!
//! ```text
//! block:      gaps of documents (Golomb for the density of the list) │ number of occurrences less that of documents (δ)
//!             │ sums of counts (interpolative)
//! positions:  0 │ positions in each document (interpolative below its length)
//!             1 │ greatest position (δ) │ positions in each document (interpolative up to it)
//! ```
//! The sum of all counts bounds the sums before it, so a list whose words are all alone in their documents has counts that
//! take no bits.

use super::block::{BlockParts, ListShape, PositionParts};
use super::{POSITIONS_MAX, QUANTUM};
use crivello_codes::{
    BitReader, BitWriter, BlockCode as _, Code as _, CodeError, Delta, Golomb, Interpolative,
};

/// Bits that the greatest position of a block takes, about.
const GREATEST_BITS: u64 = 14;

impl ListShape {
    fn golomb(self) -> Golomb {
        Golomb::for_density(u64::from(self.documents), u64::from(self.of))
    }
}

pub(super) fn write_block(
    list: ListShape,
    parts: &BlockParts<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CodeError> {
    let mut bits = BitWriter::new();
    let golomb = list.golomb();
    parts.gaps.iter().try_for_each(|gap| golomb.write(&mut bits, u64::from(*gap)))?;
    if !parts.counts.is_empty() {
        let mut sum = 0;
        let mut sums: Vec<u64> = Vec::with_capacity(QUANTUM);
        sums.extend(parts.counts.iter().map(|count| {
            sum += u64::from(*count);
            sum
        }));
        sums.pop();
        Delta.write(&mut bits, sum - parts.counts.len() as u64)?;
        Interpolative::new(1..=sum - 1).write_block(&mut bits, &sums)?;
    }
    out.extend(bits.into_bytes());
    Ok(())
}

/// Reads gaps into `gaps`. Returns the bit at which the counts begin.
pub(super) fn read_gaps(list: ListShape, bytes: &[u8], gaps: &mut [u32]) -> Result<u64, CodeError> {
    let (mut bits, golomb) = (BitReader::new(bytes), list.golomb());
    for gap in gaps {
        *gap = u32::try_from(golomb.read(&mut bits)?).map_err(|_| CodeError::NotAWord)?;
    }
    Ok(bits.position())
}

/// Reads counts, less 1.
pub(super) fn read_counts(bytes: &[u8], bit: u64, counts: &mut [u32]) -> Result<(), CodeError> {
    let mut bits = BitReader::new(bytes);
    bits.seek(bit)?;
    let sum = Delta.read(&mut bits)?.saturating_add(counts.len() as u64);
    if sum > (POSITIONS_MAX * QUANTUM) as u64 {
        return Err(CodeError::NotAWord);
    }
    let mut sums = [0; QUANTUM];
    let n = counts.len();
    Interpolative::new(1..=sum - 1).read_into(&mut bits, &mut sums[..n - 1])?;
    sums[n - 1] = sum;
    let mut before = 0;
    for (count, sum) in counts.iter_mut().zip(sums) {
        *count = (sum - before - 1) as u32;
        before = sum;
    }
    Ok(())
}

pub(super) fn write_positions(
    parts: &PositionParts<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CodeError> {
    let (mut greatest, mut by_length, mut by_greatest) = (0, 0, GREATEST_BITS);
    let mut are_below = true;
    for (positions, length) in parts.documents() {
        let last = positions.last().copied().unwrap_or(0);
        greatest = greatest.max(last);
        are_below &= last < length;
        by_length += positions.len() as u64 * u64::from(length.max(1).ilog2());
    }
    by_greatest += parts.positions.len() as u64 * u64::from(greatest.max(1).ilog2());
    let is_by_length = are_below && by_length <= by_greatest;
    let mut bits = BitWriter::new();
    bits.bits(u64::from(!is_by_length), 1);
    if !is_by_length {
        Delta.write(&mut bits, u64::from(greatest))?;
    }
    let mut values = Vec::new();
    for (positions, length) in parts.documents() {
        let high = if is_by_length { length - 1 } else { greatest };
        values.clear();
        values.extend(positions.iter().map(|position| u64::from(*position)));
        Interpolative::new(0..=u64::from(high)).write_block(&mut bits, &values)?;
    }
    out.extend(bits.into_bytes());
    Ok(())
}

/// Reads the positions of all documents of a block, and appends them to `positions`.
pub(super) fn read_positions(
    bytes: &[u8],
    counts: &[u32],
    lengths: impl Iterator<Item = u32>,
    positions: &mut Vec<u32>,
) -> Result<(), CodeError> {
    let mut bits = BitReader::new(bytes);
    let greatest = match bits.bits(1)? {
        0 => None,
        _ => Some(u32::try_from(Delta.read(&mut bits)?).map_err(|_| CodeError::NotAWord)?),
    };
    let mut values = Vec::new();
    for (&count, length) in counts.iter().zip(lengths) {
        let high = greatest.unwrap_or(length.saturating_sub(1));
        values.clear();
        Interpolative::new(0..=u64::from(high)).read_block(
            &mut bits,
            count as usize,
            &mut values,
        )?;
        positions.extend(values.iter().map(|value| *value as u32));
    }
    Ok(())
}
