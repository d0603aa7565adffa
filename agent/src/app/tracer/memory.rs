//! What is remembered of URLs that are followed: bounded, whatever the rate.

use crate::limits::FOUND_A_URL;
use crate::traces::TraceId;
use hashbrown::HashMap;
use std::hash::Hash;

/// A map that takes nothing new when it is full.
#[derive(Debug)]
pub struct Bounded<K, V> {
    most: usize,
    map: HashMap<K, V, foldhash::fast::RandomState>,
    has_forgotten: bool,
}

impl<K: Hash + Eq, V: Copy> Bounded<K, V> {
    /// An empty one.
    pub fn new(most: usize) -> Self {
        Self { most, map: HashMap::default(), has_forgotten: false }
    }

    /// Remembers, if there is room.
    pub fn put(&mut self, key: K, value: V) {
        if self.map.len() < self.most || self.map.contains_key(&key) {
            self.map.insert(key, value);
        } else {
            self.has_forgotten = true;
        }
    }

    /// What is remembered.
    pub fn get(&self, key: &K) -> Option<V> {
        self.map.get(key).copied()
    }

    /// The same, for the last time.
    pub fn take(&mut self, key: &K) -> Option<V> {
        self.map.remove(key)
    }

    /// Whether there ever was no room.
    pub const fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }
}

/// Counts how often the same URL was found lately.
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
    /// Whether it is worth telling once more. Of two URLs in one slot the later counts anew.
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
