//! Probabilities as segments of 2ᵈ slots, and the three primitives of the notes: push, sym and pop.

use crate::{BitReader, BitWriter, Code as _, CodeError, ContinuationBits, VariableBlocks};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Bits of d in a stored model.
const D_BITS: u32 = 5;
/// Largest d. Symbols of the slots take 2 bytes each.
const D_MAX: u32 = 16;

/// Symbols with their probabilities, in units of 2⁻ᵈ: symbol s has f(s) slots, from c(s) on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnsModel {
    d: u32,
    /// f and c of each symbol.
    segments: Vec<Segment>,
    /// Symbol of each slot.
    slots: Vec<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Segment {
    len: u32,
    start: u32,
}

impl AnsModel {
    /// Returns the model of symbols 0, 1, … with these weights, which need not sum to 1. `d` is 1 to 16.
    /// Symbols with a positive weight have a slot at least; the others cannot be encoded.
    ///
    /// # Errors
    /// [`CodeError::Model`] if no weight is positive, if one is negative or not finite, or if there are more
    /// than 2ᵈ positive ones.
    pub fn new(weights: &[f64], d: u32) -> Result<Self, CodeError> {
        let sum: f64 = weights.iter().sum();
        let positive = weights.iter().filter(|&&weight| weight > 0.0).count();
        let is_valid = weights.iter().all(|weight| weight.is_finite() && *weight >= 0.0);
        let has_room =
            (1..=D_MAX).contains(&d) && positive <= 1 << d && weights.len() <= 1 << D_MAX;
        if !is_valid || !has_room || positive == 0 || !sum.is_finite() {
            return Err(CodeError::Model);
        }
        let total = f64::from(1_u32 << d);
        let round = |weight: &f64| match weight {
            0.0 => 0,
            // The quotient may be 0 for a weight that is not.
            weight => ((weight / sum * total).round() as u32).max(1),
        };
        let mut lens: Vec<u32> = weights.iter().map(round).collect();
        balance(&mut lens, weights, 1 << d);
        Self::of_segments(&lens, d)
    }

    /// Returns the model with these numbers of slots.
    fn of_segments(lens: &[u32], d: u32) -> Result<Self, CodeError> {
        let mut start = 0_u32;
        let mut segments = Vec::with_capacity(lens.len());
        let mut slots = Vec::with_capacity(1 << d);
        for (symbol, &len) in lens.iter().enumerate() {
            segments.push(Segment { len, start });
            start = start.checked_add(len).filter(|&end| end <= 1 << d).ok_or(CodeError::Model)?;
            slots.resize(start as usize, u16::try_from(symbol).map_err(|_| CodeError::Model)?);
        }
        if start != 1 << d {
            return Err(CodeError::Model);
        }
        Ok(Self { d, segments, slots })
    }

    /// Returns f(s) and c(s) of each symbol.
    pub fn segments(&self) -> impl Iterator<Item = (u32, u32)> {
        self.segments.iter().map(|segment| (segment.len, segment.start))
    }

    /// Returns d: probabilities are multiples of 2⁻ᵈ.
    #[must_use]
    pub const fn d(&self) -> u32 {
        self.d
    }

    fn segment(&self, symbol: usize) -> Option<Segment> {
        self.segments.get(symbol).copied().filter(|segment| segment.len > 0)
    }

    /// Returns the number `x` with a symbol appended: (⌊x/f⌋ ≪ d) + c + x mod f. `None` if the symbol has no
    /// slot, or if the number exceeds 64 bits.
    #[inline]
    #[must_use]
    pub fn push(&self, x: u64, symbol: usize) -> Option<u64> {
        let Segment { len, start } = self.segment(symbol)?;
        let (quotient, remainder) = (x / u64::from(len), x % u64::from(len));
        if quotient >> (64 - self.d) != 0 {
            return None;
        }
        Some((quotient << self.d) + u64::from(start) + remainder)
    }

