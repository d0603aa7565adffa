//! PFOR-delta (Notes 2.2.6): a block of values of one width, and exceptions behind them.
//!
//! ```text
//! width b (7 bits)  width of exceptions a (7)  n values of b bits, 1…1 for an exception  exceptions of a bits
//! ```

use crate::{BitReader, BitWriter, BlockCode, CodeError};

/// Bits of a width, 0 to 64.
const WIDTH_BITS: u32 = 7;
const WIDTH_MAX: u32 = 64;

/// Patched frame of reference (Zukowski et al. 2006). Good for blocks of some hundred values, most of which are
/// small. For gaps, which the caller computes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PforDelta {
    /// Share of the values that must fit; `None` for the width that makes the block smallest.
    share: Option<f64>,
}

/// The two widths of a block.
#[derive(Clone, Copy)]
struct Widths {
    values: u32,
    exceptions: u32,
}

impl Widths {
    /// Returns the word that stands for an exception: all ones.
    const fn escape(self) -> u64 {
        if self.values == 0 { u64::MAX } else { u64::MAX >> (64 - self.values) }
    }

    const fn fits(self, value: u64) -> bool {
        // With a width of 0 there are no words, and all values are 0.
        if self.values == 0 { value == 0 } else { value < self.escape() }
    }
}

/// Returns the narrowest width in which a value is not the escape word.
const fn width_of(value: u64) -> u32 {
    match value {
        0 => 0,
        u64::MAX => WIDTH_MAX + 1,
        value => 64 - (value + 1).leading_zeros(),
    }
}

impl PforDelta {
    /// Returns the code that chooses the narrowest width in which this share of the values fits. The notes have
    /// 0.9, and blocks of 256 values.
    #[must_use]
    pub const fn with_share(share: f64) -> Self {
        Self { share: Some(share) }
    }

    /// Returns the code that chooses the width for the smallest block.
    #[must_use]
    pub const fn smallest() -> Self {
        Self { share: None }
    }

    fn widths(self, values: &[u64]) -> Widths {
        // Number of values by the narrowest width.
        let mut counts = [0_usize; WIDTH_MAX as usize + 2];
        values.iter().for_each(|&value| counts[width_of(value) as usize] += 1);
        let max = values.iter().copied().max().unwrap_or(0);
        let wide = 64 - max.leading_zeros();
        let (mut fitting, mut best) = (0, None);
        for (width, &count) in (0..=WIDTH_MAX).zip(&counts) {
            fitting += count;
            let exceptions = values.len() - fitting;
            if width == 0 && exceptions > 0 {
                continue;
            }
            let widths =
                Widths { values: width, exceptions: if exceptions == 0 { 0 } else { wide } };
            match self.share {
                Some(share) if fitting as f64 >= share * values.len() as f64 => return widths,
                Some(_) => best = Some((0, widths)),
                None => {
                    let bits = bits_of(widths, values.len(), exceptions);
                    if best.is_none_or(|(least, _)| bits < least) {
                        best = Some((bits, widths));
                    }
                }
            }
        }
        best.map_or(Widths { values: 0, exceptions: 0 }, |(_, widths)| widths)
    }
}

fn bits_of(widths: Widths, n: usize, exceptions: usize) -> u64 {
    let values = n as u64 * u64::from(widths.values);
    u64::from(2 * WIDTH_BITS) + values + exceptions as u64 * u64::from(widths.exceptions)
}

impl BlockCode for PforDelta {
    fn block_name(&self) -> String {
        self.share.map_or_else(|| "pfor".to_owned(), |share| format!("pfor({share})"))
    }

    fn write_block(&self, writer: &mut BitWriter, values: &[u64]) -> Result<(), CodeError> {
        let widths = self.widths(values);
        writer.bits(u64::from(widths.values), WIDTH_BITS);
        writer.bits(u64::from(widths.exceptions), WIDTH_BITS);
        for &value in values {
            let word = if widths.fits(value) { value } else { widths.escape() };
            writer.bits(word, widths.values);
        }
        let exceptions = values.iter().filter(|&&value| !widths.fits(value));
        exceptions.for_each(|&value| writer.bits(value, widths.exceptions));
        Ok(())
    }

