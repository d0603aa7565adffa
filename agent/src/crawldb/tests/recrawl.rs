//! Tests of URLs that are fetched again: their due times, and facts about them in any order.

use super::super::CrawlDb;
use super::super::changes::elsewhere;
use super::super::refetch::archived;
use crate::messages::{
    ArchivedPages, Commit, Fact, Finder, Found, LinkKind, PRIORITY_DEFAULT, Page, PageEnd,
    QueueKey, Queued, RecordPlace, ReplicaStore as _, Revisit, RevisitData, ToFrontier,
    ToWorkbench, Validators,
};
use crate::storage::values::{FinishedUrl, Seen, UrlOutcome, decode_queued};
use crate::storage::{Database, Family, Row, facts, keys};
use crivello_common::config::{Live, Settings};
use crivello_common::discard::DiscardTally;
use crivello_common::failure::Failure;
use crivello_common::hash::UrlKey;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{AgentId, LostArchive};
use proptest::prelude::*;
use std::sync::Arc;
use std::time::Duration;

const T: Timestamp = Timestamp::from_secs(1_000_000);
pub(super) const HOUR: Duration = Duration::from_secs(3_600);
pub(super) const DAY: Duration = Duration::from_secs(86_400);

pub(super) struct TestCrawlDb {
    pub(super) disk: Arc<Database>,
    pub(super) crawldb: CrawlDb,
    settings: Settings,
    dir: tempfile::TempDir,
    pub(super) now: Timestamp,
    /// Time of the capture to which the records of the next fetches refer.
    original: Option<Timestamp>,
    /// Place in the archive of the next fetches; `None` if they are not archived.
    record: Option<(u32, u64)>,
}

impl TestCrawlDb {
    pub(super) fn new(sets: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut settings = Settings::default();
        // Without delays, windows have their full length.
        settings.live.politeness.delay = Duration::ZERO;
        for set in sets {
            settings.apply_set(set).unwrap();
        }
        let disk = Arc::new(Database::open(dir.path(), true, &settings.fixed.state).unwrap());
        let hasher = KeyedHasher::with_public_key();
        let crawldb = CrawlDb::open(disk.clone(), &settings, hasher).unwrap();
        Self { disk, crawldb, settings, dir, now: T, original: None, record: Some((1, 7)) }
    }

    /// Returns the live settings after these changes.
    pub(super) fn set(&mut self, sets: &[&str]) -> Live {
        sets.iter().for_each(|set| self.settings.apply_set(set).unwrap());
        self.settings.live.clone()
    }

    pub(super) fn sharing(sets: &[&str]) -> Self {
        let mut db = Self::new(sets);
        db.crawldb = db.crawldb.sharing(AgentId(1));
        db
    }

    /// Ends the process, and opens the state again.
    pub(super) fn restart(self) -> Self {
        let Self { disk, crawldb, settings, dir, now, original, record } = self;
        drop((disk, crawldb));
        let disk = Arc::new(Database::open(dir.path(), false, &settings.fixed.state).unwrap());
        let hasher = KeyedHasher::with_public_key();
        let crawldb = CrawlDb::open(disk.clone(), &settings, hasher).unwrap();
        Self { disk, crawldb, settings, dir, now, original, record }
    }

    pub(super) fn commit(&mut self, mut commit: Commit) {
        self.crawldb.apply(&mut commit, self.now).unwrap();
        self.disk.commit(&commit.batch).unwrap();
    }

    pub(super) fn find(&mut self, url: &str) {
        self.commit(Commit { found: vec![found(url)], ..Commit::default() });
    }

    /// Queues all URLs that are due.
    pub(super) fn queue_due(&mut self) {
        for _ in 0..100 {
            let Some(commit) = self.crawldb.step_due(self.now, &|| self.now).unwrap() else {
                return;
            };
            self.disk.commit(&commit.batch).unwrap();
        }
        panic!("the scan does not end");
    }

    /// Fetches all that waits, with this result, and returns the rows.
    pub(super) fn fetch(&mut self, end: &PageEnd, data: Option<&RevisitData>) -> Vec<Queued> {
        self.queue_due();
        self.fetch_each(|_| (end.clone(), data.cloned()))
    }

