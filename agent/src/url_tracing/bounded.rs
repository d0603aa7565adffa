//! What is remembered of URLs that are followed: bounded, whatever the rate.

use super::TraceId;
use crate::limits::FOUND_A_URL;
use hashbrown::HashMap;
use std::hash::Hash;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A map that forgets what was put there long ago when it is full: what nobody takes (a URL that was
/// dropped, or went to another agent) does not stay.
#[derive(Debug)]
pub struct Bounded<K, V> {
    most: usize,
    /// What was put last, at most half of all.
    new: Map<K, V>,
    /// What was put before, likewise; forgotten as a whole.
    old: Map<K, V>,
    has_forgotten: bool,
}

impl<K: Hash + Eq, V: Copy> Bounded<K, V> {
    /// An empty one.
    pub fn new(most: usize) -> Self {
        Self { most, new: Map::default(), old: Map::default(), has_forgotten: false }
    }

    /// Remembers.
    pub fn put(&mut self, key: K, value: V) {
        self.old.remove(&key);
        if self.new.len() >= self.most.div_ceil(2) && !self.new.contains_key(&key) {
            let forgotten = std::mem::replace(&mut self.old, std::mem::take(&mut self.new));
            self.has_forgotten |= !forgotten.is_empty();
        }
        self.new.insert(key, value);
    }

    /// What is remembered.
    pub fn get(&self, key: &K) -> Option<V> {
        self.new.get(key).or_else(|| self.old.get(key)).copied()
    }

    /// The same, for the last time.
    pub fn take(&mut self, key: &K) -> Option<V> {
        self.new.remove(key).or_else(|| self.old.remove(key))
    }

    /// Whether anything ever was forgotten.
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
