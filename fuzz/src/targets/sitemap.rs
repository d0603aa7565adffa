//! Sitemaps, RSS and Atom, as they are read while they are decoded.
//!
//! Input: header lines, an empty line, and the body.

use super::page::page_url;
use super::response;
use crate::target::{FuzzTarget, MemoryBound};
use crivello_common::config::Settings;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_html::{
    LinkKind, LinkSource, Media, ParseInput, ParsedPage, Parser, SITEMAP_BYTES_MAX,
    SITEMAP_LINKS_MAX,
};
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use std::cell::RefCell;
use std::io::Write;

/// The target `sitemap`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "sitemap",
    run,
    samples,
    tokens: &[
        b"<urlset>",
        b"<sitemapindex>",
        b"<url><loc>http://h.test/",
        b"</loc></url>",
        b"<sitemap><loc>",
        b"<lastmod>2026-11-25T10:00:00+01:00</lastmod>",
        b"<lastmod>2026-11</lastmod>",
        b"<lastmod>9998-12-31</lastmod>",
        b"<news:news><news:publication_date>2026-11-25",
        b"<image:image><image:loc>http://h.test/i",
        b"<video:video><video:content_loc>",
        b"<xhtml:link rel=\"alternate\" href=\"http://h.test/\"/>",
        b"<rss><channel><item>",
        b"<feed><entry><link href='/x'/>",
        b"<rdf:RDF><item><link>",
        b"<guid isPermaLink='true'>http://h.test/",
        b"<pubDate>Wed, 25 Nov 2026 10:00:00 GMT</pubDate>",
        b"<dc:date>2026-11-25</dc:date>",
        b"</item>",
        b"</url>",
        b"<![CDATA[",
        b"]]>",
        b"<!--",
        b"-->",
        b"<!DOCTYPE rss [<!ENTITY a \"b\">]>",
        b"&amp;",
        b"&a;",
        b"&#x110000;",
        b"\r\n",
        b"http://h.test/1\n",
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"<?xml version=\"1.0\" encoding=\"shift_jis\"?>",
        b"content-encoding: gzip\n",
        b"content-encoding: br\n",
        b"content-encoding: zstd, deflate\n",
        b"content-type: text/plain; charset=utf-16\n",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
    ],
    len_max: 16_384,
    // Windows of decoders: of brotli 16 MiB, of zstd 8 MiB, and up to three of them. A body may
    // expand 200-fold, and its links are kept.
    peak: MemoryBound { base: 72 << 20, per_byte: 4_096 },
    total: MemoryBound { base: 80 << 20, per_byte: 16_384 },
};

/// Maximum ratio of what is decoded to the body, and the bytes that are decoded whatever it is.
const RATIO: (usize, usize) = (200, 1 << 20);
/// Length below which the stream and the whole must agree: the encoding is chosen by the first bytes.
const WHOLE_MAX: usize = 16 << 10;
/// Maximum length of the text of a link: three times the default of `links.url-length-max`.
const TEXT_MAX: usize = 3 * 2_048;
/// Time of the request.
const NOW: Timestamp = Timestamp::from_secs(1_795_608_000);
const DAY_SECONDS: u64 = 86_400;

struct Bench {
    parser: Parser,
    url: CrawlUrl,
}

thread_local! {
    static BENCH: RefCell<Bench> = RefCell::new(Bench::new());
}

impl Bench {
    fn new() -> Self {
        let mut settings = Settings::default();
        settings.live.links.images = true;
        Self { parser: Parser::new(&settings.fixed, &settings.live), url: page_url() }
    }

    fn parse(&mut self, headers: &HeaderMap, body: &[u8], kind: LinkKind) -> ParsedPage<'_> {
        let (url, status, at) = (&self.url, 200, NOW);
        self.parser.parse(ParseInput { url, status, headers, body, kind, at })
    }
}

fn run(input: &[u8]) {
    BENCH.with_borrow_mut(|bench| {
        let (headers, body) = response::split(input);
        let page = bench.parse(&headers, body, LinkKind::Sitemap);
        if page.list.is_none() {
            return;
        }
        check(&page, body.len());
        let is_plain = !headers.contains_key(CONTENT_ENCODING) && page.decoded_len == body.len();
        if is_plain && page.media != Media::TextSitemap && body.len() < WHOLE_MAX {
            let streamed = hrefs(&page);
            let mut headers = headers.clone();
            // XML is read in any case, and the encoding is declared by this header first.
            if !headers.contains_key(CONTENT_TYPE) {
                headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/xml"));
            }
            let whole = bench.parse(&headers, body, LinkKind::Page);
            if whole.media != Media::Other && whole.media != Media::Html {
                assert_eq!(hrefs(&whole), streamed, "the stream and the whole differ");
            }
        }
    });
}

fn hrefs(page: &ParsedPage<'_>) -> Vec<String> {
    page.links.clone().map(|link| link.href.to_owned()).collect()
}

fn check(page: &ParsedPage<'_>, body_len: usize) {
    let decoded_max = (RATIO.0 * body_len).max(RATIO.1).min(SITEMAP_BYTES_MAX);
    assert!(page.decoded_len <= decoded_max, "{} bytes of {body_len}", page.decoded_len);
    let n_links = page.links.clone().len();
    assert!(n_links <= SITEMAP_LINKS_MAX + body_len, "{n_links} links");
    for link in page.links.clone() {
        if is_of_sitemap(link.source) {
            assert!(link.href.contains(':'), "{:?} is relative", link.href);
            assert!(link.href.len() <= TEXT_MAX, "a link of {} bytes", link.href.len());
        }
    }
    let mut next = 0;
    for dates in page.dates {
        assert!((next..n_links as u32).contains(&dates.link), "{dates:?} of {n_links}");
        next = dates.link + 1;
        let times = [dates.modified, dates.published];
        assert!(times.iter().any(Option::is_some), "{dates:?}");
        for at in times.into_iter().flatten() {
            assert!(at.as_secs() <= NOW.as_secs() + DAY_SECONDS, "{at} is in the future");
        }
    }
}

const fn is_of_sitemap(source: LinkSource) -> bool {
    use LinkSource::{Sitemap, SitemapAlternate, SitemapImage, SitemapVideo};
    matches!(source, Sitemap | SitemapImage | SitemapVideo | SitemapAlternate)
}

fn samples() -> Vec<Vec<u8>> {
    let entry = |n: usize| {
        format!(
            "<url><loc>http://h.test/{n}</loc><lastmod>2026-01-{:02}</lastmod></url>",
            n % 28 + 1
        )
    };
    let text = format!("<urlset>{}</urlset>", (0..50).map(entry).collect::<String>());
    let list: String = (0..50).map(|n| format!("http://h.test/{n}\n")).collect();
    let zstd = zstd::encode_all(text.as_bytes(), 1).unwrap_or_default();
    vec![
        response::join(&[("content-type", "application/x-gzip")], &gzip(text.as_bytes())),
        response::join(&[("content-encoding", "gzip")], &gzip(list.as_bytes())),
        response::join(&[("content-encoding", "zstd")], &zstd),
        response::join(&[("content-encoding", "gzip")], &gzip(&gzip(&[b' '; 2 << 20]))),
    ]
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}
