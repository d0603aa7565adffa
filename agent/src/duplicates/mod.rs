//! Exact duplicates: where a payload was archived first.
//!
//! *Comes in*: the digest of a page's payload. *Goes out*: the page that has the same payload and
//! was archived before, if there is one. *Remembers*: on disk, the first page of each digest; in
//! memory, those on their way to the commit. *Never knows*: what is done with a duplicate.
//! *Goes wrong*: [`DiskError`].

use crate::disk::values::ContentRow;
use crate::disk::{Database, DiskError, Family};
use crate::flow::ContentDigest;
use crivello_common::time::Timestamp;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use std::sync::Arc;

/// See the module. Shared by the threads that parse.
#[derive(Debug)]
pub struct Duplicates {
    disk: Arc<Database>,
    on_their_way: DashMap<ContentDigest, ContentRow, foldhash::fast::RandomState>,
}

impl Duplicates {
    /// Those that `disk` knows.
    #[must_use]
    pub fn new(disk: Arc<Database>) -> Self {
        Self { disk, on_their_way: DashMap::default() }
    }

    /// The first page with this payload; `None` says that it is this one, and from now on it is.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn claim(
        &self,
        digest: ContentDigest,
        at: Timestamp,
        url: &str,
    ) -> Result<Option<ContentRow>, DiskError> {
        match self.on_their_way.entry(digest) {
            Entry::Occupied(first) => Ok(Some(first.get().clone())),
            Entry::Vacant(claim) => {
                // Under the entry's lock: a claim is settled only after its commit is visible.
                if let Some(row) = self.disk.get(Family::Content, &digest)? {
                    return ContentRow::decode(&row).map(Some);
                }
                claim.insert(ContentRow { at, url: url.into() });
                Ok(None)
            }
        }
    }

    /// The page of `url` fetched at `at` will not be archived: whatever it claimed is free again.
    pub fn withdraw(&self, at: Timestamp, url: &str) {
        self.on_their_way.retain(|_, page| page.at != at || *page.url != *url);
    }

    /// The page that claimed `digest` has been committed.
    pub fn settle(&self, digest: &ContentDigest) {
        self.on_their_way.remove(digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::Batch;
    use crivello_common::config::State;

    #[test]
    fn the_first_of_many_threads_wins_and_the_disk_goes_on_knowing() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Arc::new(Database::open(dir.path(), true, &State::default()).unwrap());
        let duplicates = Duplicates::new(disk.clone());
        let (digest, at) = ([7; 16], Timestamp::from_secs(5));
        let firsts = std::thread::scope(|scope| {
            let claim = |n: u32| {
                let duplicates = &duplicates;
                scope.spawn(move || duplicates.claim(digest, at, &format!("http://a/{n}")).unwrap())
            };
            let threads: Vec<_> = (0..16).map(claim).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(firsts.iter().filter(|first| first.is_none()).count(), 1);
        let first = firsts.into_iter().flatten().next().unwrap();
        let mut batch = Batch::default();
        disk.put(&mut batch, Family::Content, &digest, &first.encode());
        disk.commit(&batch).unwrap();
        duplicates.settle(&digest);
        assert_eq!(duplicates.claim(digest, at, "http://b/").unwrap(), Some(first));
        assert_eq!(duplicates.claim([8; 16], at, "http://c/").unwrap(), None);
    }
}
