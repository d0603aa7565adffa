//! The three witnesses of a finished crawl say the same: the web's log, the archive, the report.

use crate::scene::{Ended, Scene};
use crate::warc::Archive;
use simweb::{Entry, Limits, Pace, SimWeb};
use std::collections::{BTreeMap, HashSet};

/// Whether a request was for a page, not for a robots.txt.
#[must_use]
pub fn is_page(entry: &Entry) -> bool {
    entry.path != "/robots.txt"
}

/// The pages that a web has answered whole so far, each once.
pub(crate) fn pages_answered(web: &SimWeb) -> HashSet<String> {
    let log = web.log().entries();
    log.iter().filter(|entry| is_page(entry) && entry.complete).map(Entry::url).collect()
}

/// The pages of a web that must be fetched.
pub(crate) fn pages_due(web: &SimWeb) -> HashSet<String> {
    let judge = web.judge(Limits::default(), Pace::default());
    let due = judge.expected().urls.iter().filter(|(_, due)| due.must);
    due.map(|(url, _)| url.clone()).collect()
}

/// The archive of a crawl that has ended with nothing left is sound and holds each page that the
/// web answered, once; the report counts what is there.
///
/// # Panics
/// When it is not so.
pub fn assert_agreement(scene: &Scene, ended: &Ended) {
    let archive = Archive::read(&scene.out());
    let pages = archive.pages();
    let answered = pages_answered(&scene.web);
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