    /// Fetches all that waits and fits into the windows of hosts, with the result for each row, and
    /// returns the rows.
    pub(super) fn fetch_each(
        &mut self,
        mut result: impl FnMut(&Queued) -> (PageEnd, Option<RevisitData>),
    ) -> Vec<Queued> {
        self.crawldb.on_workbench(ToFrontier::WantHosts { hosts: 100 });
        let mut out = Vec::new();
        self.crawldb.serve(self.now, &mut |_, _| Ok(true), &mut out).unwrap();
        let (mut pages, mut rows) = (Vec::new(), Vec::new());
        for note in out {
            let ToWorkbench::Due(due) = note else { continue };
            let mut state = due.state.clone();
            state.next = self.now;
            for row in &due.urls {
                rows.push(row.clone());
                let (end, data) = result(row);
                let page = Page {
                    host: due.host,
                    name: due.name.clone(),
                    row: Some(row.clone()),
                    at: self.now,
                    took: Duration::ZERO,
                    end,
                    records: Vec::new(),
                    links: Vec::new(),
                    signals: Vec::new(),
                    discards: DiscardTally::default(),
                    traced: None,
                    fingerprint: None,
                    original: self.original,
                    revisit_data: data.map(Box::new),
                };
                pages.push((page, self.record));
            }
            let leave = ToFrontier::Leave { host: due.host, state, unused: Vec::new() };
            self.crawldb.on_workbench(leave);
        }
        self.commit(Commit { pages, ..Commit::default() });
        rows
    }

    pub(super) fn seen(&self, url: &str) -> Option<Seen> {
        let found = found(url);
        let value = self.disk.get(Family::Seen, &keys::seen(found.key())).unwrap();
        value.map(|value| Seen::decode(&value).unwrap())
    }

    pub(super) fn revisit(&self, url: &str) -> Revisit {
        let Some(Seen::Done(outcome)) = self.seen(url) else { panic!("{url} is not finished") };
        *outcome.page().unwrap().url.revisit.clone().unwrap()
    }

    /// Returns the number of queued URLs.
    pub(super) fn n_queued(&self) -> u64 {
        self.crawldb.totals().queued
    }

    fn n_rows(&self, family: Family) -> usize {
        let mut n = 0;
        self.disk
            .walk(family, &[], &[0xff; 40], |_, _| {
                n += 1;
                Ok(true)
            })
            .unwrap();
        n
    }

    /// Checks that the totals count the rows.
    pub(super) fn recount(&self) {
        let totals = self.crawldb.totals();
        assert_eq!(totals.queued as usize, self.n_rows(Family::Frontier));
        let mut n_again = 0;
        let count = |key: &[u8], value: &[u8]| {
            let (_, queue_key) = keys::read_frontier(key)?;
            n_again += u64::from(decode_queued(queue_key, value)?.was_answered());
            Ok(true)
        };
        self.disk.walk(Family::Frontier, &[], &[0xff; 40], count).unwrap();
        assert_eq!(totals.queued_again, n_again);
        assert_eq!(totals.scheduled as usize, self.n_rows(Family::Due));
    }
}

pub(super) fn found(url: &str) -> Found {
    let url = CrawlUrl::parse(url).unwrap();
    let hasher = KeyedHasher::with_public_key();
    let (host, hash) = (hasher.host_key(url.host()), hasher.url(&url));
    let (kind, finder) = (LinkKind::Page, Finder::SEED);
    Found {
        url,
        host,
        hash,
        depth: 1,
        redirects: 0,
        kind,
        finder,
        priority: PRIORITY_DEFAULT,
        listed_by: None,
    }
}

pub(super) fn ok(status: u16) -> PageEnd {
    let (digest, duplicate, truncated) = (None, false, false);
    PageEnd::Response { status, bytes: 10, digest, duplicate, truncated }
}

pub(super) fn revisit_data(content: u64) -> RevisitData {
    RevisitData {
        is_list: false,
        content,
        is_not_modified: false,
        validators: Validators { etag: Some("\"1\"".into()), last_modified: None },
        modified: None,
        lifetime: None,
        weight: None,
        interval: Some(HOUR.as_secs_f64()),
    }
}

pub(super) const FIXED: &str = "recrawl.policy=fixed";
pub(super) const URL: &str = "http://a.example/x";

