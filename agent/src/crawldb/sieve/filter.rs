//! The body of a filter: a fixed number of bits, whatever the number of URLs, and new URLs that are
//! taken for known, the more the fuller it is.

use super::seen_set::{Lookup, Losses, SeenSet};
use crate::storage::DiskError;
use crivello_common::hash::UrlKey;

/// BitArray that remember keys.
pub trait BitArray: Send {
    /// Sets the bits of a key; whether one of them was not set, so that it is certainly new.
    fn insert(&mut self, key: UrlKey) -> bool;

    /// The share of new keys that find all their bits set.
    fn rate(&self) -> f64;

    /// Bytes of all of them.
    fn bytes(&self) -> usize;
}

/// See the module.
pub struct Filter<B> {
    bits: B,
    losses: Losses,
}

impl<B: BitArray> Filter<B> {
    /// One that has nothing yet but these bits.
    pub(super) fn of(bits: B) -> Self {
        Self { bits, losses: Losses::default() }
    }

    /// Remembers a URL; whether it is certainly new.
    pub fn insert(&mut self, key: UrlKey) -> bool {
        self.bits.insert(key)
    }

    /// The share of new URLs that it loses now.
    #[must_use]
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
        passed.extend(batch.iter().filter(|lookup| self.bits.insert(lookup.key)).map(|o| o.ticket));
        self.losses.passed(passed.len() - before, self.rate());
        Ok(())
    }

    fn memory(&self) -> usize {
        self.bits.bytes()
    }

    fn losses(&self) -> Losses {
        Losses { rate: self.rate(), ..self.losses }
    }
}
