//! A Bloom filter in which all bits of a URL lie in one cache line (Putze, Sanders and Singler
//! 2007): one cache miss per URL instead of ten. Lines fill unevenly, so it loses more than a
//! [`Bloom`](super::Bloom) of the same size. It counts lines by their fill to report how much.

use super::filter::{BitArray, Filter};
use super::fingerprint::{Fingerprinter, mix, place};
use crivello_common::hash::UrlKey;
use crivello_common::units::ByteSize;

/// Bits per URL.
const HASHES: i32 = 8;
const LINE_WORDS: usize = 8;
const LINE_BITS: usize = 512;
/// Number of hash bits that select a bit of a line.
const NAME_BITS: u32 = LINE_BITS.ilog2();
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u64; LINE_WORDS]);

/// A blocked Bloom filter.
pub type BlockedBloom = Filter<Blocked>;

/// The bits of a [`BlockedBloom`].
pub struct Blocked {
    fingerprinter: Fingerprinter,
    lines: Vec<Line>,
    /// Number of lines by their number of set bits.
    fills: Vec<u64>,
}

impl BlockedBloom {
    /// Creates an empty filter of this size.
    #[must_use]
    pub fn new(size: ByteSize) -> Self {
        let n = (size.as_usize() / size_of::<Line>()).max(1);
        let mut fills = vec![0; LINE_BITS + 1];
        fills[0] = n as u64;
        let lines = vec![Line([0; LINE_WORDS]); n];
        Self::of(Blocked { fingerprinter: Fingerprinter::random(), lines, fills })
    }
}

impl BitArray for Blocked {
    fn insert(&mut self, key: UrlKey) -> bool {
        let fingerprint = self.fingerprinter.fingerprint(key);
        let at = place(fingerprint, self.lines.len());
        let line = &mut self.lines[at].0;
        // The fingerprint's own upper bits are much the same in all of a line, so it is mixed
        // again.
        let (mut bits, mut added) = (mix(fingerprint), 0);
        for _ in 0..HASHES {
            let bit = (bits >> (u64::BITS - NAME_BITS)) as usize;
            let (word, mask) = (&mut line[bit / 64], 1 << (bit % 64));
            added += usize::from(*word & mask == 0);
            *word |= mask;
            bits = bits.wrapping_mul(GOLDEN);
        }
        if added == 0 {
            return false;
        }
        let ones: u32 = line.iter().map(|word| word.count_ones()).sum();
        self.fills[ones as usize - added] -= 1;
        self.fills[ones as usize] += 1;
        true
    }

    fn has(&self, key: UrlKey) -> bool {
        let fingerprint = self.fingerprinter.fingerprint(key);
        let line = &self.lines[place(fingerprint, self.lines.len())].0;
        let mut bits = mix(fingerprint);
        (0..HASHES).all(|_| {
            let bit = (bits >> (u64::BITS - NAME_BITS)) as usize;
            bits = bits.wrapping_mul(GOLDEN);
            line[bit / 64] & (1 << (bit % 64)) != 0
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn rate(&self) -> f64 {
        let lines = (0_u32..).zip(&self.fills).filter(|&(_, &n)| n > 0);
        let share = |ones| (f64::from(ones) / LINE_BITS as f64).powi(HASHES);
        let lost: f64 = lines.map(|(ones, &n)| n as f64 * share(ones)).sum();
        lost / self.lines.len() as f64
    }

    fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }
}
