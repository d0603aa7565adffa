//! SimHash of a text (Charikar 2002): a fingerprint that changes in few bits if few words change.
//!
//! ```text
//!  text ──► words ──► features (shingles with their frequency) ──► votes for each bit ──► SimHash
//! ```
//! `docs/near-duplicates.md` has the recipe and vectors. Any change that gives a text another fingerprint
//! needs a higher [`SIMHASH_RECIPE`], because it makes all stored ones incomparable.

mod features;
mod votes;
mod words;

#[cfg(test)]
mod tests;

use features::FeatureTable;
use std::fmt;
use words::Words;

/// Number of the recipe by which fingerprints are computed.
pub const SIMHASH_RECIPE: u8 = 1;

/// Maximum length in bytes of the text that is read.
const TEXT_MAX: usize = 64 << 10;
/// Number of words from which on features are shingles, and below which they are words.
const SHINGLED_MIN: usize = 30;
/// Number of words of a shingle.
const SHINGLE: usize = 3;
/// Minimum number of different features. With fewer, unrelated texts would have similar fingerprints.
const FEATURES_MIN: usize = 10;

/// Fingerprint of a text. Displayed as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SimHash(pub u64);

impl SimHash {
    /// Returns the number of bits in which two fingerprints differ.
    pub const fn distance(self, other: Self) -> u32 {
        (self.0 ^ other.0).count_ones()
    }
}

impl fmt::Display for SimHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for SimHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimHash({self})")
    }
}

/// Computer of fingerprints, one after another, with reused buffers.
#[derive(Default)]
pub struct SimHasher {
    words: Words,
    features: FeatureTable,
}

impl SimHasher {
    /// Returns the fingerprint of a text, of which 64 KiB are read; `None` if it has too few different
    /// features.
    pub fn hash(&mut self, text: &str) -> Option<SimHash> {
        self.words.read(&text[..text.floor_char_boundary(TEXT_MAX)]);
        let words = &self.words;
        let length = if words.len() < SHINGLED_MIN { 1 } else { SHINGLE };
        let n_features = (words.len() + 1).saturating_sub(length);
        self.features.clear(n_features);
        for first in 0..n_features {
            self.features.add(words.run(first, length));
        }
        (self.features.len() >= FEATURES_MIN).then(|| SimHash(self.features.majority()))
    }
}
