//! The seen set of quotient filters, one for each group, over the rows of `seen`.
//!
//! The rows decide; a filter saves reading them. It is *complete* if it has a fingerprint of each row of its group:
//! then both of its answers count, and one new URL in some millions is taken for a known one. Otherwise only "known"
//! counts, and the rows answer for all other URLs. So nothing of a filter is ever on disk, and it may be dropped at any
//! time: when the rows of its group are deleted, when others need its memory, when the process is killed. It is made
//! when a URL of its group is looked up, from the rows, some at a time, and becomes complete with the last one. A group
//! that was handed over is read like any other.
//!
//! The rows of a group must change only in three ways: those of URLs that pass or are merged are reported with
//! [`SeenSet::insert`], those of a group that is being deleted with [`SeenSet::forget_group`], and values may change.

use super::fingerprint::Fingerprinter;
use super::rocks_seen::RocksSeen;
use super::seen_set::{Lookup, Losses, Overflow, SeenSet};
use crate::storage::{Database, DiskError, Family, keys};
use crivello_common::hash::{GroupHash, UrlHash, UrlKey};
use crivello_common::units::ByteSize;
use crivello_filters::{OffsetSampling, QuotientFilter, QuotientShape};
use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

/// Bits of a fingerprint. A group with n URLs loses one new URL in 2⁴⁰/n: one in a million if it has a million.
const FINGERPRINT_BITS: u32 = 40;
/// Rows that are read into filters at each batch, and for each URL in it; few in tests, so that it takes several batches.
const ROWS_A_BATCH: usize = if cfg!(test) { 5 } else { 1_000 };
const ROWS_A_LOOKUP: usize = if cfg!(test) { 0 } else { 4 };
/// Rows that take about as long to read as it takes to find the first one.
const ROWS_A_WALK: usize = if cfg!(test) { 1 } else { 16 };
/// Batches without a URL of a group after which its filter makes room for others. Reading it again is then a small part
/// of the work.
const IDLE_BATCHES: u64 = if cfg!(test) { 4 } else { 1_000 };
/// Groups that are examined at each batch if there is no room.
const EXAMINED: usize = 64;
/// Bytes of a group beside those of its table: the filter, its allocation, and its part of the map.
const GROUP_BYTES: usize = size_of::<GroupFilter>() + 48;

/// The filter of a group.
struct GroupFilter {
    filter: QuotientFilter,
    /// The first URL from which on rows may be missing; `None` if the filter is complete.
    next: Option<UrlHash>,
    /// Number of the last batch with a URL of the group.
    last_used: u64,
    /// Value of `n_dropped` when there was no room for a URL.
    full_at: Option<u64>,
}

/// A seen set of quotient filters in bounded memory over the rows of `seen`. URLs that pass must be written there before
/// the next batch is offered.
pub struct QuotientSeen {
    disk: Arc<Database>,
    rows: RocksSeen,
    fingerprinter: Fingerprinter,
    shape: QuotientShape,
    /// In order, so that idle groups can be searched for step by step.
    groups: BTreeMap<GroupHash, Box<GroupFilter>>,
    bytes_max: usize,
    bytes: usize,
    /// Fingerprints of all groups, and the sum of the squares of their number in each group.
    n_urls: u64,
    squares: u128,
    n_batches: u64,
    /// Number of filters that were dropped.
    n_dropped: u64,
    /// Group that was examined last.
    hand: GroupHash,
    /// True if there was no room since groups were last examined.
    is_refused: bool,
    losses: Losses,
    overflow: Overflow,
    unsure: Vec<Lookup>,
}

impl std::fmt::Debug for QuotientSeen {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { n_urls, bytes, overflow, .. } = self;
        let n_groups = self.groups.len();
        write!(f, "QuotientSeen of {n_urls} URLs in {n_groups} groups, {bytes} bytes, {overflow:?}")
    }
}

