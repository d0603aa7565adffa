//! Bounds of the counts and lengths in a block, from which a bound of its scores follows (block maxima: Ding and Suel
//! 2011).
//!
//! A score grows with the count of a term, and shrinks with the length of the document, whatever the parameters of
//! ranks. So a few pairs of count and length bound the scores of a block: each document has, for one of them, no more
//! count and no less length.

use crivello_codes::{BitReader, BitWriter, Code as _, CodeError, Delta, Gamma};

/// Pairs of a block at most.
const PAIRS_MAX: usize = 3;
/// Bits of a length behind its uppermost one that are kept. It is rounded down, which keeps the bound.
const LENGTH_BITS: u32 = 2;

/// The pairs of a block: counts ascend, and so do lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Impacts {
    pairs: [(u32, u32); PAIRS_MAX],
    n: usize,
}

impl Impacts {
    /// Returns the pairs of documents with these counts, less 1, and lengths. `scratch` is changed.
    pub(super) fn of(counts: &[u64], lengths: &[u32], scratch: &mut Vec<(u32, u32)>) -> Self {
        scratch.clear();
        scratch.extend(counts.iter().zip(lengths).map(|(n, length)| (*n as u32 + 1, *length)));
        // Of the highest count down, those shorter than all before bound the others.
        scratch.sort_unstable_by_key(|(count, length)| (std::cmp::Reverse(*count), *length));
        let mut shortest = u32::MAX;
        scratch.retain(|(_, length)| {
            let is_shorter = *length < shortest;
            shortest = shortest.min(*length);
            is_shorter
        });
        // Pairs of low counts are joined.
        while scratch.len() > PAIRS_MAX
            && let (Some(last), Some(before)) = (scratch.pop(), scratch.last_mut())
        {
            before.1 = last.1;
        }
        scratch.reverse();
        let mut impacts = Self { n: scratch.len(), ..Self::default() };
        impacts.pairs[..scratch.len()].copy_from_slice(scratch);
        impacts
    }

    pub(super) fn write(&self, writer: &mut BitWriter) -> Result<(), CodeError> {
        Gamma.write(writer, self.n as u64)?;
        let mut before = 0;
        for (count, length) in &self.pairs[..self.n] {
            Gamma.write(writer, u64::from(count - before - 1))?;
            before = *count;
            let shift = (length.checked_ilog2().unwrap_or(0)).saturating_sub(LENGTH_BITS);
            Gamma.write(writer, u64::from(shift))?;
            // Lengths above four have their uppermost bit.
            Delta.write(writer, u64::from(length >> shift))?;
        }
        Ok(())
    }

    pub(super) fn read(reader: &mut BitReader<'_>) -> Result<Self, CodeError> {
        let n = Gamma.read(reader)? as usize;
        if n > PAIRS_MAX {
            return Err(CodeError::NotAWord);
        }
        let mut impacts = Self { n, ..Self::default() };
        let mut before = 0_u32;
        for pair in &mut impacts.pairs[..n] {
            let gap = u32::try_from(Gamma.read(reader)?).map_err(|_| CodeError::NotAWord)?;
            before = before.saturating_add(gap).saturating_add(1);
            let (shift, top) = (Gamma.read(reader)?, Delta.read(reader)?);
            if shift > 32 || top > u64::from(u32::MAX) {
                return Err(CodeError::NotAWord);
            }
            *pair = (before, u32::try_from(top << shift).unwrap_or(u32::MAX));
        }
        Ok(impacts)
    }

    /// Returns the pairs.
    pub(crate) fn pairs(&self) -> &[(u32, u32)] {
        &self.pairs[..self.n]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn each_document_is_bounded_by_a_pair() {
        let mut rng = crate::tests::rng();
        let mut scratch = Vec::new();
        for _ in 0..500 {
            let n = rng.random_range(1..130);
            let max = [2_u64, 10, 60_000][rng.random_range(0..3)];
            let counts: Vec<u64> = (0..n).map(|_| rng.random_range(0..max)).collect();
            let lengths: Vec<u32> = (0..n)
                .map(|_| rng.random::<u32>() >> rng.random_range(0..33_u32).min(31))
                .collect();
            let mut writer = BitWriter::new();
            Impacts::of(&counts, &lengths, &mut scratch).write(&mut writer).unwrap();
            let bytes = writer.into_bytes();
            let impacts = Impacts::read(&mut BitReader::new(&bytes)).unwrap();
            for (n, length) in counts.iter().zip(&lengths) {
                let mut pairs = impacts.pairs().iter();
                assert!(pairs.any(|pair| u64::from(pair.0) > *n && pair.1 <= *length));
            }
            assert!(
                impacts
                    .pairs()
                    .iter()
                    .any(|pair| u64::from(pair.0) == counts.iter().max().unwrap() + 1)
            );
        }
    }
}
