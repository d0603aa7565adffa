//! Tests of the index: it finds what a comparison with all earlier pages finds.

use super::*;
use crate::storage::Batch;
use crivello_archive::{ArchiveWriter, Capture, CaptureNotes, CrawlLabel, Digests, RecordBuilder};
use crivello_common::config::{State, Store};
use http::{HeaderMap, Version};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

const START: Timestamp = Timestamp::from_secs(1_795_608_000);
const BITS: u64 = 0x0123_4567_89ab_cdef;

fn index(dir: &Path, n_tables: u32) -> Arc<NearIndex> {
    let settings = State { near_tables: n_tables, ..State::default() };
    let disk = Database::open(&dir.join("state"), true, &settings).unwrap();
    Arc::new(NearIndex::new(Arc::new(disk), n_tables, dir.join("warc")))
}

/// Flips `n` different bits.
fn flip(fingerprint: u64, n: u32, rng: &mut SmallRng) -> u64 {
    let mut flipped = fingerprint;
    while (flipped ^ fingerprint).count_ones() < n {
        flipped ^= 1 << rng.random_range(0..64);
    }
    flipped
}

/// Random fingerprints, half of which are near to others, as a crawl and a site with one template has them.
fn fingerprints(n: usize, rng: &mut SmallRng) -> Vec<u64> {
    let mut all: Vec<u64> = Vec::with_capacity(n);
    while all.len() < n {
        let fingerprint = match rng.random_range(0..100) {
            0..50 if !all.is_empty() => {
                let earlier = all[rng.random_range(0..all.len())];
                flip(earlier, rng.random_range(0..6), rng)
            }
            // Pages that share three blocks.
            50 => BITS ^ u64::from(rng.random::<u16>()) << 16,
            _ => rng.random(),
        };
        all.push(fingerprint);
    }
    all
}

/// Adds rows in commits of a thousand, and compares look-ups with all fingerprints.
fn find_all(n_tables: u32) {
    let dir = tempfile::tempdir().unwrap();
    let index = index(dir.path(), n_tables);
    let mut rng = SmallRng::seed_from_u64(17);
    let all = fingerprints(100_000, &mut rng);
    for (commit, chunk) in all.chunks(1_000).enumerate() {
        let mut batch = Batch::default();
        for (i, &fingerprint) in chunk.iter().enumerate() {
            let place = NearPlace { file: commit as u16, offset: i as u32 };
            let entry = NearEntry { place, domain: 0, is_followed: true };
            index.tables.add(&mut batch, fingerprint, entry);
        }
        index.disk.commit(&batch).unwrap();
    }
    let planted = (0..500).map(|i| flip(all[i * 199], i as u32 % 5, &mut rng)).collect();
    let random = (0..300).map(|_| rng.random()).collect();
    let mut n_found = 0;
    for query in [planted, random, all[..200].to_vec()].into_iter().flatten() {
        let mut found = BTreeSet::new();
        index
            .read_lists(query, |distance, NearEntry { place, .. }| {
                found.insert((place.file, place.offset, distance));
            })
            .unwrap();
        let near = all.iter().enumerate().filter_map(|(i, fingerprint)| {
            let distance = (fingerprint ^ query).count_ones();
            (distance <= 3).then_some(((i / 1_000) as u16, (i % 1_000) as u32, distance))
        });
        assert_eq!(found, near.collect::<BTreeSet<_>>(), "{query:016x}");
        n_found += found.len();
    }
    assert!(n_found > 1_000, "{n_found}");
}

#[test]
fn four_tables_find_what_a_comparison_with_all_finds() {
    find_all(4);
}

#[test]
fn ten_tables_find_what_a_comparison_with_all_finds() {
    find_all(10);
}

/// A crawl of one thread: its index, and its archive.
struct Crawl {
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
        Self { index: index(dir, 4), archive, skips_links, claims: Vec::new(), n_pages: 0 }
    }

    fn page(&mut self, url: &str, fingerprint: u64) -> Found {
        self.capture(url, fingerprint, None)
    }

    fn capture(&mut self, url: &str, fingerprint: u64, last: Option<(u32, u64)>) -> Found {
        let url = CrawlUrl::parse(url).unwrap();
        self.n_pages += 1;
        let at = START + Duration::from_secs(self.n_pages);
        let page = NewPage { fingerprint, url: &url, at, last_capture: last };
        let mut claim = self.index.claim(page, self.skips_links).unwrap();
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
            let fingerprint = claim.fingerprint;
            let place = NearPlace::of((location.file, location.offset)).unwrap();
            let PageFingerprint { bits, domain, is_followed, .. } = fingerprint;
            if let Some(tables) = fingerprint.tables {
                tables.add(&mut batch, bits, NearEntry { place, domain, is_followed });
            }
            settled.push(fingerprint);
            places.push((location.file, location.offset));
        }
        self.archive.sync().unwrap();
        self.index.disk.commit(&batch).unwrap();
        settled.iter().for_each(|fingerprint| self.index.settle(fingerprint));
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
    let mut first = crawl.index.claim(page, true).unwrap();
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
    assert_eq!(crawl.claims[0].0.fingerprint.tables, None, "added twice");
    assert_eq!(crawl.capture("http://a.test/1", BITS ^ 1, None), (None, false));
    assert!(crawl.claims[1].0.fingerprint.tables.is_some());
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
    crawl.index.read_lists(BITS, |_, _| n_entries += 1).unwrap();
    assert_eq!(n_entries, 2 * 4);
}

#[test]
fn pages_that_are_given_up_or_deleted_are_not_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut crawl = Crawl::new(dir.path(), false);
    let url = CrawlUrl::parse("http://a.test/1").unwrap();
    let page = NewPage { fingerprint: BITS, url: &url, at: START, last_capture: None };
    drop(crawl.index.claim(page, false).unwrap());
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
    let index = index(dir.path(), 4);
    let claims = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|n| {
                let index = &index;
                scope.spawn(move || {
                    let url = CrawlUrl::parse(&format!("http://a.test/{n}")).unwrap();
                    let fingerprint = BITS ^ 1 << n;
                    let page = NewPage { fingerprint, url: &url, at: START, last_capture: None };
                    index.claim(page, false).unwrap()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let n_first = claims.iter().filter(|claim| claim.duplicate.is_none()).count();
    assert_eq!(n_first, 1);
}
