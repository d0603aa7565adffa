//! Payloads in the archive of this agent, for other agents.
//!
//! Digests of new captures are collected from their commit on. From time to time those that are synced become a set. A
//! set is merged with the one before it until that has at least twice as many numbers: so there are O(log n) sets, and
//! each digest is sent O(log n) times.

use super::{BOUND, number};
use crate::messages::OldestOriginal;
use crate::storage::values::ContentRow;
use crate::storage::{Database, DiskError, Family};
use bytes::Bytes;
use crivello_common::hash::ContentDigest;
use crivello_filters::{FilterError, GolombSet, GolombSetBuilder};
use parking_lot::Mutex;
use std::collections::HashSet;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of digests whose commit is not synced. While there are more, no payload is found.
const UNSYNCED_MAX: usize = if cfg!(test) { 8 } else { 1 << 18 };
/// Maximum number of synced digests that are in no set yet. More are left out until the next start.
const RECENT_MAX: usize = if cfg!(test) { 64 } else { 1 << 20 };
/// Rows of `content` that one step of the scan reads. The first ones show the density of all.
const ROWS_AT_ONCE: usize = if cfg!(test) { 8 } else { 65_536 };
/// Bound above all keys of `content`.
const END: [u8; 17] = [0xff; 17];

/// Payloads in the archive of this agent.
#[derive(Debug)]
pub struct OwnPayloads {
    disk: Arc<Database>,
    oldest_original: OldestOriginal,
    memory_max: u64,
    recent: Mutex<RecentDigests>,
    sets: Mutex<Vec<OwnSet>>,
}

/// A set, in the form in which it is sent.
#[derive(Clone, Debug)]
struct OwnSet {
    id: u64,
    n: u64,
    bytes: Bytes,
}

/// Digests of captures since the start.
#[derive(Debug, Default)]
struct RecentDigests {
    /// True once everything that the disk had at the start is synced.
    is_begun: bool,
    unsynced: HashSet<ContentDigest>,
    /// True if `unsynced` does not have all.
    is_over: bool,
    /// Numbers of synced digests that are in no set yet.
    synced: Vec<u64>,
    /// Digests that are in no set because there was no room.
    left_out: u64,
}

/// Progress of the scan of the rows that the disk had at the start.
#[derive(Debug, Default)]
pub struct PayloadScan {
    from: Vec<u8>,
    set: Option<GolombSetBuilder>,
}

impl OwnPayloads {
    /// Creates it without sets. They take at most `memory_max` bytes.
    pub fn new(disk: Arc<Database>, oldest_original: OldestOriginal, memory_max: u64) -> Self {
        let (recent, sets) = <_>::default();
        Self { disk, oldest_original, memory_max, recent, sets }
    }

    /// Notes the digests of first captures, before their commit is written.
    pub fn on_commit(&self, digests: impl Iterator<Item = ContentDigest>) {
        let mut recent = self.recent.lock();
        for digest in digests {
            if recent.unsynced.len() < UNSYNCED_MAX {
                recent.unsynced.insert(digest);
            } else if !recent.unsynced.contains(&digest) {
                recent.is_over = true;
                recent.left_out += 1;
            }
        }
    }

    /// Notes that all commits are synced.
    pub fn on_synced(&self) {
        let mut recent = self.recent.lock();
        let RecentDigests { is_begun, unsynced, is_over, synced, left_out } = &mut *recent;
        (*is_begun, *is_over) = (true, false);
        for digest in unsynced.drain() {
            if synced.len() < RECENT_MAX {
                synced.push(number(&digest));
            } else {
                *left_out += 1;
            }
        }
    }

