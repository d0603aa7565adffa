//! Lists of integers in an asymmetric numeral system.
//!
//! ```text
//! state (64 bits), then for each value: 32 bits for the state if it is below 2³², and the lower bits of the value
//! ```
//!
//! The state is a number from 2³² to 2⁶⁴ − 1. Values are encoded from the last to the first, since the number
//! gives back the last symbol first; a symbol that would make it too large moves 32 bits out.

use super::AnsModel;
use crate::{BitReader, BitWriter, BlockCode, CodeError};

const STATE_BITS: u32 = 64;
const WORD_BITS: u32 = 32;
/// The smallest state, with which encoding begins.
const STATE_MIN: u64 = 1 << WORD_BITS;

/// Values below this are symbols of their own.
const DIRECT: u64 = 16;
const DIRECT_BITS: u32 = DIRECT.ilog2();
/// Number of symbols: two for each length of larger values.
const SYMBOLS: usize = DIRECT as usize + 2 * (64 - DIRECT_BITS as usize);

/// A code for lists with a measured distribution. Small values are symbols; of larger ones, the two upper bits and
/// the length are, and the lower bits are written as they are. The model is stored once, by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ans {
    model: AnsModel,
}

/// Returns the symbol of a value, and the number of its lower bits that the symbol does not tell.
#[inline]
const fn split(value: u64) -> (usize, u32) {
    if value < DIRECT {
        return (value as usize, 0);
    }
    let log = value.ilog2();
    let second = (value >> (log - 1) & 1) as usize;
    (DIRECT as usize + 2 * (log - DIRECT_BITS) as usize + second, log - 1)
}

/// Returns the value with this symbol and lower bits 0, and the number of the latter.
#[inline]
const fn join(symbol: usize) -> (u64, u32) {
    if symbol < DIRECT as usize {
        return (symbol as u64, 0);
    }
    let above = symbol - DIRECT as usize;
    let log = DIRECT_BITS + (above / 2) as u32;
    ((2 + above as u64 % 2) << (log - 1), log - 1)
}

impl Ans {
    /// Returns the code for values distributed as these are. Only values whose symbols are among theirs can be
    /// encoded. `d` is 1 to 16: the precision of probabilities, 2⁻ᵈ. With 8 there is room for all symbols.
    ///
    /// # Errors
    /// [`CodeError::Model`] without values, with another `d`, or if the values have more than 2ᵈ symbols.
    pub fn for_values(values: &[u64], d: u32) -> Result<Self, CodeError> {
        let mut counts = [0_u64; SYMBOLS];
        values.iter().for_each(|&value| counts[split(value).0] += 1);
        let weights = counts.map(|count| count as f64);
        Ok(Self { model: AnsModel::new(&weights, d)? })
    }

    /// Returns the code with a model, such as one that was read.
    ///
    /// # Errors
    /// [`CodeError::Model`] if the model has more symbols than the code.
    pub fn new(model: AnsModel) -> Result<Self, CodeError> {
        if model.segments().count() > SYMBOLS {
            return Err(CodeError::Model);
        }
        Ok(Self { model })
    }

    /// Returns the model, to be stored.
    #[must_use]
    pub const fn model(&self) -> &AnsModel {
        &self.model
    }

    /// Encodes values, and returns the state and the words that moved out before each value.
    fn encode(&self, values: &[u64]) -> Result<(u64, Vec<Option<u32>>), CodeError> {
        let mut state = STATE_MIN;
        let mut words = vec![None; values.len()];
        for (&value, word) in values.iter().zip(&mut words).rev() {
            let (symbol, _) = split(value);
            if self.model.overflows(state, symbol) {
                *word = Some(state as u32);
                state >>= WORD_BITS;
            }
            state = self.model.push(state, symbol).ok_or(CodeError::OutOfDomain(value))?;
        }
        Ok((state, words))
    }
}

impl BlockCode for Ans {
    fn block_name(&self) -> String {
        format!("ans({})", self.model.d())
    }

    fn write_block(&self, writer: &mut BitWriter, values: &[u64]) -> Result<(), CodeError> {
        let (state, words) = self.encode(values)?;
        writer.bits(state, STATE_BITS);
        for (&value, word) in values.iter().zip(words) {
            if let Some(word) = word {
                writer.bits(u64::from(word), WORD_BITS);
            }
            writer.bits(value, split(value).1);
        }
        Ok(())
    }

