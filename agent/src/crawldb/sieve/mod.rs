//! The sieve: lets each URL through once, for the life of the crawl.
//!
//! In front stands a [`RecentKeys`] table, which answers for the links that every page repeats;
//! behind it a [`SeenSet`], chosen by `state.sieve`, for all others. What passes is written by the
//! caller, in the same write batch as everything else that follows from it: the rows of `seen` are
//! what is known of each URL, whatever the body. A body in memory is filled from them at a start.
//!
//! A Bloom filter loses links. What somebody asked for by name is never lost: seeds that are not
//! let through are looked up in `seen`.

mod blocked_bloom;
mod bloom;
mod filter;
mod fingerprint;
mod memory;
mod offline;
mod rocks_seen;
mod seen_set;

pub use blocked_bloom::BlockedBloom;
pub use bloom::Bloom;
pub use memory::Memory;
pub use offline::Offline;
pub use rocks_seen::RocksSeen;
pub use seen_set::{Lookup, Losses, SeenSet};

use super::recent::RecentKeys;
use crate::storage::{Database, DiskError, Family, keys};
use crivello_common::config::{SieveKind, State};
use crivello_common::hash::UrlKey;
use crivello_common::metrics::Timer;
use std::sync::Arc;

/// What was asked of the sieve so far, and what it cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SieveCounts {
    /// URLs offered.
    pub offered: u64,
    /// Of these, known to the table of recent keys.
    pub recent: u64,
    /// Of these, looked up in the body.
    pub looked_up: u64,
    /// Of these, let through.
    pub fresh: u64,
    /// Bytes that the body holds in memory.
    pub seen_bytes: usize,
    /// What the body loses.
    pub losses: Losses,
}

/// See the module.
#[derive(Debug)]
pub struct Sieve {
    disk: Arc<Database>,
    recent: RecentKeys,
    seen: Box<dyn SeenSet>,
    /// Whether the table holds keys that are no longer on disk.
    stale: bool,
    counts: SieveCounts,
    lookups: Vec<Lookup>,
    passed: Vec<u64>,
    look_ups: Option<Timer>,
}

impl Sieve {
    /// A sieve over the `seen` rows of `disk`. A body that is in memory reads the keys of all of
    /// them.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn open(disk: Arc<Database>, settings: &State) -> Result<Self, DiskError> {
        let seen = seen_set(&disk, settings)?;
        Ok(Self {
            disk,
            recent: RecentKeys::new(settings.sieve_cache),
            seen,
            stale: false,
            counts: SieveCounts::default(),
            lookups: Vec::new(),
            passed: Vec::new(),
            look_ups: None,
        })
    }

    /// From now on batches are measured.
    pub fn time(&mut self, look_ups: Timer) {
        self.look_ups = Some(look_ups);
    }

    /// Sets `fresh[i]` for each `urls[i]` that appears here for the first time ever; of several
    /// equal ones only the first. Those from `asked` on were asked for by name. Nothing is
    /// remembered on disk: the caller writes `seen`.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn dedup(
        &mut self,
        urls: &[UrlKey],
        asked: usize,
        fresh: &mut Vec<bool>,
    ) -> Result<(), DiskError> {
        let watch = self.look_ups.clone().filter(|_| !urls.is_empty());
        let began = watch.as_ref().map(Timer::start);
        let result =
            self.dedup_batch(urls, fresh).and_then(|()| self.find_lost(urls, asked, fresh));
        if let (Some(watch), Some(began)) = (watch, began) {
            watch.stop(began);
        }
        self.counts.fresh += fresh.iter().map(|&fresh| u64::from(fresh)).sum::<u64>();
        result
    }

    fn dedup_batch(&mut self, urls: &[UrlKey], fresh: &mut Vec<bool>) -> Result<(), DiskError> {
        fresh.clear();
        fresh.resize(urls.len(), false);
        self.counts.offered += urls.len() as u64;
        if std::mem::take(&mut self.stale) {
            self.recent.clear();
        }
        self.lookups.clear();
        for (ticket, &key) in (0..).zip(urls) {
            if self.recent.touch(key) {
                self.counts.recent += 1;
            } else {
                self.lookups.push(Lookup { key, ticket });
            }
        }
        self.counts.looked_up += self.lookups.len() as u64;
        self.passed.clear();
        self.seen.lookup(&self.lookups, &mut self.passed)?;
        for &ticket in &self.passed {
            fresh[ticket as usize] = true;
        }
        Ok(())
    }

    /// Lets those through that were asked for, were not let through, and are not on disk.
    fn find_lost(
        &self,
        urls: &[UrlKey],
        asked: usize,
        fresh: &mut [bool],
    ) -> Result<(), DiskError> {
        if asked >= urls.len() || self.seen.losses().rate <= 0.0 {
            return Ok(());
        }
        let passed = (0..urls.len()).filter(|&i| fresh[i]).map(|i| (urls[i], i));
        let missed = (asked..urls.len()).filter(|&i| !fresh[i]).map(|i| (urls[i], i));
        let mut sorted: Vec<(UrlKey, usize)> = passed.chain(missed).collect();
        // What has passed speaks for all that are equal, wherever it is; otherwise the first does.
        sorted.sort_unstable_by_key(|&(key, i)| (key, !fresh[i], i));
        sorted.dedup_by_key(|(key, _)| *key);
        sorted.retain(|&(_, i)| !fresh[i]);
        let rows: Vec<_> = sorted.iter().map(|&(key, _)| keys::seen(key)).collect();
        self.disk.get_sorted(Family::Seen, &rows, |k, value| {
            fresh[sorted[k].1] = value.is_none();
            Ok(())
        })
    }

    /// Rows of `seen` were deleted: what was recent may be new again. That happens only where
    /// agents share a crawl, and there the body keeps nothing
    /// ([`Settings::check_shared`](crivello_common::config::Settings::check_shared)).
    pub const fn forget(&mut self) {
        self.stale = true;
    }

    /// What was asked so far.
    #[must_use]
    pub fn counts(&self) -> SieveCounts {
        let (seen_bytes, losses) = (self.seen.memory(), self.seen.losses());
        SieveCounts { seen_bytes, losses, ..self.counts }
    }
}

/// The body that the settings name, with all that is on disk.
fn seen_set(disk: &Arc<Database>, settings: &State) -> Result<Box<dyn SeenSet>, DiskError> {
    Ok(match settings.sieve {
        SieveKind::Rocksdb => Box::new(RocksSeen::new(disk.clone())),
        SieveKind::Memory => {
            let mut memory = Memory::new();
            each_known(disk, |key| {
                memory.insert(key);
            })?;
            Box::new(memory)
        }
        SieveKind::Bloom => {
            let mut bloom = Bloom::new(settings.sieve_memory);
            each_known(disk, |key| {
                bloom.insert(key);
            })?;
            Box::new(bloom)
        }
        SieveKind::BlockedBloom => {
            let mut bloom = BlockedBloom::new(settings.sieve_memory);
            each_known(disk, |key| {
                bloom.insert(key);
            })?;
            Box::new(bloom)
        }
    })
}

/// Walks over all URLs on disk, one block of rows after the other.
fn each_known(disk: &Database, mut f: impl FnMut(UrlKey)) -> Result<(), DiskError> {
    disk.walk(Family::Seen, &[], &[0xff; keys::PAIR + 1], |key, _| {
        let (Some(group), Some(url)) = (keys::read_group(key), keys::read_url_hash(key)) else {
            return Err(DiskError::Row { family: "seen", what: "its key is malformed" });
        };
        f(UrlKey { group, url });
        Ok(true)
    })
}

#[cfg(test)]
mod tests;
