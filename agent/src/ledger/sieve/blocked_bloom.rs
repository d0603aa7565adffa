//! The body of a Bloom filter in which all bits of a URL lie in one cache line (Putze, Sanders and
//! Singler 2007): one miss of the cache a URL instead of ten. Lines do not fill evenly, so it loses
//! more than a [`Bloom`](super::Bloom) of the same size, and counts them by how full they are to say
//! how much.

use super::body::{Body, Losses, Offer};
use super::signature::{Signer, mix, place};
use crate::disk::DiskError;
use crivello_common::hash::UrlKey;
use crivello_common::units::ByteSize;

/// Bits of each URL.
const HASHES: i32 = 8;
const LINE_WORDS: usize = 8;
const LINE_BITS: usize = 512;
/// Bits that name a bit of a line.
const NAME_BITS: u32 = LINE_BITS.ilog2();
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u64; LINE_WORDS]);

/// See the module.
pub struct BlockedBloom {
    signer: Signer,
    lines: Vec<Line>,
    /// How many lines have so many bits set.
    fills: Vec<u64>,
    losses: Losses,
}

impl std::fmt::Debug for BlockedBloom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlockedBloom of {} lines", self.lines.len())
    }
}

impl BlockedBloom {
    /// An empty one of this size.
    #[must_use]
    pub fn new(size: ByteSize) -> Self {
        let n = (size.as_usize() / size_of::<Line>()).max(1);
        let mut fills = vec![0; LINE_BITS + 1];
        fills[0] = n as u64;
        let lines = vec![Line([0; LINE_WORDS]); n];
        Self { signer: Signer::random(), lines, fills, losses: Losses::default() }
    }

    /// Remembers a URL; whether it is certainly new.
    pub fn insert(&mut self, key: UrlKey) -> bool {
        let signature = self.signer.sign(key);
        let at = place(signature, self.lines.len());
        let line = &mut self.lines[at].0;
        // The signature's own upper bits are much the same in all of a line.
        let (mut bits, mut added) = (mix(signature), 0);
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

    /// The share of new URLs that find all their bits set.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn rate(&self) -> f64 {
        let lines = (0_u32..).zip(&self.fills).filter(|&(_, &n)| n > 0);
        let share = |ones| (f64::from(ones) / LINE_BITS as f64).powi(HASHES);
        let lost: f64 = lines.map(|(ones, &n)| n as f64 * share(ones)).sum();
        lost / self.lines.len() as f64
    }
}

impl Body for BlockedBloom {
    fn offer(&mut self, batch: &[Offer], passed: &mut Vec<u64>) -> Result<(), DiskError> {
        let before = passed.len();
        passed.extend(batch.iter().filter(|offer| self.insert(offer.key)).map(|o| o.ticket));
        self.losses.passed(passed.len() - before, self.rate());
        Ok(())
    }

    fn memory(&self) -> usize {
        self.lines.capacity() * size_of::<Line>()
    }

    fn losses(&self) -> Losses {
        Losses { rate: self.rate(), ..self.losses }
    }
}
