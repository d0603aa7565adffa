//! Tests of the sorted file of the offline sieve: against a model, and after a kill, a failed merge,
//! and damage.

#[path = "../benches/sieve/bodies/offline/mod.rs"]
mod offline;

use crivello_agent::crawldb::Lookup;
use crivello_common::hash::{GroupHash, UrlHash, UrlKey};
use crivello_common::units::ByteSize;
use offline::{Offline, WAITING_BYTES};
use proptest::prelude::*;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

fn lookups(keys: impl IntoIterator<Item = u64>, ticket: u64) -> Vec<Lookup> {
    let key = |n| UrlKey { group: GroupHash(n % 3), url: UrlHash(n) };
    let lookups = keys.into_iter().zip(ticket..);
    lookups.map(|(n, ticket)| Lookup { key: key(n), ticket }).collect()
}

fn flushed(sieve: &mut Offline) -> Vec<u64> {
    let mut passed = Vec::new();
    sieve.flush(&mut passed).expect("the file can be read and written");
    passed
}

/// Returns the number of URLs in the sorted file.
fn known(dir: &Path) -> u64 {
    (fs::metadata(dir.join("known")).expect("the sorted file").len() - 24) / 8
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]

    #[test]
    fn each_url_passes_once_and_in_order_of_first_appearance(
        batches in prop::collection::vec(prop::collection::vec(0u64..600, 0..120), 1..20),
    ) {
        let dir = tempfile::tempdir().unwrap();
        // The memory is so small that the file is merged many times.
        let mut sieve = Offline::open(dir.path(), ByteSize(50 * WAITING_BYTES as u64)).unwrap();
        prop_assert!(sieve.memory() >= 50 * 16);
        let mut seen = HashSet::new();
        let (mut passed, mut wanted, mut ticket) = (Vec::new(), Vec::new(), 0);
        for keys in batches {
            wanted.extend((ticket..).zip(&keys).filter(|(_, n)| seen.insert(**n)).map(|(t, _)| t));
            let batch = lookups(keys, ticket);
            ticket += batch.len() as u64;
            sieve.lookup(&batch, &mut passed).unwrap();
        }
        passed.extend(flushed(&mut sieve));
        prop_assert_eq!(passed, wanted);
    }
}

#[test]
fn answers_come_when_it_is_full_and_in_order_of_first_appearance() {
    let dir = tempfile::tempdir().unwrap();
    let mut sieve = Offline::open(dir.path(), ByteSize(4 * WAITING_BYTES as u64)).unwrap();
    let mut passed = Vec::new();
    sieve.lookup(&lookups([9, 3, 9, 7], 10), &mut passed).unwrap();
    assert!(passed.is_empty(), "the buffer is exactly full, but not flushed yet");
    sieve.lookup(&lookups([3, 1], 14), &mut passed).unwrap();
    assert_eq!(passed, [10, 11, 13]);
    assert_eq!(flushed(&mut sieve), [15]);
    assert!(flushed(&mut sieve).is_empty());
    assert_eq!(known(dir.path()), 4);
}

#[test]
fn a_kill_forgets_what_waits_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut sieve = Offline::open(dir.path(), ByteSize::mib(1)).unwrap();
    sieve.lookup(&lookups(0..100, 0), &mut Vec::new()).unwrap();
    assert_eq!(flushed(&mut sieve).len(), 100);
    sieve.lookup(&lookups(100..120, 100), &mut Vec::new()).unwrap();
    drop(sieve);
    // A kill in the middle of a merge.
    fs::write(dir.path().join("known.new"), "CRVSIEV1 and half").unwrap();
    let mut sieve = Offline::open(dir.path(), ByteSize::mib(1)).unwrap();
    assert_eq!(known(dir.path()), 100);
    sieve.lookup(&lookups(90..120, 200), &mut Vec::new()).unwrap();
    assert_eq!(flushed(&mut sieve), (210..230).collect::<Vec<_>>());
    assert!(!dir.path().join("known.new").exists());
}

#[test]
fn a_merge_that_fails_can_be_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut sieve = Offline::open(dir.path(), ByteSize::mib(1)).unwrap();
    sieve.lookup(&lookups([5, 5, 6], 0), &mut Vec::new()).unwrap();
    let in_the_way = dir.path().join("known.new");
    fs::create_dir(&in_the_way).unwrap();
    let error = sieve.flush(&mut Vec::new()).unwrap_err();
    assert!(error.to_string().contains("cannot be merged"), "{error}");
    fs::remove_dir(&in_the_way).unwrap();
    assert_eq!(flushed(&mut sieve), [0, 2]);
}

#[test]
fn damage_is_noticed_before_anything_is_let_through() {
    let dir = tempfile::tempdir().unwrap();
    let mut sieve = Offline::open(dir.path(), ByteSize::mib(1)).unwrap();
    sieve.lookup(&lookups(0..50, 0), &mut Vec::new()).unwrap();
    flushed(&mut sieve);
    let path = dir.path().join("known");
    let whole = fs::read(&path).unwrap();
    assert_eq!(whole.len(), 50 * 8 + 24);
    for at in (0..whole.len()).step_by(3) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x10;
        fs::write(&path, &bytes).unwrap();
        let merged = Offline::open(dir.path(), ByteSize::mib(1)).and_then(|mut sieve| {
            sieve.lookup(&lookups(50..51, 0), &mut Vec::new())?;
            sieve.flush(&mut Vec::new())
        });
        let error = merged.unwrap_err().to_string();
        assert!(error.contains("damaged"), "byte {at}: {error}");
        assert_eq!(fs::read(&path).unwrap(), bytes, "the damaged file was changed");
    }
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let merged = Offline::open(dir.path(), ByteSize::mib(1)).and_then(|mut sieve| {
            sieve.lookup(&lookups(50..51, 0), &mut Vec::new())?;
            sieve.flush(&mut Vec::new())
        });
        assert!(merged.is_err(), "{length} bytes");
    }
}
