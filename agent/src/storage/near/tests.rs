//! Tests of the index: it has what was added, whatever happens to it.

use super::*;
use crate::storage::Database;
use crivello_common::config::State;
use proptest::prelude::*;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const TABLES: NearTables = NearTables::Four;
const BITS: u64 = 0x0123_4567_89ab_cdef;
/// Pages in memory, so that few pages make many files.
const RECENT_MAX: usize = 8;

/// A store, and what it must have.
struct Model {
    store: Option<NearStore>,
    disk: Arc<Database>,
    pages: Vec<(u64, NearEntry)>,
}

fn database(dir: &Path) -> Arc<Database> {
    Arc::new(Database::open(&dir.join("state"), true, &State::default()).unwrap())
}

fn entry(n: usize) -> NearEntry {
    let place = NearPlace { file: (n >> 4) as u16, offset: n as u32 };
    NearEntry { place, domain: (n % 128) as u8, is_followed: n.is_multiple_of(3) }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir.join("state/near")).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

impl Model {
    fn new(dir: &Path) -> Self {
        let disk = database(dir);
        let store = NearStore::open_with(disk.clone(), TABLES, RECENT_MAX).unwrap();
        Self { store: Some(store), disk, pages: Vec::new() }
    }

    fn store(&self) -> &NearStore {
        self.store.as_ref().unwrap()
    }

    /// Commits pages, with the result of a merge if there is one.
    fn commit(&mut self, fingerprints: &[u64]) {
        let mut batch = Batch::default();
        let before = self.pages.len();
        for &fingerprint in fingerprints {
            let entry = entry(self.pages.len());
            add_row(&mut batch, fingerprint, entry);
            self.pages.push((fingerprint, entry));
        }
        self.store().add_merged(&mut batch);
        self.disk.commit(&batch).unwrap();
        self.store().on_committed();
        for &(fingerprint, entry) in &self.pages[before..] {
            self.store().add(fingerprint, entry);
        }
    }

    fn merge(&self) -> bool {
        self.store().merge(&|| false).unwrap()
    }

    /// Ends as a kill does, and opens the store again.
    fn reopen(&mut self) {
        self.store = None;
        let store = NearStore::open_with(self.disk.clone(), TABLES, RECENT_MAX);
        self.store = Some(store.unwrap());
    }

    /// Returns the pages that are found, each once, and the number of entries that are.
    fn find(&self, fingerprint: u64) -> (BTreeSet<(NearPlace, u32, u8, bool)>, usize) {
        let (mut found, mut n) = (BTreeSet::new(), 0);
        self.store().find(fingerprint, |distance, NearEntry { place, domain, is_followed }| {
            found.insert((place, distance, domain, is_followed));
            n += 1;
        });
        (found, n)
    }

    /// Returns the pages that must be found, and the number of entries.
    fn expected(&self, fingerprint: u64) -> (BTreeSet<(NearPlace, u32, u8, bool)>, usize) {
        let mut n = 0;
        let near = self.pages.iter().filter_map(|&(other, entry)| {
            let distance = (other ^ fingerprint).count_ones();
            let is_near = distance <= DISTANCE_MAX;
            let lists = TABLES.lists(other).zip(TABLES.lists(fingerprint));
            n += lists.filter(|(a, b)| is_near && a.0 == b.0).count();
            is_near.then_some((entry.place, distance, entry.domain, entry.is_followed))
        });
        (near.collect(), n)
    }

