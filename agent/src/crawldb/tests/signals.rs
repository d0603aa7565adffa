//! Tests of hints that pages have changed, and of requests to fetch pages again.

use super::recrawl::{DAY, FIXED, HOUR, TestCrawlDb, URL, found, ok, revisit_data};
use crate::messages::{ChangeSignal, Commit, CommitKind, Fact, HostRequest, SignalSource};
use crivello_common::view::AgentId;
use std::time::Duration;

fn signal(url: &str, source: SignalSource) -> ChangeSignal {
    ChangeSignal { url: found(url).key(), source }
}

#[test]
fn a_request_moves_the_due_time_of_a_known_page_and_adds_none() {
    for of_another_agent in [false, true] {
        let mut db = TestCrawlDb::sharing(&[FIXED, "recrawl.interval-min=1m"]);
        db.find(URL);
        db.fetch(&ok(200), Some(&revisit_data(1)));
        let unknown = signal("http://b.example/", SignalSource::Person);
        let mut commit = Commit::default();
        for signal in [signal(URL, SignalSource::Person), unknown] {
            match of_another_agent {
                false => commit.signals.push(signal),
                true => {
                    commit.kind = CommitKind::Facts;
                    commit.add_fact(Fact::Signal(signal), None);
                }
            }
        }
        db.commit(commit);
        db.recount();
        assert!(
            db.fetch(&ok(200), Some(&revisit_data(1))).is_empty(),
            "before the shortest interval"
        );
        db.now = db.now + Duration::from_secs(61);
        assert_eq!(db.fetch(&ok(200), Some(&revisit_data(1))).len(), 1);
        db.recount();
        assert!(db.seen("http://b.example/").is_none());
    }
}

#[test]
fn a_request_is_not_hidden_by_a_list_in_the_same_commit() {
    let sets = ["recrawl.policy=adaptive", "recrawl.interval-min=1m"];
    for order in [[0, 1], [1, 0]] {
        let mut db = TestCrawlDb::new(&sets);
        db.find(URL);
        db.fetch(&ok(200), Some(&revisit_data(1)));
        let modified = db.now - HOUR;
        let sources = [SignalSource::Person, SignalSource::List { modified }];
        let signals = order.map(|n| signal(URL, sources[n])).to_vec();
        db.commit(Commit { signals, ..Commit::default() });
        db.now = db.now + Duration::from_secs(61);
        assert_eq!(db.fetch(&ok(200), Some(&revisit_data(1))).len(), 1);
    }
}

#[test]
fn requests_for_hosts_are_bounded() {
    let mut db = TestCrawlDb::new(&[FIXED]);
    for n in 0..1_100 {
        let found = found(&format!("http://h{n}.example/"));
        let name = found.url.host().into();
        let request = HostRequest { host: found.host, name, at: db.now };
        db.commit(Commit { host_requests: vec![request], ..Commit::default() });
    }
    let mut n_steps = 0;
    while db.crawldb.has_host_requests() {
        let commit = db.crawldb.step_host_requests(db.now).unwrap().unwrap();
        db.disk.commit(&commit.batch).unwrap();
        n_steps += 1;
    }
    assert_eq!(n_steps, 1_000);
}

/// The first date between two fetches counts; those from before the last fetch say nothing.
#[test]
fn dates_of_sitemaps_make_pages_due_sooner_on_hosts_where_they_tell_changes() {
    let sets = ["recrawl.policy=adaptive", "recrawl.interval-min=1h", "recrawl.interval-max=30d"];
    let mut db = TestCrawlDb::new(&sets);
    let send = |db: &mut TestCrawlDb, source| {
        db.commit(Commit { signals: vec![signal(URL, source)], ..Commit::default() });
        db.recount();
    };
    let list = |db: &mut TestCrawlDb, before: Duration| {
        let modified = db.now - before;
        send(db, SignalSource::List { modified });
    };
    db.find(URL);
    db.fetch(&ok(200), Some(&revisit_data(0)));
    // Each fifth visit finds a change, and each change was signaled.
    for n in 1..60_u64 {
        db.now = db.now + DAY;
        let changes = n % 5 == 0;
        if changes {
            list(&mut db, HOUR);
        }
        send(&mut db, SignalSource::Person);
        assert_eq!(db.fetch(&ok(200), Some(&revisit_data(n / 5))).len(), 1);
    }
    // By this threshold the page is due after some two days.
    let threshold = 3e4;
    db.crawldb.set_recrawl_threshold(threshold, db.now);
    db.now = db.now + DAY;
    send(&mut db, SignalSource::Person);
    db.fetch(&ok(200), Some(&revisit_data(11)));
    let quiet = db.revisit(URL);
    db.now = db.now + HOUR;
    list(&mut db, DAY);
    assert_eq!(db.revisit(URL), quiet, "it was fetched after that change");
    list(&mut db, Duration::ZERO);
    let signaled = db.revisit(URL);
    assert!(signaled.due < quiet.due, "{} {}", signaled.due, quiet.due);
    list(&mut db, Duration::ZERO);
    assert_eq!(db.revisit(URL), signaled, "a second hint");

    // By this threshold it is due when the hint comes, at whatever fraction of a second.
    db.now = signaled.due;
    assert_eq!(db.fetch(&ok(200), Some(&revisit_data(12))).len(), 1);
    db.crawldb.set_recrawl_threshold(1.0, db.now);
    db.now = db.now + HOUR + Duration::from_micros(250_001);
    list(&mut db, Duration::ZERO);
    db.now = db.now + Duration::from_secs(1);
    assert_eq!(db.fetch(&ok(200), Some(&revisit_data(13))).len(), 1);
    db.recount();
}