#[test]
fn a_page_is_fetched_again_after_its_interval_over_restarts() {
    let mut db = TestCrawlDb::new(&[FIXED]);
    db.find(URL);
    assert_eq!(db.fetch(&ok(200), Some(&revisit_data(1))).len(), 1);
    for generation in 1..4 {
        db.recount();
        assert!(db.fetch(&ok(200), Some(&revisit_data(1))).is_empty(), "it is not due yet");
        db = db.restart();
        db.now = db.now + 2 * HOUR;
        let rows = db.fetch(&ok(200), Some(&revisit_data(generation / 2)));
        assert_eq!(rows.len(), 1);
        let revisit = rows[0].revisit.as_ref().unwrap();
        assert_eq!(revisit.generation, generation as u32);
        assert_eq!(revisit.validators.etag.as_deref(), Some("\"1\""));
        let capture = revisit.capture.unwrap();
        assert_eq!((capture.status, capture.record), (200, Some(RecordPlace::here((1, 7)))));
    }
    db.recount();
    let (visits, changes) = db.revisit(URL).history.unwrap().visits();
    assert_eq!((visits, changes), (3, 2));
    let host = found(URL).host;
    db.crawldb.frontier.hosts.load(&[host]).unwrap();
    let row = &db.crawldb.frontier.hosts.get(host).unwrap().row;
    assert_eq!((row.pages, row.queued), (1, 0), "a page counts once towards the limits");
}

#[test]
fn a_page_that_is_not_modified_keeps_its_capture() {
    let mut db = TestCrawlDb::new(&[FIXED]);
    db.find(URL);
    db.fetch(&ok(200), Some(&revisit_data(1)));
    let first = db.revisit(URL);
    db.now = db.now + 2 * HOUR;
    let unmodified = RevisitData { is_not_modified: true, ..revisit_data(1) };
    db.fetch(&ok(304), Some(&unmodified));
    let second = db.revisit(URL);
    assert_eq!(second.capture, first.capture);
    assert_eq!(second.generation, 1);
    let Some(Seen::Done(UrlOutcome::Fetched { status, record, at, .. })) = db.seen(URL) else {
        panic!("it is fetched");
    };
    assert_eq!((status, record, at), (200, Some(RecordPlace::here((1, 7))), db.now));
    let counts = db.crawldb.recrawl().stats().counts;
    assert_eq!((counts.not_modified, counts.changed, counts.unchanged), (1, 0, 0));
}

#[test]
fn gone_pages_back_off_and_are_forgotten() {
    let mut db = TestCrawlDb::new(&[FIXED, "recrawl.errors-interval=1d", "recrawl.gone-after=10d"]);
    db.find(URL);
    db.fetch(&ok(200), Some(&revisit_data(1)));
    let mut fetches = 0;
    for day in 0..40 {
        db.now = T + DAY * day + HOUR * 2;
        fetches += db.fetch(&ok(404), None).len();
    }
    db.recount();
    assert!((4..=6).contains(&fetches), "{fetches} fetches of a gone page");
    assert_eq!(db.n_rows(Family::Due), 0, "it is forgotten");
    assert!(db.revisit(URL).validators.is_empty(), "validators are dropped after an error");
}

/// Errors of the host in between do not bring a gone page back, and are not the last word.
#[test]
fn gone_pages_are_forgotten_in_spite_of_other_errors() {
    let sets = [FIXED, "recrawl.errors-interval=1d", "recrawl.gone-after=10d"];
    for (statuses, is_forgotten) in [([404, 503], true), ([404, 404], true), ([503, 503], false)] {
        let mut db = TestCrawlDb::new(&sets);
        db.find(URL);
        db.fetch(&ok(200), Some(&revisit_data(1)));
        let mut fetches = 0;
        for day in 0..80 {
            db.now = T + DAY * day + HOUR * 2;
            fetches += db.fetch(&ok(statuses[fetches % 2]), None).len();
        }
        assert_eq!(db.n_rows(Family::Due), usize::from(!is_forgotten), "{statuses:?}");
    }
}

/// Replay does not follow a revisit to another revisit.
#[test]
fn a_copy_of_archived_content_is_requested_unconditionally() {
    let mut db = TestCrawlDb::new(&[FIXED]);
    db.find(URL);
    let (digest, duplicate, truncated) = (None, true, false);
    let copy = PageEnd::Response { status: 200, bytes: 10, digest, duplicate, truncated };
    db.fetch(&copy, Some(&revisit_data(1)));
    assert!(db.revisit(URL).validators.is_empty());
    db.now = db.now + 2 * HOUR;
    db.fetch(&ok(200), Some(&revisit_data(2)));
    let first = db.revisit(URL);
    assert!(!first.validators.is_empty());

    // A copy of the last capture of the same page, after an error.
    db.now = db.now + 2 * HOUR;
    db.fetch(&ok(503), None);
    db.now = db.now + 2 * HOUR;
    db.queue_due();
    db.original = first.capture.map(|capture| capture.at);
    db.fetch(&copy, Some(&revisit_data(2)));
    let copied = db.revisit(URL);
    assert_eq!(copied.capture, first.capture, "a 304 refers to the original");
    assert!(!copied.validators.is_empty());
}

