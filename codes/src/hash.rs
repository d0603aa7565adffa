//! Hashes of keys.

pub use crivello_common::random::mix;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// Maps `x` to one of `n` places by its upper bits (Lemire 2019). A larger number never gets an earlier
/// place.
#[must_use]
pub const fn place(x: u64, n: usize) -> usize {
    ((x as u128 * n as u128) >> 64) as usize
}

/// 128 bits of a key, from which all hash functions of a structure are derived: XXH3 with a seed. Whoever knows the
/// seed can make keys with one hash, so keys that others choose need a seed that they do not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyHash {
    /// The lower half.
    pub low: u64,
    /// The upper half.
    pub high: u64,
}

impl KeyHash {
    /// Returns the hash of a key.
    #[inline]
    #[must_use]
    pub fn of(key: &[u8], seed: u64) -> Self {
        let hash = xxh3_128_with_seed(key, seed);
        Self { low: hash as u64, high: (hash >> 64) as u64 }
    }

    /// Returns another hash, derived from this one.
    #[inline]
    #[must_use]
    pub const fn derive(self, n: u64) -> Self {
        let n = mix(n.wrapping_add(0x9e37_79b9_7f4a_7c15));
        Self { low: mix(self.low ^ n), high: mix(self.high.wrapping_add(n)) }
    }

    /// Returns `bits` bits, at most 64, that hash functions of places do not use.
    #[inline]
    #[must_use]
    pub const fn signature(self, bits: u32) -> u64 {
        let all = mix(self.low.rotate_left(29) ^ self.high ^ 0x5851_f42d_4c95_7f2d);
        if bits == 0 { 0 } else { all >> (64 - bits) }
    }
}
