//! Entries at steady small numbers, found again by key: the numbers are what heaps hold.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};
use std::ops::{Index, IndexMut};

/// An entry that knows its key. The default is what stands in a vacated place.
pub(super) trait Keyed: Default {
    /// What it is found by.
    type Key: Hash + Eq;
    fn key(&self) -> &Self::Key;
}

/// See the module. Places are reused; the memory of the peak is kept.
#[derive(Debug)]
pub(super) struct Slab<T> {
    entries: Vec<T>,
    vacant: Vec<u32>,
    index: HashTable<u32>,
    hasher: RandomState,
}

impl<T> Default for Slab<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            vacant: Vec::new(),
            index: HashTable::new(),
            hasher: RandomState::default(),
        }
    }
}

impl<T: Keyed> Slab<T> {
    pub fn len(&self) -> usize {
        self.index.len()
    }

    pub fn find(&self, key: &T::Key) -> Option<u32> {
        let hash = self.hasher.hash_one(key);
        self.index.find(hash, |&id| self.entries[id as usize].key() == key).copied()
    }

    /// Adds an entry whose key is not there yet.
    pub fn insert(&mut self, entry: T) -> u32 {
        let hash = self.hasher.hash_one(entry.key());
        let id = if let Some(id) = self.vacant.pop() {
            self.entries[id as usize] = entry;
            id
        } else {
            self.entries.push(entry);
            (self.entries.len() - 1) as u32
        };
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.index.insert_unique(hash, id, |&id| hasher.hash_one(entries[id as usize].key()));
        id
    }

    pub fn remove(&mut self, id: u32) -> T {
        let entry = std::mem::take(&mut self.entries[id as usize]);
        let hash = self.hasher.hash_one(entry.key());
        if let Ok(found) = self.index.find_entry(hash, |&other| other == id) {
            found.remove();
            self.vacant.push(id);
        }
        entry
    }

    /// The numbers of all entries, in the order of their places.
    pub fn ids(&self) -> Vec<u32> {
        let mut ids: Vec<u32> = self.index.iter().copied().collect();
        ids.sort_unstable();
        ids
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.index.iter().map(|&id| &self.entries[id as usize])
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    fn index(&self, id: u32) -> &T {
        &self.entries[id as usize]
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    fn index_mut(&mut self, id: u32) -> &mut T {
        &mut self.entries[id as usize]
    }
}
