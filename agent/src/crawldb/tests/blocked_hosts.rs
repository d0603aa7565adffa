//! Tests that the queues of blocked hosts are dropped from disk, all of them and nothing else, also
//! over kills.

use super::super::CrawlDb;
use crate::messages::Commit;
use crate::messages::{
    DueHost, Finder, Found, LinkKind, PRIORITY_DEFAULT, QueueKind, ToFrontier, ToWorkbench,
};
use crate::storage::Database;
use crivello_common::config::Settings;
use crivello_common::discard::Discard;
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::path::Path;
use std::sync::Arc;

const HOSTS: u64 = 20;
const URLS: u64 = 6;

struct TestCrawlDb {
    disk: Arc<Database>,
    crawldb: CrawlDb,
    now: Timestamp,
}

fn blocking(entries: &str) -> Settings {
    let mut settings = Settings::default();
    settings.apply_set(&format!("links.blocked={entries}")).unwrap();
    settings
}

fn found(host: u64, n: u64) -> Found {
    let url = CrawlUrl::parse(&format!("http://h{host}.site{}.test/{n}", host % 3)).unwrap();
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
    fn open(dir: &Path, settings: &Settings) -> Self {
        let disk = Arc::new(Database::open(dir, true, &settings.fixed.state).unwrap());
        let crawldb =
            CrawlDb::open(disk.clone(), settings, KeyedHasher::with_public_key()).unwrap();
        Self { disk, crawldb, now: Timestamp::from_secs(1_000_000) }
    }

    fn commit(&mut self, found: Vec<Found>) {
        let mut group = Commit { found, ..Commit::default() };
        self.crawldb.apply(&mut group, self.now).unwrap();
        self.disk.commit(&group.batch).unwrap();
    }

    fn step(&mut self) {
        self.crawldb.step_block_scan(self.now).unwrap();
        self.commit(Vec::new());
    }

    fn finish(&mut self) {
        let mut steps = 0;
        while self.crawldb.blocked_hosts().is_active() {
            self.step();
            steps += 1;
            assert!(steps < 100, "the scan does not end");
        }
    }

    fn serve(&mut self, hosts: u32) -> Vec<ToWorkbench> {
        self.crawldb.on_workbench(ToFrontier::WantHosts { hosts });
        let mut notes = Vec::new();
        self.crawldb.serve(self.now, &mut |_: GroupHash, _| Ok(true), &mut notes).unwrap();
        notes
    }
}

fn seeded(dir: &Path) -> TestCrawlDb {
    let mut db = TestCrawlDb::open(dir, &Settings::default());
    let all = (0..HOSTS).flat_map(|host| (0..URLS).map(move |n| found(host, n)));
    db.commit(all.collect());
    db
}

#[test]
fn all_that_is_blocked_is_dropped_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = seeded(dir.path());
    // Some hosts are on the workbench, which must give them back.
    let on_workbench = db.serve(4);
    assert_eq!(on_workbench.len(), 4);
    db.crawldb.reconfigure(&blocking("*.site1.test,h0.site0.test").live);
    (0..20).for_each(|_| db.step());
    // Of 20 hosts, 7 are below site1; with h0 that is 8.
    let totals = db.crawldb.totals().clone();
    let dropped = totals.discards.get(Discard::Blocked);
    assert_eq!(totals.queued, HOSTS * URLS - dropped);
    assert!(dropped >= 4 * URLS, "{dropped}");
    let counts = db.crawldb.blocked_hosts().counts();
    assert_eq!(counts.iter().map(|count| count.urls).sum::<u64>(), dropped);
    assert_eq!(counts.iter().map(|count| count.hosts).sum::<u64>() * URLS, dropped);
    // New URLs of blocked hosts are refused.
    db.commit(vec![found(1, 99), found(2, 99)]);
    assert_eq!(db.crawldb.totals().queued, totals.queued + 1);
    for message in on_workbench {
        let ToWorkbench::Due(due) = message else { panic!("not a host: {message:?}") };
        let DueHost { host, state, urls, .. } = *due;
        let unused = urls.iter().map(|url| url.queue_key).collect();
        db.crawldb.on_workbench(ToFrontier::Leave { host, state, unused });
    }
    // After an unblock they are admitted, and dropped URLs stay dropped.
    db.crawldb.reconfigure(&Settings::default().live);
    db.finish();
    db.commit(vec![found(1, 0), found(1, 100)]);
    assert_eq!(db.crawldb.totals().queued, totals.queued + 2);
}

