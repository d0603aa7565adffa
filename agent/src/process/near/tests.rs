//! Tests of the index: earlier pages are found, committed or not.

use super::*;
use crate::storage::Batch;
use crate::storage::near::add_row;
use crivello_archive::{ArchiveWriter, Capture, CaptureNotes, CrawlLabel, Digests, RecordBuilder};
use crivello_common::config::{State, Store};
use http::{HeaderMap, Version};
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

const START: Timestamp = Timestamp::from_secs(1_795_608_000);
const BITS: u64 = 0x0123_4567_89ab_cdef;

fn index(dir: &Path, n_tables: u32) -> (Arc<Database>, Arc<NearIndex>) {
    let settings = State { near_tables: n_tables, ..State::default() };
    let disk = Arc::new(Database::open(&dir.join("state"), true, &settings).unwrap());
    let index = NearIndex::open(disk.clone(), n_tables, dir.join("warc")).unwrap();
    (disk, Arc::new(index))
}

/// A crawl of one thread: its index, and its archive.
struct Crawl {
    disk: Arc<Database>,
    index: Arc<NearIndex>,
    archive: ArchiveWriter,
    skips_links: bool,
    claims: Vec<(NearClaim, CrawlUrl)>,
    n_pages: u64,
}

/// Result of [`Crawl::page`]: the earlier URL and the distance, and whether the page's links are skipped.
type Found = (Option<(String, u32)>, bool);

impl Crawl {
    fn new(dir: &Path, skips_links: bool) -> Self {
        std::fs::create_dir(dir.join("warc")).unwrap();
        let store =
            Store { file_size_max: crivello_common::units::ByteSize(1), ..Store::default() };
        let label = CrawlLabel { id: 0, contact: String::new(), settings_toml: String::new() };
        let archive = ArchiveWriter::open(&dir.join("warc"), None, &store, label).unwrap();
        let (disk, index) = index(dir, 4);
        Self { disk, index, archive, skips_links, claims: Vec::new(), n_pages: 0 }
    }

    fn page(&mut self, url: &str, fingerprint: u64) -> Found {
        self.capture(url, fingerprint, None)
    }

    fn capture(&mut self, url: &str, fingerprint: u64, last: Option<(u32, u64)>) -> Found {
        let url = CrawlUrl::parse(url).unwrap();
        self.n_pages += 1;
        let at = START + Duration::from_secs(self.n_pages);
        let page = NewPage { fingerprint, url: &url, at, last_capture: last };
        let mut claim = self.index.claim(page, self.skips_links);
        if !claim.skips_links {
            claim.follow_links();
        }
        claim.handed_over();
        let of = claim.duplicate.as_ref().map(|of| (of.of.url.clone(), of.distance));
        let skips = claim.skips_links;
        self.claims.push((claim, url));
        (of, skips)
    }

    /// Archives and commits all pages. Returns the places of their records.
    fn commit(&mut self) -> Vec<(u32, u64)> {
        let mut batch = Batch::default();
        let (mut settled, mut places) = (Vec::new(), Vec::new());
        for (claim, url) in self.claims.drain(..) {
            let headers = HeaderMap::new();
            let capture = Capture {
                url: &url,
                at: START,
                took: Duration::ZERO,
                ip: Ipv4Addr::LOCALHOST.into(),
                status: 200,
                version: Version::HTTP_11,
                headers: &headers,
                request_head: &[],
                body: b"text",
                truncated: None,
                certificate: None,
            };
            let store = Store::default();
            let digests = Digests::of(&capture, store.digest);
            let mut builder = RecordBuilder::new(&store);
            let none = CaptureNotes::default();
            let records = builder.build(&capture, &digests, None, std::iter::empty(), none);
            let mut locations = Vec::new();
            self.archive.append([records.as_slice()], START, &mut locations).unwrap();
            let location = locations[0].unwrap();
            let (fingerprint, place) = (claim.fingerprint, (location.file, location.offset));
            if let Some(entry) = fingerprint.entry(Some(place)) {
                add_row(&mut batch, fingerprint.bits, entry);
            }
            settled.push((fingerprint, place));
            places.push(place);
        }
        self.archive.sync().unwrap();
        self.disk.commit(&batch).unwrap();
        settled.iter().for_each(|(page, place)| self.index.settle(page, Some(*place)));
        assert!(self.index.pending.is_empty());
        places
    }
}

fn of(url: &str, distance: u32) -> Option<(String, u32)> {
    Some((url.to_owned(), distance))
}