#[test]
fn a_feed_to_which_a_page_links_has_the_interval_of_sitemaps() {
    let mut db = TestCrawlDb::new(&[FIXED, "recrawl.sitemaps-interval=2d"]);
    db.find(URL);
    let feed = RevisitData { is_list: true, ..revisit_data(1) };
    for (end, data) in
        [(ok(200), feed.clone()), (ok(304), RevisitData { is_not_modified: true, ..feed })]
    {
        db.fetch(&end, Some(&data));
        assert_eq!(db.revisit(URL).due, db.now + 2 * DAY);
        db.now = db.now + 3 * DAY;
    }
}

/// The archive of the last capture is lost while the page is on its way.
#[test]
fn a_page_whose_archive_is_lost_meanwhile_is_requested_once_more() {
    let mut db = TestCrawlDb::new(&[FIXED]);
    db.crawldb = db.crawldb.sharing(AgentId(9));
    db.find(URL);
    db.fetch(&ok(200), Some(&revisit_data(1)));
    db.crawldb = db.crawldb.sharing(AgentId(1));
    db.now = db.now + 2 * HOUR;
    db.queue_due();
    assert!(db.crawldb.refetch.add(&[LostArchive { agent: AgentId(9), safe_files: 0 }]));
    let unmodified = RevisitData { is_not_modified: true, ..revisit_data(1) };
    assert_eq!(db.fetch(&ok(304), Some(&unmodified)).len(), 1);
    let rows = db.fetch(&ok(200), Some(&revisit_data(1)));
    assert_eq!(rows.len(), 1);
    assert!(rows[0].revisit.as_ref().unwrap().validators.is_empty());
    assert_eq!(db.revisit(URL).capture.unwrap().by, AgentId(1));
    db.recount();
}

/// The archive of an agent is lost, but not the first files, which a store has.
#[test]
fn a_page_that_is_safe_in_a_store_is_not_fetched_again() {
    let in_file_4 = "http://a.example/4";
    let mut owner = TestCrawlDb::new(&[FIXED]);
    owner.crawldb = owner.crawldb.sharing(AgentId(9));
    let facts = [(URL, 3), (in_file_4, 4)].map(|(url, file)| {
        owner.record = Some((file, 7));
        owner.find(url);
        assert_eq!(owner.fetch(&ok(200), Some(&revisit_data(1))).len(), 1);
        let Some(Seen::Done(outcome)) = owner.seen(url) else { panic!("{url} is not finished") };
        Fact::Done { url: found(url).key(), outcome: elsewhere(outcome) }
    });
    let lost = |safe_files| LostArchive { agent: AgentId(9), safe_files };
    // The view comes before the facts, or after them.
    for is_known in [true, false] {
        let mut db = TestCrawlDb::sharing(&[FIXED]);
        if is_known {
            db.crawldb.set_lost_archives(&[lost(4)]);
        }
        db.commit(Commit { facts: facts.to_vec(), ..Commit::of_facts() });
        let count = |safe_files| archived(&db.disk, lost(safe_files), |_| true, || true).unwrap();
        if !is_known {
            assert_eq!(count(4), ArchivedPages { lost: 1, safe: 1 });
            assert_eq!(count(3), ArchivedPages { lost: 2, safe: 0 });
            db.crawldb.set_lost_archives(&[lost(4)]);
        }
        while let Some(commit) = db.crawldb.step_refetch(db.now).unwrap() {
            db.disk.commit(&commit.batch).unwrap();
        }
        let mut db = db.restart();
        db.crawldb = db.crawldb.sharing(AgentId(1));
        let rows = db.fetch(&ok(200), Some(&revisit_data(1)));
        let paths: Vec<&str> = rows.iter().map(|row| &*row.path).collect();
        assert_eq!(paths, ["/4"]);
        // The last capture of the other page is in the store, so a 304 refers to it.
        db.now = db.now + 2 * HOUR;
        db.queue_due();
        let unmodified = RevisitData { is_not_modified: true, ..revisit_data(1) };
        assert_eq!(db.fetch(&ok(304), Some(&unmodified)).len(), 2);
        let Some(Seen::Done(outcome)) = db.seen(URL) else { panic!("it was requested again") };
        assert_eq!(outcome.page().unwrap().by, AgentId(9));
        let UrlOutcome::Fetched { record, .. } = outcome else { panic!("{outcome:?}") };
        assert_eq!(record, Some(RecordPlace { file: 3, offset: None }));
        db.recount();
    }
}

