//! Goal: what a sitemap or a feed lists becomes links with their dates, and all else is counted.

use super::duplicates::Duplicates;
use super::links::LinkRules;
use super::near::NearIndex;
use super::{EarlierPages, Processed, ResponseProcessor};
use crate::messages::{
    FetchOutcome, Fetched, Finder, HandedOut, LinkKind, QueueKey, Queued, Response,
};
use crate::storage::Database;
use arc_swap::ArcSwap;
use crivello_common::config::{NoArchive, Settings};
use crivello_common::discard::Discard;
use crivello_common::identity::KeyedHasher;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// 2026-11-25T12:00:00Z.
const NOW: Timestamp = Timestamp::from_secs(1_795_608_000);

fn process(kind: LinkKind, content_type: &'static str, body: &str) -> Processed {
    process_with(kind, content_type, body, |_| {})
}

fn process_with(
    kind: LinkKind,
    content_type: &'static str,
    body: &str,
    change: impl FnOnce(&mut Settings),
) -> Processed {
    process_on(None, kind, content_type, body, change)
}

/// Processes a page of a site with this robots.txt.
fn process_on(
    robots: Option<&str>,
    kind: LinkKind,
    content_type: &'static str,
    body: &str,
    change: impl FnOnce(&mut Settings),
) -> Processed {
    let robots = robots.map(|robots| Rules::parse(robots.as_bytes(), "crivello"));
    let dir = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    change(&mut settings);
    let disk = Database::open(dir.path(), true, &settings.fixed.state).unwrap();
    let disk = Arc::new(disk);
    let duplicates = Arc::new(Duplicates::new(disk.clone()));
    let near = Arc::new(NearIndex::open(disk, 4, dir.path().join("warc")).unwrap());
    let hasher = KeyedHasher::with_public_key();
    let rules = LinkRules::compile(&settings.live, &settings.fixed, hasher).unwrap();
    let mut processor = ResponseProcessor::new(
        Arc::new(settings.fixed),
        &settings.live,
        hasher,
        Arc::new(ArcSwap::from_pointee(rules)),
        EarlierPages { duplicates, near },
    );
    let url = CrawlUrl::parse("http://a.test/sitemap.xml").unwrap();
    let mut headers = http::HeaderMap::new();
    headers.insert("content-type", content_type.parse().unwrap());
    let response = Response {
        status: 200,
        version: http::Version::HTTP_11,
        headers,
        request_head: "GET /sitemap.xml HTTP/1.1\r\n\r\n".into(),
        address: (Ipv4Addr::LOCALHOST, 80).into(),
        certificate: None,
        body: body.to_owned().into(),
        truncated: None,
        reservation: None,
    };
    processor.process(&Fetched {
        host: hasher.host_key(url.host()),
        name: url.host().into(),
        row: Some(Queued {
            queue_key: QueueKey::default(),
            hash: hasher.url(&url),
            origin: url.origin(),
            path: url.path_and_query().into(),
            depth: 1,
            redirects: 0,
            attempts: 0,
            revisit: None,
            kind,
            finder: Finder::OWN,
        }),
        url,
        address: Ipv4Addr::LOCALHOST.into(),
        at: NOW,
        took: Duration::ZERO,
        outcome: FetchOutcome::Response(Box::new(response)),
        handed_out: HandedOut::default(),
        signals: robots.and_then(|rules| rules.signals().cloned()),
        traced: None,
        payload: None,
    })
}

/// Returns the links with the days of their dates.
fn dated(processed: &Processed) -> Vec<(String, String)> {
    let links = processed.links.iter().enumerate();
    links
        .map(|(at, link)| {
            let of = processed.dates.iter().find(|dates| dates.link as usize == at);
            let date = of.and_then(|of| of.modified.or(of.published));
            let day = date.map_or_else(String::new, |date| date.to_string()[..10].to_owned());
            (link.url.as_str().to_owned(), day)
        })
        .collect()
}

fn discards(processed: &Processed) -> Vec<(Discard, u64)> {
    processed.discards.iter().collect()
}

#[test]
fn dates_stay_with_their_links_when_others_are_refused() {
    let entry =
        |loc: &str, date: &str| format!("<url><loc>{loc}</loc><lastmod>{date}</lastmod></url>");
    let body = [
        entry("http://a.test/1", "2026-11-01"),
        entry("/relative", "2026-11-02"),
        entry("http://b.test/foreign", "2026-11-03"),
        entry("http://a.test/1", "2026-11-04"),
        entry("http://a.test/5", "2099-11-05"),
        entry("ftp://a.test/6", "2026-11-06"),
        entry("http://a.test/7", "2026-11-07"),
        "<url><loc>http://a.test/8</loc></url>".to_owned(),
        entry("http://a.test/9", "yesterday"),
        entry("http://a.test/10", "2026-11-10"),
        format!("<url><loc>http://a.test/{}</loc></url>", "x".repeat(10_000)),
        "<url><loc>http://a.test/11</loc>".to_owned(),
    ];
    let body = format!("<urlset>{}", body.concat());
    for kind in [LinkKind::Sitemap, LinkKind::Page] {
        let processed = process(kind, "application/xml", &body);
        let expected = [
            ("http://a.test/1", "2026-11-01"),
            ("http://b.test/foreign", "2026-11-03"),
            ("http://a.test/5", ""),
            ("http://a.test/7", "2026-11-07"),
            ("http://a.test/8", ""),
            ("http://a.test/9", ""),
            ("http://a.test/10", "2026-11-10"),
            ("http://a.test/11", ""),
        ];
        let expected = expected.map(|(url, day)| (url.to_owned(), day.to_owned()));
        assert_eq!(dated(&processed), expected);
        assert_eq!(
            discards(&processed),
            [
                (Discard::Scheme, 1),
                (Discard::TooLong, 1),
                (Discard::RelativeInSitemap, 1),
                (Discard::DateIgnored, 2),
                (Discard::SitemapDamaged, 1),
            ]
        );
    }
}

