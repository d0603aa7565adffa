//! Tests of the two queues of a host: URLs that were never fetched, and those that are due again.

use super::recrawl::{FIXED, HOUR, TestCrawlDb, ok, revisit_data};
use crate::messages::{PageEnd, QueueKind, Queued};
use crivello_common::failure::Failure;
use std::collections::BTreeSet;

fn url(host: &str, n: usize) -> String {
    format!("http://{host}.example/{n}")
}

/// Finds and fetches some URLs of a host, finds more, and waits until the first ones are due.
fn with_due(sets: &[&str], n_due: usize, n_new: usize) -> TestCrawlDb {
    let mut db = TestCrawlDb::sharing(sets);
    (0..n_due).for_each(|n| db.find(&url("a", n)));
    assert_eq!(db.fetch(&ok(200), Some(&revisit_data(1))).len(), n_due);
    (0..n_new).for_each(|n| db.find(&url("a", n_due + n)));
    db.now = db.now + 2 * HOUR;
    db.queue_due();
    db
}

fn n_again(rows: &[Queued]) -> usize {
    rows.iter().filter(|row| row.queue() == QueueKind::Again).count()
}

/// In one queue by appearance, pages that are due would wait for all new ones: without end on a host
/// with more links than it can be asked for.
#[test]
fn new_urls_and_those_that_are_due_take_turns() {
    let mut db = with_due(&[FIXED], 40, 400);
    let mut rows = db.fetch_each(|_| (ok(200), Some(revisit_data(1))));
    assert!(rows.len() > 80, "{} rows", rows.len());
    for turn in rows[..80].chunks(2) {
        assert_eq!(n_again(turn), 1, "{turn:?}");
    }
    assert_eq!(n_again(&rows[80..]), 0);
    db.recount();
    while db.n_queued() > 0 {
        rows.extend(db.fetch_each(|_| (ok(200), Some(revisit_data(1)))));
    }
    let urls: BTreeSet<_> = rows.iter().map(|row| row.hash).collect();
    assert_eq!((urls.len(), rows.len()), (440, 440), "each is fetched once");
}

#[test]
fn urls_that_are_due_do_not_wait_for_new_ones_with_a_better_priority() {
    let mut db = with_due(&[FIXED, "links.priority=\"254\""], 3, 0);
    let best = ["links.priority=\"0\""];
    let settings = db.set(&best);
    db.crawldb.reconfigure(&settings);
    (10..400).for_each(|n| db.find(&url("a", n)));
    let rows = db.fetch_each(|_| (ok(200), Some(revisit_data(1))));
    assert_eq!(n_again(&rows[..6]), 3);
}

#[test]
fn once_the_limit_of_pages_is_reached_only_known_pages_are_fetched() {
    let mut db = with_due(&[FIXED], 5, 300);
    (0..50).for_each(|n| db.find(&url(&format!("new{n}"), n)));
    db.crawldb.set_only_again(true);
    let mut known = db.fetch_each(|_| (ok(200), Some(revisit_data(1))));
    assert_eq!((known.len(), n_again(&known)), (5, 5));
    for _ in 0..3 {
        assert_eq!(db.fetch_each(|_| (ok(200), Some(revisit_data(1)))).len(), 0);
        db.now = db.now + 2 * HOUR;
        db.queue_due();
        known = db.fetch_each(|_| (ok(200), Some(revisit_data(1))));
        assert_eq!((known.len(), n_again(&known)), (5, 5), "they are due again");
        db.recount();
    }
    // A restart begins without it, until the limit is known.
    db = db.restart();
    db.crawldb.set_only_again(true);
    assert_eq!(db.fetch_each(|_| (ok(200), Some(revisit_data(1)))).len(), 0);
    db.crawldb.set_only_again(false);
    let mut n_new = 0;
    while db.n_queued() > 0 {
        let rows = db.fetch_each(|_| (ok(200), Some(revisit_data(1))));
        assert!(!rows.is_empty(), "{} wait for ever", db.n_queued());
        n_new += rows.len() - n_again(&rows);
    }
    assert_eq!(n_new, 350);
}

/// Only a response makes a page of a URL. Until then the limit of pages holds for it.
#[test]
fn a_url_counts_from_its_first_response_on() {
    let mut db = TestCrawlDb::sharing(&[FIXED]);
    db.find(&url("a", 1));
    db.fetch(&PageEnd::Failed(Failure::DnsNoSuchName), None);
    db.now = db.now + 2 * HOUR;
    db.queue_due();
    let pages = |db: &TestCrawlDb| db.crawldb.totals().pages;
    db.crawldb.set_only_again(true);
    assert_eq!((db.fetch_each(|_| (ok(404), None)).len(), pages(&db)), (0, 0));
    db.crawldb.set_only_again(false);
    for status in [404, 200, 200] {
        let data = (status == 200).then(|| revisit_data(1));
        assert_eq!(db.fetch_each(|_| (ok(status), data.clone())).len(), 1, "{status}");
        assert_eq!(pages(&db), 1);
        db.now = db.now + 3 * HOUR;
        db.queue_due();
        db.recount();
        db.crawldb.set_only_again(true);
    }
}

/// A refill of the window must not hand out URLs beyond the limit of a host.
#[test]
fn a_host_at_its_limit_hands_out_only_pages_that_are_due() {
    let mut db = with_due(&[FIXED, "limits.pages-per-host-max=100"], 90, 300);
    let mut n_new = 0;
    while db.n_queued() > 0 {
        let rows = db.fetch_each(|_| (ok(200), Some(revisit_data(1))));
        n_new += rows.len() - n_again(&rows);
    }
    assert_eq!(n_new, 10);
}