    fn read_block(
        &self,
        reader: &mut BitReader<'_>,
        n: usize,
        values: &mut Vec<u64>,
    ) -> Result<(), CodeError> {
        let [width, wide] = [reader.bits(WIDTH_BITS)?, reader.bits(WIDTH_BITS)?].map(|w| w as u32);
        if width > WIDTH_MAX || wide > WIDTH_MAX || (width == 0 && wide > 0) {
            return Err(CodeError::NotAWord);
        }
        if width == 0 {
            // Zeros take no bits, so the input does not bound their number.
            values.try_reserve(n).map_err(|_| CodeError::NotAWord)?;
            values.resize(values.len() + n, 0);
            return Ok(());
        }
        let escape = Widths { values: width, exceptions: wide }.escape();
        let start = values.len();
        reader.numbers(n, width, values)?;
        let n_exceptions = values[start..].iter().filter(|value| **value == escape).count();
        if n_exceptions == 0 {
            return Ok(());
        }
        if wide == 0 {
            return Err(CodeError::NotAWord);
        }
        // They are read behind the values, and moved to their places.
        reader.numbers(n_exceptions, wide, values)?;
        let (values_of_block, exceptions) = values[start..].split_at_mut(n);
        let places = values_of_block.iter_mut().filter(|value| **value == escape);
        places.zip(exceptions).for_each(|(place, value)| *place = *value);
        values.truncate(start + n);
        Ok(())
    }

    fn block_bits(&self, values: &[u64]) -> Option<u64> {
        let widths = self.widths(values);
        let exceptions = values.iter().filter(|&&value| !widths.fits(value)).count();
        Some(bits_of(widths, values.len(), exceptions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(code: PforDelta, values: &[u64]) -> Vec<u8> {
        let mut writer = BitWriter::new();
        code.write_block(&mut writer, values).unwrap();
        assert_eq!(Some(writer.position()), code.block_bits(values));
        writer.into_bytes()
    }

    #[test]
    fn nine_of_ten_values_fit_and_the_rest_is_appended() {
        let mut values = vec![2; 18];
        values.extend([1_000, 500]);
        let code = PforDelta::with_share(0.9);
        let bytes = encoded(code, &values);
        // Two bits for each value, since three is the escape word, and ten for each exception.
        assert_eq!(code.block_bits(&values), Some(14 + 20 * 2 + 2 * 10));
        let mut reader = BitReader::new(&bytes);
        assert_eq!((reader.bits(7), reader.bits(7)), (Ok(2), Ok(10)));
        assert_eq!(reader.bits(36), Ok(0xa_aaaa_aaaa));
        assert_eq!(
            (reader.bits(4), reader.bits(10), reader.bits(10)),
            (Ok(15), Ok(1_000), Ok(500))
        );
    }

    #[test]
    fn the_smallest_block_is_not_larger_than_that_of_any_share() {
        let values: Vec<u64> = (0..256).map(|i| if i % 7 == 0 { i * i } else { i % 5 }).collect();
        let least = PforDelta::smallest().block_bits(&values).unwrap();
        for share in 0..=20 {
            let code = PforDelta::with_share(f64::from(share) / 20.0);
            assert!(least <= code.block_bits(&values).unwrap(), "{share}");
        }
    }

    #[test]
    fn blocks_of_zeros_and_of_the_largest_value_round_trip() {
        for values in [vec![], vec![0; 256], vec![u64::MAX; 3], vec![0, 1, u64::MAX, u64::MAX - 1]]
        {
            for code in
                [PforDelta::smallest(), PforDelta::with_share(0.9), PforDelta::with_share(1.0)]
            {
                let (bytes, mut out) = (encoded(code, &values), vec![]);
                code.read_block(&mut BitReader::new(&bytes), values.len(), &mut out).unwrap();
                assert_eq!(out, values, "{code:?}");
            }
        }
    }

    #[test]
    fn a_block_that_claims_too_much_is_refused() {
        // Width 64 for a million values, in four bytes.
        let mut writer = BitWriter::new();
        writer.bits(64, 7);
        writer.bits(0, 25);
        let bytes = writer.into_bytes();
        let read =
            PforDelta::smallest().read_block(&mut BitReader::new(&bytes), 1 << 20, &mut vec![]);
        assert_eq!(read, Err(CodeError::EndOfInput));
        // Width 0 for more values than memory can have.
        for n in [usize::MAX, usize::MAX / 8] {
            let read =
                PforDelta::smallest().read_block(&mut BitReader::new(&[0; 2]), n, &mut vec![1]);
            assert_eq!(read, Err(CodeError::NotAWord), "{n}");
        }
    }
}
