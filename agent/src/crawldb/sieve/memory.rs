//! The seen set in memory: a fingerprint of every URL, 10 to 12.5 bytes each.
//!
//! It is a hash table in 256 shards. The slot at which a probe starts rises with the fingerprint.
//! When a shard grows, its slots therefore move in order: memory is read and written sequentially,
//! and a shard can grow by a quarter instead of doubling. Shards start with different sizes, so
//! that they never grow all at once.

use super::fingerprint::Fingerprinter;
use super::seen_set::{Lookup, SeenSet, pass_unknown};
use crate::storage::DiskError;
use crivello_common::hash::UrlKey;
use crivello_filters::place;

const SHARDS: usize = 256;
/// Number of slots of the smallest shard at the start.
const SLOTS_MIN: usize = 64;
/// Value of an empty slot. A fingerprint of this value is stored as 1.
const EMPTY: u64 = 0;

/// A seen set of fingerprints in memory.
pub struct Memory {
    fingerprinter: Fingerprinter,
    shards: Vec<Shard>,
}

struct Shard {
    slots: Vec<u64>,
    used: usize,
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Memory of {} URLs", self.len())
    }
}

impl Default for Memory {
    fn default() -> Self {
        // From 64 to 319 slots: the sizes at which shards grow stay evenly spread.
        let shard = |n| Shard { slots: vec![EMPTY; SLOTS_MIN + n], used: 0 };
        Self { fingerprinter: Fingerprinter::random(), shards: (0..SHARDS).map(shard).collect() }
    }
}

impl Memory {
    /// Adds a URL. Returns true if it is new.
    pub fn insert(&mut self, key: UrlKey) -> bool {
        let fingerprint = self.fingerprinter.fingerprint(key);
        self.shards[place(fingerprint, SHARDS)].insert(fingerprint.max(1))
    }

    fn has(&self, key: UrlKey) -> bool {
        let fingerprint = self.fingerprinter.fingerprint(key);
        let shard = &self.shards[place(fingerprint, SHARDS)];
        shard.slots[shard.find(fingerprint.max(1))] != EMPTY
    }

    /// Returns the number of URLs.
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.used).sum()
    }
}

impl Shard {
    fn insert(&mut self, fingerprint: u64) -> bool {
        let at = self.find(fingerprint);
        if self.slots[at] == fingerprint {
            return false;
        }
        self.slots[at] = fingerprint;
        self.used += 1;
        if self.used * 5 > self.slots.len() * 4 {
            self.grow();
        }
        true
    }

    /// Returns the slot of a fingerprint, or the empty slot where it would be.
    fn find(&self, fingerprint: u64) -> usize {
        // The upper bits are equal in the whole shard, so they are shifted out.
        let mut at = place(fingerprint.wrapping_mul(SHARDS as u64), self.slots.len());
        while self.slots[at] != EMPTY && self.slots[at] != fingerprint {
            at += 1;
            if at == self.slots.len() {
                at = 0;
            }
        }
        at
    }

    fn grow(&mut self) {
        let n = self.slots.len() + self.slots.len() / 4;
        let before = std::mem::replace(&mut self.slots, vec![EMPTY; n]);
        for fingerprint in before.into_iter().filter(|&slot| slot != EMPTY) {
            let at = self.find(fingerprint);
            self.slots[at] = fingerprint;
        }
    }
}

impl SeenSet for Memory {
    fn lookup(&mut self, batch: &[Lookup], passed: &mut Vec<u64>) -> Result<(), DiskError> {
        pass_unknown(batch, |key| self.has(key), passed);
        Ok(())
    }

    fn insert(&mut self, key: UrlKey) {
        Self::insert(self, key);
    }

    fn memory(&self) -> usize {
        let slots: usize = self.shards.iter().map(|shard| shard.slots.capacity()).sum();
        slots * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::hash::{GroupHash, UrlHash};

    fn key(n: u64) -> UrlKey {
        UrlKey { group: GroupHash(n % 1_000), url: UrlHash(n) }
    }

    #[test]
    fn it_grows_by_little_and_wastes_little() {
        let mut memory = Memory::default();
        assert_eq!(memory.len(), 0);
        let mut before = memory.memory();
        for n in 0..300_000 {
            assert!(memory.insert(key(n)));
            let now = memory.memory();
            assert!(now - before <= now / 256, "grew from {before} to {now} bytes at {n} URLs");
            before = now;
            if n > 100_000 && n % 1_000 == 0 {
                let each = now as f64 / n as f64;
                assert!((10.0..12.5).contains(&each), "{each} bytes per URL at {n} URLs");
            }
        }
        assert!((0..300_000).all(|n| !memory.insert(key(n))));
        assert_eq!(memory.len(), 300_000);
    }

    #[test]
    fn signatures_that_meet_at_the_end_of_a_shard_go_on_at_its_beginning() {
        let mut shard = Shard { slots: vec![EMPTY; SLOTS_MIN], used: 0 };
        let last = |n: u64| (u64::MAX >> 8) - n;
        assert!((0..1_000).all(|n| shard.insert(last(n))));
        assert!((0..1_000).all(|n| !shard.insert(last(n))));
        assert!(shard.insert(1) && !shard.insert(1));
    }
}
