//! The three witnesses of a finished crawl say the same: the web's log, the archive, the report.

use crate::scene::{Ended, Scene};
use crate::warc::Archive;
use simweb::Entry;
use std::collections::{BTreeMap, HashSet};

/// Whether a request was for a page, not for a robots.txt.
#[must_use]
pub fn is_page(entry: &Entry) -> bool {
    entry.path != "/robots.txt"
}

/// The archive of a crawl that has ended with nothing left is sound and holds each page that the
/// web answered, once; the report counts what is there.
///
/// # Panics
/// When it is not so.
pub fn assert_agreement(scene: &Scene, ended: &Ended) {
    let archive = Archive::read(&scene.out());
    let pages = archive.pages();
    let log = scene.web.log().entries();
    let answered: HashSet<String> =
        log.iter().filter(|e| is_page(e) && e.complete).map(Entry::url).collect();
    let archived: HashSet<String> = pages.keys().map(|&url| url.to_owned()).collect();
    assert_eq!(archived, answered, "archived are exactly the pages that the web answered");
    assert_eq!(ended.count("totals/pages"), pages.len() as u64);
    let robots = archive.captures().filter(|record| record.is_robots()).count();
    assert_eq!(ended.count("totals/robots_fetched"), robots as u64);
    assert_eq!(ended.count("totals/urls_queued"), 0);
    let revisits = archive.of_kind("revisit").count();
    assert_eq!(ended.count("totals/duplicates"), revisits as u64);
    let mut by_status: BTreeMap<String, u64> = BTreeMap::new();
    for page in pages.values() {
        *by_status.entry(page.status().to_string()).or_default() += 1;
    }
    let told = serde_json::to_value(by_status).expect("JSON");
    assert_eq!(ended.report["pages_by_status"], told);
}
