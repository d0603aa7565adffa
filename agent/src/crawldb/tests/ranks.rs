//! Hosts that wait move to the classes of their ranks, and their URLs to the priorities, also after a restart.

use super::super::CrawlDb;
use crate::messages::{Commit, Finder, Found, HostClass, LinkKind};
use crate::storage::{Database, Family, keys};
use crivello_common::config::Settings;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_ranks::{HostRanks, RanksInForce};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const N_HOSTS: u64 = 12;

struct TestCrawlDb {
    disk: Arc<Database>,
    crawldb: CrawlDb,
    now: Timestamp,
}

fn found(n: u64) -> Found {
    let url = CrawlUrl::parse(&format!("http://h{}.test/{n}", n % N_HOSTS)).unwrap();
    let hasher = KeyedHasher::with_public_key();
    let (host, hash) = (hasher.host_key(url.host()), hasher.url(&url));
    let (kind, finder, priority) = (LinkKind::Page, Finder::SEED, 128);
    Found { url, host, hash, depth: 0, redirects: 0, kind, finder, priority, listed_by: None }
}

/// Ranks of these hosts, in their order.
fn ranks(hosts: &[u64]) -> HostRanks {
    let scores = (1..).zip(hosts).map(|(n, host)| (format!("h{host}.test"), 1.0 / f64::from(n)));
    HostRanks::from_bytes(&HostRanks::build(&scores.collect::<Vec<_>>(), 5).unwrap()).unwrap()
}

impl TestCrawlDb {
    fn open(dir: &Path, rule: &str, ranks: &RanksInForce) -> Self {
        let mut settings = Settings::default();
        settings.live.links.priority = rule.to_owned();
        let disk = Arc::new(Database::open(dir, true, &settings.fixed.state).unwrap());
        let hasher = KeyedHasher::with_public_key();
        let crawldb = CrawlDb::open(disk.clone(), &settings, hasher).unwrap().ranked(ranks.clone());
        Self { disk, crawldb, now: Timestamp::from_secs(100) }
    }

    fn seed(&mut self) {
        let found = (0..2 * N_HOSTS).map(found).collect();
        let mut commit = Commit { found, ..Commit::default() };
        self.crawldb.apply(&mut commit, self.now).unwrap();
        self.disk.commit(&commit.batch).unwrap();
        self.now = self.now + Duration::from_secs(10);
    }

    /// Performs all steps that are due, and returns their number.
    fn reorder(&mut self) -> usize {
        let mut n_steps = 0;
        while let Some(commit) = self.crawldb.step_reorder(self.now).unwrap() {
            self.disk.commit(&commit.batch).unwrap();
            n_steps += 1;
        }
        n_steps
    }

    /// Returns the class and the time of each host, and the priorities of its URLs.
    fn hosts(&self) -> BTreeMap<u64, (HostClass, Timestamp, Vec<u8>)> {
        let (hasher, mut all) = (KeyedHasher::with_public_key(), BTreeMap::new());
        let numbers: BTreeMap<_, u64> =
            (0..N_HOSTS).map(|n| (hasher.host_key(&format!("h{n}.test")), n)).collect();
        let walk = |family, end: &[u8], visit: &mut dyn FnMut(&[u8])| {
            self.disk
                .walk(family, &[], end, |key, _| {
                    visit(key);
                    Ok(true)
                })
                .unwrap();
        };
        walk(Family::Schedule, &[0xff; keys::SCHEDULE + 1], &mut |key| {
            let (place, host) = keys::read_schedule(key).unwrap();
            let before = all.insert(numbers[&host], (place.class, place.at, Vec::new()));
            assert!(before.is_none(), "a host has two places");
        });
        walk(Family::Frontier, &[0xff; keys::PAIR + 10], &mut |key| {
            let (host, queue_key) = keys::read_frontier(key).unwrap();
            all.get_mut(&numbers[&host]).expect("a place").2.push(queue_key.priority);
        });
        all
    }
}

#[test]
fn new_ranks_move_hosts_that_wait_and_their_urls() {
    let dir = tempfile::tempdir().unwrap();
    let in_force = RanksInForce::default();
    let mut db = TestCrawlDb::open(dir.path(), "ranked-hosts-first", &in_force);
    db.reorder();
    db.seed();
    let plain = db.hosts();
    assert!(plain.values().all(|(class, ..)| *class == HostClass::First));
    in_force.set(Some(ranks(&[3, 5])));
    assert!(db.reorder() > 1, "all rows are scanned in one step");
    let ranked = db.hosts();
    for (host, (class, at, priorities)) in &ranked {
        let (wanted, priority) = match host {
            3 => (HostClass::First, 0),
            _ => (HostClass::Third, 254),
        };
        assert_eq!((*class, priorities.as_slice()), (wanted, &[priority; 2][..]), "host {host}");
        assert_eq!(*at, plain[host].1, "host {host} waits anew");
    }
    assert_eq!(db.reorder(), 0);
    drop(db);
    // Nothing is scanned at the next start, but with other ranks.
    let mut db = TestCrawlDb::open(dir.path(), "ranked-hosts-first", &in_force);
    assert_eq!(db.reorder(), 0);
    assert_eq!(db.hosts(), ranked);
    in_force.set(Some(ranks(&[5, 3])));
    assert!(db.crawldb.step_reorder(db.now).unwrap().is_some());
    drop(db);
    // A scan that was interrupted begins again.
    let mut db = TestCrawlDb::open(dir.path(), "ranked-hosts-first", &in_force);
    assert!(db.reorder() > 1);
    let hosts = db.hosts();
    assert_eq!((hosts[&5].0, hosts[&5].2[0], hosts[&3].2[0]), (HostClass::First, 0, 254));
    in_force.set(None);
    db.reorder();
    let without = db.hosts();
    assert!(without.values().all(|(class, ..)| *class == HostClass::First));
    assert!(without.values().all(|(.., priorities)| *priorities == [254; 2]));
}

/// A rule that names other fields than rows have leaves URLs where they are.
#[test]
fn hosts_move_whatever_the_rule() {
    for rule in ["", "off-site-first"] {
        let dir = tempfile::tempdir().unwrap();
        let in_force = RanksInForce::default();
        let mut db = TestCrawlDb::open(dir.path(), rule, &in_force);
        db.reorder();
        db.seed();
        in_force.set(Some(ranks(&[7])));
        db.reorder();
        for (host, (class, _, priorities)) in db.hosts() {
            let wanted = if host == 7 { HostClass::First } else { HostClass::Third };
            assert_eq!((class, priorities), (wanted, vec![128; 2]), "{rule:?}, host {host}");
        }
        assert_eq!(db.reorder(), 0);
    }
}
