//! Queued URLs move forward as links to them are counted, and stay there over kills.

use super::super::CrawlDb;
use crate::messages::{Commit, Finder, Found, LinkKind, ReplicaStore as _};
use crate::storage::{Database, Family, keys};
use crivello_common::config::Settings;
use crivello_common::fields::link::LinkRecord;
use crivello_common::fields::priority::PriorityRule;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const RULE: &str = "url.inlinks < 100 ? 100 - url.inlinks : 0";

struct TestCrawlDb {
    disk: Arc<Database>,
    crawldb: CrawlDb,
    settings: Settings,
    now: Timestamp,
}

fn found(n: u64, priority: u8) -> Found {
    let url = CrawlUrl::parse(&format!("http://h{}.test/{n}", n % 3)).unwrap();
    let hasher = KeyedHasher::with_public_key();
    let (host, hash) = (hasher.host_key(url.host()), hasher.url(&url));
    let (kind, finder) = (LinkKind::Page, Finder::SEED);
    Found { url, host, hash, depth: 0, redirects: 0, kind, finder, priority, listed_by: None }
}

impl TestCrawlDb {
    fn open(dir: &Path, rule: &str, now: Timestamp) -> Self {
        let mut settings = Settings::default();
        settings.live.links.priority = rule.to_owned();
        let disk = Arc::new(Database::open(dir, true, &settings.fixed.state).unwrap());
        let hasher = KeyedHasher::with_public_key();
        let crawldb = CrawlDb::open(disk.clone(), &settings, hasher).unwrap();
        Self { disk, crawldb, settings, now }
    }

    /// A link to each URL, as a page has them.
    fn link(&mut self, urls: impl IntoIterator<Item = u64>) {
        let rule = PriorityRule::compile(&self.settings.live.links.priority).unwrap();
        let url = CrawlUrl::parse("http://a.test/").unwrap();
        let priority = rule.map_or(128, |rule| rule.priority(&LinkRecord::seed(&url, 0, false)));
        let found = urls.into_iter().map(|n| found(n, priority)).collect();
        let mut commit = Commit { found, ..Commit::default() };
        self.crawldb.apply(&mut commit, self.now).unwrap();
        self.disk.commit(&commit.batch).unwrap();
    }

    /// Performs all steps that are due at once, and returns their number.
    fn reorder(&mut self) -> usize {
        let mut n_steps = 0;
        while let Some(commit) = self.crawldb.step_reorder(self.now).unwrap() {
            self.disk.commit(&commit.batch).unwrap();
            n_steps += 1;
        }
        n_steps
    }

    fn set(&mut self, rule: &str) {
        self.settings.live.links.priority = rule.to_owned();
        self.crawldb.reconfigure(&self.settings.live);
    }

    fn priorities(&self) -> BTreeMap<String, u8> {
        let mut all = BTreeMap::new();
        self.disk
            .walk(Family::Frontier, &[], &[0xff; keys::PAIR + 10], |key, value| {
                let (_, queue_key) = keys::read_frontier(key)?;
                let url = crate::storage::values::decode_queued(queue_key, value)?;
                all.insert(url.path.to_string(), queue_key.priority);
                Ok(true)
            })
            .unwrap();
        all
    }

    fn of(&self, n: u64) -> u8 {
        self.priorities()[&format!("/{n}")]
    }
}

#[test]
fn urls_with_many_links_move_forward() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = TestCrawlDb::open(dir.path(), RULE, Timestamp::from_secs(100));
    db.reorder();
    db.link(0..20);
    assert_eq!(db.reorder(), 0, "no URL has two links");
    for n in 0..20 {
        db.link((20 - n)..20);
    }
    assert!(db.reorder() > 1, "20 rows are scanned in one step");
    for n in 0..20 {
        assert_eq!(u64::from(db.of(n)), 99 - n, "{n}");
    }
    assert_eq!(db.crawldb.inlink_counts().urls, 19, "a URL with one link takes no memory");
    // The next pass waits.
    db.link([0]);
    assert_eq!(db.reorder(), 0, "a scan follows another at once");
    db.now = db.now + Duration::from_secs(1);
    assert!(db.reorder() > 0);
    assert_eq!(db.of(0), 98);
    assert!(db.crawldb.counts_inlinks());
    drop(db);
    // Counts begin anew, and take nothing back.
    let mut db = TestCrawlDb::open(dir.path(), RULE, Timestamp::from_secs(200));
    assert_eq!(db.crawldb.inlink_counts().urls, 0);
    db.link([0, 1, 19]);
    db.link([1]);
    db.reorder();
    assert_eq!((db.of(0), db.of(1), db.of(19)), (98, 97, 80));
}

#[test]
fn a_rule_that_changes_uses_the_counts_and_one_without_them_forgets_them() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = TestCrawlDb::open(dir.path(), RULE, Timestamp::from_secs(100));
    db.reorder();
    db.link(0..5);
    db.link(0..2);
    db.reorder();
    db.set("url.inlinks > 1 ? 150 : 20");
    db.reorder();
    assert_eq!((db.of(0), db.of(4)), (150, 20));
    db.set("");
    assert!(!db.crawldb.counts_inlinks());
    db.reorder();
    assert_eq!((db.of(0), db.of(4)), (128, 128));
    db.link(0..5);
    db.now = db.now + Duration::from_secs(60);
    assert_eq!((db.reorder(), db.crawldb.inlink_counts().urls), (0, 0));
}