impl QuotientSeen {
    /// Creates a seen set over this database that takes up to `size` of memory.
    #[must_use]
    pub fn new(disk: Arc<Database>, size: ByteSize) -> Self {
        Self::with_bits(disk, size, FINGERPRINT_BITS)
    }

    fn with_bits(disk: Arc<Database>, size: ByteSize, fingerprint_bits: u32) -> Self {
        let sampling = OffsetSampling::Blocks;
        Self {
            rows: RocksSeen::new(disk.clone()),
            disk,
            fingerprinter: Fingerprinter::random(),
            shape: QuotientShape { fingerprint_bits, bytes_max: usize::MAX, sampling },
            groups: BTreeMap::new(),
            bytes_max: size.as_usize(),
            bytes: 0,
            n_urls: 0,
            squares: 0,
            n_batches: 0,
            n_dropped: 0,
            hand: GroupHash(0),
            is_refused: false,
            losses: Losses::default(),
            overflow: Overflow::default(),
            unsure: Vec::new(),
        }
    }

    const fn fingerprint(&self, key: UrlKey) -> u64 {
        self.fingerprinter.fingerprint(key) >> (u64::BITS - self.shape.fingerprint_bits)
    }

    /// Returns the share of new URLs that complete filters lose, if they are spread over groups as the known ones are.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn rate(&self) -> f64 {
        let mean = self.squares as f64 / self.n_urls.max(1) as f64;
        mean * (-f64::from(self.shape.fingerprint_bits)).exp2()
    }

    const fn refuse(&mut self) {
        self.is_refused = true;
        self.overflow.is_full = true;
    }

    /// Adds an empty filter, if there is room and the group has none. Returns false if it has none then.
    fn add_group(&mut self, group: GroupHash) -> bool {
        if self.groups.contains_key(&group) {
            return true;
        }
        let Ok(filter) = QuotientFilter::new(self.shape) else { return false };
        let bytes = GROUP_BYTES + filter.bytes();
        if self.bytes + bytes > self.bytes_max {
            self.refuse();
            return false;
        }
        self.bytes += bytes;
        let first = Some(UrlHash(0));
        let entry = GroupFilter { filter, next: first, last_used: self.n_batches, full_at: None };
        self.groups.insert(group, Box::new(entry));
        true
    }

    /// Adds a URL to the filter of its group, if there is one.
    fn put(&mut self, key: UrlKey) {
        let fingerprint = self.fingerprint(key);
        // While a table grows, the old one is there, too.
        let room = self.bytes_max - self.bytes;
        let n_dropped = self.n_dropped;
        let Some(entry) = self.groups.get_mut(&key.group) else { return };
        let is_full = entry.full_at == Some(n_dropped);
        let (bytes, n) = (entry.filter.bytes(), entry.filter.len() as u64);
        entry.filter.limit_bytes(room);
        match (!is_full).then(|| entry.filter.insert_fingerprint(fingerprint)) {
            Some(Ok(false)) => {}
            Some(Ok(true)) => {
                self.bytes += entry.filter.bytes() - bytes;
                self.n_urls += 1;
                self.squares += u128::from(2 * n + 1);
            }
            None | Some(Err(_)) => {
                entry.full_at = Some(n_dropped);
                entry.next = Some(entry.next.map_or(key.url, |next| next.min(key.url)));
                self.refuse();
            }
        }
    }

    /// Reads rows of the groups of a batch whose filters are not complete, and for which there is room.
    fn read_groups(&mut self, batch: &[Lookup]) -> Result<(), DiskError> {
        let mut room = ROWS_A_BATCH + ROWS_A_LOOKUP * batch.len();
        for group in by_group(batch).map(|lookups| lookups[0].key.group) {
            if !self.add_group(group) {
                continue;
            }
            let (n_batches, n_dropped) = (self.n_batches, self.n_dropped);
            let Some(entry) = self.groups.get_mut(&group) else { continue };
            entry.last_used = n_batches;
            if let Some(from) = entry.next
                && entry.full_at != Some(n_dropped)
                && room > 0
            {
                self.read_rows(UrlKey { group, url: from }, &mut room)?;
            }
        }
        Ok(())
    }

    fn read_rows(&mut self, from: UrlKey, room: &mut usize) -> Result<(), DiskError> {
        let (start, end) = (keys::seen(from), keys::end_of_group(from.group));
        let (mut found, mut next) = (Vec::new(), None);
        self.disk.walk(Family::Seen, &start, &end, |key, _| {
            let key = keys::read_seen(key)?;
            if found.len() == *room {
                next = Some(key.url);
                return Ok(false);
            }
            found.push(key);
            Ok(true)
        })?;
        *room = room.saturating_sub(ROWS_A_WALK + found.len());
        if let Some(entry) = self.groups.get_mut(&from.group) {
            entry.next = next;
        }
        found.into_iter().for_each(|key| self.put(key));
        Ok(())
    }

    /// Drops filters of groups without lookups for a while, of the next groups in order.
    fn drop_idle(&mut self) {
        for _ in 0..EXAMINED.min(self.groups.len()) {
            let mut rest = self.groups.range((Excluded(self.hand), Unbounded));
            let next = rest.next().or_else(|| self.groups.first_key_value());
            let Some((&group, entry)) = next else { return };
            self.hand = group;
            if self.n_batches - entry.last_used > IDLE_BATCHES {
                self.forget_group(group);
            }
        }
    }
}