    /// Returns the capture of a payload to which other agents may refer: it is synced, so it survives a power cut.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn find(&self, digest: &ContentDigest) -> Result<Option<ContentRow>, DiskError> {
        let row: Option<ContentRow> = self.disk.row(digest)?;
        let row = row.filter(|row| self.oldest_original.permits(row.at));
        // After the row was read: a digest is noted before its row can be read, and until that is synced.
        let recent = self.recent.lock();
        let is_synced = recent.is_begun && !recent.is_over && !recent.unsynced.contains(digest);
        Ok(row.filter(|_| is_synced))
    }

    /// Returns id, numbers and bytes of each set.
    pub fn list(&self) -> Vec<(u64, u64, u64)> {
        let sets = self.sets.lock();
        sets.iter().map(|set| (set.id, set.n, set.bytes.len() as u64)).collect()
    }

    /// Returns the set with this id, in the form in which it is sent.
    pub fn set(&self, id: u64) -> Option<Bytes> {
        self.sets.lock().iter().find(|set| set.id == id).map(|set| set.bytes.clone())
    }

    /// Returns true if so many digests are in no set that one is to be made at once.
    pub fn is_due(&self) -> bool {
        self.recent.lock().synced.len() >= RECENT_MAX / 2
    }

    /// Returns the number of digests that are in no set because there was no room.
    pub fn left_out(&self) -> u64 {
        self.recent.lock().left_out
    }

    /// Makes a set of the digests that are in none yet. One thread calls it.
    ///
    /// # Errors
    /// [`FilterError`] if a set cannot be made, which is a bug.
    pub fn publish(&self) -> Result<(), FilterError> {
        let mut numbers = std::mem::take(&mut self.recent.lock().synced);
        if numbers.is_empty() {
            return Ok(());
        }
        numbers.sort_unstable();
        numbers.dedup();
        let mut set = GolombSetBuilder::expecting(numbers.len() as u64, BOUND)?;
        numbers.iter().try_for_each(|&number| set.push(number))?;
        self.add(set.finish())
    }

    /// Makes one step of the scan of the rows of `content`. Returns the rest of the scan; `None` if it has ended. The
    /// thread of [`Self::publish`] calls it.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. Then the scan must begin anew.
    pub fn scan(&self, mut scan: PayloadScan) -> Result<Option<PayloadScan>, DiskError> {
        let (mut numbers, mut last) = (Vec::with_capacity(ROWS_AT_ONCE), None);
        self.disk.walk(Family::Content, &scan.from, &END, |key, _| {
            if let Some(digest) = key.first_chunk() {
                numbers.push(number(digest));
            }
            last = Some(key.to_vec());
            Ok(numbers.len() < ROWS_AT_ONCE)
        })?;
        let is_last = numbers.len() < ROWS_AT_ONCE;
        let added = scan.add(&numbers).and_then(|bytes| {
            if bytes > self.memory_max {
                self.recent.lock().left_out += scan.n();
                return Ok(false);
            }
            if is_last && let Some(set) = scan.set.take() {
                self.add(set.finish())?;
            }
            Ok(!is_last)
        });
        let goes_on = added.unwrap_or_else(|error| {
            tracing::error!(%error, "no set of the payloads of the archive: this is a bug");
            false
        });
        scan.from = last.map_or_else(Vec::new, |key| [&key[..], &[0]].concat());
        Ok(goes_on.then_some(scan))
    }

    /// Adds a set, merged with those before it that have less than twice its numbers.
    fn add(&self, mut set: GolombSet) -> Result<(), FilterError> {
        let before = self.sets.lock().clone();
        let mut n_kept = before.len();
        while let Some(last) = before[..n_kept].last().filter(|last| last.n < 2 * set.len()) {
            set = GolombSet::merge(&[&GolombSet::from_bytes(&last.bytes)?, &set])?;
            n_kept -= 1;
        }
        let (n, bytes) = (set.len(), Bytes::from(set.to_bytes()));
        let kept = before[..n_kept].iter().map(|set| set.bytes.len()).sum::<usize>();
        if (kept + bytes.len()) as u64 > self.memory_max {
            let replaced: u64 = before[n_kept..].iter().map(|set| set.n).sum();
            self.recent.lock().left_out += n.saturating_sub(replaced);
            return Ok(());
        }
        let mut sets = self.sets.lock();
        sets.truncate(n_kept);
        sets.push(OwnSet { id: xxh3_64(&bytes), n, bytes });
        Ok(())
    }
}

