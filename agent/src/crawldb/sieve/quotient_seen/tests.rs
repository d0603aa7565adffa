//! Tests of quotient filters over rows: too little memory, rows that come and go, and losses.

use super::*;
use crate::storage::Batch;
use crivello_common::config::State;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;

const N_GROUPS: u64 = 40;

fn key(group: u64, n: u64) -> UrlKey {
    // Spread, so that rows are read in another order than that of their insertion.
    let url = UrlHash(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    UrlKey { group: GroupHash(group.wrapping_mul(0x2545_f491_4f6c_dd1d)), url }
}

/// A seen set, its rows, and what it must know.
struct Subject {
    disk: Arc<Database>,
    seen: QuotientSeen,
    known: BTreeSet<UrlKey>,
    size: ByteSize,
    _dir: tempfile::TempDir,
}

impl Subject {
    fn new(size: ByteSize) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let disk = Arc::new(Database::open(dir.path(), true, &State::default()).unwrap());
        let seen = QuotientSeen::new(disk.clone(), size);
        Self { disk, seen, known: BTreeSet::new(), size, _dir: dir }
    }

    fn write(&self, change: impl FnOnce(&mut Batch)) {
        let mut batch = Batch::default();
        change(&mut batch);
        self.disk.commit(&batch).unwrap();
    }

    /// Offers a batch: new URLs pass once, at their first appearance. Stores those that pass.
    fn offer(&mut self, urls: &[UrlKey]) {
        let lookup = |(ticket, &key)| Lookup { key, ticket };
        let batch: Vec<Lookup> = (0..).zip(urls).map(lookup).collect();
        let mut passed = Vec::new();
        self.seen.lookup(&batch, &mut passed).unwrap();
        let wanted = (0..).zip(urls).filter(|(_, key)| self.known.insert(**key));
        assert_eq!(passed, wanted.map(|(ticket, _)| ticket).collect::<Vec<u64>>());
        let fresh: Vec<UrlKey> = passed.iter().map(|&ticket| urls[ticket as usize]).collect();
        fresh.iter().for_each(|&key| self.seen.insert(key));
        self.write(|batch| fresh.iter().for_each(|&key| put_row(batch, key)));
        self.check();
    }

    fn check(&self) {
        let QuotientSeen { groups, bytes, n_urls, squares, .. } = &self.seen;
        let filters = || groups.values().map(|entry| &entry.filter);
        let counted: usize = filters().map(|filter| GROUP_BYTES + filter.bytes()).sum();
        assert_eq!(*bytes, counted);
        assert!(counted <= self.size.as_usize(), "{counted} bytes");
        assert_eq!(*n_urls, filters().map(|filter| filter.len() as u64).sum::<u64>());
        assert_eq!(*squares, filters().map(|filter| (filter.len() as u128).pow(2)).sum::<u128>());
    }

    fn n_complete(&self) -> usize {
        self.seen.groups.values().filter(|entry| entry.next.is_none()).count()
    }
}

fn put_row(batch: &mut Batch, key: UrlKey) {
    batch.put(Family::Seen, &keys::seen(key), &[]);
}

