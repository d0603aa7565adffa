//! Binary interpolative code (Moffat and Stuiver 2000): the middle one of ascending values first, then both halves, each
//! within the bounds that are known by then.
//!
//! A value takes no bits if its bounds leave no choice. Of the words of a minimal binary code, the short ones belong to
//! the middle of the bounds, where values mostly are.

use crate::{BitReader, BitWriter, BlockCode, Code as _, CodeError, MinimalBinary};
use std::ops::RangeInclusive;

/// The code for strictly ascending values within bounds. It needs about as many bits as the number of such lists has, so it
/// is near the optimum for random sets, and better where values cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpolative {
    low: u64,
    high: u64,
}

/// Bounds of a value, and what is between them.
struct MiddleChoice {
    least: u64,
    n: u64,
    /// The first value with a short word, less the least one.
    short: u64,
}

impl MiddleChoice {
    /// Returns the choice for the value at `middle` of `n` within bounds; `None` if not so many values are between them.
    const fn new(low: u64, high: u64, n: usize, middle: usize) -> Option<Self> {
        if high < low || high - low >= 1 << 62 || high - low + 1 < n as u64 {
            return None;
        }
        let least = low + middle as u64;
        let n = high - (n - 1 - middle) as u64 - least + 1;
        let n_short = n.next_power_of_two() - n;
        Some(Self { least, n, short: (n - n_short) / 2 })
    }

    /// Returns the place of a value among the words, the short ones first.
    const fn place(&self, value: u64) -> u64 {
        let at = value - self.least;
        if at >= self.short { at - self.short } else { at + self.n - self.short }
    }

    const fn value(&self, place: u64) -> u64 {
        let at = place + self.short;
        self.least + if at >= self.n { at - self.n } else { at }
    }
}

impl Interpolative {
    /// Returns the code for values within bounds.
    #[must_use]
    pub const fn new(bounds: RangeInclusive<u64>) -> Self {
        Self { low: *bounds.start(), high: *bounds.end() }
    }

    /// Calls `visit` with each value in the order of their words, and its choice.
    fn visit(
        self,
        values: &[u64],
        visit: &mut impl FnMut(u64, &MiddleChoice) -> Result<(), CodeError>,
    ) -> Result<(), CodeError> {
        let middle = values.len() / 2;
        let Some(&value) = values.get(middle) else { return Ok(()) };
        let choice = MiddleChoice::new(self.low, self.high, values.len(), middle);
        let choice = choice.ok_or(CodeError::OutOfDomain(value))?;
        if choice.n > 1 {
            if value < choice.least || value - choice.least >= choice.n {
                return Err(CodeError::OutOfDomain(value));
            }
            visit(value, &choice)?;
        } else if value != choice.least {
            return Err(CodeError::OutOfDomain(value));
        }
        if middle > 0 {
            Self { low: self.low, high: value - 1 }.visit(&values[..middle], visit)?;
        }
        Self { low: value + 1, high: self.high }.visit(&values[middle + 1..], visit)
    }

    /// Reads as many values as `values` has places, into them.
    ///
    /// # Errors
    /// As [`Code::read`](crate::Code::read).
    #[inline]
    pub fn read_into(
        self,
        reader: &mut BitReader<'_>,
        values: &mut [u64],
    ) -> Result<(), CodeError> {
        let middle = values.len() / 2;
        if values.is_empty() {
            return Ok(());
        }
        let choice = MiddleChoice::new(self.low, self.high, values.len(), middle);
        let choice = choice.ok_or(CodeError::NotAWord)?;
        let place = if choice.n > 1 { MinimalBinary::new(choice.n).read(reader)? } else { 0 };
        let value = choice.value(place);
        values[middle] = value;
        if middle > 0 {
            self.read_halves(reader, values, middle)?;
        }
        Ok(())
    }

    fn read_halves(
        self,
        reader: &mut BitReader<'_>,
        values: &mut [u64],
        middle: usize,
    ) -> Result<(), CodeError> {
        let value = values[middle];
        Self { low: self.low, high: value - 1 }.read_into(reader, &mut values[..middle])?;
        Self { low: value + 1, high: self.high }.read_into(reader, &mut values[middle + 1..])
    }
}

