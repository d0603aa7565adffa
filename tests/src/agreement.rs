//! Agreement of the three records of a finished crawl: the web's log, the archive and the report.

use crate::scene::{Ended, Scene};
use crate::warc::Archive;
use simweb::{Entry, JudgeLimits, Pace, SimWeb};
use std::collections::{BTreeMap, HashSet};

/// Returns whether a request was for a page and not for a robots.txt.
#[must_use]
pub fn is_page(entry: &Entry) -> bool {
    entry.path != "/robots.txt"
}

/// Returns the pages that a web has completely answered so far.
pub(crate) fn pages_answered(web: &SimWeb) -> HashSet<String> {
    let log = web.log().entries();
    log.iter().filter(|entry| is_page(entry) && entry.complete).map(Entry::url).collect()
}

/// Returns the pages of a web that must be fetched.
pub(crate) fn pages_due(web: &SimWeb) -> HashSet<String> {
    let judge = web.judge(JudgeLimits::default(), Pace::default());
    let due = judge.expected().urls.iter().filter(|(_, due)| due.must);
    due.map(|(url, _)| url.clone()).collect()
}

/// Checks the archive and report of a crawl that has ended with an empty queue: the archive is
/// valid and holds each page that the web answered exactly once, and the report has the same
/// counts.
///
/// # Panics
/// Panics if archive, log and report differ.
pub fn assert_agreement(scene: &Scene, ended: &Ended) {
    let archive = Archive::read(&scene.out());
    let pages = archive.pages();
    let answered = pages_answered(&scene.web);
    let archived: HashSet<String> = pages.keys().map(|&url| url.to_owned()).collect();
    assert_eq!(archived, answered, "the archived pages differ from the answered ones");
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
