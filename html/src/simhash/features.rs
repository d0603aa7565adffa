//! Features of a text and their frequencies.

use super::votes::Votes;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::LazyLock;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Seed of the hashes of features: the bytes of `crivello` as a big-endian number.
const SEED: u64 = u64::from_be_bytes(*b"crivello");
/// Maximum frequency that is counted.
const FREQUENCY_MAX: usize = 255;
/// Number of frequencies, from 2 on, whose features are counted together.
const COUNTED_TOGETHER: usize = 8;
/// Number of slots that stay allocated between texts.
const KEPT_SLOTS: usize = 1 << 15;

/// Weight of a feature by its frequency `n`: 256 log2(1 + n), rounded.
pub(super) static WEIGHTS: LazyLock<[i64; FREQUENCY_MAX + 1]> =
    LazyLock::new(|| std::array::from_fn(|n| (256.0 * (1.0 + n as f64).log2()).round() as i64));

/// Hash table of the features of a text.
pub(super) struct FeatureTable {
    hashes: Vec<u64>,
    /// Frequencies; 0 for an empty slot.
    counts: Vec<u8>,
    /// Slots of features that occur more than once.
    repeated: Vec<u32>,
    votes: Votes,
    /// Secret multiplier: nobody can choose features that all have the same slot.
    factor: u64,
    shift: u32,
}

impl Default for FeatureTable {
    fn default() -> Self {
        let (hashes, counts, repeated, votes) = <_>::default();
        let factor = RandomState::new().build_hasher().finish() | 1;
        Self { hashes, counts, repeated, votes, factor, shift: 0 }
    }
}

impl FeatureTable {
    /// Empties the table, and makes room for `n` features.
    pub(super) fn clear(&mut self, n: usize) {
        let n_slots = (2 * n).next_power_of_two().max(64);
        // Hashes of empty slots are not read.
        self.hashes.resize(n_slots, 0);
        self.hashes.shrink_to(KEPT_SLOTS);
        self.counts.clear();
        self.counts.shrink_to(KEPT_SLOTS);
        self.counts.resize(n_slots, 0);
        self.repeated.clear();
        self.votes = Votes::default();
        self.shift = 64 - n_slots.trailing_zeros();
    }

    /// Counts a feature.
    pub(super) fn add(&mut self, feature: &[u8]) {
        let hash = xxh3_64_with_seed(feature, SEED);
        let mut slot = (hash.wrapping_mul(self.factor) >> self.shift) as usize;
        let mask = self.counts.len() - 1;
        loop {
            match self.counts[slot] {
                0 => {
                    self.hashes[slot] = hash;
                    self.counts[slot] = 1;
                    self.votes.add(hash);
                    return;
                }
                count if self.hashes[slot] == hash => {
                    if count == 1 {
                        self.repeated.push(slot as u32);
                    }
                    self.counts[slot] = count.saturating_add(1);
                    return;
                }
                _ => slot = (slot + 1) & mask,
            }
        }
    }

    /// Returns the number of different features.
    pub(super) const fn len(&self) -> usize {
        self.votes.n_hashes()
    }

    /// Returns the bits for which the features with that bit in their hash weigh more than the others.
    pub(super) fn majority(&mut self) -> u64 {
        let weights = &*WEIGHTS;
        let mut sums = self.votes.sums(weights[1]);
        // Features of one low frequency are counted together.
        let mut by_count: [Votes; COUNTED_TOGETHER] = <_>::default();
        for &slot in &self.repeated {
            let (hash, count) = (self.hashes[slot as usize], self.counts[slot as usize]);
            match by_count.get_mut(usize::from(count) - 2) {
                Some(votes) => votes.add(hash),
                None => {
                    let more = weights[usize::from(count)] - weights[1];
                    for (bit, sum) in sums.iter_mut().enumerate() {
                        *sum += if hash >> bit & 1 == 1 { more } else { -more };
                    }
                }
            }
        }
        for (votes, weight) in by_count.iter_mut().zip(&weights[2..]) {
            let more = votes.sums(weight - weights[1]);
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        sums.iter().enumerate().fold(0, |hash, (bit, &sum)| hash | u64::from(sum > 0) << bit)
    }
}
