//! Tests that the queues of blocked hosts are dropped from disk, all of them and nothing else, also
//! over kills.

use super::super::CrawlDb;
use crate::messages::Commit;
use crate::messages::{Found, LinkKind, ToFrontier, ToWorkbench};
use crate::storage::Database;
use crivello_common::config::Settings;
use crivello_common::discard::Discard;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::path::Path;
use std::sync::Arc;

const HOSTS: u64 = 20;
const URLS: u64 = 6;

struct House {
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
    let (host, hash) = (url.host_key(crivello_common::config::AssignBy::Domain), url.hash());
    Found { url, host, hash, depth: 0, kind: LinkKind::Page }
}

impl House {
    fn open(dir: &Path, settings: &Settings) -> Self {
        let disk = Arc::new(Database::open(dir, true, &settings.fixed.state).unwrap());
        let crawldb = CrawlDb::open(disk.clone(), settings).unwrap();
        Self { disk, crawldb, now: Timestamp::from_secs(1_000_000) }
    }

    fn commit(&mut self, found: Vec<Found>) {
        let group = Commit { found, ..Commit::default() };
        let mut group = group;
        self.crawldb.apply(&mut group, self.now).unwrap();
        let batch = group.batch;
        self.disk.commit(&batch).unwrap();
    }

    fn step(&mut self) {
        self.crawldb.step_block_scan(self.now).unwrap();
        self.commit(Vec::new());
    }

    fn finish(&mut self) {
        let mut steps = 0;
        while self.crawldb.is_blocking() {
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

fn seeded(dir: &Path) -> House {
    let mut house = House::open(dir, &Settings::default());
    let all = (0..HOSTS).flat_map(|host| (0..URLS).map(move |n| found(host, n)));
    house.commit(all.collect());
    house
}

#[test]
fn all_that_is_blocked_is_dropped_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let mut house = seeded(dir.path());
    // Some hosts are on the workbench, which must give them back.
    let on_desk = house.serve(4).len() as u64;
    assert_eq!(on_desk, 4);
    house.crawldb.reconfigure(&blocking("*.site1.test,h0.site0.test").live);
    (0..20).for_each(|_| house.step());
    // Of 20 hosts, 7 are below site1; with h0 that is 8.
    let totals = house.crawldb.totals().clone();
    let dropped = totals.discards.get(Discard::Blocked);
    assert_eq!(totals.queued, HOSTS * URLS - dropped);
    assert!(dropped >= 4 * URLS, "{dropped}");
    let counts = house.crawldb.block_counts();
    assert_eq!(counts.iter().map(|count| count.urls).sum::<u64>(), dropped);
    assert_eq!(counts.iter().map(|count| count.hosts).sum::<u64>() * URLS, dropped);
    // New URLs of blocked hosts are refused.
    house.commit(vec![found(1, 99), found(2, 99)]);
    assert_eq!(house.crawldb.totals().queued, totals.queued + 1);
    // After an unblock they are admitted, and dropped URLs stay dropped.
    house.crawldb.reconfigure(&Settings::default().live);
    house.finish();
    house.commit(vec![found(1, 0), found(1, 100)]);
    assert_eq!(house.crawldb.totals().queued, totals.queued + 2);
}

#[test]
fn a_kill_only_interrupts_it() {
    let dir = tempfile::tempdir().unwrap();
    let blocked = blocking("*.site1.test");
    let mut house = seeded(dir.path());
    house.crawldb.reconfigure(&blocked.live);
    let mut kills = 0;
    while house.crawldb.is_blocking() && kills < 50 {
        house.step();
        drop(house);
        house = House::open(dir.path(), &blocked);
        kills += 1;
        if kills % 4 == 0 {
            house.finish();
        }
    }
    house.finish();
    let totals = house.crawldb.totals();
    assert_eq!(totals.discards.get(Discard::Blocked), 7 * URLS, "each is counted once");
    assert_eq!(totals.queued, (HOSTS - 7) * URLS);
    assert!(house.crawldb.block_counts()[0].done);
}

#[test]
fn a_host_that_falls_due_is_not_handed_over_when_it_is_blocked() {
    let dir = tempfile::tempdir().unwrap();
    let mut house = seeded(dir.path());
    house.crawldb.reconfigure(&blocking("*.test").live);
    assert!(house.serve(100).is_empty());
    house.commit(Vec::new());
    house.finish();
    assert_eq!(house.crawldb.totals().queued, 0);
    let [count] = &house.crawldb.block_counts()[..] else { panic!("expected one entry") };
    assert_eq!((count.hosts, count.urls, count.done), (HOSTS, HOSTS * URLS, true));
}

#[test]
fn an_unblock_stops_what_is_being_dropped() {
    const MANY: u64 = 200;
    let dir = tempfile::tempdir().unwrap();
    let mut house = House::open(dir.path(), &Settings::default());
    house.commit((0..MANY).map(|n| found(1, n)).collect());
    house.crawldb.reconfigure(&blocking("*.site1.test").live);
    house.step();
    house.step();
    let left = house.crawldb.totals().queued;
    assert!(left > 0 && left < MANY, "{left} URLs left: the scan is not half done");
    house.crawldb.reconfigure(&Settings::default().live);
    house.finish();
    (0..5).for_each(|_| house.step());
    assert_eq!(house.crawldb.totals().queued, left);
    assert_eq!(house.crawldb.totals().discards.get(Discard::Blocked), MANY - left);
    // The remaining URLs are handed over.
    let served = house.serve(4);
    let [ToWorkbench::Due(due)] = &served[..] else { panic!("{served:?}") };
    assert_eq!(&*due.name, "h1.site1.test");
    // If another entry replaces the first one, all is dropped in the end.
    let dir = tempfile::tempdir().unwrap();
    let mut house = House::open(dir.path(), &Settings::default());
    house.commit((0..MANY).map(|n| found(1, n)).collect());
    house.crawldb.reconfigure(&blocking("*.site1.test").live);
    house.step();
    house.crawldb.reconfigure(&blocking("h1.site1.test").live);
    house.finish();
    assert_eq!(house.crawldb.totals().queued, 0);
}