/// A feed is a page: it may link to any host, and its links may be relative.
#[test]
fn feeds_and_languages_may_lead_to_other_hosts() {
    let rss = "<rss><channel><item><link>http://b.test/1</link>\
        <pubDate>Tue, 24 Nov 2026 10:00:00 GMT</pubDate></item><item><link>2</link></item></channel></rss>";
    let processed = process(LinkKind::Page, "application/rss+xml", rss);
    let expected = [("http://b.test/1", "2026-11-24"), ("http://a.test/2", "")];
    let expected = expected.map(|(url, day)| (url.to_owned(), day.to_owned()));
    assert_eq!((dated(&processed), discards(&processed)), (expected.to_vec(), Vec::new()));
    let sitemap = "<urlset><url><loc>http://a.test/en</loc>\
        <x:link rel='alternate' hreflang='de' href='http://b.test/de'/></url></urlset>";
    let processed = process(LinkKind::Sitemap, "application/xml", sitemap);
    assert_eq!((processed.links.len(), discards(&processed)), (2, Vec::new()));
}

#[test]
fn sitemaps_of_another_host_are_listed_by_their_index() {
    let index = "<sitemapindex><sitemap><loc>http://a.test/1.xml</loc><lastmod>2026-11-01</lastmod></sitemap>\
        <sitemap><loc>http://b.test/2.xml</loc></sitemap></sitemapindex>";
    let processed = process(LinkKind::Sitemap, "text/xml", index);
    assert_eq!(processed.links[0].kind, LinkKind::Sitemap);
    let expected = [("http://a.test/1.xml", "2026-11-01"), ("http://b.test/2.xml", "")];
    assert_eq!(dated(&processed), expected.map(|(url, day)| (url.to_owned(), day.to_owned())));
    let listed_by: Vec<_> = processed.links.iter().map(|link| link.listed_by.as_deref()).collect();
    assert_eq!(listed_by, [None, Some("http://a.test/sitemap.xml")]);
}

#[test]
fn directives_of_a_page_decide_whether_it_is_kept() {
    let keep = "page.noindex ? (page.nofollow ? \"drop\" : \"parse\") : \"archive\"";
    let body = |content: &str| {
        format!("<meta name=robots content='{content}'><title>t</title><a href=/x>x</a>")
    };
    for (content, is_archived, n_links) in
        [("all", true, 1), ("noindex", false, 1), ("none", false, 0), ("nofollow", true, 0)]
    {
        let change = |settings: &mut Settings| settings.live.pages.keep = keep.to_owned();
        let processed = process_with(LinkKind::Page, "text/html", &body(content), change);
        let kept = (!processed.records.is_empty(), processed.links.len());
        assert_eq!(kept, (is_archived, n_links), "{content}");
    }
}

/// Returns the notes of the record, as `name=value`; `None` if nothing is archived.
fn notes(processed: &Processed) -> Option<Vec<String>> {
    let index = processed.records.first()?.index.as_ref()?;
    Some(index.notes.iter().map(|(name, value)| format!("{name}={value}")).collect())
}

#[test]
fn signals_of_the_page_and_its_site_are_noted() {
    let robots = "User-agent: *\nContent-Usage: /sitemap train-ai=n\nContent-Signal: search=yes\n\
        License: http://a.test/l\n";
    let page = "<meta name=robots content=noarchive><a href=/x>";
    let with = |robots, page| process_on(robots, LinkKind::Page, "text/html", page, |_| {});
    let processed = with(Some(robots), page);
    let of_site = ["usageTrainAi=disallow", "signalSearch=yes", "license=http://a.test/l"];
    assert_eq!(notes(&processed).unwrap(), [&["robots=noarchive"], &of_site[..]].concat());
    assert_eq!(notes(&with(Some(robots), "")).unwrap(), of_site);
    assert_eq!(notes(&with(None, page)).unwrap(), ["robots=noarchive"]);
    let unsigned = with(Some("User-agent: *\nDisallow: /y\n"), "<a href=/x>");
    assert_eq!(notes(&unsigned).unwrap(), [""; 0]);
    assert_eq!(unsigned.records.len(), 2, "a metadata record without notes");
}

#[test]
fn pages_with_noarchive_are_dropped_on_demand_and_their_links_are_followed() {
    let page = "<meta name=robots content=noarchive><a href=/x>";
    let with = |noarchive, keep: &str, page| {
        process_with(LinkKind::Page, "text/html", page, |settings| {
            settings.live.pages.noarchive = noarchive;
            keep.clone_into(&mut settings.live.pages.keep);
        })
    };
    let dropped = with(NoArchive::Drop, "", page);
    assert_eq!((notes(&dropped), dropped.links.len()), (None, 1));
    assert_eq!(discards(&dropped), [(Discard::NotArchived, 1)]);
    assert!(notes(&with(NoArchive::Note, "", page)).is_some());
    assert!(notes(&with(NoArchive::Drop, "", "<a href=/x>")).is_some());
    // The stricter of the two settings holds.
    for (keep, is_archived, n_links) in [
        ("\"archive\"", false, 1),
        ("\"drop\"", false, 0),
        ("page.noarchive ? \"drop\" : \"archive\"", false, 0),
    ] {
        let processed = with(NoArchive::Drop, keep, page);
        let found = (notes(&processed).is_some(), processed.links.len());
        assert_eq!(found, (is_archived, n_links), "{keep}");
    }
}
