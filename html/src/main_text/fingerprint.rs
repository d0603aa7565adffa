//! Fingerprint of a text by a fixed recipe.

use super::characters::count;
use std::fmt;
use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

/// Number of the recipe by which main text is selected and its fingerprint is computed. A stored
/// fingerprint is comparable with those of the same recipe only.
pub const TEXT_RECIPE: u8 = 1;

/// Fingerprint of a text: XXH3-128 (seed 0) of its UTF-8 without white space. `docs/main-text.md`
/// has the recipe and vectors. Displayed as 32 hexadecimal digits, as by `xxhsum -H2`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextFingerprint(pub u128);

impl TextFingerprint {
    /// Fingerprint of a page without text.
    pub const EMPTY: Self = Self(0x99aa_06d3_0147_98d8_6001_c324_468d_497f);

    /// Returns the fingerprint of a text, ignoring white space.
    #[must_use]
    pub fn of(text: &str) -> Self {
        let bare: String = text.split_whitespace().collect();
        Self(xxh3_128(bare.as_bytes()))
    }
}

impl fmt::Display for TextFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TextFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextFingerprint({self})")
    }
}

/// Size of the buffer in bytes. Of the two texts that are collected of each page, one is not needed; if it
/// fits into the buffer, it is never hashed.
pub(super) const BUFFERED: usize = 32 << 10;

/// Length and hash of a text that is received in pieces without white space.
#[derive(Default)]
pub(super) struct FingerprintState {
    chars: usize,
    hash: Xxh3Default,
    buffer: Vec<u8>,
}

impl FingerprintState {
    pub(super) fn clear(&mut self) {
        self.chars = 0;
        self.hash.reset();
        self.buffer.clear();
    }

    pub(super) fn update(&mut self, piece: &[u8]) {
        if self.buffer.len() + piece.len() > BUFFERED {
            self.flush();
        }
        // Pieces are blocks, which are shorter than the buffer.
        self.buffer.extend_from_slice(piece);
    }

    fn flush(&mut self) {
        self.chars += count(&self.buffer);
        self.hash.update(&self.buffer);
        self.buffer.clear();
    }

    /// Returns the number of characters of all pieces so far, and their fingerprint.
    pub(super) fn finish(&mut self) -> (usize, TextFingerprint) {
        self.flush();
        (self.chars, TextFingerprint(self.hash.digest128()))
    }
}