    fn must_equal(&self) {
        for &(fingerprint, _) in &self.pages {
            assert_eq!(self.find(fingerprint), self.expected(fingerprint), "{fingerprint:016x}");
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Commit(fingerprints) => self.commit(fingerprints),
            Step::Merge => {
                self.merge();
            }
            Step::Stop => {
                let stopped = self.store().merge(&|| true);
                assert!(!stopped.is_ok_and(|is_merged| is_merged));
            }
            Step::Sync => {
                self.disk.sync().unwrap();
                self.store().on_synced();
            }
            Step::Reopen => self.reopen(),
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Commit(Vec<u64>),
    Merge,
    Stop,
    Sync,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let fingerprint = prop_oneof![
        any::<u64>(),
        any::<u8>().prop_map(|bits| BITS ^ u64::from(bits)),
        (0..64_u32).prop_map(|bit| BITS ^ 1 << bit),
    ];
    prop_oneof![
        3 => proptest::collection::vec(fingerprint, 0..6).prop_map(Step::Commit),
        2 => Just(Step::Merge),
        1 => Just(Step::Stop),
        1 => Just(Step::Sync),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A kill may follow each step: what is committed is found, with as many entries.
    #[test]
    fn the_index_has_what_was_committed_after_any_steps(steps in proptest::collection::vec(step(), 1..60)) {
        let dir = tempfile::tempdir().unwrap();
        let mut model = Model::new(dir.path());
        for step in &steps {
            // More would be postponed to the next start, which another test does.
            let room = model.store().room();
            let is_full = matches!(step, Step::Commit(pages) if pages.len() > room);
            if !is_full {
                model.step(step);
            }
        }
        model.must_equal();
        model.reopen();
        model.must_equal();
    }

    #[test]
    fn lists_have_all_bits_once_and_near_fingerprints_share_one(
        fingerprint: u64,
        flips in proptest::collection::vec(0_u32..64, 0..4),
    ) {
        for tables in [NearTables::Four, NearTables::Ten] {
            let near = flips.iter().fold(fingerprint, |bits, flip| bits ^ 1 << flip);
            let mut is_shared = false;
            for (table, (a, b)) in tables.lists(fingerprint).zip(tables.lists(near)).enumerate() {
                let in_list = (a.0 as usize % LISTS_A_TABLE).count_ones();
                prop_assert_eq!(in_list + a.1.count_ones(), fingerprint.count_ones());
                prop_assert_eq!(a.0 >> LIST_BITS, table as u32);
                let arranged = tables.arrange(table, fingerprint) ^ tables.arrange(table, near);
                prop_assert_eq!(arranged.count_ones(), (fingerprint ^ near).count_ones());
                is_shared |= a.0 == b.0;
            }
            prop_assert!(is_shared);
        }
    }

    #[test]
    fn near_distances_are_counted(a: u64, flips in proptest::collection::vec(0_u32..64, 0..6)) {
        let b = flips.iter().fold(a, |bits, flip| bits ^ 1 << flip);
        let distance = (a ^ b).count_ones();
        prop_assert_eq!(near_distance(a, b), (distance <= DISTANCE_MAX).then_some(distance));
    }
}

/// A kill between two steps of a merge leaves files that do not count; none stays.
#[test]
fn kills_between_the_steps_of_a_merge_lose_and_double_nothing() {
    for n_steps in 0..=5 {
        let dir = tempfile::tempdir().unwrap();
        let mut model = Model::new(dir.path());
        let mut rng = SmallRng::seed_from_u64(17);
        let mut add = |model: &mut Model, n: usize| {
            let pages: Vec<u64> = (0..n).map(|_| BITS ^ 1 << rng.random_range(0..64)).collect();
            model.commit(&pages);
        };
        // An earlier file, which the merge replaces.
        add(&mut model, RECENT_MAX);
        assert!(model.merge());
        add(&mut model, 0);
        add(&mut model, RECENT_MAX + 1);
        if n_steps >= 1 {
            // Of step 1, only a part of the file.
            fs::write(dir.path().join("state/near/00000001.near.new"), b"crivnear").unwrap();
        }
        if n_steps >= 2 {
            assert!(model.merge());
        }
        let mut batch = Batch::default();
        if n_steps >= 3 {
            model.store().add_merged(&mut batch);
            model.disk.commit(&batch).unwrap();
        }
        if n_steps >= 4 {
            model.store().on_committed();
            model.must_equal();
        }
        if n_steps >= 5 {
            model.disk.sync().unwrap();
            model.store().on_synced();
        }
        model.reopen();
        model.must_equal();
        assert_eq!(files(dir.path()).len(), 1, "after {n_steps} steps");
    }
}

/// The pages that one more has no room for are found after the next start.
#[test]
fn pages_that_have_no_room_are_found_after_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new(dir.path());
    let pages: Vec<u64> = (0..5 * RECENT_MAX as u64).map(|n| BITS ^ n << 20).collect();
    for pages in pages.chunks(3) {
        model.commit(pages);
    }
    let (found, _) = model.find(BITS);
    assert!(found.is_subset(&model.expected(BITS).0));
    model.reopen();
    model.must_equal();
    assert!(!files(dir.path()).is_empty());
}

#[test]
fn lists_keep_their_newest_entries() {
    let dir = tempfile::tempdir().unwrap();
    let tables = TABLES;
    let mut paths = Vec::new();
    let mut inputs = Vec::new();
    // Three parts of 2,000 pages with one fingerprint.
    for part in 0..3_usize {
        let mut recent = RecentPages::new(tables);
        (0..2_000).for_each(|n| recent.add(BITS, entry(part * 2_000 + n)));
        let path = dir.path().join(part.to_string());
        NearFile::merge(&path, &inputs, &recent, tables, &|| false).unwrap();
        inputs = vec![Arc::new(NearFile::open(&path, part as u64, tables).unwrap())];
        paths.push(path);
    }
    let mut found = Vec::new();
    inputs[0].find(BITS, &mut Vec::new(), |_, entry| found.push(entry.place.offset));
    let kept: Vec<u32> = (6_000 - ENTRIES_MAX as u32..6_000).collect();
    assert_eq!(found, kept.repeat(4));
    let mut recent = RecentPages::new(tables);
    (0..6_000).for_each(|n| recent.add(BITS, entry(n)));
    let (mut n, mut oldest) = (0, u32::MAX);
    recent.find(BITS, |_, entry| {
        n += 1;
        oldest = oldest.min(entry.place.offset);
    });
    assert_eq!((n, oldest), (4 * ENTRIES_MAX, kept[0]));
}

/// Flips a bit, or cuts the file. Whatever is found then was added.
#[test]
fn damage_is_noticed_or_harmless() {
    let dir = tempfile::tempdir().unwrap();
    let mut rng = SmallRng::seed_from_u64(17);
    let mut recent = RecentPages::new(TABLES);
    let pages: Vec<u64> = (0..300).map(|_| BITS ^ rng.random::<u64>() & 0xf0f0_ffff).collect();
    for (n, &fingerprint) in pages.iter().enumerate() {
        recent.add(fingerprint, entry(n));
    }
    let path = dir.path().join("sound");
    NearFile::merge(&path, &[], &recent, TABLES, &|| false).unwrap();
    let sound = fs::read(&path).unwrap();
    let of_sound = NearFile::open(&path, 0, TABLES).unwrap();
    let (mut n_refused, mut n_fewer) = (0, 0);
    for n in 0..300 {
        let mut bytes = sound.clone();
        match n % 3 {
            0 => bytes.truncate(rng.random_range(0..sound.len())),
            1 => bytes[rng.random_range(0..sound.len())] ^= 1 << rng.random_range(0..8),
            // Most lists are empty; this one is not.
            _ => {
                let page = pages[rng.random_range(0..100)];
                let list = TABLES.lists(page).nth(rng.random_range(0..4)).unwrap().0 as usize;
                let range = of_sound.offset(list) as usize..of_sound.offset(list + 1) as usize;
                bytes[rng.random_range(range)] ^= 1 << rng.random_range(0..8);
            }
        }
        let path = dir.path().join("damaged");
        fs::write(&path, &bytes).unwrap();
        let file = match NearFile::open(&path, 0, TABLES) {
            Ok(file) => Arc::new(file),
            Err(error) => {
                assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{error}");
                n_refused += 1;
                continue;
            }
        };
        // What a merge makes of it is sound, and has no more.
        let merged = dir.path().join("merged");
        let none = RecentPages::new(TABLES);
        NearFile::merge(&merged, std::slice::from_ref(&file), &none, TABLES, &|| false).unwrap();
        let merged = NearFile::open(&merged, 1, TABLES).unwrap();
        let mut n_found = [0; 3];
        for &query in &pages[..100] {
            recent.find(query, |_, _| n_found[0] += 1);
            for (i, file) in [&*file, &merged].into_iter().enumerate() {
                file.find(query, &mut Vec::new(), |distance, found| {
                    n_found[i + 1] += 1;
                    let of = found.place.offset as usize;
                    assert_eq!(found, entry(of));
                    assert_eq!(distance, (pages[of] ^ query).count_ones());
                });
            }
        }
        assert_eq!(n_found[1], n_found[2]);
        assert!(n_found[1] <= n_found[0]);
        n_fewer += usize::from(n_found[1] < n_found[0]);
    }
    assert!(n_refused >= 100, "{n_refused}");
    assert!(n_fewer >= 100, "{n_fewer}");
}

/// A crawl goes on without a file that is damaged or missing, and with the others.
#[test]
fn a_store_opens_without_a_damaged_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut model = Model::new(dir.path());
    let near: Vec<u64> = (0..RECENT_MAX as u32).map(|bit| BITS ^ 1 << bit).collect();
    model.commit(&near);
    assert!(model.merge());
    model.commit(&[]);
    let path = files(dir.path()).remove(0);
    let mut bytes = fs::read(&path).unwrap();
    bytes[20] ^= 1;
    fs::write(&path, bytes).unwrap();
    model.reopen();
    assert_eq!(model.find(BITS).1, 0);
    model.pages.clear();
    let more: Vec<u64> = near.iter().map(|bits| bits ^ 1 << 40).collect();
    model.commit(&more);
    model.must_equal();
    assert!(model.merge());
    model.commit(&[]);
    model.must_equal();
    fs::remove_file(&path).unwrap();
    model.reopen();
    model.must_equal();
}

#[test]
fn places_that_are_too_far_have_no_entry() {
    assert_eq!(NearPlace::of((5, 9)), Some(NearPlace { file: 5, offset: 9 }));
    assert_eq!(NearPlace::of((65_536, 0)), None);
    assert_eq!(NearPlace::of((0, 1 << 32)), None);
}

/// Flips `n` different bits.
fn flip(fingerprint: u64, n: u32, rng: &mut SmallRng) -> u64 {
    let mut flipped = fingerprint;
    while (flipped ^ fingerprint).count_ones() < n {
        flipped ^= 1 << rng.random_range(0..64);
    }
    flipped
}

/// Random fingerprints, half of which are near to others, as a crawl and a site with one template has them.
fn fingerprints(n: usize, rng: &mut SmallRng) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::with_capacity(n);
    while all.len() < n {
        let fingerprint = match rng.random_range(0..100) {
            0..50 if !all.is_empty() => {
                let earlier = all[rng.random_range(0..all.len())];
                flip(earlier, rng.random_range(0..6), rng)
            }
            // Pages that share three blocks.
            50 => BITS ^ u64::from(rng.random::<u16>()) << 16,
            _ => rng.random(),
        };
        all.push(fingerprint);
    }
    all
}

