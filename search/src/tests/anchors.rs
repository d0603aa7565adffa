//! Goal: words of links are those of the documents that count, whatever was added, replaced and merged; and a damaged
//! file of them is named.

use crate::build::testing::TestIndex;
use crate::document::{Document, DocumentLink};
use crate::postings::Preset;
use crate::search::{SearchOptions, Searcher};
use crivello_common::time::{Clock, Timestamp};
use std::collections::BTreeMap;
use std::path::Path;

fn page(host: &str, path: &str, date: u64, links: &[(&str, &str)]) -> Document {
    let link = |(url, text): &(&str, &str)| DocumentLink {
        url: format!("http://{url}"),
        text: (*text).to_owned(),
    };
    Document {
        url: format!("http://{host}/{path}"),
        host: host.to_owned(),
        date: Timestamp(date),
        text: "page".to_owned(),
        links: links.iter().map(link).collect(),
        ..Document::default()
    }
}

fn found(dir: &Path, query: &str) -> BTreeMap<String, f64> {
    let searcher = Searcher::open(dir).unwrap();
    let results = searcher.search(query, &SearchOptions::default(), &Clock::start()).unwrap();
    assert_eq!(results.found, results.hits.len() as u64);
    results.hits.into_iter().map(|hit| (hit.url, hit.score)).collect()
}

fn urls(dir: &Path, query: &str) -> Vec<String> {
    found(dir, query).into_keys().collect()
}

#[test]
fn links_of_documents_that_count_no_more_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = TestIndex::create(dir.path(), Preset::Small);
    let target = "http://t.org/x";
    index.add(&[page("t.org", "x", 1, &[("t.org/x", "itself")])], &[]);
    index.add(&[page("a.org", "1", 1, &[("t.org/x", "old words"), ("t.org/absent", "none")])], &[]);
    index.publish();
    assert_eq!(urls(dir.path(), "anchor:old"), [target]);
    assert_eq!(urls(dir.path(), "anchor:\"old words\""), [target]);
    assert!(urls(dir.path(), "anchor:itself | anchor:none | old").is_empty());
    // A later capture of the page has another link, and then none.
    index.add(&[page("a.org", "1", 2, &[("t.org/x", "new")])], &[]);
    index.publish();
    assert!(urls(dir.path(), "anchor:old").is_empty());
    assert_eq!(urls(dir.path(), "anchor:new"), [target]);
    index.merge();
    index.publish();
    assert_eq!(urls(dir.path(), "anchor:new"), [target]);
    index.add(&[], &[("http://a.org/1".to_owned(), 3)]);
    index.publish();
    assert!(urls(dir.path(), "anchor:new").is_empty());
    // A link that was there before its target.
    index.add(&[page("b.org", "1", 4, &[("t.org/late", "early bird")])], &[]);
    index.publish();
    assert!(urls(dir.path(), "anchor:bird").is_empty());
    index.add(&[page("t.org", "late", 5, &[])], &[]);
    index.publish();
    assert_eq!(urls(dir.path(), "anchor:bird"), ["http://t.org/late"]);
}

#[test]
fn a_text_counts_once_for_a_host() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = TestIndex::create(dir.path(), Preset::Fast);
    let mut pages: Vec<Document> =
        (0..50).map(|n| page("a.org", &n.to_string(), 1, &[("t.org/one", "sieve")])).collect();
    for host in ["b.org", "c.org", "d.org"] {
        pages.push(page(host, "", 1, &[("t.org/three", "sieve")]));
    }
    pages.extend(["one", "three", "none"].map(|path| page("t.org", path, 1, &[])));
    pages.iter_mut().for_each(|page| page.text.push_str(" sieve"));
    index.add(&pages, &[]);
    index.publish();
    let scores = found(dir.path(), "sieve site:t.org");
    let score = |path: &str| scores[&format!("http://t.org/{path}")];
    assert!(score("three") > score("one") && score("one") > score("none"), "{scores:?}");
    // The same without the union.
    let scores = found(dir.path(), "(sieve | sieve) -absent site:t.org");
    assert!(scores["http://t.org/three"] > scores["http://t.org/one"]);
}

#[test]
fn a_document_has_few_links_however_many_there_are() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = TestIndex::create(dir.path(), Preset::Small);
    for segment in 0..2 {
        let page = |n: u32| {
            let host = format!("h{segment}-{n}.org");
            page(&host, "", 1, &[("t.org/x", &format!("word{segment}x{n}"))])
        };
        let mut pages: Vec<Document> = (0..100).map(page).collect();
        pages.extend((segment == 0).then(|| self::page("t.org", "x", 1, &[])));
        index.add(&pages, &[]);
    }
    index.publish();
    let n = |index: u32| {
        let is_found = |n: &u32| !urls(dir.path(), &format!("anchor:word{index}x{n}")).is_empty();
        (0..100).filter(is_found).count()
    };
    assert_eq!(n(0) + n(1), 64);
}
