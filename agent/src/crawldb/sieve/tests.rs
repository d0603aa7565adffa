//! Tests of all seen sets against a model: the URLs that each lets through, and the losses of
//! filters.

use super::*;
use crate::storage::Batch;
use crivello_common::hash::{GroupHash, UrlHash};
use crivello_common::units::ByteSize;
use proptest::prelude::*;
use std::collections::HashSet;
use std::path::Path;

fn key(n: u64) -> UrlKey {
    UrlKey { group: GroupHash(n % 7), url: UrlHash(n) }
}

/// A seen set under test, and the database to which the URLs that pass are written.
struct Subject {
    name: &'static str,
    body: Box<dyn SeenSet>,
    /// True if it lets through all new URLs.
    exact: bool,
    disk: Option<Arc<Database>>,
}

impl Subject {
    fn all(dir: &Path) -> Vec<Self> {
        let open =
            |name| Arc::new(Database::open(&dir.join(name), true, &State::default()).unwrap());
        let of = |name, body, exact| Self { name, body, exact, disk: None };
        let with_rows = |disk: Arc<Database>, subject| Self { disk: Some(disk), ..subject };
        // The size is so small that the filters lose URLs.
        let filter = ByteSize(256);
        let (rocks, quotient) = (open("rocks"), open("quotient"));
        let rocks_seen = Box::new(RocksSeen::new(rocks.clone()));
        let quotient_seen = Box::new(QuotientSeen::new(quotient.clone(), ByteSize::kib(4)));
        vec![
            with_rows(rocks, of("rocksdb", rocks_seen, true)),
            // With 40 bits a fingerprint, none of these few URLs is lost.
            with_rows(quotient, of("quotient", quotient_seen, true)),
            of("memory", Box::<Memory>::default(), true),
            of("bloom", Box::new(Bloom::new(filter)), false),
            of("blocked-bloom", Box::new(BlockedBloom::new(filter)), false),
        ]
    }

    /// Offers a batch with tickets from `ticket` on. Returns the tickets that pass.
    fn lookup(&mut self, keys: &[u64], ticket: u64) -> Vec<u64> {
        let lookup = |(ticket, &n)| Lookup { key: key(n), ticket };
        let batch: Vec<Lookup> = (ticket..).zip(keys).map(lookup).collect();
        let mut passed = Vec::new();
        self.body.lookup(&batch, &mut passed).unwrap();
        for &ticket_of in &passed {
            self.body.insert(batch[(ticket_of - ticket) as usize].key);
        }
        if let Some(disk) = &self.disk {
            let mut rows = Batch::default();
            for &ticket_of in &passed {
                let key = batch[(ticket_of - ticket) as usize].key;
                rows.put(Family::Seen, &keys::seen(key), &[]);
            }
            disk.commit(&rows).unwrap();
        }
        passed
    }
}

/// Returns the tickets of first appearances.
fn firsts(batches: &[Vec<u64>]) -> Vec<u64> {
    let mut known = HashSet::new();
    (0..).zip(batches.iter().flatten()).filter(|(_, n)| known.insert(**n)).map(|(t, _)| t).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..Default::default() })]

    #[test]
    fn each_url_passes_once_and_in_order_of_first_appearance(
        batches in prop::collection::vec(prop::collection::vec(0u64..600, 0..120), 1..20),
    ) {
        let dir = tempfile::tempdir().unwrap();
        let wanted = firsts(&batches);
        for mut subject in Subject::all(dir.path()) {
            let (mut passed, mut ticket) = (Vec::new(), 0);
            for keys in &batches {
                passed.extend(subject.lookup(keys, ticket));
                ticket += keys.len() as u64;
                if subject.exact {
                    let so_far = wanted.iter().take_while(|&&first| first < ticket);
                    prop_assert!(passed.iter().eq(so_far), "{} returns results late", subject.name);
                }
            }
            prop_assert!(passed.is_sorted_by(|a, b| a < b), "{}", subject.name);
            if subject.exact {
                prop_assert_eq!(&passed, &wanted, "{}", subject.name);
                prop_assert!(subject.body.losses().rate < 1e-9, "{}", subject.name);
            } else {
                let wanted: HashSet<&u64> = wanted.iter().collect();
                prop_assert!(passed.iter().all(|t| wanted.contains(t)), "{}", subject.name);
            }
        }
    }
}

/// A filter's reported losses are within a fifth of the real ones, both when it is hardly filled
/// and when it is overfull.
#[test]
fn a_filter_knows_what_it_loses() {
    let size = ByteSize::kib(64); // 524,288 bits
    for (name, n_urls) in
        [("bloom", 100_000), ("bloom", 250_000), ("blocked", 100_000), ("blocked", 250_000)]
    {
        let mut body: Box<dyn SeenSet> = match name {
            "bloom" => Box::new(Bloom::new(size)),
            _ => Box::new(BlockedBloom::new(size)),
        };
        let mut passed = Vec::new();
        for first in (0..n_urls).step_by(1_000) {
            let batch: Vec<Lookup> =
                (first..first + 1_000).map(|n| Lookup { key: key(n), ticket: n }).collect();
            body.lookup(&batch, &mut passed).unwrap();
            batch.iter().for_each(|lookup| body.insert(lookup.key));
        }
        let is_near = |a: f64, b: f64| a < b * 1.2 && b < a * 1.2;
        let (lost, said) = (n_urls as f64 - passed.len() as f64, body.losses().urls);
        assert!(is_near(lost, said), "{name}, {n_urls} URLs: {lost} lost, {said} estimated");
        assert!(lost > 500.0, "{name}, {n_urls} URLs: only {lost} lost, too few to compare");
        let (before, rate) = (passed.len(), body.losses().rate);
        let more: Vec<Lookup> =
            (0..2_000).map(|n| Lookup { key: key(1 << 40 | n), ticket: n }).collect();
        body.lookup(&more, &mut passed).unwrap();
        let share = 1.0 - (passed.len() - before) as f64 / 2_000.0;
        assert!(is_near(share, rate), "{name}: loss rate {share}, estimated {rate}");
        assert_eq!(body.memory(), size.as_usize());
    }
}