/// Commits a hundred thousand pages, and compares look-ups with all fingerprints: with files, and pages in memory.
fn find_all(tables: NearTables) {
    let dir = tempfile::tempdir().unwrap();
    let disk = database(dir.path());
    let store = NearStore::open_with(disk.clone(), tables, 3_300).unwrap();
    let mut rng = SmallRng::seed_from_u64(17);
    let all = fingerprints(100_000, &mut rng);
    for (commit, chunk) in all.chunks(1_000).enumerate() {
        let mut batch = Batch::default();
        store.add_merged(&mut batch);
        disk.commit(&batch).unwrap();
        store.on_committed();
        for (i, &fingerprint) in chunk.iter().enumerate() {
            let place = NearPlace { file: commit as u16, offset: i as u32 };
            store.add(fingerprint, NearEntry { place, domain: 0, is_followed: true });
        }
        store.merge(&|| false).unwrap();
    }
    assert!(files(dir.path()).len() > 1);
    let planted = (0..500).map(|i| flip(all[i * 199], i as u32 % 5, &mut rng)).collect();
    let random = (0..300).map(|_| rng.random()).collect();
    let mut n_found = 0;
    for query in [planted, random, all[..200].to_vec()].into_iter().flatten() {
        let mut found = BTreeSet::new();
        store.find(query, |distance, NearEntry { place, .. }| {
            found.insert((place.file, place.offset, distance));
        });
        let near = all.iter().enumerate().filter_map(|(i, fingerprint)| {
            let distance = (fingerprint ^ query).count_ones();
            (distance <= 3).then_some(((i / 1_000) as u16, (i % 1_000) as u32, distance))
        });
        assert_eq!(found, near.collect::<BTreeSet<_>>(), "{query:016x}");
        n_found += found.len();
    }
    assert!(n_found > 1_000, "{n_found}");
}

#[test]
fn four_tables_find_what_a_comparison_with_all_finds() {
    find_all(NearTables::Four);
}

#[test]
fn ten_tables_find_what_a_comparison_with_all_finds() {
    find_all(NearTables::Ten);
}
