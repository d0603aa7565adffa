//! When the accountant commits, and when it leaves.

use super::*;
use crate::crawldb::Totals;
use crate::messages::ToFrontier;
use crivello_archive::CrawlLabel;
use crivello_common::config::{AssignBy, Settings};
use crivello_common::failure::Failure;
use crivello_common::time::Clock;
use crivello_common::url::CrawlUrl;
use crossbeam::channel::{Sender, bounded};

/// An accountant of an empty crawl that has had all its seeds, with the way into its inbox.
fn accountant(dir: &std::path::Path) -> (Writer, Sender<WriterMsg>) {
    let mut settings = Settings::default();
    settings.state.commit_interval = Duration::from_secs(100);
    let disk = Arc::new(Database::open(&dir.join("state"), true, &settings.state).unwrap());
    std::fs::create_dir(dir.join("warc")).unwrap();
    let label = CrawlLabel { id: 0, contact: String::new(), settings_toml: String::new() };
    let books = Stores {
        ledger: CrawlDb::open(disk.clone(), &settings).unwrap(),
        archive: ArchiveWriter::open(&dir.join("warc"), None, &settings.store, label).unwrap(),
        dir: dir.to_owned(),
        duplicates: Arc::new(Duplicates::new(disk.clone())),
        disk,
    };
    let shared = Shared::new(settings, Clock::start(), "crawl", Totals::default(), None);
    let (to_ledger, inbox) = bounded(8);
    let desk = Arc::new(SchedulerQueues::new(1, 1));
    let mut accountant = Writer::new(shared, desk, inbox, books);
    accountant.seeds_ended = true;
    (accountant, to_ledger)
}

/// A note that leaves something to be committed, but no page.
fn note() -> WriterMsg {
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    let host = url.host_key(AssignBy::Domain);
    let reason = crivello_common::discard::Discard::GaveUp;
    WriterMsg::Notes(vec![
        ToFrontier::NameFailed { kind: Failure::DnsNoSuchName },
        ToFrontier::DiscardUrls { host, urls: Vec::new(), reason },
    ])
}

#[test]
fn notes_that_keep_coming_do_not_put_the_commit_off() {
    let dir = tempfile::tempdir().unwrap();
    let (mut accountant, _desk) = accountant(dir.path());
    accountant.enter(note());
    let now = accountant.shared.clock.now();
    assert!(!accountant.is_due(now), "not at once");
    // So much later another one comes.
    accountant.group_since = now - Duration::from_secs(200);
    accountant.enter(note());
    assert!(accountant.is_due(accountant.shared.clock.now()));
    accountant.commit().unwrap();
    assert!(!accountant.is_due(accountant.shared.clock.now()), "all is committed");
    assert_eq!(accountant.books.ledger.totals().failures[Failure::DnsNoSuchName as usize], 2);
}

#[test]
fn a_crawl_is_exhausted_only_once_its_visits_are_over() {
    let dir = tempfile::tempdir().unwrap();
    let (mut accountant, _desk) = accountant(dir.path());
    accountant.shared.status.visits.store(1, Relaxed);
    assert_eq!(accountant.ended().unwrap(), None);
    accountant.shared.status.visits.store(0, Relaxed);
    assert_eq!(accountant.ended().unwrap(), Some(Ended::Exhausted));
}

/// Here the scheduler: it will never say that it is quiet.
#[test]
fn when_another_thread_cannot_go_on_it_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let (mut accountant, desk) = accountant(dir.path());
    accountant.seeds_ended = false;
    let shared = accountant.shared.clone();
    shared.lifecycle.end(Ended::Failed, Some("a bug".to_owned()));
    let thread = std::thread::spawn(move || accountant.run());
    thread.join().unwrap();
    drop(desk);
    assert_eq!(shared.lifecycle.wait(Duration::ZERO).unwrap().failure.as_deref(), Some("a bug"));
}
