//! Blocks of the preset `fast`: numbers of one width, which are found without those before them.
//!
//! ```text
//! whole block:   widths of gaps and counts (8 bits each) │ gaps of documents │ counts less 1, both in four lanes
//! last block:    widths of gaps and counts (8 bits each) │ gaps of documents │ counts less 1, bit by bit
//! positions:     the width of each group of 128 positions (8 bits) │ gaps of positions, bit by bit
//! ```
//! Lists without positions have no counts, and no width of them.

use super::QUANTUM;
use super::block::{BlockParts, PositionParts};
use crivello_codes::{
    BitReader, BitWriter, CodeError, LANES_BLOCK, lanes_bytes, pack_lanes, unpack_lanes,
    width_of_all,
};

const _: () = assert!(QUANTUM == LANES_BLOCK, "a block has the integers of four lanes");

/// Positions of one width.
const GROUP: usize = 128;
const WIDTH_MAX: u8 = 32;

pub(super) fn write_block(parts: &BlockParts<'_>, out: &mut Vec<u8>) -> Result<(), CodeError> {
    let mut counts = [0; QUANTUM];
    let counts = &mut counts[..parts.counts.len()];
    counts.iter_mut().zip(parts.counts).for_each(|(less, count)| *less = count - 1);
    let numbers = [parts.gaps, counts];
    let numbers = || numbers.into_iter().filter(|numbers| !numbers.is_empty());
    numbers().for_each(|numbers| out.push(width_of_all(numbers) as u8));
    let mut bits = BitWriter::new();
    for numbers in numbers() {
        let width = width_of_all(numbers);
        match numbers.try_into() {
            Ok(lanes) => pack_lanes(lanes, width, out),
            Err(_) => numbers.iter().for_each(|number| bits.bits(u64::from(*number), width)),
        }
    }
    out.extend(bits.into_bytes());
    Ok(())
}

/// Reads gaps into `gaps`, whose first `n` places they take.
pub(super) fn read_gaps(
    bytes: &[u8],
    has_counts: bool,
    n: usize,
    gaps: &mut [u32; QUANTUM],
) -> Result<(), CodeError> {
    let start = 1 + usize::from(has_counts);
    let (widths, numbers) = bytes.split_at_checked(start).ok_or(CodeError::EndOfInput)?;
    read_numbers(numbers, 0, widths[0], n, gaps)
}

/// Reads counts, less 1, as [`read_gaps`] does.
pub(super) fn read_counts(
    bytes: &[u8],
    n: usize,
    counts: &mut [u32; QUANTUM],
) -> Result<(), CodeError> {
    let (widths, numbers) = bytes.split_at_checked(2).ok_or(CodeError::EndOfInput)?;
    read_numbers(numbers, u32::from(widths[0]), widths[1], n, counts)
}

/// Reads numbers behind others of the width `before`.
fn read_numbers(
    bytes: &[u8],
    before: u32,
    width: u8,
    n: usize,
    numbers: &mut [u32; QUANTUM],
) -> Result<(), CodeError> {
    if n == QUANTUM {
        let bytes = bytes.get(lanes_bytes(before)..).ok_or(CodeError::EndOfInput)?;
        let is_read = unpack_lanes(bytes, u32::from(width), numbers);
        return if is_read { Ok(()) } else { Err(CodeError::EndOfInput) };
    }
    if width > WIDTH_MAX {
        return Err(CodeError::NotAWord);
    }
    let mut bits = BitReader::new(bytes);
    bits.seek(n as u64 * u64::from(before))?;
    for number in &mut numbers[..n] {
        *number = bits.bits(u32::from(width))? as u32;
    }
    Ok(())
}

pub(super) fn write_positions(
    parts: &PositionParts<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CodeError> {
    let mut gaps = Vec::with_capacity(parts.positions.len());
    for (positions, _) in parts.documents() {
        let mut next = 0;
        gaps.extend(positions.iter().map(|position| {
            let gap = position - next;
            next = position + 1;
            gap
        }));
    }
    let mut bits = BitWriter::new();
    for group in gaps.chunks(GROUP) {
        let width = width_of_all(group);
        out.push(width as u8);
        group.iter().for_each(|gap| bits.bits(u64::from(*gap), width));
    }
    out.extend(bits.into_bytes());
    Ok(())
}

/// The places of the groups of positions of a block.
#[derive(Default)]
pub(super) struct Groups(Vec<(u64, u32)>);

impl Groups {
    /// Finds the groups of `n` positions.
    pub(super) fn find(&mut self, bytes: &[u8], n: usize) -> Result<(), CodeError> {
        self.0.clear();
        let n_groups = n.div_ceil(GROUP);
        let widths = bytes.get(..n_groups).ok_or(CodeError::EndOfInput)?;
        if widths.iter().any(|width| *width > WIDTH_MAX) {
            return Err(CodeError::NotAWord);
        }
        let mut bit = 8 * n_groups as u64;
        self.0.extend(widths.iter().map(|&width| {
            let start = bit;
            bit += GROUP as u64 * u64::from(width);
            (start, u32::from(width))
        }));
        Ok(())
    }

    /// Reads the positions of a document, which are `n` from `start` on, and appends them to `positions`.
    #[inline]
    pub(super) fn read(
        &self,
        bits: &mut BitReader<'_>,
        start: usize,
        n: usize,
        positions: &mut Vec<u32>,
    ) -> Result<(), CodeError> {
        let mut next = 0_u32;
        let (mut at, end) = (start, start + n);
        while at < end {
            let (bit, width) = *self.0.get(at / GROUP).ok_or(CodeError::EndOfInput)?;
            let of_group = at % GROUP..(at % GROUP + end - at).min(GROUP);
            bits.seek(bit + of_group.start as u64 * u64::from(width))?;
            at += of_group.len();
            for _ in of_group {
                let position = next.wrapping_add(bits.bits(width)? as u32);
                positions.push(position);
                next = position.wrapping_add(1);
            }
        }
        Ok(())
    }
}
