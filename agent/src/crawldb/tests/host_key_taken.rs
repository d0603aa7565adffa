//! Two hosts with one key are never merged: what comes second is discarded and counted, whether it
//! is a link, a fact of another agent, or the target of a redirect. Under a secret key this never
//! happens by chance, so the rows are constructed.

use super::super::CrawlDb;
use crate::messages::{
    Commit, CommitKind, Fact, Finder, Found, LinkKind, PRIORITY_DEFAULT, RobotsRecord,
};
use crate::messages::{ToFrontier, ToWorkbench};
use crate::storage::facts::as_queued;
use crate::storage::values::{HostRow, Seen, UrlOutcome};
use crate::storage::{Database, keys};
use crivello_common::config::Settings;
use crivello_common::discard::Discard;
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use std::sync::Arc;

const NOW: Timestamp = Timestamp::from_secs(1_000_000);
const VICTIM: &str = "http://www.victim.test/page";
/// Host whose key is that of the victim's host.
const FORGED: &str = "http://forged.victim.test/page";

struct TestCrawlDb {
    disk: Arc<Database>,
    crawldb: CrawlDb,
    _dir: tempfile::TempDir,
}

/// Returns a link whose host has the key of the victim's host.
fn found(text: &str) -> Found {
    let (url, hasher) = (CrawlUrl::parse(text).unwrap(), KeyedHasher::with_public_key());
    let (host, hash) = (hasher.host_key("www.victim.test"), hasher.url(&url));
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
    fn new() -> Self {
        let (dir, settings) = (tempfile::tempdir().unwrap(), Settings::default());
        let disk = Arc::new(Database::open(dir.path(), true, &settings.fixed.state).unwrap());
        let hasher = KeyedHasher::with_public_key();
        let crawldb = CrawlDb::open(disk.clone(), &settings, hasher).unwrap().sharing(AgentId(1));
        Self { disk, crawldb, _dir: dir }
    }

    fn commit(&mut self, mut commit: Commit) {
        self.crawldb.apply(&mut commit, NOW).unwrap();
        self.disk.commit(&commit.batch).unwrap();
    }

    fn find(&mut self, text: &str) {
        self.commit(Commit { found: vec![found(text)], ..Commit::default() });
    }

    fn n_taken(&self) -> u64 {
        self.crawldb.totals().discards.get(Discard::HostKeyTaken)
    }

    fn row(&self) -> HostRow {
        self.disk.row(&keys::host(found(VICTIM).host)).unwrap().unwrap()
    }
}

#[test]
fn a_link_to_a_host_with_the_key_of_another_is_discarded() {
    let mut db = TestCrawlDb::new();
    db.find(VICTIM);
    db.find(FORGED);
    assert_eq!((db.n_taken(), db.crawldb.totals().queued), (1, 1));
    assert_eq!((&*db.row().name, db.row().queued), ("www.victim.test", 1));
    let outcome = db.disk.row(&keys::seen(found(FORGED).key())).unwrap();
    assert_eq!(outcome, Some(Seen::Done(UrlOutcome::Discarded(Discard::HostKeyTaken, None))));
    // Also in one commit, and whichever comes first.
    let mut db = TestCrawlDb::new();
    let both = vec![found(FORGED), found(VICTIM)];
    db.commit(Commit { found: both, ..Commit::default() });
    assert_eq!((db.n_taken(), db.crawldb.totals().hosts), (1, 1));
    assert_eq!(&*db.row().name, "forged.victim.test");
}

#[test]
fn facts_about_a_host_with_the_key_of_another_change_nothing() {
    let mut db = TestCrawlDb::new();
    db.find(VICTIM);
    let before = (db.row(), db.crawldb.totals().clone());
    let forged = found(FORGED);
    let (host, name) = (forged.host, Arc::<str>::from(forged.url.host()));
    let closed = Some(Discard::RobotsUnreachable);
    let state = HostState::default();
    let record = RobotsRecord {
        asked: NOW,
        fetched: NOW,
        unreachable_since: None,
        failures: 0,
        rules: None,
    };
    let facts = vec![
        Fact::Queued { host, name: name.clone(), url: as_queued(&forged) },
        Fact::Host {
            host,
            name: name.clone(),
            state,
            closed,
            pages: 9,
            bytes: 9,
            finder: Finder::OWN,
            resolved: true,
            answered: true,
            evidence: None,
        },
        Fact::Robots { host, name, origin: forged.url.origin(), record },
    ];
    db.commit(Commit { kind: CommitKind::Facts, facts, ..Commit::default() });
    assert_eq!(db.n_taken(), 3);
    let mut after = (db.row(), db.crawldb.totals().clone());
    after.1.discards = before.1.discards;
    assert_eq!(after, before);
    assert_eq!(db.disk.row::<Seen>(&keys::seen(forged.key())).unwrap(), None);
}

#[test]
fn a_redirect_to_a_host_with_the_key_of_another_finds_no_host() {
    let mut db = TestCrawlDb::new();
    db.find(VICTIM);
    let host = found(FORGED).host;
    let mut messages = Vec::new();
    for (name, is_served) in [("forged.victim.test", false), ("www.victim.test", true)] {
        db.crawldb.on_workbench(ToFrontier::RequestHost { host, name: name.into() });
        db.crawldb.serve(NOW, &mut |_, _| Ok(true), &mut messages).unwrap();
        let answer = messages.pop().unwrap();
        assert_eq!(matches!(&answer, ToWorkbench::Due(due) if &*due.name == name), is_served);
        assert_eq!(matches!(answer, ToWorkbench::NotOwned { host: of } if of == host), !is_served);
        assert!(messages.is_empty());
    }
    assert_eq!(db.n_taken(), 1);
}
