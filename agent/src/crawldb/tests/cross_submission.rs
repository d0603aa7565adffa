//! A URL that a sitemap of another host lists is admitted only if the robots.txt of its own host names
//! that sitemap, and only for this reason is it refused: a link of a page still leads to it.

use super::super::CrawlDb;
use super::recrawl::found;
use crate::messages::{Commit, Fact, Found, RobotsRecord, ToFrontier};
use crate::storage::Database;
use crate::storage::facts::as_queued;
use crivello_common::config::{Settings, UrlRewrite};
use crivello_common::discard::Discard;
use crivello_common::identity::KeyedHasher;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use std::sync::Arc;

const NOW: Timestamp = Timestamp::from_secs(1_000_000);

struct TestCrawlDb {
    disk: Arc<Database>,
    crawldb: CrawlDb,
    _dir: tempfile::TempDir,
}

/// Each of `files` is the URL of a robots.txt and its `Sitemap` lines.
fn with_robots_txt(files: &[(&str, &[&str])], rewrite: Vec<UrlRewrite>) -> TestCrawlDb {
    let (dir, mut settings) = (tempfile::tempdir().unwrap(), Settings::default());
    settings.live.links.rewrite = rewrite;
    let disk = Arc::new(Database::open(dir.path(), true, &settings.fixed.state).unwrap());
    let hasher = KeyedHasher::with_public_key();
    let crawldb = CrawlDb::open(disk.clone(), &settings, hasher).unwrap().sharing(AgentId(1));
    let mut db = TestCrawlDb { disk, crawldb, _dir: dir };
    for (robots_txt, sitemaps) in files {
        let at = CrawlUrl::parse(robots_txt).unwrap();
        let first = found(&format!("http://{}/first", at.host()));
        db.commit(Commit { found: vec![first.clone()], ..Commit::default() });
        let lines: String = sitemaps.iter().map(|s| format!("Sitemap: {s}\n")).collect();
        let rules = Rules::parse(lines.as_bytes(), "x").with_foreign_sitemaps(at.host());
        let record = RobotsRecord {
            asked: NOW,
            fetched: NOW,
            unreachable_since: None,
            failures: 0,
            rules: Some(rules.shared()),
        };
        let (host, origin) = (first.host, at.origin());
        db.crawldb.on_workbench(ToFrontier::WantHosts { hosts: 100 });
        db.crawldb.serve(NOW, &mut |_, _| Ok(true), &mut Vec::new()).unwrap();
        db.crawldb.on_workbench(ToFrontier::Robots { host, origin, record });
        db.commit(Commit::default());
    }
    db
}

impl TestCrawlDb {
    fn commit(&mut self, mut commit: Commit) -> Commit {
        self.crawldb.apply(&mut commit, NOW).unwrap();
        self.disk.commit(&commit.batch).unwrap();
        commit
    }

    /// Returns the results of URLs of one commit.
    fn find(&mut self, found: Vec<Found>) -> Vec<Result<bool, Discard>> {
        self.commit(Commit { found, ..Commit::default() }).results
    }
}

fn listed(url: &str, sitemap: &str) -> Found {
    Found { listed_by: Some(sitemap.into()), ..found(url) }
}

#[test]
fn a_host_permits_the_sitemaps_that_its_robots_txt_names() {
    let files: [(&str, &[&str]); 3] = [
        ("http://b.test/robots.txt", &["http://a.test/for-b.xml", "/own.xml"]),
        ("https://c.test:8443/robots.txt", &["HTTP://A.test:80/%66or-c.xml"]),
        ("http://d.test/robots.txt", &[]),
    ];
    let mut db = with_robots_txt(&files, Vec::new());
    for (sitemap, url, permitted) in [
        ("http://a.test/for-b.xml", "http://b.test/x", true),
        // The usual origins speak for the others of their host.
        ("http://a.test/for-b.xml", "https://b.test/x", true),
        ("http://a.test/for-b.xml", "http://b.test:8080/x", true),
        ("http://a.test/for-b.xml", "http://www.b.test/x", false),
        ("http://a.test/for-b.xml?", "http://b.test/y", false),
        ("https://a.test/for-b.xml", "http://b.test/y", false),
        ("http://a.test/other.xml", "http://b.test/y", false),
        ("http://evil.test/for-b.xml", "http://b.test/y", false),
        ("http://a.test/for-c.xml", "https://c.test:8443/x", true),
        ("http://a.test/for-c.xml", "https://c.test/x", false),
        ("http://a.test/for-b.xml", "http://d.test/x", false),
        ("http://a.test/for-b.xml", "http://unknown.test/x", false),
    ] {
        let results = db.find(vec![listed(url, sitemap)]);
        let expected = if permitted { Ok(true) } else { Err(Discard::ForeignInSitemap) };
        assert_eq!(results, [expected], "{sitemap} of {url}");
    }
    assert_eq!(db.crawldb.totals().discards.get(Discard::ForeignInSitemap), 8);
}