    /// Returns whether [`Self::push`] would exceed 64 bits.
    #[inline]
    pub(super) fn overflows(&self, x: u64, symbol: usize) -> bool {
        self.segment(symbol).is_some_and(|Segment { len, .. }| x >> (64 - self.d) >= u64::from(len))
    }

    /// Returns the symbol that was appended last: that of the slot x mod 2ᵈ.
    #[inline]
    #[must_use]
    pub fn symbol(&self, x: u64) -> usize {
        usize::from(self.slots[(x & self.mask()) as usize])
    }

    /// Returns the number before the last symbol was appended, and this symbol: (x ≫ d)·f + x mod 2ᵈ − c.
    #[inline]
    #[must_use]
    pub fn pop(&self, x: u64) -> (u64, usize) {
        let symbol = self.symbol(x);
        let Segment { len, start } = self.segments[symbol];
        // The slot belongs to the symbol, so it is not below the start. The sum is below 2⁶⁴, since f ≤ 2ᵈ.
        ((x >> self.d) * u64::from(len) + (x & self.mask()) - u64::from(start), symbol)
    }

    const fn mask(&self) -> u64 {
        (1 << self.d) - 1
    }

    /// Returns the bits that a symbol costs on average, d − log₂ f; infinite without a slot.
    #[must_use]
    pub fn cost(&self, symbol: usize) -> f64 {
        let len = self.segment(symbol).map_or(0, |segment| segment.len);
        f64::from(self.d) - f64::from(len).log2()
    }

    /// Writes the model.
    ///
    /// # Errors
    /// Never fails, since all numbers are small.
    pub fn write(&self, writer: &mut BitWriter) -> Result<(), CodeError> {
        writer.bits(u64::from(self.d), D_BITS);
        let code = VariableBlocks::nibbles(ContinuationBits::Each);
        code.write(writer, self.segments.len() as u64)?;
        self.segments.iter().try_for_each(|segment| code.write(writer, u64::from(segment.len)))
    }

    /// Reads a model.
    ///
    /// # Errors
    /// [`CodeError::Model`] or [`CodeError::EndOfInput`] if the bits are damaged.
    pub fn read(reader: &mut BitReader<'_>) -> Result<Self, CodeError> {
        let d = reader.bits(D_BITS)? as u32;
        let code = VariableBlocks::nibbles(ContinuationBits::Each);
        let n = code.read(reader)?;
        if !(1..=D_MAX).contains(&d) || n > 1 << D_MAX {
            return Err(CodeError::Model);
        }
        let mut lens = Vec::new();
        for _ in 0..n {
            lens.push(u32::try_from(code.read(reader)?).map_err(|_| CodeError::Model)?);
        }
        Self::of_segments(&lens, d)
    }
}