/// The interval of a page that is asked for early is the same afterwards.
#[test]
fn a_request_does_not_shorten_the_interval_of_an_expression() {
    let mut db = TestCrawlDb::new(&[FIXED, "recrawl.interval-min=1m"]);
    db.find(URL);
    db.fetch(&ok(200), Some(&revisit_data(1)));
    db.now = db.now + Duration::from_secs(120);
    let signals = vec![signal(URL, SignalSource::Person)];
    db.commit(Commit { signals, ..Commit::default() });
    let rows = db.fetch(&ok(200), Some(&revisit_data(1)));
    let validators = &rows[0].revisit.as_ref().unwrap().validators;
    assert!(validators.is_empty(), "a 304 would not tell the interval");
    let due = db.revisit(URL).due.since(db.now);
    assert!(due > HOUR.mul_f64(0.85), "due after {due:?} instead of an hour");
}

/// The scan takes several steps, and a restart begins it anew.
#[test]
fn a_request_for_a_host_makes_all_of_its_pages_due_and_no_others() {
    let mut db = TestCrawlDb::sharing(&[FIXED, "recrawl.interval-min=1m"]);
    for n in 0..23 {
        db.find(&format!("http://a.example/{n}"));
        db.find(&format!("http://www.a.example/{n}"));
    }
    while !db.fetch(&ok(200), Some(&revisit_data(1))).is_empty() {}
    db.now = db.now + Duration::from_secs(120);
    let request = HostRequest { host: found(URL).host, name: "a.example".into(), at: db.now };
    db.commit(Commit { host_requests: vec![request], ..Commit::default() });
    for _ in 0..3 {
        let commit = db.crawldb.step_host_requests(db.now).unwrap().unwrap();
        db.disk.commit(&commit.batch).unwrap();
    }
    let mut db = db.restart();
    db.crawldb = db.crawldb.sharing(AgentId(1));
    let mut rows = Vec::new();
    for _ in 0..40 {
        rows.extend(db.fetch(&ok(200), Some(&revisit_data(1))));
        let Some(commit) = db.crawldb.step_host_requests(db.now).unwrap() else { continue };
        db.disk.commit(&commit.batch).unwrap();
    }
    assert!(!db.crawldb.has_host_requests());
    db.recount();
    let mut paths: Vec<&str> = rows.iter().map(|row| &*row.path).collect();
    paths.sort_unstable();
    paths.dedup();
    assert_eq!((rows.len(), paths.len()), (23, 23), "each page of the host once");
    let other = db.revisit("http://www.a.example/3");
    assert_eq!(other.generation, 0);
}

/// Repeated requests fetch no page more often than its interval, or that of errors.
#[test]
fn requests_that_are_repeated_fetch_no_page_more_often() {
    let mut db =
        TestCrawlDb::new(&[FIXED, "recrawl.interval-min=10m", "recrawl.errors-interval=1h"]);
    db.find(URL);
    for (end, data_of, at_most) in [(ok(200), Some(revisit_data(1)), 6), (ok(404), None, 2)] {
        let mut fetches = 0;
        for _ in 0..60 {
            db.now = db.now + Duration::from_secs(60);
            let signals = vec![signal(URL, SignalSource::Person)];
            db.commit(Commit { signals, ..Commit::default() });
            db.recount();
            fetches += db.fetch(&end, data_of.as_ref()).len();
        }
        assert!((1..=at_most + 1).contains(&fetches), "{fetches} fetches in an hour: {end:?}");
    }
}

#[test]
fn a_pass_leaves_a_request_as_it_is() {
    let sets = ["recrawl.policy=adaptive", "recrawl.interval-min=1h"];
    let mut db = TestCrawlDb::new(&sets);
    db.find(URL);
    db.fetch(&ok(200), Some(&revisit_data(1)));
    db.crawldb.set_recrawl_threshold(1e6, db.now);
    let pass = |db: &mut TestCrawlDb| {
        db.now = db.now + Duration::from_secs(61);
        while let Some((commit, report)) = db.crawldb.step_due_pass(db.now, &|| db.now).unwrap() {
            db.disk.commit(&commit.batch).unwrap();
            if report.is_some() {
                break;
            }
        }
        db.revisit(URL).due
    };
    let without = pass(&mut db);
    let signals = vec![signal(URL, SignalSource::Person)];
    db.commit(Commit { signals, ..Commit::default() });
    let requested = db.revisit(URL).due;
    assert!(requested < without, "{requested} {without}");
    db.crawldb.set_recrawl_threshold(1e9, db.now);
    assert_eq!(pass(&mut db), requested, "a pass moved it");
    db.recount();
}
