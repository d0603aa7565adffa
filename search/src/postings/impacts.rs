//! Bounds of the counts and lengths in a block, from which a bound of its scores follows (block maxima: Ding and Suel
//! 2011).
//!
//! A score grows with the count of a term, and shrinks with the length of the document, whatever the parameters of
//! ranks. So a few pairs of count and length bound the scores of a block: each document has, for one of them, no more
//! count and no less length. A pair has two bytes: the count, 255 for all that are no less, and the length, rounded down.

/// Pairs of a block.
const PAIRS: usize = 3;
/// Bytes of the pairs of a block.
pub(super) const IMPACT_BYTES: usize = 2 * PAIRS;
/// Bits of a length behind its uppermost one that are kept.
const LENGTH_BITS: u32 = 3;

/// The pairs of a block: counts and lengths of two bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Impacts([u8; IMPACT_BYTES]);

fn length_byte(length: u32) -> u8 {
    let shift = length.checked_ilog2().unwrap_or(0).saturating_sub(LENGTH_BITS);
    // The uppermost bit of what is left adds 1 to the shift.
    ((shift << LENGTH_BITS) + (length >> shift)) as u8
}

const fn length_of(byte: u8) -> u32 {
    let byte = byte as u32;
    let shift = (byte >> LENGTH_BITS).saturating_sub(1);
    let length = (byte - (shift << LENGTH_BITS)) as u64;
    let length = length << shift;
    if length > u32::MAX as u64 { u32::MAX } else { length as u32 }
}

impl Impacts {
    /// Returns the pairs of documents with these counts and lengths. `scratch` is changed.
    pub(super) fn of(counts: &[u32], lengths: &[u32], scratch: &mut Vec<(u32, u32)>) -> Self {
        scratch.clear();
        scratch.extend(counts.iter().copied().zip(lengths.iter().copied()));
        // Of the highest count down, those shorter than all before bound the others.
        scratch.sort_unstable_by_key(|(count, length)| (std::cmp::Reverse(*count), *length));
        let mut shortest = u32::MAX;
        scratch.retain(|(_, length)| {
            let is_shorter = *length < shortest;
            shortest = shortest.min(*length);
            is_shorter
        });
        // Pairs of low counts are joined.
        while scratch.len() > PAIRS
            && let (Some(last), Some(before)) = (scratch.pop(), scratch.last_mut())
        {
            before.1 = last.1;
        }
        // Lengths of u32::MAX bound none that is shorter.
        let last = scratch.last().copied().unwrap_or((u32::MAX, 0));
        let pairs = scratch.iter().copied().chain(std::iter::repeat(last));
        let mut bytes = [0; IMPACT_BYTES];
        for (bytes, (count, length)) in bytes.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
            *bytes = [u8::try_from(count).unwrap_or(u8::MAX), length_byte(length)];
        }
        Self(bytes)
    }

    pub(super) const fn from_bytes(bytes: [u8; IMPACT_BYTES]) -> Self {
        Self(bytes)
    }

    pub(super) const fn bytes(self) -> [u8; IMPACT_BYTES] {
        self.0
    }

    /// Returns the pairs.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.as_chunks::<2>().0.iter().map(|&[count, length]| {
            let count = if count == u8::MAX { u32::MAX } else { u32::from(count) };
            (count, length_of(length))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn lengths_are_rounded_down() {
        for length in (0..5_000).chain([1 << 20, u32::MAX / 3, u32::MAX - 1, u32::MAX]) {
            let rounded = length_of(length_byte(length));
            assert!(rounded <= length && rounded >= length - length / 8, "{length}: {rounded}");
        }
    }

    #[test]
    fn each_document_is_bounded_by_a_pair() {
        let mut rng = crate::tests::rng();
        let mut scratch = Vec::new();
        for _ in 0..500 {
            let n = rng.random_range(1..130);
            let max = [2_u32, 10, 60_000][rng.random_range(0..3)];
            let counts: Vec<u32> = (0..n).map(|_| rng.random_range(1..=max)).collect();
            let lengths: Vec<u32> = (0..n)
                .map(|_| rng.random::<u32>() >> rng.random_range(0..33_u32).min(31))
                .collect();
            let impacts = Impacts::of(&counts, &lengths, &mut scratch);
            let impacts = Impacts::from_bytes(impacts.bytes());
            for (n, length) in counts.iter().zip(&lengths) {
                let mut pairs = impacts.pairs();
                assert!(pairs.any(|pair| pair.0 >= *n && pair.1 <= *length));
            }
            let greatest = counts.iter().max().copied().unwrap_or(0);
            assert!(impacts.pairs().any(|pair| pair.0 == greatest || greatest >= 255));
        }
    }
}
