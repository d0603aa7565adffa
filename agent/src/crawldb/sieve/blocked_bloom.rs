//! A Bloom filter in which all bits of a URL lie in one cache line (Putze, Sanders and Singler
//! 2007): one cache miss per URL instead of ten. Lines fill unevenly, so it loses more than a
//! [`Bloom`](super::Bloom) of the same size. It counts lines by their fill to report how much.

use super::filter::{BitArray, Filter};
use super::fingerprint::Fingerprinter;
use crivello_common::hash::UrlKey;
use crivello_common::units::ByteSize;
use crivello_filters::BlockedBloomFilter;

/// Bits per URL.
const HASHES: u32 = 8;

/// A blocked Bloom filter.
pub type BlockedBloom = Filter<Blocked>;

/// The bits of a [`BlockedBloom`].
pub struct Blocked {
    fingerprinter: Fingerprinter,
    filter: BlockedBloomFilter,
}

impl BlockedBloom {
    /// Creates an empty filter of this size.
    #[must_use]
    pub fn new(size: ByteSize) -> Self {
        let filter = BlockedBloomFilter::with_hashes(size.as_usize(), HASHES);
        Self::of(Blocked { fingerprinter: Fingerprinter::random(), filter })
    }
}

impl BitArray for Blocked {
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
