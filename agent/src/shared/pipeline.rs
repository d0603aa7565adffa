//! The budget of the pipeline between the fetchers and the commit.

use crate::limits::{PIPELINE_BYTES_MAX, PIPELINE_PAGES_MAX, SEED_BATCHES_MAX};
use parking_lot::{Condvar, Mutex};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

/// Pages between the fetchers and the last commit, and their bytes. Visits begin only while there
/// is room.
#[derive(Debug, Default)]
pub struct PipelineBudget {
    unparsed: AtomicUsize,
    uncommitted: AtomicUsize,
    /// Bytes of bodies that wait for a parser.
    seen_bytes: AtomicUsize,
    /// Bytes of records and links that wait for a commit.
    page_bytes: AtomicUsize,
    /// Batches of seeds that wait for a commit.
    seeds: AtomicUsize,
    /// Notified when a commit has reduced these numbers.
    left: Condvar,
    waiters: Mutex<()>,
}

impl PipelineBudget {
    /// Adds a result with a body of `bytes`.
    pub fn enter(&self, bytes: usize) {
        self.unparsed.fetch_add(1, Relaxed);
        self.seen_bytes.fetch_add(bytes, Relaxed);
    }

    /// Moves a result past the parsers: `bytes` of records and links replace its `body` bytes.
    pub fn parsed(&self, body: usize, bytes: usize) {
        // A reader that does not find the page in the first count finds it in the second.
        self.uncommitted.fetch_add(1, Relaxed);
        self.unparsed.fetch_sub(1, Release);
        self.page_bytes.fetch_add(bytes, Relaxed);
        self.seen_bytes.fetch_sub(body, Release);
    }

    /// Adds a batch of seeds.
    pub fn enter_seeds(&self) {
        self.seeds.fetch_add(1, Relaxed);
    }

    /// Removes `pages` with `bytes` and `seeds` batches, which were committed.
    pub fn leave(&self, pages: usize, bytes: usize, seeds: usize) {
        self.uncommitted.fetch_sub(pages, Relaxed);
        self.page_bytes.fetch_sub(bytes, Relaxed);
        self.seeds.fetch_sub(seeds, Relaxed);
        drop(self.waiters.lock());
        self.left.notify_all();
    }

    /// Blocks a parser while too many bytes wait for the commit, at most for `timeout`. Returns
    /// true if there is room.
    pub fn wait_for_room(&self, timeout: Duration) -> bool {
        self.wait_while(timeout, || self.page_bytes.load(Relaxed) >= PIPELINE_BYTES_MAX)
    }

    /// Blocks a sender of seeds while too many batches wait, at most for `timeout`. Returns true if
    /// there is room.
    pub fn wait_for_seeds(&self, timeout: Duration) -> bool {
        self.wait_while(timeout, || self.seeds.load(Relaxed) >= SEED_BATCHES_MAX)
    }

    fn wait_while(&self, timeout: Duration, is_full: impl Fn() -> bool) -> bool {
        if is_full() {
            let mut waiters = self.waiters.lock();
            if is_full() {
                self.left.wait_for(&mut waiters, timeout);
            }
        }
        !is_full()
    }

    /// Returns the number of pages before and after the parsers.
    pub fn pages(&self) -> (usize, usize) {
        (self.unparsed.load(Acquire), self.uncommitted.load(Relaxed))
    }

    /// Returns the bytes before and after the parsers.
    pub fn bytes(&self) -> (usize, usize) {
        (self.seen_bytes.load(Acquire), self.page_bytes.load(Relaxed))
    }

    /// Returns the number of batches of seeds that wait for a commit.
    pub fn seed_batches(&self) -> usize {
        self.seeds.load(Relaxed)
    }

    /// Returns true if no page is in the pipeline.
    pub fn is_empty(&self) -> bool {
        self.pages() == (0, 0)
    }

    /// Returns true if another visit may begin.
    pub fn has_room(&self) -> bool {
        let (unparsed, uncommitted) = self.pages();
        let (bodies, pages) = self.bytes();
        unparsed + uncommitted < PIPELINE_PAGES_MAX && bodies + pages < PIPELINE_BYTES_MAX
    }
}
