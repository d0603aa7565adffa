//! Chunks of files in memory, whose pages were checked when they were read.

use super::PAGE;
use crate::error::IndexError;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// Bytes of a chunk: what is read at once.
pub(super) const CHUNK: u64 = 8 * PAGE as u64;
/// Bytes of the chunks that the searches of a process keep, at most.
const SEARCHES_BYTES: usize = 64 << 20;

/// A file that is open, and the index of a chunk in it.
type ChunkKey = (u64, u64);
/// Chunks by their places.
type Chunks = HashMap<ChunkKey, Arc<[u8]>>;

/// The chunks that were used last. Files never change, so a chunk stays as it was when its checksums were compared.
#[derive(Debug)]
pub(crate) struct ChunkCache {
    /// Bytes of a generation, at most.
    bytes_max: usize,
    generations: Mutex<Generations>,
}

/// Chunks that were used since the last change of generations, and those that were used only before it.
#[derive(Debug, Default)]
struct Generations {
    young: Chunks,
    young_bytes: usize,
    old: Chunks,
}

impl Generations {
    fn insert(&mut self, key: ChunkKey, chunk: Arc<[u8]>, bytes_max: usize) {
        if self.young_bytes + chunk.len() > bytes_max {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += chunk.len();
        self.young.insert(key, chunk);
    }
}

impl ChunkCache {
    /// Creates a cache of this many bytes.
    pub(super) fn new(bytes: usize) -> Self {
        Self { bytes_max: bytes / 2, generations: Mutex::default() }
    }

    /// Returns the cache of all searches of the process.
    pub(crate) fn of_searches() -> Arc<Self> {
        static CACHE: LazyLock<Arc<ChunkCache>> =
            LazyLock::new(|| Arc::new(ChunkCache::new(SEARCHES_BYTES)));
        CACHE.clone()
    }

    /// Returns a chunk. `read` reads it if it is not in memory.
    pub(super) fn get(
        &self,
        key: ChunkKey,
        read: impl FnOnce() -> Result<Arc<[u8]>, IndexError>,
    ) -> Result<Arc<[u8]>, IndexError> {
        {
            let mut all = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(chunk) = all.young.get(&key) {
                return Ok(chunk.clone());
            }
            if let Some(chunk) = all.old.remove(&key) {
                all.insert(key, chunk.clone(), self.bytes_max);
                return Ok(chunk);
            }
        }
        // Others may use the cache meanwhile.
        let chunk = read()?;
        let mut all = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if !all.young.contains_key(&key) {
            all.insert(key, chunk.clone(), self.bytes_max);
        }
        Ok(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_that_are_used_stay_and_memory_is_bounded() {
        let cache = ChunkCache::new(8 * 100);
        let get = |at: u64| {
            let mut is_read = false;
            let chunk = cache.get((1, at), || {
                is_read = true;
                Ok(vec![at as u8; 100].into())
            });
            assert_eq!(chunk.unwrap()[99], at as u8);
            is_read
        };
        assert!(get(0) && !get(0));
        for at in 1..100 {
            assert!(get(at));
            assert!(!get(0), "it is used all the time");
            let all = cache.generations.lock().unwrap();
            assert!(all.young.len() + all.old.len() <= 8);
        }
        assert!(get(1), "it was used long ago");
        let failed = cache.get((2, 0), || Err(IndexError::Stopped));
        assert!(matches!(failed, Err(IndexError::Stopped)));
        assert!(cache.get((2, 0), || Ok([7].into())).is_ok());
    }
}
