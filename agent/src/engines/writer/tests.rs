//! Tests of when the writer commits, and when it ends.

use super::*;
use crate::crawldb::Totals;
use crate::messages::ToFrontier;
use crivello_archive::{ArchiveWriter, CrawlLabel};
use crivello_common::config::Settings;
use crivello_common::failure::Failure;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Clock;
use crivello_common::url::CrawlUrl;
use crossbeam::channel::{Sender, bounded};

/// Creates a writer of an empty crawl whose seeds have ended, with the sender to its inbox.
fn writer(dir: &std::path::Path) -> (Writer, Sender<WriterMsg>) {
    let mut settings = Settings::default();
    settings.fixed.state.commit_interval = Duration::from_secs(100);
    let disk = Arc::new(Database::open(&dir.join("state"), true, &settings.fixed.state).unwrap());
    std::fs::create_dir(dir.join("warc")).unwrap();
    let label = CrawlLabel { id: 0, contact: String::new(), settings_toml: String::new() };
    let stores = Stores {
        crawldb: CrawlDb::open(disk.clone(), &settings, KeyedHasher::with_public_key()).unwrap(),
        archive: KeptArchive::new(
            ArchiveWriter::open(&dir.join("warc"), None, &settings.fixed.store, label).unwrap(),
            <_>::default(),
            <_>::default(),
        ),
        dir: dir.to_owned(),
        duplicates: Arc::new(Duplicates::new(disk.clone())),
        payloads: None,
        near: Arc::new(NearIndex::open(disk.clone(), 4, dir.join("warc")).unwrap()),
        uploaded: Vec::new(),
        disk,
    };
    let shared = Shared::new(
        &settings,
        Clock::start(),
        ("crawl", KeyedHasher::with_public_key()),
        Totals::default(),
        None,
    );
    let (to_writer, inbox) = bounded(8);
    let queues = Arc::new(SchedulerQueues::new(1, 1));
    let mut writer = Writer::new(shared, queues, inbox, stores, Replication::Solo);
    writer.seeds_ended = true;
    (writer, to_writer)
}

/// Returns a message that must be committed, but contains no page.
fn note() -> WriterMsg {
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    let host = KeyedHasher::with_public_key().host_key(url.host());
    let reason = crivello_common::discard::Discard::GaveUp;
    WriterMsg::ToFrontier(vec![
        ToFrontier::NameFailed { kind: Failure::DnsNoSuchName },
        ToFrontier::DiscardUrls { host, urls: Vec::new(), reason },
    ])
}

#[test]
fn notes_that_keep_coming_do_not_put_the_commit_off() {
    let dir = tempfile::tempdir().unwrap();
    let (mut writer, _queues) = writer(dir.path());
    writer.add(note());
    let now = writer.shared.clock.now();
    assert!(!writer.is_due(now), "a commit is due too early");
    // Another message arrives much later.
    writer.open_since = now - Duration::from_secs(200);
    writer.add(note());
    assert!(writer.is_due(writer.shared.clock.now()));
    writer.commit().unwrap();
    assert!(!writer.is_due(writer.shared.clock.now()), "a commit is due without changes");
    assert_eq!(writer.stores.crawldb.totals().failures[Failure::DnsNoSuchName as usize], 2);
}

#[test]
fn a_crawl_is_exhausted_only_once_its_visits_are_over() {
    let dir = tempfile::tempdir().unwrap();
    let (mut writer, _queues) = writer(dir.path());
    writer.shared.status.visits.store(1, Relaxed);
    assert_eq!(writer.ended().unwrap(), None);
    writer.shared.status.visits.store(0, Relaxed);
    assert_eq!(writer.ended().unwrap(), Some(Ended::Exhausted));
}

/// Simulates a scheduler that failed, so it never reports to the writer that it is idle.
#[test]
fn when_another_thread_cannot_go_on_it_leaves() {
    let dir = tempfile::tempdir().unwrap();
    let (mut writer, queues) = writer(dir.path());
    writer.seeds_ended = false;
    let shared = writer.shared.clone();
    shared.lifecycle.end(Ended::Failed, Some("simulated bug".to_owned()));
    let thread = std::thread::spawn(move || writer.run());
    thread.join().unwrap();
    drop(queues);
    assert_eq!(
        shared.lifecycle.wait(Duration::ZERO).unwrap().failure.as_deref(),
        Some("simulated bug")
    );
}