/// Returns the parts of a batch that have one group each.
fn by_group(batch: &[Lookup]) -> impl Iterator<Item = &[Lookup]> {
    batch.chunk_by(|a, b| a.key.group == b.key.group)
}

impl SeenSet for QuotientSeen {
    fn lookup(&mut self, batch: &[Lookup], passed: &mut Vec<u64>) -> Result<(), DiskError> {
        self.n_batches += 1;
        if std::mem::take(&mut self.is_refused) {
            self.drop_idle();
        }
        self.read_groups(batch)?;
        let before = passed.len();
        let mut first = foldhash::HashSet::<UrlKey>::default();
        let mut unsure = std::mem::take(&mut self.unsure);
        unsure.clear();
        for lookups in by_group(batch) {
            let entry = self.groups.get(&lookups[0].key.group);
            let is_complete = entry.is_some_and(|entry| entry.next.is_none());
            let is_known =
                |key| entry.is_some_and(|of| of.filter.contains_fingerprint(self.fingerprint(key)));
            for lookup in lookups.iter().filter(|lookup| !is_known(lookup.key)) {
                if !is_complete {
                    unsure.push(*lookup);
                } else if first.insert(lookup.key) {
                    passed.push(lookup.ticket);
                }
            }
        }
        self.overflow.looked_up += unsure.len() as u64;
        let result = match unsure.is_empty() {
            true => Ok(()),
            false => self.rows.lookup(&unsure, passed),
        };
        self.unsure = unsure;
        match result {
            Ok(()) => {
                passed[before..].sort_unstable();
                self.losses.passed(passed.len() - before, self.rate());
            }
            Err(_) => passed.truncate(before),
        }
        result
    }

    fn insert(&mut self, key: UrlKey) {
        self.put(key);
    }

    fn forget_group(&mut self, group: GroupHash) {
        if let Some(entry) = self.groups.remove(&group) {
            let n = entry.filter.len() as u64;
            self.bytes -= GROUP_BYTES + entry.filter.bytes();
            self.n_urls -= n;
            self.squares -= u128::from(n).pow(2);
            self.n_dropped += 1;
        }
    }

    fn memory(&self) -> usize {
        self.bytes + self.unsure.capacity() * size_of::<Lookup>() + self.rows.memory()
    }

    fn losses(&self) -> Losses {
        Losses { rate: self.rate(), ..self.losses }
    }

    fn overflow(&self) -> Overflow {
        self.overflow
    }
}

#[cfg(test)]
mod tests;
