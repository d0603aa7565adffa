//! Expressions in a crawl: `links.admit` keeps links from being fetched, and `pages.keep` pages from
//! being archived, as the web's log and the archive confirm.

use crivello_tests::warc::{Archive, Record};
use crivello_tests::{Scene, is_page, seed};
use simweb::{JudgeLimits, Pace, PageKind, Spec};
use std::collections::BTreeSet;
use std::time::Duration;

fn scene() -> Scene {
    let spec = Spec::new(seed()).size(4, 2, 25).ips(8).portion(0.1, PageKind::Status(404));
    let spec = spec.portion(0.1, PageKind::Binary).portion(0.2, PageKind::Duplicate);
    Scene::new(spec).delays("10ms", "0ms")
}

/// Crawls everything, and returns the archive with the number of pages that were not archived.
fn crawled(scene: &Scene) -> (Archive, u64) {
    let ended = scene.crawl().succeeded();
    let pace = Pace::delays(Duration::from_millis(10), Duration::ZERO);
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    (Archive::read(&scene.out()), ended.count("skipped/not-archived"))
}

fn answered(scene: &Scene) -> BTreeSet<String> {
    let entries = scene.web.log().entries();
    let pages = entries.iter().filter(|entry| is_page(entry));
    pages.map(|entry| entry.path.clone()).collect()
}

/// Links of pages that are not archived are followed: the crawl is complete.
#[test]
fn pages_that_are_only_parsed_are_not_archived_and_their_links_are_followed() {
    let scene =
        scene().set("pages.keep=url.path.matches(\"[02468]([.]|$)\") ? \"archive\" : \"parse\"");
    let (archive, n_not_archived) = crawled(&scene);
    let pages: Vec<&Record> = archive.captures().filter(|record| !record.is_robots()).collect();
    assert!(pages.len() > 20 && n_not_archived > 20, "{}, {n_not_archived}", pages.len());
    for page in &pages {
        let path = page.url().split('?').next().unwrap_or_default();
        let last = path.rsplit('/').next().unwrap_or_default();
        let digit = last.split('.').next().and_then(|name| name.chars().last());
        assert!(digit.is_some_and(|digit| "02468".contains(digit)), "{} is archived", page.url());
    }
    let archived: BTreeSet<&str> = pages.iter().map(|page| page.url()).collect();
    for revisit in archive.of_kind("revisit") {
        let original = revisit.must("WARC-Refers-To-Target-URI");
        assert!(archived.contains(original), "a revisit of {original}, which is not archived");
    }
}

#[test]
fn pages_without_text_are_dropped() {
    let scene = scene().set("pages.keep=page.text_length > 0 ? \"archive\" : \"drop\"");
    let (archive, n_not_archived) = crawled(&scene);
    assert!(n_not_archived > 0, "all pages have text");
    let pages = archive.captures().filter(|record| !record.is_robots());
    for page in pages.filter(|page| page.kind() == "response") {
        let (head, _) = page.http();
        assert!(head.to_ascii_lowercase().contains("text/html"), "{}: {head}", page.url());
    }
}

/// The links of the first page are fetched in two runs, because all of them are in memory at once. In
/// the order of appearance both kinds would have the same mean place, within some six places.
#[test]
fn pages_of_a_host_are_fetched_in_the_order_of_their_priorities() {
    let spec = Spec::new(seed()).size(1, 1, 120).links(40);
    let scene = Scene::new(spec).delays("20ms", "0ms");
    let scene = scene.set("links.priority=url.path.matches(\"[13579]([.]|$)\") ? 3 : 200");
    let _ = scene.crawl().succeeded();
    let is_odd = |path: &str| {
        let name = path.split(['.', '?']).next().unwrap_or_default();
        name.chars().last().is_some_and(|digit| "13579".contains(digit))
    };
    let entries = scene.web.log().entries();
    let order: Vec<bool> =
        entries.iter().filter(|entry| is_page(entry)).map(|entry| is_odd(&entry.path)).collect();
    let mean_place = |wanted: bool| {
        let places = order.iter().enumerate().filter(|&(_, &odd)| odd == wanted);
        let places: Vec<usize> = places.map(|(place, _)| place).collect();
        assert!(places.len() > 30, "{order:?}");
        places.iter().sum::<usize>() / places.len()
    };
    assert!(mean_place(true) + order.len() / 5 < mean_place(false), "{order:?}");
}

#[test]
fn links_that_a_condition_refuses_are_not_requested() {
    let scene = scene().set("links.admit=link.depth < 3 && !url.path.matches(\"7([.]|$)\")");
    let ended = scene.crawl().succeeded();
    let paths = answered(&scene);
    assert!(paths.len() > 10, "{paths:?}");
    let is_refused =
        |path: &&String| path.split(['.', '?']).next().is_some_and(|p| p.ends_with('7'));
    assert_eq!(paths.iter().filter(is_refused).collect::<Vec<_>>(), Vec::<&String>::new());
    assert!(ended.count("skipped/not-admitted") > 0, "no link was refused");
    assert_eq!(ended.count("skipped/condition-failed"), 0);
}