/// The pages that a pass has not reached when the process ends are moved after the restart.
#[test]
fn a_pass_that_a_restart_interrupts_begins_again() {
    let sets = ["recrawl.policy=adaptive", "recrawl.interval-min=1m", "recrawl.interval-max=300d"];
    let mut db = TestCrawlDb::new(&sets);
    let urls: Vec<String> = (0..23).map(|n| format!("http://a.example/{n}")).collect();
    urls.iter().for_each(|url| db.find(url));
    while !db.fetch(&ok(200), Some(&revisit_data(1))).is_empty() {}
    let dues = |db: &TestCrawlDb| urls.iter().map(|url| db.revisit(url).due).collect::<Vec<_>>();
    let before = dues(&db);
    let threshold = db.crawldb.recrawl().threshold() * 100.0;
    db.crawldb.set_recrawl_threshold(threshold, db.now);
    db.now = db.now + Duration::from_secs(60);
    let (commit, report) = db.crawldb.step_due_pass(db.now, &|| db.now).unwrap().unwrap();
    assert!(report.is_none());
    db.disk.commit(&commit.batch).unwrap();
    let moved = dues(&db).iter().zip(&before).filter(|(now, then)| now > then).count();
    assert!((1..23).contains(&moved), "{moved} moved by one step");
    let mut db = db.restart();
    db.crawldb.set_recrawl_threshold(threshold, db.now);
    let mut n_pages = None;
    while n_pages.is_none() {
        let (commit, report) = db.crawldb.step_due_pass(db.now, &|| db.now).unwrap().unwrap();
        db.disk.commit(&commit.batch).unwrap();
        n_pages = report.map(|report| report.n_pages);
    }
    assert_eq!(n_pages, Some(23));
    assert!(dues(&db).iter().zip(&before).all(|(now, then)| now > then));
    db.recount();
}

#[test]
fn failed_urls_are_tried_again_and_begin_anew() {
    let mut db = TestCrawlDb::new(&[FIXED]);
    db.find(URL);
    db.fetch(&PageEnd::Failed(Failure::DnsNoSuchName), None);
    db.recount();
    assert!(matches!(db.seen(URL), Some(Seen::Done(UrlOutcome::Failed(..)))));
    db.now = db.now + 2 * HOUR;
    assert_eq!(db.fetch(&ok(200), Some(&revisit_data(5))).len(), 1);
    let revisit = db.revisit(URL);
    assert_eq!((revisit.generation, revisit.history.unwrap().visits()), (1, (0, 0)));
    assert_eq!(revisit.history.unwrap().failures(), 0);
}

#[test]
fn nothing_is_fetched_again_without_a_policy() {
    let mut db = TestCrawlDb::new(&[]);
    db.find(URL);
    db.fetch(&ok(200), None);
    assert_eq!(db.n_rows(Family::Due), 0);
    assert!(!db.crawldb.has_due(T + 1_000 * DAY));
}

/// A key without its row would be scanned again and again.
#[test]
fn a_key_that_belongs_to_no_row_is_deleted() {
    let mut db = TestCrawlDb::new(&[FIXED]);
    db.find(URL);
    db.fetch(&ok(200), Some(&revisit_data(1)));
    let mut batch = crate::storage::Batch::default();
    batch.put(Family::Due, &keys::due(T - HOUR, found("http://b.example/").key()), &[]);
    batch.put(Family::Due, &keys::due(T - HOUR, found(URL).key()), &[]);
    db.disk.commit(&batch).unwrap();
    let mut db = db.restart();
    db.queue_due();
    db.recount();
}

#[test]
fn urls_of_a_closed_group_wait_until_it_is_opened() {
    let mut db = TestCrawlDb::sharing(&[FIXED]);
    db.find(URL);
    db.fetch(&ok(200), Some(&revisit_data(1)));
    let group = found(URL).host.group;
    db.crawldb.close_group(group).unwrap();
    while let Some(commit) = db.crawldb.step_job(db.now).unwrap() {
        db.disk.commit(&commit.batch).unwrap();
    }
    db.now = db.now + 2 * HOUR;
    assert!(db.fetch(&ok(200), Some(&revisit_data(1))).is_empty());
    db.crawldb.open_group(group, Timestamp::ZERO).unwrap();
    while let Some(commit) = db.crawldb.step_job(db.now).unwrap() {
        db.disk.commit(&commit.batch).unwrap();
    }
    assert_eq!(db.fetch(&ok(200), Some(&revisit_data(1))).len(), 1);
    db.recount();
}

