//! A Bloom filter (Bloom 1970): ten bits per URL, anywhere.

use super::filter::{BitArray, Filter};
use super::fingerprint::Fingerprinter;
use crivello_common::hash::UrlKey;
use crivello_common::units::ByteSize;
use crivello_filters::BloomFilter;

/// Bits per URL. With ten, the filter is half full when it loses one new URL in 1,024. No other
/// number lets it hold more URLs until then: one for each 14.4 bits.
const HASHES: u32 = 10;

/// A Bloom filter.
pub type Bloom = Filter<Scattered>;

/// The bits of a [`Bloom`].
pub struct Scattered {
    fingerprinter: Fingerprinter,
    filter: BloomFilter,
}

impl Bloom {
    /// Creates an empty filter of this size.
    #[must_use]
    pub fn new(size: ByteSize) -> Self {
        let filter = BloomFilter::with_hashes(size.as_usize(), HASHES);
        Self::of(Scattered { fingerprinter: Fingerprinter::random(), filter })
    }
}

impl BitArray for Scattered {
    fn insert(&mut self, key: UrlKey) -> bool {
        self.filter.insert(self.fingerprinter.key_hash(key))
    }

    fn has(&self, key: UrlKey) -> bool {
        self.filter.contains(self.fingerprinter.key_hash(key))
    }

    fn rate(&self) -> f64 {
        self.filter.rate()
    }

    fn bytes(&self) -> usize {
        self.filter.bytes()
    }
}
