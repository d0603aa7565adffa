//! A Bloom filter (Bloom 1970): ten bits per URL, anywhere.

use super::filter::{BitArray, Filter};
use super::fingerprint::{Fingerprinter, mix, place};
use crivello_common::hash::UrlKey;
use crivello_common::units::ByteSize;

/// Bits per URL. With ten, the filter is half full when it loses one new URL in 1,024. No other
/// number lets it hold more URLs until then: one for each 14.4 bits.
const HASHES: i32 = 10;
const WORD_BITS: usize = u64::BITS as usize;

/// A Bloom filter.
pub type Bloom = Filter<Scattered>;

/// The bits of a [`Bloom`].
pub struct Scattered {
    fingerprinter: Fingerprinter,
    words: Vec<u64>,
    /// Number of bits that are set.
    ones: u64,
}

impl Bloom {
    /// Creates an empty filter of this size.
    #[must_use]
    pub fn new(size: ByteSize) -> Self {
        let words = vec![0; (size.as_usize() / size_of::<u64>()).max(1)];
        Self::of(Scattered { fingerprinter: Fingerprinter::random(), words, ones: 0 })
    }
}

impl BitArray for Scattered {
    fn insert(&mut self, key: UrlKey) -> bool {
        let fingerprint = self.fingerprinter.fingerprint(key);
        // Two hashes yield all others (Kirsch and Mitzenmacher 2006).
        let (mut at, step) = (fingerprint, mix(fingerprint) | 1);
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

    fn has(&self, key: UrlKey) -> bool {
        let fingerprint = self.fingerprinter.fingerprint(key);
        let (mut at, step) = (fingerprint, mix(fingerprint) | 1);
        (0..HASHES).all(|_| {
            let bit = place(at, self.words.len() * WORD_BITS);
            at = at.wrapping_add(step);
            self.words[bit / WORD_BITS] & (1 << (bit % WORD_BITS)) != 0
        })
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn rate(&self) -> f64 {
        (self.ones as f64 / (self.words.len() * WORD_BITS) as f64).powi(HASHES)
    }

    fn bytes(&self) -> usize {
        self.words.capacity() * size_of::<u64>()
    }
}