impl PayloadScan {
    /// Adds ascending numbers. Returns the bytes of the set so far.
    fn add(&mut self, numbers: &[u64]) -> Result<u64, FilterError> {
        let set = match &mut self.set {
            Some(set) => set,
            empty => {
                let is_all = numbers.len() < ROWS_AT_ONCE;
                let last = numbers.last().copied().unwrap_or(0);
                let range = if is_all { BOUND } else { last.max(1) };
                let expected = numbers.len() as u128 * u128::from(BOUND) / u128::from(range);
                empty.insert(GolombSetBuilder::expecting(expected as u64, BOUND)?)
            }
        };
        for &number in numbers {
            // Digests may have the same number.
            if set.last() != Some(number) {
                set.push(number)?;
            }
        }
        Ok(set.bytes())
    }

    /// Returns the numbers so far.
    fn n(&self) -> u64 {
        self.set.as_ref().map_or(0, GolombSetBuilder::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Batch;
    use crivello_common::config::State;
    use crivello_common::identity::KeyedHasher;
    use crivello_common::time::Timestamp;
    use std::sync::atomic::AtomicU32;
    use std::sync::atomic::Ordering::{Acquire, Release};

    const AT: Timestamp = Timestamp::from_secs(5);

    struct Fixture {
        own: OwnPayloads,
        _dir: tempfile::TempDir,
    }

    fn fixture(memory_max: u64) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let disk = Database::open(dir.path(), true, &State::default()).unwrap();
        let own = OwnPayloads::new(Arc::new(disk), OldestOriginal::default(), memory_max);
        Fixture { own, _dir: dir }
    }

    fn digest(n: u32) -> ContentDigest {
        KeyedHasher::with_public_key().content(&n.to_be_bytes())
    }

    impl Fixture {
        /// Writes rows as a commit does, after they were noted.
        fn write(&self, ns: std::ops::Range<u32>) {
            let mut batch = Batch::default();
            for n in ns {
                let row = ContentRow { at: AT, url: format!("http://a/{n}").into() };
                batch.put(Family::Content, &digest(n), &row.encode());
            }
            self.own.disk.commit(&batch).unwrap();
        }

        fn scan(&self) -> usize {
            let (mut scan, mut n_steps) = (Some(PayloadScan::default()), 0);
            while let Some(rest) = scan.take() {
                scan = self.own.scan(rest).unwrap();
                n_steps += 1;
            }
            n_steps
        }

        fn has(&self, n: u32) -> bool {
            let number = number(&digest(n));
            let sets = self.own.list().into_iter().filter_map(|(id, ..)| self.own.set(id));
            let mut sets = sets.map(|bytes| GolombSet::from_bytes(&bytes).unwrap());
            sets.any(|set| set.contains_number(number))
        }

        fn found(&self, n: u32) -> bool {
            self.own.find(&digest(n)).unwrap().is_some()
        }
    }

    #[test]
    fn a_payload_is_found_once_its_commit_is_synced() {
        let fixture = fixture(1 << 20);
        let own = &fixture.own;
        fixture.write(0..1);
        assert!(!fixture.found(0), "it is not known whether the disk has it");
        own.on_synced();
        assert!(fixture.found(0) && !fixture.found(1));
        own.on_commit([digest(1)].into_iter());
        fixture.write(1..2);
        assert!(!fixture.found(1), "a power cut may take it");
        own.publish().unwrap();
        assert!(own.list().is_empty());
        own.on_synced();
        assert!(fixture.found(1));
        own.publish().unwrap();
        assert!(fixture.has(1) && !fixture.has(0));
        own.oldest_original.set(Timestamp(AT.0 + 1), 0);
        assert!(!fixture.found(1), "its file may be deleted");
    }

    /// With more digests than are noted, none is found until all are synced.
    #[test]
    fn too_many_unsynced_digests_are_waited_for() {
        let fixture = fixture(1 << 20);
        let n = UNSYNCED_MAX as u32 + 1;
        fixture.own.on_synced();
        fixture.own.on_commit((0..n).map(digest));
        fixture.write(0..n);
        assert!((0..n).all(|n| !fixture.found(n)));
        fixture.own.on_synced();
        assert!((0..n).all(|n| fixture.found(n)));
        fixture.own.publish().unwrap();
        assert_eq!((0..n).filter(|n| fixture.has(*n)).count(), UNSYNCED_MAX);
        assert_eq!(fixture.own.left_out(), 1);
        // The next start finds it.
        fixture.scan();
        assert!((0..n).all(|n| fixture.has(n)));
    }

    /// The writer notes a commit, writes it, syncs it, and says so; others look up payloads meanwhile.
    #[test]
    fn nothing_is_found_before_it_is_synced() {
        const N: u32 = 2_000;
        let fixture = fixture(1 << 20);
        fixture.own.on_synced();
        let n_synced = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..N {
                    fixture.own.on_commit([digest(n)].into_iter());
                    fixture.write(n..n + 1);
                    if n % 4 == 3 {
                        n_synced.store(n + 1, Release);
                        fixture.own.on_synced();
                    }
                }
            });
            let mut n_found = 0;
            while n_synced.load(Acquire) < N {
                let from = n_synced.load(Acquire);
                for n in from..from + 4 {
                    let is_found = fixture.found(n);
                    assert!(!is_found || n < n_synced.load(Acquire), "{n}");
                    n_found += u32::from(is_found);
                }
            }
            println!("{n_found} were found at once");
        });
        assert!((0..N).all(|n| fixture.found(n)));
    }

    #[test]
    fn a_scan_finds_all_rows_in_steps() {
        for n in [0, 1, ROWS_AT_ONCE as u32, 5 * ROWS_AT_ONCE as u32 + 3] {
            let fixture = fixture(1 << 20);
            fixture.write(0..n);
            assert_eq!(fixture.scan(), n as usize / ROWS_AT_ONCE + 1);
            assert!((0..n).all(|n| fixture.has(n)));
            assert_eq!(fixture.own.list().iter().map(|(_, n, _)| n).sum::<u64>(), u64::from(n));
        }
    }

    #[test]
    fn sets_double_and_each_digest_is_in_one() {
        let fixture = fixture(1 << 20);
        let mut sent = 0;
        for n in 0..200 {
            fixture.own.on_commit([digest(n)].into_iter());
            fixture.own.on_synced();
            let before: Vec<u64> = fixture.own.list().iter().map(|(id, ..)| *id).collect();
            fixture.own.publish().unwrap();
            let sets = fixture.own.list();
            assert!(sets.is_sorted_by(|a, b| a.1 >= 2 * b.1), "{sets:?}");
            assert_eq!(sets.iter().map(|(_, n, _)| n).sum::<u64>(), u64::from(n) + 1);
            sent +=
                sets.iter().filter(|(id, ..)| !before.contains(id)).map(|set| set.1).sum::<u64>();
            if n % 50 == 0 {
                // A scan has all of them again.
                fixture.write(0..n + 1);
                fixture.scan();
            }
        }
        assert!((0..200).all(|n| fixture.has(n)));
        assert!(sent < 200 * 9, "{sent}");
    }

    #[test]
    fn what_has_no_room_is_left_out_and_counted() {
        let fixture = fixture(120);
        for n in 0..60 {
            fixture.own.on_commit([digest(n)].into_iter());
            fixture.own.on_synced();
            fixture.own.publish().unwrap();
            assert!(fixture.own.list().iter().map(|(.., bytes)| bytes).sum::<u64>() <= 120);
        }
        let kept = (0..60).filter(|n| fixture.has(*n)).count() as u64;
        assert!(kept > 0 && kept < 60, "{kept}");
        assert_eq!(fixture.own.left_out(), 60 - kept);
        fixture.write(0..60);
        fixture.scan();
        assert!(fixture.own.left_out() > 60 - kept);
    }
}