impl BlockCode for Interpolative {
    fn block_name(&self) -> String {
        format!("interpolative({}..={})", self.low, self.high)
    }

    fn write_block(&self, writer: &mut BitWriter, values: &[u64]) -> Result<(), CodeError> {
        self.visit(values, &mut |value, choice| {
            MinimalBinary::new(choice.n).write(writer, choice.place(value))
        })
    }

    fn read_block(
        &self,
        reader: &mut BitReader<'_>,
        n: usize,
        values: &mut Vec<u64>,
    ) -> Result<(), CodeError> {
        let start = values.len();
        values.try_reserve(n).map_err(|_| CodeError::NotAWord)?;
        values.resize(start + n, 0);
        self.read_into(reader, &mut values[start..])
    }

    fn block_bits(&self, values: &[u64]) -> Option<u64> {
        let mut bits = 0;
        let visited = self.visit(values, &mut |value, choice| {
            bits += MinimalBinary::new(choice.n).bits(choice.place(value)).unwrap_or(0);
            Ok(())
        });
        visited.is_ok().then_some(bits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(code: Interpolative, values: &[u64]) -> Vec<u8> {
        let mut writer = BitWriter::new();
        code.write_block(&mut writer, values).unwrap();
        assert_eq!(Some(writer.position()), code.block_bits(values));
        writer.into_bytes()
    }

    #[test]
    fn the_example_of_moffat_and_stuiver_takes_few_bits() {
        let code = Interpolative::new(1..=20);
        let values = [3, 8, 9, 11, 12, 13, 17];
        let bytes = encoded(code, &values);
        // 11 in 4..=17, 8 in 2..=9, 3 in 1..=7, 9 in 9..=10, 13 in 13..=19, 12 alone, 17 in 14..=20.
        assert_eq!(code.block_bits(&values), Some(3 + 3 + 3 + 1 + 3 + 2));
        let mut read = vec![];
        code.read_block(&mut BitReader::new(&bytes), 7, &mut read).unwrap();
        assert_eq!(read, values);
    }

    #[test]
    fn values_without_choice_take_no_bits() {
        let values: Vec<u64> = (5..500).collect();
        assert_eq!(Interpolative::new(5..=499).block_bits(&values), Some(0));
        assert_eq!(Interpolative::new(0..=0).block_bits(&[]), Some(0));
    }

    #[test]
    fn values_outside_the_bounds_and_those_that_do_not_ascend_are_refused() {
        for values in [vec![4], vec![11], vec![7, 7], vec![8, 6], vec![5, 6, 7, 8, 9, 10, 10]] {
            let code = Interpolative::new(5..=10);
            assert!(code.write_block(&mut BitWriter::new(), &values).is_err(), "{values:?}");
            assert_eq!(code.block_bits(&values), None);
        }
        let read = Interpolative::new(5..=10).read_block(&mut BitReader::new(&[0]), 7, &mut vec![]);
        assert_eq!(read, Err(CodeError::NotAWord));
    }

    proptest! {
        #[test]
        fn lists_round_trip(
            set in proptest::collection::btree_set(0_u64..2_000, 0..200),
            low in 0_u64..1 << 40,
            slack in 0_u64..50,
        ) {
            let values: Vec<u64> = set.iter().map(|value| value + low).collect();
            let first = values.first().copied().unwrap_or(low);
            let last = values.last().copied().unwrap_or(low) + slack;
            let code = Interpolative::new(first.saturating_sub(slack)..=last);
            let (bytes, mut read) = (encoded(code, &values), vec![]);
            code.read_block(&mut BitReader::new(&bytes), values.len(), &mut read).unwrap();
            prop_assert_eq!(read, values);
        }

        #[test]
        fn damaged_bytes_fail_or_give_values_within_the_bounds(
            bytes in proptest::collection::vec(any::<u8>(), 0..40),
            n in 0_usize..60,
            high in 0_u64..300,
        ) {
            let mut read = vec![];
            let result =
                Interpolative::new(10..=10 + high).read_block(&mut BitReader::new(&bytes), n, &mut read);
            if result.is_ok() {
                prop_assert!(read.is_sorted_by(|one, other| one < other));
                prop_assert!(read.iter().all(|value| (10..=10 + high).contains(value)));
            }
        }
    }
}
