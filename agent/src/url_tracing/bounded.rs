//! Bounded memory of followed URLs, whatever the rate.

use super::TraceId;
use crate::limits::FOUND_A_URL;
use hashbrown::HashMap;
use std::hash::Hash;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A map that forgets its oldest entries when it is full. Entries that are never taken (a URL was
/// dropped, or moved to another agent) do not accumulate.
#[derive(Debug)]
pub struct Bounded<K, V> {
    most: usize,
    /// The newest entries, at most half of all.
    new: Map<K, V>,
    /// The entries before, at most half of all; forgotten together.
    old: Map<K, V>,
    has_forgotten: bool,
}

impl<K: Hash + Eq, V: Copy> Bounded<K, V> {
    /// Creates an empty map for at most `most` entries.
    pub fn new(most: usize) -> Self {
        Self { most, new: Map::default(), old: Map::default(), has_forgotten: false }
    }

    /// Adds or replaces an entry, as the newest.
    pub fn put(&mut self, key: K, value: V) {
        self.old.remove(&key);
        if self.new.len() >= self.most.div_ceil(2) && !self.new.contains_key(&key) {
            let forgotten = std::mem::replace(&mut self.old, std::mem::take(&mut self.new));
            self.has_forgotten |= !forgotten.is_empty();
        }
        self.new.insert(key, value);
    }

    /// Returns the value of `key`, if it is remembered.
    pub fn get(&self, key: &K) -> Option<V> {
        self.new.get(key).or_else(|| self.old.get(key)).copied()
    }

    /// Removes and returns the value of `key`, if it is remembered.
    pub fn take(&mut self, key: &K) -> Option<V> {
        self.new.remove(key).or_else(|| self.old.remove(key))
    }

    /// Returns true if any entry was ever forgotten.
    pub const fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }
}

/// Counters of recent finds of the same URL.
#[derive(Debug)]
pub struct Repeats {
    slots: Box<[(u64, u8)]>,
}

const SLOTS: usize = 4_096;

impl Default for Repeats {
    fn default() -> Self {
        Self { slots: vec![(0, 0); SLOTS].into() }
    }
}

impl Repeats {
    /// Counts a find. Returns true if it is to be recorded: [`FOUND_A_URL`] times for each URL. Of
    /// two URLs in one slot, the later one starts from 0.
    pub fn admits(&mut self, trace: TraceId) -> bool {
        let tag = trace.0 as u64;
        let slot = &mut self.slots[(trace.0 >> 64) as usize % SLOTS];
        if slot.0 != tag {
            *slot = (tag, 0);
        }
        let admits = slot.1 < FOUND_A_URL;
        slot.1 += u8::from(admits);
        admits
    }
}
