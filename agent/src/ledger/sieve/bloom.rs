//! The body of a Bloom filter: a fixed number of bytes, whatever the number of URLs, and new URLs
//! that are taken for known, the more the fuller it is.

use super::body::{Body, Losses, Offer};
use super::signature::{Signer, mix, place};
use crate::disk::DiskError;
use crivello_common::hash::UrlKey;
use crivello_common::units::ByteSize;

/// Bits of each URL. With ten the filter is half full when it loses one new URL in 1,024, and no
/// other number would let it take more URLs until then: one for each 14.4 bits.
const HASHES: i32 = 10;
const WORD_BITS: usize = u64::BITS as usize;

/// See the module.
pub struct Bloom {
    signer: Signer,
    words: Vec<u64>,
    /// Bits that are set.
    ones: u64,
    losses: Losses,
}

impl std::fmt::Debug for Bloom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bloom of {} words, {} ones", self.words.len(), self.ones)
    }
}

impl Bloom {
    /// An empty one of this size.
    #[must_use]
    pub fn new(size: ByteSize) -> Self {
        let words = vec![0; (size.as_usize() / size_of::<u64>()).max(1)];
        Self { signer: Signer::random(), words, ones: 0, losses: Losses::default() }
    }

    /// Remembers a URL; whether it is certainly new.
    pub fn insert(&mut self, key: UrlKey) -> bool {
        let signature = self.signer.sign(key);
        // Two hashes make all others (Kirsch and Mitzenmacher 2006).
        let (mut at, step) = (signature, mix(signature) | 1);
        let mut added = 0;
        for _ in 0..HASHES {
            let bit = place(at, self.words.len() * WORD_BITS);
            let (word, mask) = (&mut self.words[bit / WORD_BITS], 1 << (bit % WORD_BITS));
            added += u64::from(*word & mask == 0);
            *word |= mask;
            at = at.wrapping_add(step);
        }
        self.ones += added;
        added > 0
    }

    /// The share of new URLs that find all their bits set.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn rate(&self) -> f64 {
        (self.ones as f64 / (self.words.len() * WORD_BITS) as f64).powi(HASHES)
    }
}

impl Body for Bloom {
    fn offer(&mut self, batch: &[Offer], passed: &mut Vec<u64>) -> Result<(), DiskError> {
        let before = passed.len();
        passed.extend(batch.iter().filter(|offer| self.insert(offer.key)).map(|o| o.ticket));
        self.losses.passed(passed.len() - before, self.rate());
        Ok(())
    }

    fn memory(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }

    fn losses(&self) -> Losses {
        Losses { rate: self.rate(), ..self.losses }
    }
}