/// The bound in the description of the settings.
#[test]
fn a_filter_takes_as_many_urls_as_the_settings_promise() {
    let size = ByteSize::mib(1);
    let promised = 140_000_000 / 256;
    let (mut bloom, mut blocked) = (Bloom::new(size), BlockedBloom::new(size));
    for n in 0..promised {
        bloom.insert(key(n));
        blocked.insert(key(n));
    }
    let (bloom, blocked) = (bloom.rate(), blocked.rate());
    assert!((0.0005..0.001).contains(&bloom), "{bloom}");
    assert!((0.001..0.003).contains(&blocked), "{blocked}");
}

/// Creates a sieve over `seen` rows that only the test writes.
fn sieve(dir: &Path, body: Box<dyn SeenSet>) -> Sieve {
    let settings = State { sieve_cache: ByteSize::kib(64), ..State::default() };
    let disk = Arc::new(Database::open(dir, true, &settings).unwrap());
    Sieve { seen: body, ..Sieve::open(disk, &settings).unwrap() }
}

#[test]
fn what_was_asked_for_is_never_lost() {
    let dir = tempfile::tempdir().unwrap();
    // The filter is full after a few URLs.
    let mut sieve = sieve(dir.path(), Box::new(Bloom::new(ByteSize(8))));
    let links: Vec<UrlKey> = (0..500).map(key).collect();
    let fresh: Vec<bool> = links
        .iter()
        .map(|&link| {
            let fresh = sieve.dedup(&[link], 1).unwrap()[0];
            sieve.insert(link);
            fresh
        })
        .collect();
    let lost = fresh.iter().filter(|&&fresh| !fresh).count();
    assert!(lost > 400, "{lost}");
    let mut rows = Batch::default();
    for key in links.iter().zip(&fresh).filter(|(_, fresh)| **fresh).map(|(key, _)| *key) {
        rows.put(Family::Seen, &keys::seen(key), &[]);
    }
    sieve.disk.commit(&rows).unwrap();
    // One link; as seeds the same URL once, and two other URLs twice.
    let urls: Vec<UrlKey> = [1_000, 1_000, 1_001, 499, 1_001, 499].map(key).to_vec();
    let was_fresh = fresh[499];
    let fresh = sieve.dedup(&urls, 1).unwrap();
    assert_eq!(fresh, [false, true, true, !was_fresh, false, false]);
    assert_eq!(sieve.counts().fresh, 500 - lost as u64 + 2 + u64::from(!was_fresh));
}

#[test]
fn it_counts_what_it_is_asked_and_forgets_when_told() {
    let dir = tempfile::tempdir().unwrap();
    let mut sieve = sieve(dir.path(), Box::<Memory>::default());
    let urls: Vec<UrlKey> = [1, 2, 1, 3].map(key).to_vec();
    assert_eq!(sieve.dedup(&urls, urls.len()).unwrap(), [true, true, false, true]);
    urls.iter().for_each(|&key| sieve.insert(key));
    let counts = sieve.counts();
    assert_eq!((counts.offered, counts.recent, counts.looked_up, counts.fresh), (4, 1, 3, 3));
    assert!(counts.seen_bytes > 0);
    sieve.forget();
    let fresh = sieve.dedup(&urls, urls.len()).unwrap();
    assert_eq!(fresh, [false; 4], "after `forget`, the body still knows all URLs");
    assert_eq!(sieve.counts().looked_up, 6);
}

/// A URL that is not stored after it has passed passes again, whatever the seen set.
#[test]
fn what_is_refused_for_now_passes_again() {
    type NewSeenSet = fn(Arc<Database>) -> Box<dyn SeenSet>;
    let bodies: [NewSeenSet; 5] = [
        |disk| Box::new(RocksSeen::new(disk)),
        |disk| Box::new(QuotientSeen::new(disk, ByteSize::kib(64))),
        |_| Box::<Memory>::default(),
        |_| Box::new(Bloom::new(ByteSize::kib(64))),
        |_| Box::new(BlockedBloom::new(ByteSize::kib(64))),
    ];
    for body in bodies {
        let dir = tempfile::tempdir().unwrap();
        let mut sieve = sieve(dir.path(), Box::<Memory>::default());
        sieve.seen = body(sieve.disk.clone());
        let urls: Vec<UrlKey> = [1, 2, 1].map(key).to_vec();
        for _ in 0..3 {
            assert_eq!(sieve.dedup(&urls, urls.len()).unwrap(), [true, true, false]);
            urls.iter().for_each(|&url| sieve.forget_url(url));
        }
    }
}
