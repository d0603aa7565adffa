//! Tests of the crawl database with each seen set that a crawl can choose: kills, restarts, and
//! restarts with another seen set let nothing through twice, and lose nothing.

use super::super::CrawlDb;
use crate::messages::Commit;
use crate::messages::{Finder, Found, LinkKind, PRIORITY_DEFAULT};
use crate::storage::{Batch, Database};
use crivello_common::config::{Settings, SieveKind};
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::units::ByteSize;
use crivello_common::url::CrawlUrl;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

const ALL: [SieveKind; 5] = [
    SieveKind::Rocksdb,
    SieveKind::Memory,
    SieveKind::Bloom,
    SieveKind::BlockedBloom,
    SieveKind::Quotient,
];

struct TestCrawlDb {
    disk: Arc<Database>,
    crawldb: CrawlDb,
}

fn found(n: u64) -> Found {
    let url = CrawlUrl::parse(&format!("http://h{}.site{}.test/{n}", n % 9, n % 4)).unwrap();
    let hasher = KeyedHasher::with_public_key();
    let (host, hash) = (hasher.host_key(url.host()), hasher.url(&url));
    Found {
        url,
        host,
        hash,
        depth: 0,
        redirects: 0,
        kind: LinkKind::Page,
        finder: Finder::SEED,
        priority: PRIORITY_DEFAULT,
        listed_by: None,
    }
}

impl TestCrawlDb {
    fn open(dir: &Path, sieve: SieveKind) -> Self {
        let mut settings = Settings::default();
        settings.fixed.state.sieve = sieve;
        settings.fixed.state.sieve_memory = ByteSize::mib(1);
        let disk = Arc::new(Database::open(dir, true, &settings.fixed.state).unwrap());
        let crawldb =
            CrawlDb::open(disk.clone(), &settings, KeyedHasher::with_public_key()).unwrap();
        Self { disk, crawldb }
    }

    fn prepare(&mut self, urls: impl Iterator<Item = u64>) -> Batch {
        let mut commit = Commit { found: urls.map(found).collect(), ..Commit::default() };
        self.crawldb.apply(&mut commit, Timestamp::from_secs(1)).unwrap();
        commit.batch
    }
}

/// Returns URLs, of which some repeat earlier groups and others the group itself.
fn group(n: u64) -> impl Iterator<Item = u64> {
    (0..60).map(move |i| (n * 23 + i * i) % (100 + 20 * n))
}

fn live_through(sieves: impl Fn(u64) -> SieveKind) {
    let dir = tempfile::tempdir().unwrap();
    let mut known = BTreeSet::new();
    for n in 0..12 {
        let mut db = TestCrawlDb::open(dir.path(), sieves(n));
        assert_eq!(db.crawldb.totals().seen, known.len() as u64);
        for part in [2 * n, 2 * n + 1] {
            let batch = db.prepare(group(part));
            db.disk.commit(&batch).unwrap();
            known.extend(group(part));
            let totals = db.crawldb.totals();
            let all = known.len() as u64;
            assert_eq!((totals.seen, totals.queued), (all, all), "{:?}, {part}", sieves(n));
        }
        // A kill before the commit: the batch counts as never offered.
        drop(db.prepare(group(2 * n + 2).chain(5_000..5_100)));
    }
}

#[test]
fn each_url_is_let_in_once_over_kills() {
    for kind in ALL {
        live_through(|_| kind);
    }
}

#[test]
fn the_body_may_be_another_at_each_start() {
    live_through(|n| ALL[n as usize % ALL.len()]);
}

#[test]
fn memory_sieve_reports_size_and_losses() {
    // Quotient filters have nothing until URLs are looked up.
    for kind in ALL.into_iter().filter(|&kind| kind != SieveKind::Quotient) {
        let dir = tempfile::tempdir().unwrap();
        let mut db = TestCrawlDb::open(dir.path(), kind);
        let batch = db.prepare(0..1_000);
        db.disk.commit(&batch).unwrap();
        drop(db);
        let counts = TestCrawlDb::open(dir.path(), kind).crawldb.sieve_counts();
        let filters = matches!(kind, SieveKind::Bloom | SieveKind::BlockedBloom);
        assert_eq!(counts.losses.rate > 0.0, filters, "{kind:?}: {counts:?}");
        assert_eq!(counts.seen_bytes == 1 << 20, filters, "{kind:?}: {counts:?}");
        assert_eq!(counts.seen_bytes >= 10_000, kind != SieveKind::Rocksdb, "{kind:?}");
    }
}
