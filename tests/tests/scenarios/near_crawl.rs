//! Near-duplicates in a crawl: the notes in the archive are what a comparison of all fingerprints gives,
//! and links are skipped only after a page of the same domain.
//!
//! Possible failures: a pair is missed; a page is noted as a near-duplicate of itself, of a later page or of one
//! that is not archived; a copy on another domain keeps the links of the original from being followed.

use crivello_tests::warc::{Archive, Record};
use crivello_tests::{Ended, Scene, binary, output, seed};
use simweb::{JudgeLimits, Pace, PageKind, Spec};
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

/// Maximum number of bits in which fingerprints of near-duplicates differ.
const DISTANCE_MAX: u32 = 3;

fn scene(setting: &str) -> Scene {
    let mut spec = Spec::new(seed()).size(5, 3, 25).ips(0).portion(0.1, PageKind::Duplicate);
    spec.copies = 0.4;
    spec.body_bytes = 12_000;
    // With one parser, the archive has the order in which pages are compared.
    Scene::new(spec)
        .delays("5ms", "0ms")
        .set(&format!("pages.near-duplicates={setting}"))
        .set("state.parser-threads=1")
        .set("store.outlinks=true")
        .set("state.commit-interval=200ms")
}

/// A page as the archive has it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Page {
    url: String,
    date: String,
    is_revisit: bool,
    simhash: Option<u64>,
    near: Option<Near>,
    n_outlinks: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Near {
    url: String,
    date: String,
    distance: u32,
}

impl Page {
    fn domain(&self) -> &str {
        domain(&self.url)
    }
}

/// Returns the registrable domain of a host of the simulated web.
fn domain(url: &str) -> &str {
    let host = url.split(['/', ':']).nth(3).expect("a host");
    let dot = host.rmatch_indices('.').nth(1).map_or(0, |(at, _)| at + 1);
    &host[dot..]
}

/// Returns the pages in the order of the archive.
fn pages(archive: &Archive) -> Vec<Page> {
    let mut notes: BTreeMap<&str, Vec<(String, String)>> = BTreeMap::new();
    for metadata in archive.of_kind("metadata") {
        let text = String::from_utf8_lossy(&metadata.block);
        let fields = text.lines().filter_map(|line| line.split_once(": "));
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        notes.insert(metadata.must("WARC-Concurrent-To"), fields.collect());
    }
    let page = |record: &Record| {
        let fields = notes.get(record.must("WARC-Record-ID")).cloned().unwrap_or_default();
        let note = |name: &str| {
            let field = fields.iter().find(|(field, _)| field == name);
            field.map(|(_, value)| value.clone())
        };
        let near = note("nearDuplicateOf").map(|url| Near {
            url,
            date: note("nearDuplicateDate").expect("a date"),
            distance: note("nearDuplicateDistance").expect("a distance").parse().expect("bits"),
        });
        Page {
            url: record.url().to_owned(),
            date: record.must("WARC-Date").to_owned(),
            is_revisit: record.kind() == "revisit",
            simhash: note("simHash").map(|hex| {
                assert_eq!(hex.len(), 16, "{hex}");
                u64::from_str_radix(&hex, 16).expect("hexadecimal digits")
            }),
            near,
            n_outlinks: fields.iter().filter(|(name, _)| name == "outlink").count(),
        }
    };
    archive.captures().filter(|record| !record.is_robots()).map(page).collect()
}

/// Compares the note of each page with all earlier pages. `followed` says whether the links of a page were
/// followed. Returns the number of notes within domains, and between them.
fn compare(pages: &[Page], followed: impl Fn(&Page) -> bool) -> (usize, usize) {
    let (mut n_within, mut n_between) = (0, 0);
    for (i, page) in pages.iter().enumerate() {
        let Some(simhash) = page.simhash.filter(|_| !page.is_revisit) else {
            assert_eq!(page.near, None, "{page:?}");
            continue;
        };
        let rank = |other: &Page| {
            let distance = (other.simhash? ^ simhash).count_ones();
            let is_other = other.domain() != page.domain();
            let is_near = distance <= DISTANCE_MAX && !other.is_revisit;
            is_near.then(|| (is_other, !is_other && !followed(other), distance))
        };
        let best = pages[..i].iter().filter_map(rank).min();
        let Some(near) = &page.near else {
            assert_eq!(best, None, "not noted: {page:?}");
            continue;
        };
        let of = pages[..i].iter().find(|of| of.url == near.url).expect("an earlier page");
        assert_eq!((&of.date, rank(of)), (&near.date, best), "{page:?} {of:?}");
        assert_eq!(best.map(|(.., distance)| distance), Some(near.distance), "{page:?}");
        *(if of.domain() == page.domain() { &mut n_within } else { &mut n_between }) += 1;
    }
    (n_within, n_between)
}

