//! Slab: entries with stable small ids, which can also be found by key. Heaps and queues hold the
//! ids.
//!
//! Each entry is a separate allocation. No entry moves while their number grows, and the memory of
//! removed entries returns to the allocator; a vector would keep the memory of its peak.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};
use std::ops::{Index, IndexMut};

/// Requirement for indexing, shown in the panic.
const THERE: &str = "the slab has an entry with this id";

/// An entry that contains its key.
pub(super) trait Keyed {
    /// The type of the key.
    type Key: Hash + Eq;
    fn key(&self) -> &Self::Key;
}

/// Entries by id and by key. Ids are reused; 20 to 40 bytes per entry of the peak stay allocated.
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

    /// Adds an entry, whose key must not be present yet, and returns its id.
    #[expect(clippy::expect_used, reason = "the id is valid, see `index`")]
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

    #[expect(clippy::expect_used, reason = "the id is valid, see `index`")]
    pub fn remove(&mut self, id: u32) -> T {
        let entry = self.entries[id as usize].take().expect(THERE);
        let hash = self.hasher.hash_one(entry.key());
        if let Ok(found) = self.index.find_entry(hash, |&other| other == id) {
            found.remove();
        }
        self.vacant.push(id);
        *entry
    }

    /// Returns the current entry of an id that may have outlived its entry. There may be none, or
    /// another one: holders of such an id must revalidate it.
    pub fn get(&self, id: u32) -> Option<&T> {
        self.entries.get(id as usize)?.as_deref()
    }

    /// Returns the ids of all entries, in ascending order.
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
        reason = "holders drop an id before its entry is removed, or use `get`"
    )]
    fn index(&self, id: u32) -> &T {
        self.entries[id as usize].as_deref().expect(THERE)
    }
}

impl<T> IndexMut<u32> for Slab<T> {
    #[expect(clippy::expect_used, reason = "the id is valid, see `index`")]
    fn index_mut(&mut self, id: u32) -> &mut T {
        self.entries[id as usize].as_deref_mut().expect(THERE)
    }
}