/// Lookups, merged rows, deletions of groups in several steps, and restarts, with memory for all groups, for some of
/// them, and for none.
#[test]
fn whatever_happens_each_url_passes_once() {
    let seed = rand::rng().random();
    println!("seed {seed}");
    for size in [ByteSize::mib(1), ByteSize::kib(8), ByteSize(1)] {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut subject = Subject::new(size);
        let (mut n_complete, mut n_dropped) = (0, 0);
        let (mut looked_up, mut is_full) = (0, false);
        for _ in 0..600 {
            // Groups in turn, so that others are idle for a while.
            let (first, n_urls) = (rng.random_range(0..N_GROUPS), rng.random_range(1..300));
            let mut urls = || -> Vec<UrlKey> {
                let group = |rng: &mut StdRng| (first + rng.random_range(0..3)) % N_GROUPS;
                (0..40).map(|_| key(group(&mut rng), rng.random_range(0..n_urls))).collect()
            };
            let urls = urls();
            match rng.random_range(0..20) {
                0 => {
                    let Subject { disk, size, .. } = &subject;
                    subject.seen = QuotientSeen::new(disk.clone(), *size);
                }
                1 => {
                    // Rows of another agent.
                    subject.write(|batch| urls.iter().for_each(|&key| put_row(batch, key)));
                    urls.iter().for_each(|&key| subject.seen.insert(key));
                    subject.known.extend(&urls);
                }
                2 => {
                    // A step of a deletion, after which the group may come back.
                    let group = urls[0].group;
                    let of = subject.known.iter().filter(|key| key.group == group);
                    let gone: Vec<UrlKey> = of.take(rng.random_range(1..200)).copied().collect();
                    subject.seen.forget_group(group);
                    subject.write(|batch| {
                        gone.iter().for_each(|&key| batch.delete(Family::Seen, &keys::seen(key)));
                    });
                    gone.iter().for_each(|key| {
                        subject.known.remove(key);
                    });
                }
                _ => subject.offer(&urls),
            }
            subject.check();
            n_complete = n_complete.max(subject.n_complete());
            n_dropped = n_dropped.max(subject.seen.n_dropped);
            looked_up = looked_up.max(subject.seen.overflow().looked_up);
            is_full |= subject.seen.overflow().is_full;
        }
        assert_eq!(is_full, size != ByteSize::mib(1), "{size}");
        assert!(looked_up > 0, "rows were never read, {size}");
        assert_eq!(n_complete > 0, size != ByteSize(1), "{size}");
        assert_eq!(n_dropped > 0, size != ByteSize(1), "{size}");
    }
}

/// A group that is too large for the memory is answered for by its rows, as far as its filter does not know them.
#[test]
fn a_group_that_finds_no_room_loses_nothing() {
    let mut subject = Subject::new(ByteSize::kib(4));
    let urls: Vec<UrlKey> = (0..3_000).map(|n| key(1, n)).collect();
    urls.chunks(100).for_each(|urls| subject.offer(urls));
    assert!(subject.seen.overflow().is_full);
    let filter = &subject.seen.groups[&urls[0].group].filter;
    assert!(filter.len() > 100, "{} fingerprints", filter.len());
    urls.chunks(100).for_each(|urls| subject.offer(urls));
    // It was full at a number of dropped filters, so another group that leaves lets it be read again.
    let room = ByteSize::mib(1);
    (subject.size, subject.seen.bytes_max) = (room, room.as_usize());
    subject.seen.n_dropped += 1;
    for n in 0..2_000 {
        subject.offer(&urls[n..=n]);
    }
    assert_eq!(subject.n_complete(), 1);
    let before = subject.seen.overflow().looked_up;
    urls.chunks(100).for_each(|urls| subject.offer(urls));
    assert_eq!(subject.seen.overflow().looked_up, before);
}

/// Groups that are not looked up any more make room for others.
#[test]
fn idle_groups_make_room() {
    let mut subject = Subject::new(ByteSize::kib(8));
    for group in 0..200 {
        for _ in 0..2 * IDLE_BATCHES {
            subject.offer(&[key(group, 1), key(group, 2)]);
        }
        let entry = subject.seen.groups.get(&key(group, 1).group);
        assert!(entry.is_some_and(|entry| entry.next.is_none()), "group {group} has no room");
    }
    assert!(subject.seen.overflow().is_full);
    // The first groups are read again.
    subject.offer(&[key(0, 1), key(0, 2), key(0, 3)]);
}

/// Reported losses are within a fifth of the real ones, with short fingerprints.
#[test]
fn it_knows_what_it_loses() {
    let mut subject = Subject::new(ByteSize::mib(4));
    subject.seen = QuotientSeen::with_bits(subject.disk.clone(), subject.size, 17);
    let (mut passed, n_urls) = (Vec::new(), 50_000);
    for first in (0..n_urls).step_by(1_000) {
        let before = passed.len();
        let of = |n| Lookup { key: key(n % 5, n), ticket: n };
        let batch: Vec<Lookup> = (first..first + 1_000).map(of).collect();
        subject.seen.lookup(&batch, &mut passed).unwrap();
        for &ticket in &passed[before..] {
            subject.seen.insert(of(ticket).key);
        }
    }
    let (lost, estimated) = ((n_urls as usize - passed.len()) as f64, subject.seen.losses().urls);
    assert!(lost > 500.0, "only {lost} lost, too few to compare");
    assert!(lost < estimated * 1.2 && estimated < lost * 1.2, "{lost} lost, {estimated} estimated");
    assert!(!subject.seen.overflow().is_full);
}