#[test]
fn a_deleted_group_leaves_no_due_times() {
    let mut db = TestCrawlDb::sharing(&[FIXED]);
    for n in 0..20 {
        db.find(&format!("http://a.example/{n}"));
    }
    while !db.fetch(&ok(200), Some(&revisit_data(1))).is_empty() {}
    assert_eq!(db.n_rows(Family::Due), 20);
    db.crawldb.delete_group(found(URL).host.group);
    while let Some(commit) = db.crawldb.step_job(db.now).unwrap() {
        db.disk.commit(&commit.batch).unwrap();
    }
    db.recount();
    assert_eq!(db.n_rows(Family::Due), 0);
}

/// Limits are for pages, not for fetches, whether they are archived or not.
#[test]
fn pages_of_a_host_at_its_limit_are_fetched_again_and_no_others() {
    let limits = ["limits.pages-per-host-max=3", "limits.pages-per-domain-max=3"];
    for (limit, record) in limits.into_iter().flat_map(|l| [(l, Some((1, 7))), (l, None)]) {
        let mut db = TestCrawlDb::new(&[FIXED, limit]);
        db.record = record;
        for n in 0..8 {
            db.find(&format!("http://a.example/{n}"));
        }
        // The model of a workbench here takes all that it is given, as far as the limit allows.
        let mut first = 0;
        for _ in 0..6 {
            first += db.fetch(&ok(200), Some(&revisit_data(1))).len();
            db.commit(Commit::default());
        }
        for _ in 0..3 {
            db.now = db.now + 2 * HOUR;
            let mut again = 0;
            for _ in 0..4 {
                let rows = db.fetch(&ok(200), Some(&revisit_data(1)));
                assert!(rows.iter().all(|row| row.generation() > 0), "{limit}: {rows:?}");
                again += rows.len();
                db.commit(Commit::default());
            }
            assert_eq!(again, first, "{limit}");
        }
        db.find("http://a.example/new");
        assert!(db.fetch(&ok(200), Some(&revisit_data(1))).is_empty(), "{limit}");
        db.recount();
        let host = found(URL).host;
        db.crawldb.frontier.hosts.load(&[host]).unwrap();
        assert_eq!(db.crawldb.frontier.hosts.get(host).unwrap().row.pages, first as u64);
    }
}

#[test]
fn a_page_that_is_a_redirect_for_a_while_counts_once() {
    let mut db = TestCrawlDb::new(&[FIXED]);
    db.find(URL);
    for (content, status, n_pages) in [(1, 301, 0), (2, 200, 1), (3, 301, 1), (2, 200, 1)] {
        assert_eq!(db.fetch(&ok(status), Some(&revisit_data(content))).len(), 1);
        let host = found(URL).host;
        db.crawldb.frontier.hosts.load(&[host]).unwrap();
        assert_eq!(db.crawldb.frontier.hosts.get(host).unwrap().row.pages, n_pages);
        db.now = db.now + 2 * HOUR;
    }
}

/// A server may fail because of the validators.
#[test]
fn a_page_is_tried_again_without_validators() {
    let mut db = TestCrawlDb::new(&[FIXED]);
    db.find(URL);
    db.fetch(&ok(200), Some(&revisit_data(1)));
    db.now = db.now + 2 * HOUR;
    let conditional = |rows: &[Queued]| {
        let revisit = rows[0].revisit.as_ref().unwrap();
        (rows.len(), rows[0].attempts, !revisit.validators.is_empty())
    };
    let failed = PageEnd::Failed(Failure::BadResponse);
    assert_eq!(conditional(&db.fetch(&failed, None)), (1, 0, true));
    assert_eq!(conditional(&db.fetch(&failed, None)), (1, 1, false));
}