/// The URL of a sitemap was rewritten before it was fetched.
#[test]
fn the_line_of_a_robots_txt_is_rewritten_as_links_are() {
    let files: [(&str, &[&str]); 1] =
        [("http://b.test/robots.txt", &["http://a.test/s.xml?utm_source=b"])];
    let rewrite = vec![UrlRewrite::Tracking, UrlRewrite::ForceHttps];
    for (rewrite, permitted) in [(Vec::new(), false), (rewrite, true)] {
        let mut db = with_robots_txt(&files, rewrite);
        let results = db.find(vec![listed("http://b.test/x", "https://a.test/s.xml")]);
        assert_eq!(results[0].is_ok(), permitted);
    }
}

#[test]
fn a_url_that_a_sitemap_may_not_list_is_admitted_as_the_link_of_a_page() {
    let mut db = with_robots_txt(&[("http://b.test/robots.txt", &[])], Vec::new());
    let (refused, sitemap) = (Err(Discard::ForeignInSitemap), "http://a.test/s.xml");
    let (listed, link) = (listed("http://b.test/x", sitemap), found("http://b.test/x"));
    let results = db.find(vec![listed.clone(), link, listed.clone()]);
    assert_eq!(results, [refused, Ok(true), Ok(false)]);
    assert_eq!(db.find(vec![listed]), [Ok(false)], "known");
}

/// As when rows of the outbox come back to their agent, which owns their group by now.
#[test]
fn a_listed_url_among_facts_is_judged_likewise() {
    let files: [(&str, &[&str]); 1] = [("http://b.test/robots.txt", &["http://a.test/s.xml"])];
    let mut db = with_robots_txt(&files, Vec::new());
    let before = db.crawldb.totals().queued;
    let fact = |url: &str, sitemap: &str| {
        let found = found(url);
        let (host, name) = (found.host, found.url.host().into());
        Fact::Listed { host, name, url: as_queued(&found), sitemap: sitemap.into() }
    };
    let mut commit = Commit::of_facts();
    commit.facts = vec![
        fact("http://b.test/x", "http://a.test/s.xml"),
        fact("http://b.test/y", "http://a.test/other.xml"),
        fact("http://unknown.test/z", "http://a.test/s.xml"),
    ];
    let commit = db.commit(commit);
    assert_eq!(db.crawldb.totals().queued, before + 1);
    let is_queued = |fact: &Fact| matches!(fact, Fact::Queued { url, .. } if &*url.path == "/x");
    assert_eq!(commit.changes.iter().filter(|fact| is_queued(fact)).count(), 1, "for replicas");
    assert_eq!(db.crawldb.totals().discards.get(Discard::ForeignInSitemap), 2);
}

/// Two hosts with one key would share their rows.
#[test]
fn another_host_with_the_same_key_permits_nothing() {
    let files: [(&str, &[&str]); 1] = [("http://b.test/robots.txt", &["http://a.test/s.xml"])];
    let mut db = with_robots_txt(&files, Vec::new());
    let host = found("http://b.test/").host;
    let forged = Found { host, ..listed("http://c.test/x", "http://a.test/s.xml") };
    assert_eq!(db.find(vec![forged.clone()]), [Err(Discard::HostKeyTaken)]);
    let sitemap = "http://a.test/s.xml".into();
    let (name, url) = (forged.url.host().into(), as_queued(&forged));
    let mut commit = Commit::of_facts();
    commit.facts = vec![Fact::Listed { host, name, url, sitemap }];
    let before = db.crawldb.totals().queued;
    db.commit(commit);
    assert_eq!(db.crawldb.totals().queued, before);
}
