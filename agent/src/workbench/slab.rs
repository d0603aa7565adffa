//! Entries at steady small numbers, found again by key: the numbers are what heaps and queues
//! hold.
//!
//! Each entry is an allocation of its own: none is moved while their number grows, and the memory of
//! those that leave goes back to the allocator, where a vector would keep that of its peak.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};
use std::ops::{Index, IndexMut};

/// What indexing asks for.
const THERE: &str = "a number whose entry has not left";

/// An entry that knows its key.
pub(super) trait Keyed {
    /// What it is found by.
    type Key: Hash + Eq;
    fn key(&self) -> &Self::Key;
}

/// See the module. Numbers are reused; 20 to 40 bytes for each of the peak are kept.
#[derive(Debug)]
pub(super) struct Slab<T> {
    entries: Vec<Option<Box<T>>>,
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
        self.index.find(hash, |&id| self[id].key() == key).copied()
    }

    /// Adds an entry whose key is not there yet.
    #[expect(clippy::expect_used, reason = "as of `index`")]
    pub fn insert(&mut self, entry: T) -> u32 {
        let hash = self.hasher.hash_one(entry.key());
        let id = self.vacant.pop().unwrap_or_else(|| {
            self.entries.push(None);
            (self.entries.len() - 1) as u32
        });
        self.entries[id as usize] = Some(Box::new(entry));
        let (entries, hasher) = (&self.entries, &self.hasher);
        self.index.insert_unique(hash, id, |&id| {
            hasher.hash_one(entries[id as usize].as_ref().expect(THERE).key())
        });
        id
    }

    #[expect(clippy::expect_used, reason = "as of `index`")]
    pub fn remove(&mut self, id: u32) -> T {
        let entry = self.entries[id as usize].take().expect(THERE);
        let hash = self.hasher.hash_one(entry.key());
        if let Ok(found) = self.index.find_entry(hash, |&other| other == id) {
            found.remove();
        }
        self.vacant.push(id);
        *entry
    }

    /// The entry that has a number now, for who noted it a while ago: there may be none, or another.
    pub fn get(&self, id: u32) -> Option<&T> {
        self.entries.get(id as usize)?.as_deref()
    }

    /// The numbers of all entries, in order.
    pub fn ids(&self) -> Vec<u32> {
        let there = self.entries.iter().zip(0..).filter(|(entry, _)| entry.is_some());
        there.map(|(_, id)| id).collect()
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().flatten().map(|entry| &**entry)
    }
}

impl<T> Index<u32> for Slab<T> {
    type Output = T;
    #[expect(
        clippy::expect_used,
        reason = "whoever keeps a number lets it go before its entry leaves, or asks `get`"
    )]
    fn index(&self, id: u32) -> &T {
        self.entries[id as usize].as_deref().expect(THERE)
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[expect(clippy::expect_used, reason = "as of `index`")]
    fn index_mut(&mut self, id: u32) -> &mut T {
        self.entries[id as usize].as_deref_mut().expect(THERE)
    }
}
