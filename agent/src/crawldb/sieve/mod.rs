//! The sieve: lets each URL through once, for the life of the crawl.
//!
//! A [`RecentKeys`] table answers first, for the links that every page repeats. A [`SeenSet`],
//! chosen by `state.sieve`, answers for all others. The caller writes the URLs that pass, in the
//! same write batch as everything else that follows from them: the rows of `seen` record what is
//! known of each URL, whatever the seen set. A seen set in memory is filled from these rows at each
//! start.
//!
//! A URL that passes and is then refused for lack of room is not stored, and passes again.
//!
//! A filter loses links. URLs that were requested by name are never lost: seeds that do not
//! pass are looked up in `seen`.

mod blocked_bloom;
mod bloom;
mod filter;
mod fingerprint;
mod memory;
mod quotient_seen;
mod rocks_seen;
mod seen_set;

pub use blocked_bloom::BlockedBloom;
pub use bloom::Bloom;
pub use fingerprint::Fingerprinter;
pub use memory::Memory;
pub use quotient_seen::QuotientSeen;
pub use rocks_seen::RocksSeen;
pub use seen_set::{Lookup, Losses, Overflow, SeenSet};

use super::recent::RecentKeys;
use crate::storage::{Database, DiskError, Family, keys};
use crivello_common::config::{SieveKind, State};
use crivello_common::hash::{GroupHash, UrlKey};
use crivello_common::metrics::Timer;
use std::sync::Arc;

/// Counts of the sieve's work, and its losses.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SieveCounts {
    /// URLs offered.
    pub offered: u64,
    /// Offered URLs found in the table of recent keys.
    pub recent: u64,
    /// Offered URLs looked up in the seen set.
    pub looked_up: u64,
    /// Offered URLs let through.
    pub fresh: u64,
    /// Bytes of the seen set in memory.
    pub seen_bytes: usize,
    /// Losses of the seen set.
    pub losses: Losses,
    /// Look-ups that the seen set leaves to the rows on disk.
    pub overflow: Overflow,
}

/// The sieve: a table of recent keys in front of a seen set.
#[derive(Debug)]
pub struct Sieve {
    disk: Arc<Database>,
    recent: RecentKeys,
    seen: Box<dyn SeenSet>,
    /// True if `recent` holds keys that are no longer on disk.
    stale: bool,
    counts: SieveCounts,
    lookups: Vec<Lookup>,
    passed: Vec<u64>,
    /// Measures the duration of all batches.
    pub(super) look_ups: Option<Timer>,
}

impl Sieve {
    /// Opens a sieve over the `seen` rows of `disk`. A seen set in memory reads the keys of all of
    /// them.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
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

    /// Returns for each of `urls` whether it appears here for the first time ever; of several equal
    /// ones only one does. Those from index `asked` on were requested by name. Nothing is stored: the
    /// caller writes `seen`, and calls [`Self::insert`] or [`Self::forget_url`] for each URL that
    /// passes.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn dedup(&mut self, urls: &[UrlKey], asked: usize) -> Result<Vec<bool>, DiskError> {
        let watch = self.look_ups.clone().filter(|_| !urls.is_empty());
        let began = watch.as_ref().map(Timer::start);
        let mut fresh = vec![false; urls.len()];
        let result = self
            .dedup_batch(urls, &mut fresh)
            .and_then(|()| self.find_lost(urls, asked, &mut fresh));
        if let (Some(watch), Some(began)) = (watch, began) {
            watch.stop(began);
        }
        self.counts.fresh += fresh.iter().map(|&fresh| u64::from(fresh)).sum::<u64>();
        result.map(|()| fresh)
    }

    fn dedup_batch(&mut self, urls: &[UrlKey], fresh: &mut [bool]) -> Result<(), DiskError> {
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

    /// Lets URLs through that were requested by name, did not pass, and are not on disk.
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
        // Of equal keys, one that has passed is kept, wherever it is; otherwise the first.
        sorted.sort_unstable_by_key(|&(key, i)| (key, !fresh[i], i));
        sorted.dedup_by_key(|(key, _)| *key);
        sorted.retain(|&(_, i)| !fresh[i]);
        let rows: Vec<_> = sorted.iter().map(|&(key, _)| keys::seen(key)).collect();
        self.disk.get_sorted(Family::Seen, &rows, |k, value| {
            fresh[sorted[k].1] = value.is_none();
            Ok(())
        })
    }

    /// Records that a URL is stored that has passed, or that another agent has reported.
    pub fn insert(&mut self, url: UrlKey) {
        self.seen.insert(url);
    }

    /// Lets a URL that has passed pass again, because it was refused for now and is not stored.
    pub fn forget_url(&mut self, url: UrlKey) {
        self.recent.forget(url);
    }

    /// Discards the recent keys before the next batch, because rows of `seen` were deleted and
    /// their URLs may be new again.
    pub const fn forget(&mut self) {
        self.stale = true;
    }

    /// Forgets the URLs of a group of which rows are deleted, before the next batch. This happens only where agents share
    /// a crawl, with a seen set that can do it
    /// ([`Settings::check_shared`](crivello_common::config::Settings::check_shared)).
    pub fn forget_group(&mut self, group: GroupHash) {
        self.seen.forget_group(group);
    }

    /// Returns the counts so far.
    pub fn counts(&self) -> SieveCounts {
        let (seen_bytes, losses) = (self.seen.memory(), self.seen.losses());
        SieveCounts { seen_bytes, losses, overflow: self.seen.overflow(), ..self.counts }
    }
}

/// Returns the seen set that the settings choose, with all URLs on disk.
fn seen_set(disk: &Arc<Database>, settings: &State) -> Result<Box<dyn SeenSet>, DiskError> {
    let size = settings.sieve_memory;
    Ok(match settings.sieve {
        SieveKind::Rocksdb => Box::new(RocksSeen::new(disk.clone())),
        SieveKind::Memory => filled(disk, Memory::default(), Memory::insert)?,
        SieveKind::Bloom => filled(disk, Bloom::new(size), Bloom::insert)?,
        SieveKind::Quotient => Box::new(QuotientSeen::new(disk.clone(), size)),
        SieveKind::BlockedBloom => filled(disk, BlockedBloom::new(size), BlockedBloom::insert)?,
    })
}

/// Fills a seen set with all URLs on disk, one block of rows after the other.
fn filled<S>(
    disk: &Database,
    mut seen: S,
    insert: fn(&mut S, UrlKey) -> bool,
) -> Result<Box<S>, DiskError> {
    disk.walk(Family::Seen, &[], &[0xff; keys::PAIR + 1], |key, _| {
        insert(&mut seen, keys::read_seen(key)?);
        Ok(true)
    })?;
    Ok(Box::new(seen))
}

#[cfg(test)]
mod tests;