/// A pass leaves out the due times of groups that other agents own. Once such a group is opened here, they
/// follow the bounds in force, and not all at once.
#[test]
fn due_times_of_another_agent_follow_the_bounds_in_force_once_its_group_is_opened() {
    let sets = ["recrawl.policy=adaptive", "recrawl.interval-max=365d"];
    let mut db = TestCrawlDb::sharing(&sets);
    db.crawldb.set_recrawl_threshold(1e12, db.now);
    for n in 0..20 {
        db.find(&format!("http://a.example/{n}"));
        db.fetch(&ok(200), Some(&revisit_data(1)));
        db.now = db.now + HOUR;
    }
    let pass = |db: &mut TestCrawlDb| {
        db.now = db.now + HOUR;
        while let Some((commit, _)) = db.crawldb.step_due_pass(db.now, &|| db.now).unwrap() {
            db.disk.commit(&commit.batch).unwrap();
            db.now = db.now + Duration::from_millis(1);
        }
        db.recount();
    };
    let group = found(URL).host.group;
    let step_jobs = |db: &mut TestCrawlDb| {
        while let Some(commit) = db.crawldb.step_job(db.now).unwrap() {
            db.disk.commit(&commit.batch).unwrap();
        }
    };
    pass(&mut db);
    db.crawldb.close_group(group).unwrap();
    step_jobs(&mut db);
    let live = db.set(&["recrawl.interval-max=10d"]);
    db.crawldb.reconfigure(&live);
    pass(&mut db);
    let due = |db: &TestCrawlDb| -> Vec<Timestamp> {
        (0..20).map(|n| db.revisit(&format!("http://a.example/{n}")).due).collect()
    };
    assert!(due(&db).iter().all(|due| *due > T + 300 * DAY), "a group of another agent");
    db.crawldb.open_group(group, Timestamp::ZERO).unwrap();
    step_jobs(&mut db);
    pass(&mut db);
    let moved = due(&db);
    assert!(moved.iter().all(|due| *due < T + 12 * DAY), "{moved:?}");
    let distinct: std::collections::BTreeSet<_> = moved.iter().collect();
    assert_eq!(distinct.len(), 20);
    db.crawldb.rescan_schedule();
    pass(&mut db);
    assert_eq!(due(&db), moved, "one pass suffices");
}

/// The threshold follows from what the pages would cost, and moves due times.
#[test]
fn a_pass_adds_up_the_demand_and_moves_due_times() {
    let sets = ["recrawl.policy=adaptive", "recrawl.interval-min=1s"];
    let mut db = TestCrawlDb::new(&sets);
    for n in 0..23 {
        db.find(&format!("http://a.example/{n}"));
    }
    while !db.fetch(&ok(200), Some(&revisit_data(1))).is_empty() {}
    let mut reports = Vec::new();
    let mut pass = |db: &mut TestCrawlDb| {
        for _ in 0..20 {
            let Some((commit, report)) = db.crawldb.step_due_pass(db.now, &|| db.now).unwrap()
            else {
                break;
            };
            db.disk.commit(&commit.batch).unwrap();
            reports.extend(report);
        }
    };
    pass(&mut db);
    let first = db.revisit("http://a.example/3").due;
    let threshold = 1_000.0 * db.crawldb.recrawl().threshold();
    db.crawldb.set_recrawl_threshold(threshold, db.now);
    db.now = db.now + Duration::from_secs(61);
    pass(&mut db);
    db.recount();
    assert_eq!(reports.len(), 2);
    assert!(reports.iter().all(|report| report.n_pages == 23), "{reports:?}");
    let moved = db.revisit("http://a.example/3").due;
    assert!(moved > first + HOUR, "{first} was moved to {moved}");
}

/// Each page may be anywhere on the disk, so a step ends by its time.
#[test]
fn steps_of_the_scans_end_by_their_time() {
    let n_steps = |step_takes: Duration| {
        let mut db = TestCrawlDb::new(&["recrawl.policy=adaptive", "recrawl.interval-min=1s"]);
        (0..23).for_each(|n| db.find(&format!("http://a.example/{n}")));
        while !db.fetch(&ok(200), Some(&revisit_data(1))).is_empty() {}
        let calls = std::cell::Cell::new(0);
        let clock = || {
            calls.set(calls.get() + 1);
            T + calls.get() * step_takes
        };
        let (mut passes, mut scans) = (0, 0);
        while let Some((commit, report)) = db.crawldb.step_due_pass(db.now, &clock).unwrap() {
            db.disk.commit(&commit.batch).unwrap();
            passes += 1;
            assert_eq!(db.crawldb.is_scanning_due(db.now), report.is_none());
            if report.is_some() {
                break;
            }
        }
        db.now = db.now + 100 * DAY;
        while let Some(commit) = db.crawldb.step_due(db.now, &clock).unwrap() {
            db.disk.commit(&commit.batch).unwrap();
            scans += 1;
        }
        assert_eq!(db.n_queued(), 23);
        db.recount();
        (passes, scans)
    };
    // Three URLs are read at once, six in a step.
    assert_eq!(n_steps(Duration::ZERO), (4, 4));
    assert_eq!(n_steps(Duration::from_secs(1)), (8, 8));
}

