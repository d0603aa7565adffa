//! The sieve: lets each URL through once, for the life of the crawl.
//!
//! A batch of URLs is sorted by key and looked up in `seen` in one go, so that neighbours share
//! blocks and filters; in front stands a [`RecentKeys`] table, which answers for the links that
//! every page repeats. What passes is written by the caller, in the same write batch as everything
//! else that follows from it. Mercator (Heydon and Najork 1999) and BUbiNG (Boldi et al. 2018)
//! keep sorted files instead; an LSM tree does the same merging, and answers at once.

use super::recent::RecentKeys;
use crate::disk::{Database, DiskError, Family, keys};
use crivello_common::hash::UrlKey;
use crivello_common::metrics::Stopwatch;
use crivello_common::units::ByteSize;
use std::sync::Arc;

/// What was asked of the sieve so far, and what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SieveCounts {
    /// URLs offered.
    pub offered: u64,
    /// Of these, known to the table of recent keys.
    pub recent: u64,
    /// Of these, looked up on disk.
    pub looked_up: u64,
    /// Of these, let through.
    pub fresh: u64,
}

/// See the module.
#[derive(Debug)]
pub struct Sieve {
    disk: Arc<Database>,
    recent: RecentKeys,
    /// Whether the table holds keys that are no longer on disk.
    stale: bool,
    counts: SieveCounts,
    order: Vec<u32>,
    sorted: Vec<[u8; keys::PAIR]>,
    look_ups: Option<Stopwatch>,
}

impl Sieve {
    /// A sieve over the `seen` rows of `disk`, with a table of `cache` bytes in front.
    #[must_use]
    pub fn new(disk: Arc<Database>, cache: ByteSize) -> Self {
        Self {
            disk,
            recent: RecentKeys::new(cache),
            stale: false,
            counts: SieveCounts::default(),
            order: Vec::new(),
            sorted: Vec::new(),
            look_ups: None,
        }
    }

    /// From now on batches are measured.
    pub fn time(&mut self, look_ups: Stopwatch) {
        self.look_ups = Some(look_ups);
    }

    /// Sets `fresh[i]` for each `urls[i]` that appears here for the first time ever; of several
    /// equal ones only the first. Nothing is remembered on disk: the caller writes `seen`.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn sift(&mut self, urls: &[UrlKey], fresh: &mut Vec<bool>) -> Result<(), DiskError> {
        let watch = self.look_ups.clone().filter(|_| !urls.is_empty());
        let began = watch.as_ref().map(Stopwatch::begin);
        let sifted = self.sift_batch(urls, fresh);
        if let (Some(watch), Some(began)) = (watch, began) {
            watch.end(began);
        }
        sifted
    }

    fn sift_batch(&mut self, urls: &[UrlKey], fresh: &mut Vec<bool>) -> Result<(), DiskError> {
        fresh.clear();
        fresh.resize(urls.len(), false);
        self.counts.offered += urls.len() as u64;
        self.order.clear();
        if std::mem::take(&mut self.stale) {
            self.recent.clear();
        }
        for (i, url) in (0u32..).zip(urls) {
            if self.recent.touch(*url) {
                self.counts.recent += 1;
            } else {
                self.order.push(i);
            }
        }
        // Equal keys stay in the order of appearance; the first of them speaks for all.
        self.order.sort_unstable_by_key(|&i| (urls[i as usize], i));
        self.order.dedup_by_key(|i| urls[*i as usize]);
        self.sorted.clear();
        self.sorted.extend(self.order.iter().map(|&i| keys::seen(urls[i as usize])));
        self.counts.looked_up += self.order.len() as u64;
        let (order, counts) = (&self.order, &mut self.counts);
        self.disk.get_sorted(Family::Seen, &self.sorted, |k, value| {
            if value.is_none() {
                fresh[order[k] as usize] = true;
                counts.fresh += 1;
            }
            Ok(())
        })
    }

    /// Rows of `seen` were deleted: what was recent may be new again.
    pub const fn forget(&mut self) {
        self.stale = true;
    }

    /// What was asked so far.
    #[must_use]
    pub const fn counts(&self) -> SieveCounts {
        self.counts
    }
}
