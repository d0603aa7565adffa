//! The seen set of a filter: a fixed number of bits, whatever the number of URLs. It takes some new
//! URLs for known ones, more of them the fuller it is.

use super::seen_set::{Lookup, Losses, SeenSet, pass_unknown};
use crate::storage::DiskError;
use crivello_common::hash::UrlKey;

/// Bits that represent a set of keys.
pub trait BitArray: Send {
    /// Sets the bits of a key. Returns true if one of them was not set, so that the key is
    /// certainly new.
    fn insert(&mut self, key: UrlKey) -> bool;

    /// Returns true if all bits of a key are set.
    fn has(&self, key: UrlKey) -> bool;

    /// Returns the share of new keys that find all their bits set.
    fn rate(&self) -> f64;

    /// Returns the bytes of all bits.
    fn bytes(&self) -> usize;
}

/// A seen set of bits.
pub struct Filter<B> {
    bits: B,
    losses: Losses,
}

impl<B: BitArray> Filter<B> {
    /// Creates a filter over these bits, which are all unset.
    pub(super) fn of(bits: B) -> Self {
        Self { bits, losses: Losses::default() }
    }

    /// Adds a URL. Returns true if it is certainly new.
    pub fn insert(&mut self, key: UrlKey) -> bool {
        self.bits.insert(key)
    }

    /// Returns the share of new URLs that are lost at the current fill.
    pub fn rate(&self) -> f64 {
        self.bits.rate()
    }
}

impl<B: BitArray> std::fmt::Debug for Filter<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Filter of {} bytes, {:?}", self.bits.bytes(), self.losses)
    }
}

impl<B: BitArray> SeenSet for Filter<B> {
    fn lookup(&mut self, batch: &[Lookup], passed: &mut Vec<u64>) -> Result<(), DiskError> {
        let before = passed.len();
        pass_unknown(batch, |key| self.bits.has(key), passed);
        self.losses.passed(passed.len() - before, self.rate());
        Ok(())
    }

    fn insert(&mut self, key: UrlKey) {
        self.bits.insert(key);
    }

    fn memory(&self) -> usize {
        self.bits.bytes()
    }

    fn losses(&self) -> Losses {
        Losses { rate: self.rate(), ..self.losses }
    }
}