#[test]
fn urls_that_are_due_for_more_than_a_minute_are_counted() {
    let minute = Duration::from_secs(60);
    let mut db = TestCrawlDb::new(&[FIXED]);
    (0..3).for_each(|n| db.find(&format!("http://a.example/{n}")));
    assert!(db.crawldb.count_overdue(db.now));
    while !db.fetch(&ok(200), Some(&revisit_data(1))).is_empty() {}
    db.now = db.now + 2 * HOUR;
    db.queue_due();
    let overdue = |db: &mut TestCrawlDb| {
        let _ = db.crawldb.count_overdue(db.now);
        let progress = db.crawldb.recrawl_progress().unwrap();
        (progress.scheduled, progress.queued, progress.overdue)
    };
    assert_eq!(overdue(&mut db), (0, 3, Some(0)), "nothing was due at the last look");
    db.now = db.now + minute;
    assert_eq!(overdue(&mut db), (0, 3, Some(3)));
    db.fetch(&ok(200), Some(&revisit_data(1)));
    assert_eq!(overdue(&mut db), (3, 0, Some(0)));
}

/// State of a URL, as a fact.
#[derive(Clone, Copy, Debug)]
struct Known {
    url: u8,
    generation: u32,
    is_done: bool,
    was_answered: bool,
}

impl Known {
    fn name(self) -> String {
        format!("http://a.example/{}", self.url)
    }

    fn fact(self) -> Fact {
        let found = found(&self.name());
        let name: Arc<str> = found.url.host().into();
        let due = if self.is_done { T + HOUR } else { T };
        let Self { generation, was_answered, .. } = self;
        let revisit = Revisit { generation, due, was_answered, ..Revisit::default() };
        let revisit = (self.generation > 0 || self.is_done).then(|| Box::new(revisit));
        let queue_key = QueueKey { priority: PRIORITY_DEFAULT, ..QueueKey::default() };
        let url = Queued { queue_key, revisit, ..facts::as_queued(&found) };
        match self.is_done {
            false => Fact::Queued { host: found.host, name, url },
            true => {
                let page = Some(Arc::new(FinishedUrl { by: AgentId(9), name, url }));
                let outcome = UrlOutcome::Fetched { at: T, status: 200, record: None, page };
                let url = UrlKey { group: found.host.group, url: found.hash };
                Fact::Done { url, outcome }
            }
        }
    }
}

fn known() -> impl Strategy<Value = Known> {
    let known = (0u8..4, 0u32..4, any::<bool>(), any::<bool>());
    known.prop_map(|(url, generation, is_done, was_answered)| Known {
        url,
        generation,
        is_done,
        was_answered,
    })
}

/// Merges facts, some at once, and returns the generation and state of each URL.
fn merged(facts: &[Known], at_once: usize) -> Vec<Option<(u32, bool)>> {
    let mut db = TestCrawlDb::sharing(&[FIXED]);
    for chunk in facts.chunks(at_once) {
        let mut commit = Commit::of_facts();
        chunk.iter().for_each(|known| commit.add_fact(known.fact(), None));
        db.commit(commit);
    }
    db.recount();
    let state = |n| {
        let name = format!("http://a.example/{n}");
        Some(match db.seen(&name)? {
            Seen::Done(outcome) => (outcome.generation(), true),
            Seen::Queued(place) => {
                let (host, queue_key) = place.unwrap();
                let host = crivello_common::hash::HostKey { host, ..found(&name).host };
                let row = db.disk.get(Family::Frontier, &keys::frontier(host, queue_key)).unwrap();
                let row = decode_queued(queue_key, &row.unwrap()).unwrap();
                (row.generation(), false)
            }
        })
    };
    (0..4).map(state).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: test_size::sized(24, 48), max_shrink_iters: 200, ..Default::default() })]

    /// absent < queued(0) < done(0) < queued(1) < …, whatever the order of the facts.
    #[test]
    fn facts_of_several_generations_join_to_the_latest(
        facts in prop::collection::vec(known(), 1..24),
        at_once in 1usize..8,
        order in any::<u64>(),
    ) {
        let latest = |n: u8| {
            let of_url = facts.iter().filter(|known| known.url == n);
            of_url.map(|known| (known.generation, known.is_done)).max()
        };
        let expected: Vec<_> = (0..4).map(latest).collect();
        prop_assert_eq!(&merged(&facts, at_once), &expected);
        let mut shuffled: Vec<_> = facts.clone();
        shuffled.sort_by_cached_key(|known| {
            let n = u64::from(known.url) * 8 + u64::from(known.generation) * 2;
            (n + u64::from(known.is_done)).wrapping_mul(order | 1)
        });
        prop_assert_eq!(&merged(&shuffled, at_once), &expected);
    }
}