#[test]
fn pages_of_one_commit_and_of_earlier_ones_find_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Crawl::new(dir.path(), false);
    assert_eq!(crawl.page("http://a.test/1", BITS), (None, false));
    assert_eq!(crawl.page("http://b.test/2", BITS ^ 7), (of("http://a.test/1", 3), false));
    assert_eq!(crawl.page("http://c.test/3", BITS ^ 31), (of("http://b.test/2", 2), false));
    crawl.commit();
    assert_eq!(crawl.page("http://d.test/4", BITS ^ 1), (of("http://a.test/1", 1), false));
    // Of the same domain, even if others are nearer.
    assert_eq!(crawl.page("http://www.b.test/5", BITS), (of("http://b.test/2", 3), false));
    assert_eq!(crawl.page("http://e.test/6", !BITS), (None, false));
    // The distance counts, then the age.
    assert_eq!(crawl.page("http://f.test/7", BITS), (of("http://a.test/1", 0), false));
    let date = crawl.claims[0].0.duplicate.as_ref().map(|of| of.of.date.clone());
    assert_eq!(date, Some(START.to_string()));
}

#[test]
fn links_are_skipped_only_after_a_page_of_the_same_domain_whose_links_were_followed() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Crawl::new(dir.path(), true);
    crawl.page("http://a.test/1", BITS);
    // Whoever copies a page first hides no links of the original.
    assert_eq!(crawl.page("http://b.test/1", BITS), (of("http://a.test/1", 0), false));
    assert_eq!(crawl.page("http://x.a.test/2", BITS ^ 7), (of("http://a.test/1", 3), true));
    // Near to a page whose links were skipped, and to no other of its domain.
    let expected = (of("http://x.a.test/2", 2), false);
    assert_eq!(crawl.page("http://a.test/3", BITS ^ 0x1f), expected);
    crawl.commit();
    assert_eq!(crawl.page("http://a.test/4", BITS ^ 0x1f), (of("http://a.test/3", 0), true));
    assert_eq!(crawl.page("http://a.test/5", BITS ^ 7), (of("http://a.test/3", 2), true));
}

#[test]
fn links_are_not_skipped_before_those_of_the_earlier_page_are_on_their_way() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Crawl::new(dir.path(), true);
    let url = CrawlUrl::parse("http://a.test/1").unwrap();
    let page = NewPage { fingerprint: BITS, url: &url, at: START, last_capture: None };
    let mut first = crawl.index.claim(page, true);
    first.follow_links();
    assert_eq!(crawl.page("http://a.test/2", BITS ^ 1), (of("http://a.test/1", 1), false));
    crawl.claims.clear();
    first.handed_over();
    assert_eq!(crawl.page("http://a.test/3", BITS ^ 2), (of("http://a.test/1", 1), true));
}

#[test]
fn a_page_is_no_near_duplicate_of_its_own_captures() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Crawl::new(dir.path(), true);
    crawl.page("http://a.test/1", BITS);
    let place = crawl.commit()[0];
    assert_eq!(crawl.capture("http://a.test/1", BITS, Some(place)), (None, false));
    assert!(!crawl.claims[0].0.fingerprint.is_indexed, "added twice");
    assert_eq!(crawl.capture("http://a.test/1", BITS ^ 1, None), (None, false));
    assert!(crawl.claims[1].0.fingerprint.is_indexed);
    let latest = crawl.commit()[1];
    assert_eq!(crawl.capture("http://a.test/1", BITS ^ 3, Some(latest)), (None, false));
    assert_eq!(crawl.page("http://a.test/2", BITS), (of("http://a.test/1", 0), true));
}

#[test]
fn same_fingerprints_of_one_domain_take_one_entry() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Crawl::new(dir.path(), false);
    for n in 0..20 {
        crawl.page(&format!("http://a.test/{n}"), BITS);
        crawl.page(&format!("http://b.test/{n}"), BITS);
        if n == 9 {
            crawl.commit();
        }
    }
    crawl.commit();
    let mut n_entries = 0;
    crawl.index.store.find(BITS, |_, _| n_entries += 1);
    assert_eq!(n_entries, 2 * 4);
}

#[test]
fn pages_that_are_given_up_or_deleted_are_not_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Crawl::new(dir.path(), false);
    let url = CrawlUrl::parse("http://a.test/1").unwrap();
    let page = NewPage { fingerprint: BITS, url: &url, at: START, last_capture: None };
    drop(crawl.index.claim(page, false));
    assert!(crawl.index.pending.is_empty());
    assert_eq!(crawl.page("http://b.test/2", BITS), (None, false));
    crawl.page("http://c.test/3", BITS ^ 1);
    let first = crawl.commit()[0];
    let name = crivello_archive::find_file(&dir.path().join("warc"), first.0).unwrap();
    std::fs::remove_file(dir.path().join("warc").join(name)).unwrap();
    assert_eq!(crawl.page("http://d.test/4", BITS), (of("http://c.test/3", 1), false));
}

#[test]
fn of_many_threads_with_one_text_exactly_one_is_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let (_, index) = index(dir.path(), 4);
    let claims = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|n| {
                let index = &index;
                scope.spawn(move || {
                    let url = CrawlUrl::parse(&format!("http://a.test/{n}")).unwrap();
                    let fingerprint = BITS ^ 1 << n;
                    let page = NewPage { fingerprint, url: &url, at: START, last_capture: None };
                    index.claim(page, false)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let n_first = claims.iter().filter(|claim| claim.duplicate.is_none()).count();
    assert_eq!(n_first, 1);
}
