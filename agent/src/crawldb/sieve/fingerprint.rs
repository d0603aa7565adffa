//! URLs as one number each: what bodies remember that do not keep whole keys.

use crivello_common::hash::UrlKey;
use std::hash::{BuildHasher, RandomState};

/// Makes fingerprints of 64 bits. Within a group two URLs have the same one only if their hashes are
/// the same; of n URLs in all, some n² / 2⁶⁵ have one that another has: 0.0003 of 100 million, 3 of
/// 10 billion.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprinter {
    secret: u64,
}

impl Fingerprinter {
    /// One that no site can foresee: otherwise a page of links could be made up that all fall into
    /// the same corner of a table. For what is in memory only.
    pub fn random() -> Self {
        Self { secret: RandomState::new().hash_one(0_u8) }
    }

    /// The same for ever: for what is on disk.
    pub const fn fixed() -> Self {
        Self { secret: 0 }
    }

    /// The fingerprint of a URL.
    pub const fn fingerprint(self, key: UrlKey) -> u64 {
        mix(key.url.0 ^ mix(key.group.0 ^ self.secret))
    }
}

/// A permutation in which every bit of the result depends on every bit of `x` (the finalizer of
/// SplitMix64, by Stafford).
pub const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Where `x` lies among `n` places, by its upper bits (Lemire 2019): larger numbers lie further on.
pub const fn place(x: u64, n: usize) -> usize {
    ((x as u128 * n as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::hash::{GroupHash, UrlHash};
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
            "secrets differ"
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
