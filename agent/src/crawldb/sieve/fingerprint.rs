//! Fingerprints: one number per URL, for seen sets that do not store whole keys.

use crivello_common::hash::UrlKey;
use crivello_filters::{KeyHash, mix};
use std::hash::{BuildHasher, RandomState};

/// Generator of 64-bit fingerprints. Within a group two URLs have equal fingerprints only if their
/// hashes are equal. Of n URLs in all, some n² / 2⁶⁵ share their fingerprint with another one:
/// 0.0003 of 100 million, 3 of 10 billion.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprinter {
    secret: u64,
}

impl Fingerprinter {
    /// Creates a generator that no site can predict. Otherwise a page could list links that all
    /// fall into the same corner of a table. For fingerprints in memory only.
    #[must_use]
    pub fn random() -> Self {
        Self { secret: RandomState::new().hash_one(0_u8) }
    }

    /// Creates the generator that never changes, for fingerprints on disk.
    #[must_use]
    pub const fn fixed() -> Self {
        Self { secret: 0 }
    }

    /// Returns the fingerprint of a URL.
    pub const fn fingerprint(self, key: UrlKey) -> u64 {
        mix(key.url.0 ^ mix(key.group.0 ^ self.secret))
    }

    /// Returns a hash of a URL for filters. All of it follows from the fingerprint.
    pub const fn key_hash(self, key: UrlKey) -> KeyHash {
        let fingerprint = self.fingerprint(key);
        KeyHash { low: fingerprint, high: mix(fingerprint) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::hash::{GroupHash, UrlHash};
    use crivello_filters::place;
    use std::collections::HashSet;

    #[test]
    fn neighbors_have_nothing_in_common() {
        let key = |n| UrlKey { group: GroupHash(n / 100), url: UrlHash(n) };
        for fingerprinter in [Fingerprinter::fixed(), Fingerprinter::random()] {
            let all: HashSet<u64> =
                (0..100_000).map(|n| fingerprinter.fingerprint(key(n))).collect();
            assert_eq!(all.len(), 100_000);
            let mut bins = [0_u32; 64];
            all.iter().for_each(|&fingerprint| bins[place(fingerprint, 64)] += 1);
            assert!(bins.iter().all(|n| (1_300..1_850).contains(n)), "{bins:?}");
        }
        let (one, other) = (Fingerprinter::random(), Fingerprinter::random());
        assert!(
            (0..100).all(|n| one.fingerprint(key(n)) != other.fingerprint(key(n))),
            "two random fingerprinters agree"
        );
    }

    #[test]
    fn places_are_within_and_in_order() {
        for n in [1, 7, 1 << 40] {
            assert_eq!((place(0, n), place(u64::MAX, n)), (0, n - 1));
            assert!(place(1 << 60, n) <= place(1 << 61, n));
        }
    }
}
