//! From the bytes of a page to its links and main text: content encoding, charset, parsing,
//! resolution, rules, and the keys of the index.
//!
//! Input: header lines, an empty line, and the body. The header `x-status` sets the status, and
//! `x-sitemap` makes it a sitemap.

use super::{normal_url, response};
use crate::target::{FuzzTarget, MemoryBound};
use crivello_agent::process::links::{LinkRules, Parent};
use crivello_common::config::Settings;
use crivello_common::fields::link::ParentRecord;
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::units::ByteSize;
use crivello_common::url::CrawlUrl;
use crivello_html::{LinkKind, ParseInput, Parser, SITEMAP_BYTES_MAX, SimHasher};
use std::cell::RefCell;
use std::collections::HashSet;

/// The target `page`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "page",
    run,
    samples: Vec::new,
    tokens: &[
        b"<a href=",
        b"<base href=",
        b"<img srcset=\"",
        b"<meta http-equiv=refresh content=\"0;url=",
        b"<meta name=robots content=nofollow>",
        b"<link rel=canonical href=",
        b"<link rel=license type=application/rsl+xml href=",
        b"<meta name=tdm-reservation content=1>",
        b"<meta name=tdm-policy content=",
        b"unavailable_after: Fri, 25 Jun 2010 15:00:00 GMT",
        b"max-snippet: 20",
        b"x-robots-tag: crivello: noarchive\n",
        b"content-usage: train-ai=n;a=1, search=(y)\n",
        b"tdm-reservation: 1\n",
        b"<script>",
        b"</script>",
        b"<style>",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<template>",
        b"<nav>",
        b"<p hidden>",
        b"<br><br>",
        b"<svg>",
        b"<title>",
        b"&amp;",
        b"&#x110000;",
        b"&#0",
        b"\"",
        b"'",
        b"<?xml version=\"1.0\"?>",
        b"<!DOCTYPE x [<!ENTITY a \"b\">]>",
        b"<urlset><url><loc>",
        b"<rss><item><link>",
        b"@import url(",
        b"url(\\",
        b"content-type: text/html\n",
        b"charset=utf-16le",
        b"charset=iso-2022-jp",
        b"charset=shift_jis",
        b"\xff\xfe",
        b"\xfe\xff",
        b"\xef\xbb\xbf",
        b"\x1b$B",
        b"x-sitemap: 1\n",
        b"x-status: 301\n",
        b"location: ",
        b"link: <x>; rel=next\n",
        b"refresh: 0;url=",
        b"//xn--mnchen-3ya.test/",
    ],
    len_max: 16_384,
    peak: MemoryBound { base: 2 << 20, per_byte: 128 },
    total: MemoryBound { base: 4 << 20, per_byte: 512 },
};

/// Bytes to which a body is decoded: less than by default, so that the bound shows.
pub const DECODED_MAX: ByteSize = ByteSize(1 << 20);

struct Bench {
    parser: Parser,
    hasher: SimHasher,
    rules: LinkRules,
    settings: Settings,
    url: CrawlUrl,
}

/// Returns settings with a small bound of decoded bodies.
pub fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.fixed.fetch.decoded_size_max = DECODED_MAX;
    settings
}

/// Returns the URL of the page.
#[expect(clippy::expect_used, reason = "a constant")]
pub fn page_url() -> CrawlUrl {
    CrawlUrl::parse("https://www.site.test/dir/page?q=1").expect("a URL")
}

impl Bench {
    #[expect(clippy::expect_used, reason = "the default rules compile")]
    fn new() -> Self {
        let settings = settings();
        let hasher = KeyedHasher::with_public_key();
        let rules = LinkRules::compile(&settings.live, &settings.fixed, hasher);
        let mut parser = Parser::new(&settings.fixed, &settings.live);
        parser.collect_main_text(true);
        let rules = rules.expect("the default rules compile");
        Self { parser, hasher: SimHasher::default(), rules, settings, url: page_url() }
    }
}

thread_local! {
    static BENCH: RefCell<Bench> = RefCell::new(Bench::new());
}

fn run(input: &[u8]) {
    BENCH.with_borrow_mut(|bench| read_page(bench, input));
}

fn read_page(bench: &mut Bench, input: &[u8]) {
    let (headers, body) = response::split(input);
    let status = headers.get("x-status").and_then(|value| value.to_str().ok()?.parse().ok());
    let kind = match headers.contains_key("x-sitemap") {
        true => LinkKind::Sitemap,
        false => LinkKind::Page,
    };
    let (url, status) = (&bench.url, status.unwrap_or(200));
    let at = Timestamp::ZERO;
    let page = bench.parser.parse(ParseInput { url, status, headers: &headers, body, kind, at });
    let links = &bench.settings.live.links;
    let decoded_max = if page.list.is_some() { SITEMAP_BYTES_MAX } else { DECODED_MAX.as_usize() };
    assert!(page.decoded_len <= decoded_max, "{} bytes decoded", page.decoded_len);
    let base_max = (links.url_length_max as usize).max(url.as_str().len());
    assert!(page.base.as_str().len() <= base_max, "a base of {} bytes", page.base.as_str().len());
    assert!(page.title.is_none_or(|title| title.len() <= 256), "the title is too long");
    assert!(page.main_text.is_none_or(|main| main.text.len() <= 64 << 10), "the text is too long");
    if let Some(text) = page.main_text {
        // Also after any other text.
        assert_eq!(bench.hasher.hash(text.text), SimHasher::default().hash(text.text));
    }
    let signals: usize = page.signals.fields().iter().map(|(_, value)| value.len()).sum();
    assert!(signals <= 16_384, "{signals} bytes of signals");
    let sources = page.decoded_len + input.len();
    assert!(page.links.clone().count() <= sources, "more links than bytes");
    let bytes: usize = page.links.clone().map(|link| link.href.len()).sum();
    // An escape of a query takes up to three bytes for each, and a charset up to ten.
    assert!(bytes <= 32 * sources, "{bytes} bytes of links from {sources}");

    let (bytes, n_links) = (body.len() as u64, page.links.len());
    let record = ParentRecord { url, status, bytes, n_links, text_length: 0, language: "und" };
    let is_redirect = matches!(status, 300..=399);
    let group = GroupHash(1);
    let parent = Parent { page: record, group, kind, depth: 0, redirects: 0, is_redirect };
    let (found, _) = bench.rules.collect(&page.base, page.links, parent);
    let mut seen = HashSet::new();
    let mut taken = 0;
    for found in &found {
        normal_url::check(&found.url);
        assert!(seen.insert(found.url.as_str()), "{} is found twice", found.url);
        taken += found.url.as_str().len();
    }
    let bytes_max = links.bytes_per_page_max.as_usize();
    assert!(taken <= 5 * bytes_max, "{taken} bytes of links are taken");
}