fn crawled(scene: &Scene) -> (Ended, Vec<Page>) {
    let ended = scene.crawl().succeeded();
    (ended, pages(&Archive::read(&scene.out())))
}

#[test]
fn all_near_duplicates_are_noted_and_nothing_else_changes() {
    let scene = scene("note");
    let (ended, pages) = crawled(&scene);
    scene.assert_clean(
        &scene
            .judge(JudgeLimits::default(), Pace::delays(Duration::from_millis(5), Duration::ZERO)),
    );
    let (n_within, n_between) = compare(&pages, |_| true);
    assert!(n_within > 10 && n_between > 10, "{n_within} within domains, {n_between} between");
    assert!(pages.iter().filter(|page| page.simhash.is_some()).count() > pages.len() / 2);
    assert_eq!(ended.count("skipped/near-duplicate"), 0);
    assert_eq!(ended.count("totals/near_duplicates"), (n_within + n_between) as u64);
    assert!(pages.iter().all(|page| page.n_outlinks > 0 || page.is_revisit), "links are missing");

    // The index of the archive has the same.
    let mut lines = BTreeMap::new();
    for path in crivello_tests::warc::listed(&scene.out().join("warc"), ".cdxj") {
        let text = std::fs::read_to_string(path).expect("an index");
        for line in text.lines() {
            let json = line.splitn(3, ' ').nth(2).expect("JSON");
            let json: serde_json::Value = serde_json::from_str(json).expect("JSON");
            lines.insert(json["url"].as_str().expect("a URL").to_owned(), json);
        }
    }
    for page in &pages {
        let line = &lines[&page.url];
        let simhash = page.simhash.map(|simhash| format!("{simhash:016x}"));
        assert_eq!(line["simhash"].as_str(), simhash.as_deref(), "{line}");
        let near = page.near.as_ref().map(|near| near.url.as_str());
        assert_eq!(line["near-duplicate"].as_str(), near, "{line}");
    }

    let noted = pages.iter().find(|page| page.near.is_some()).expect("a near-duplicate");
    let near = noted.near.as_ref().expect("a near-duplicate");
    let mut command = Command::new(binary());
    let out = scene.out();
    let why = output(command.arg("why").arg("--out").arg(out).arg(&noted.url));
    let why = String::from_utf8_lossy(&why.stdout).into_owned();
    let sentence = format!("near-duplicate of {} ({} bits differ)", near.url, near.distance);
    assert!(why.contains(&sentence), "{why}");
}

#[test]
fn links_are_skipped_only_after_a_page_of_the_same_domain() {
    let scene = scene("skip-links");
    let (ended, pages) = crawled(&scene);
    let followed = |page: &Page| page.n_outlinks > 0;
    let (n_within, n_between) = compare(&pages, followed);
    assert!(n_within > 5 && n_between > 5, "{n_within} within domains, {n_between} between");
    let mut n_skipped = 0;
    for page in pages.iter().filter(|page| page.simhash.is_some() && !page.is_revisit) {
        let of = page.near.as_ref().and_then(|near| pages.iter().find(|of| of.url == near.url));
        let skips = of.is_some_and(|of| of.domain() == page.domain() && followed(of));
        assert_eq!(followed(page), !skips, "{page:?} {of:?}");
        n_skipped += usize::from(skips);
    }
    assert!(n_skipped > 5, "{n_skipped}");
    assert!(ended.count("skipped/near-duplicate") >= n_skipped as u64);
}

#[test]
fn a_condition_drops_near_duplicates() {
    let scene = scene("note").set("pages.keep=page.near_duplicate ? \"parse\" : \"archive\"");
    let (ended, pages) = crawled(&scene);
    assert!(ended.count("skipped/not-archived") > 10);
    assert_eq!(compare(&pages, |_| true), (0, 0));
}

#[test]
fn nothing_is_noted_by_default() {
    let (ended, pages) = crawled(&scene("off"));
    assert!(pages.iter().all(|page| page.simhash.is_none() && page.near.is_none()));
    assert_eq!(ended.count("skipped/near-duplicate"), 0);
}