    fn read_block(
        &self,
        reader: &mut BitReader<'_>,
        n: usize,
        values: &mut Vec<u64>,
    ) -> Result<(), CodeError> {
        let mut state = reader.bits(STATE_BITS)?;
        for _ in 0..n {
            let (popped, symbol) = self.model.pop(state);
            state = popped;
            if state < STATE_MIN {
                state = state << WORD_BITS | reader.bits(WORD_BITS)?;
            }
            let (base, lower) = join(symbol);
            values.push(base | reader.bits(lower)?);
        }
        if state == STATE_MIN { Ok(()) } else { Err(CodeError::NotAWord) }
    }

    fn block_bits(&self, values: &[u64]) -> Option<u64> {
        let (_, words) = self.encode(values).ok()?;
        let words = words.iter().flatten().count() as u64 * u64::from(WORD_BITS);
        let lower: u64 = values.iter().map(|&value| u64::from(split(value).1)).sum();
        Some(u64::from(STATE_BITS) + words + lower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_and_lower_bits_make_the_value() {
        let edges = (0..64).flat_map(|n| [(1_u64 << n) - 1, 1 << n, 3 << n >> 1, 1 << n | 1]);
        for value in edges.chain([u64::MAX]) {
            let (symbol, lower) = split(value);
            assert!(symbol < SYMBOLS);
            assert_eq!(join(symbol), (value >> lower << lower, lower), "{value}");
        }
        assert_eq!(split(u64::MAX).0, SYMBOLS - 1);
    }

    #[test]
    fn a_list_takes_what_its_symbols_cost() {
        // The probabilities of the notes' example, as they come.
        let values: Vec<u64> = (0..30_000)
            .map(|i| {
                if i % 30 == 0 {
                    1
                } else if i % 30 < 3 {
                    2
                } else {
                    0
                }
            })
            .collect();
        let ans = Ans::for_values(&values, 10).unwrap();
        let cost: f64 = values.iter().map(|&value| ans.model().cost(value as usize)).sum();
        let bits = ans.block_bits(&values).unwrap() as f64;
        assert!((bits - cost).abs() < 64.0, "{bits} {cost}");
        let entropy = -(0.9 * 0.9_f64.log2()
            + (1.0 / 30.0_f64).log2() / 30.0
            + 2.0 / 30.0 * (2.0 / 30.0_f64).log2());
        assert!(bits / 30_000.0 < entropy * 1.005, "{bits} {entropy}");
    }

    #[test]
    fn other_values_and_damage_are_refused() {
        let ans = Ans::for_values(&[1, 2, 2, 2], 8).unwrap();
        assert_eq!(ans.write_block(&mut BitWriter::new(), &[3]), Err(CodeError::OutOfDomain(3)));
        assert_eq!(ans.block_bits(&[3]), None);
        let mut writer = BitWriter::new();
        ans.write_block(&mut writer, &[1, 2, 2, 1]).unwrap();
        let mut bytes = writer.into_bytes();
        assert_eq!(ans.read_block(&mut BitReader::new(&bytes), 4, &mut vec![]), Ok(()));
        bytes[0] ^= 1;
        assert!(ans.read_block(&mut BitReader::new(&bytes), 4, &mut vec![]).is_err());
        assert_eq!(Ans::for_values(&[], 8), Err(CodeError::Model));
    }

    #[test]
    fn each_precision_that_holds_the_symbols_is_taken() {
        for (values, least) in
            [(vec![0, 5], 1), (vec![0, 1, 2, 1 << 40], 2), ((0..200).collect(), 5)]
        {
            for d in 0..=17 {
                let ans = Ans::for_values(&values, d);
                assert_eq!(ans.is_ok(), (least..=16).contains(&d), "{d}");
                let Ok(ans) = ans else { continue };
                let (mut writer, mut out) = (BitWriter::new(), vec![]);
                ans.write_block(&mut writer, &values).unwrap();
                let bytes = writer.into_bytes();
                ans.read_block(&mut BitReader::new(&bytes), values.len(), &mut out).unwrap();
                assert_eq!(out, values);
            }
        }
    }

    #[test]
    fn one_symbol_costs_nothing_but_the_state() {
        let values = [7; 1_000];
        let ans = Ans::for_values(&values, 12).unwrap();
        assert_eq!(ans.block_bits(&values), Some(64));
    }
}