/// Changes rounded lengths where it costs least, until they sum to `total`.
fn balance(lens: &mut [u32], weights: &[f64], total: u64) {
    let sum: u64 = lens.iter().map(|&len| u64::from(len)).sum();
    let grows = sum < total;
    // Bits that a change by one slot costs, or gains if lengths grow; the former are never negative.
    let change = |len: u32, weight: f64| {
        let other = if grows { len + 1 } else { len - 1 };
        weight * (f64::from(len) / f64::from(other)).log2().abs()
    };
    // Bits of floating-point numbers that are not negative have the order of the numbers.
    let key = |len: u32, weight: f64| {
        let bits = change(len, weight).to_bits();
        if grows { bits } else { u64::MAX - bits }
    };
    let can_change = |len: u32| len > 1 || (grows && len > 0);
    let entry = |symbol: usize, len: u32| (key(len, weights[symbol]), Reverse(symbol));
    let changeable = lens.iter().enumerate().filter(|&(_, &len)| can_change(len));
    let mut heap: BinaryHeap<_> = changeable.map(|(symbol, &len)| entry(symbol, len)).collect();
    for _ in 0..sum.abs_diff(total) {
        let Some((_, Reverse(symbol))) = heap.pop() else { return };
        let len = &mut lens[symbol];
        *len = if grows { *len + 1 } else { *len - 1 };
        if can_change(*len) {
            heap.push(entry(symbol, *len));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of Notes 2.2.7.
    #[test]
    fn the_example_of_the_notes() {
        let model = AnsModel::new(&[9.0 / 10.0, 1.0 / 30.0, 2.0 / 30.0], 10).unwrap();
        assert_eq!(model.segments().collect::<Vec<_>>(), [(922, 0), (34, 922), (68, 956)]);
        // The formulas by hand: ⌊1000/34⌋ = 29, 1000 mod 34 = 14.
        assert_eq!(model.push(1_000, 1), Some((29 << 10) + 922 + 14));
        assert_eq!(model.symbol((29 << 10) + 936), 1);
        assert_eq!(model.pop((29 << 10) + 936), (1_000, 1));
        assert_eq!(model.push(1_000, 0), Some((1 << 10) + 78));
        assert_eq!(model.push(1_000, 2), Some((14 << 10) + 956 + 48));
        assert_eq!(model.push(1_000, 3), None);
        assert_eq!([0, 921, 922, 955, 956, 1_023].map(|x| model.symbol(x)), [0, 0, 1, 1, 2, 2]);
        // A number grows by about the inverse of the probability.
        let grown = model.push(1 << 40, 2).unwrap() as f64 / (1_u64 << 40) as f64;
        assert!((grown - 1_024.0 / 68.0).abs() < 1e-6, "{grown}");
    }

    #[test]
    fn rare_symbols_keep_a_slot_and_slots_are_all_used() {
        let mut weights = vec![1e-12; 255];
        weights.push(1.0);
        weights.push(0.0);
        let model = AnsModel::new(&weights, 8).unwrap();
        let lens: Vec<u32> = model.segments().map(|(len, _)| len).collect();
        assert_eq!(lens.iter().sum::<u32>(), 256);
        assert!(lens[..256].iter().all(|&len| len == 1) && lens[256] == 0, "{lens:?}");
        let smallest = AnsModel::new(&[5e-324, 1e300], 8).unwrap();
        assert_eq!(smallest.segments().collect::<Vec<_>>(), [(1, 0), (255, 1)]);
        assert_eq!(AnsModel::new(&vec![1.0; 257], 8), Err(CodeError::Model));
        assert_eq!(AnsModel::new(&[], 8), Err(CodeError::Model));
        assert_eq!(AnsModel::new(&[0.0], 8), Err(CodeError::Model));
        assert_eq!(AnsModel::new(&[1.0, f64::NAN], 8), Err(CodeError::Model));
        assert_eq!(AnsModel::new(&[1.0, -0.5], 8), Err(CodeError::Model));
        assert_eq!(AnsModel::new(&[1.0], 17), Err(CodeError::Model));
    }

    proptest! {
        #[test]
        fn a_symbol_that_is_pushed_is_popped(
            weights in prop::collection::vec(0.0_f64..1.0, 1..200),
            d in 8_u32..=16,
            x in any::<u64>(),
            symbol in 0_usize..200,
        ) {
            prop_assume!(weights.iter().any(|&weight| weight > 0.0));
            let model = AnsModel::new(&weights, d).unwrap();
            prop_assert_eq!(model.segments().map(|(len, _)| len).sum::<u32>(), 1 << d);
            for (segment, weight) in model.segments().zip(&weights) {
                prop_assert_eq!(segment.0 > 0, *weight > 0.0);
            }
            if let Some(pushed) = model.push(x, symbol) {
                prop_assert_eq!(model.pop(pushed), (x, symbol));
                prop_assert!(!model.overflows(x, symbol));
            }
            let _ = model.pop(x);

            let mut writer = BitWriter::new();
            model.write(&mut writer).unwrap();
            let bytes = writer.into_bytes();
            prop_assert_eq!(AnsModel::read(&mut BitReader::new(&bytes)), Ok(model));
        }

        #[test]
        fn damaged_models_are_refused_or_usable(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            if let Ok(model) = AnsModel::read(&mut BitReader::new(&bytes)) {
                let _ = model.pop(u64::MAX);
            }
        }
    }
}