#[test]
fn a_kill_only_interrupts_it() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = blocking("*.site1.test");
    let mut db = seeded(dir.path());
    db.crawldb.reconfigure(&blocked.live);
    let mut kills = 0;
    while db.crawldb.blocked_hosts().is_active() && kills < 50 {
        db.step();
        drop(db);
        db = TestCrawlDb::open(dir.path(), &blocked);
        kills += 1;
        if kills % 4 == 0 {
            db.finish();
        }
    }
    db.finish();
    let totals = db.crawldb.totals();
    assert_eq!(totals.discards.get(Discard::Blocked), 7 * URLS, "each is counted once");
    assert_eq!(totals.queued, (HOSTS - 7) * URLS);
    assert!(db.crawldb.blocked_hosts().counts()[0].done);
}

#[test]
fn a_host_that_falls_due_is_not_handed_over_when_it_is_blocked() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = seeded(dir.path());
    db.crawldb.reconfigure(&blocking("*.test").live);
    assert!(db.serve(100).is_empty());
    db.commit(Vec::new());
    db.finish();
    assert_eq!(db.crawldb.totals().queued, 0);
    let [count] = &db.crawldb.blocked_hosts().counts()[..] else { panic!("expected one entry") };
    assert_eq!((count.hosts, count.urls, count.done), (HOSTS, HOSTS * URLS, true));
}

#[test]
fn an_unblock_stops_what_is_being_dropped() {
    const MANY: u64 = 200;
    let dir = tempfile::tempdir().unwrap();
    let mut db = TestCrawlDb::open(dir.path(), &Settings::default());
    db.commit((0..MANY).map(|n| found(1, n)).collect());
    db.crawldb.reconfigure(&blocking("*.site1.test").live);
    db.step();
    db.step();
    let left = db.crawldb.totals().queued;
    assert!(left > 0 && left < MANY, "{left} URLs left: the scan is not half done");
    db.crawldb.reconfigure(&Settings::default().live);
    db.finish();
    (0..5).for_each(|_| db.step());
    assert_eq!(db.crawldb.totals().queued, left);
    assert_eq!(db.crawldb.totals().discards.get(Discard::Blocked), MANY - left);
    // The remaining URLs are handed over.
    let served = db.serve(4);
    let [ToWorkbench::Due(due)] = &served[..] else { panic!("{served:?}") };
    assert_eq!(&*due.name, "h1.site1.test");
    // If another entry replaces the first one, all is dropped in the end.
    let dir = tempfile::tempdir().unwrap();
    let mut db = TestCrawlDb::open(dir.path(), &Settings::default());
    db.commit((0..MANY).map(|n| found(1, n)).collect());
    db.crawldb.reconfigure(&blocking("*.site1.test").live);
    db.step();
    db.crawldb.reconfigure(&blocking("h1.site1.test").live);
    db.finish();
    assert_eq!(db.crawldb.totals().queued, 0);
}

/// Each commit begins behind what the one before has dropped, and a URL that arrives meanwhile with a
/// smaller key is dropped, too.
#[test]
fn dropping_goes_on_where_it_stopped() {
    const MANY: u64 = 100;
    let dir = tempfile::tempdir().unwrap();
    let mut db = TestCrawlDb::open(dir.path(), &Settings::default());
    let key = found(1, 0).host;
    db.commit((0..MANY).map(|n| found(1, n)).collect());
    db.crawldb.frontier.hosts.load(&[key]).unwrap();
    db.crawldb.frontier.drop_host(key, Discard::GaveUp, false);
    let cursor = |db: &TestCrawlDb| {
        let entry = db.crawldb.frontier.hosts.get(key).unwrap();
        (entry.cursors.of(QueueKind::New), entry.row.queued)
    };
    db.commit(Vec::new());
    let (first, left) = cursor(&db);
    assert!(first > QueueKind::New.start() && left > 0 && left < MANY, "{first:?}, {left} left");
    let sooner = Found { priority: PRIORITY_DEFAULT - 1, ..found(1, MANY) };
    db.commit(vec![sooner]);
    let (second, still_left) = cursor(&db);
    assert!(second < first && still_left < left, "{second:?}, {still_left} left");
    (0..3).for_each(|_| db.commit(Vec::new()));
    assert_eq!(db.crawldb.totals().queued, 0);
    assert_eq!(db.crawldb.totals().discards.get(Discard::GaveUp), MANY + 1);
}
