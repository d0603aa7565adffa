//! Tests of the public API: a response in, links out.

mod css;
mod decoding;
mod feeds;
mod headers;
mod hostile;
mod oracle;
mod pages;
mod signals;
mod sitemap_codings;
mod sitemaps;

use super::{
    DecodeProblem, LinkDates, LinkKind, LinkSource, ListSummary, Media, ParseInput, Parser,
};
use crivello_common::config::Settings;
use crivello_common::signals::PageSignals;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use http::{HeaderMap, HeaderName, HeaderValue};

/// 2026-11-25T12:00:00Z.
const NOW: Timestamp = Timestamp::from_secs(1_795_608_000);

/// A response to be parsed.
struct Case {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    kind: LinkKind,
    settings: Settings,
}

/// An [`super::ParsedPage`] that owns its data.
#[derive(Debug)]
struct Read {
    base: String,
    hrefs: Vec<String>,
    kinds: Vec<LinkKind>,
    sources: Vec<LinkSource>,
    dates: Vec<LinkDates>,
    list: Option<ListSummary>,
    nofollow: Vec<bool>,
    page_nofollow: bool,
    noindex: bool,
    signals: PageSignals,
    media: Media,
    charset: Option<&'static str>,
    decoded_len: usize,
    problem: Option<DecodeProblem>,
    title: Option<String>,
    over: u64,
}

impl Case {
    fn new(body: impl AsRef<[u8]>) -> Self {
        Self {
            status: 200,
            headers: HeaderMap::new(),
            body: body.as_ref().to_vec(),
            kind: LinkKind::Page,
            settings: Settings::default(),
        }
    }

    fn html(body: impl AsRef<[u8]>) -> Self {
        Self::new(body).header("content-type", "text/html")
    }

    fn header(mut self, name: &'static str, value: impl AsRef<[u8]>) -> Self {
        let value = HeaderValue::from_bytes(value.as_ref()).unwrap();
        self.headers.append(HeaderName::from_static(name), value);
        self
    }

    fn status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    fn sitemap(mut self) -> Self {
        self.kind = LinkKind::Sitemap;
        self
    }

    fn settings(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(&mut self.settings);
        self
    }

    fn read(&self) -> Read {
        self.read_with(&mut Parser::new(&self.settings.fixed, &self.settings.live))
    }

    fn read_with(&self, parser: &mut Parser) -> Read {
        let url = CrawlUrl::parse("http://host.example/dir/page?q=1").unwrap();
        let extract = parser.parse(ParseInput {
            url: &url,
            status: self.status,
            headers: &self.headers,
            body: &self.body,
            kind: self.kind,
            at: NOW,
        });
        Read {
            base: extract.base.to_string(),
            hrefs: extract.links.clone().map(|l| l.href.to_owned()).collect(),
            kinds: extract.links.clone().map(|l| l.kind).collect(),
            sources: extract.links.clone().map(|l| l.source).collect(),
            dates: extract.dates.to_vec(),
            list: extract.list,
            nofollow: extract.links.map(|l| l.nofollow).collect(),
            page_nofollow: extract.page_nofollow,
            noindex: extract.signals.robots.noindex(),
            signals: extract.signals,
            media: extract.media,
            charset: extract.charset,
            decoded_len: extract.decoded_len,
            problem: extract.decode_problem,
            title: extract.title.map(str::to_owned),
            over: extract.links_over,
        }
    }

    #[track_caller]
    fn links_to(&self, expected: &[&str]) {
        assert_eq!(self.read().hrefs, expected, "{}", self.body.escape_ascii());
    }
}

#[test]
fn a_parser_can_be_moved_to_its_thread() {
    const fn is_send<T: Send>() {}
    is_send::<Parser>();
    assert_eq!(super::ABOUT_BLANK.as_str(), "about:blank");
}

/// Returns each link with the times of its change and publication; empty if there is none.
fn dated(read: &Read) -> Vec<(&str, String, String)> {
    let shown = |at: Option<Timestamp>| {
        at.map_or_else(String::new, |at| at.to_string().trim_end_matches(".000000Z").to_owned())
    };
    let mut dates = read.dates.iter().peekable();
    let dated = read.hrefs.iter().enumerate().map(|(at, href)| {
        let of = dates.next_if(|dates| dates.link as usize == at);
        let (modified, published) = of.map_or((None, None), |of| (of.modified, of.published));
        (href.as_str(), shown(modified), shown(published))
    });
    let dated = dated.collect();
    assert_eq!(dates.next(), None, "dates without a link");
    dated
}

/// Checks the links and the times of their changes and publications.
#[track_caller]
fn assert_dated(read: &Read, expected: &[(&str, &str, &str)]) {
    let found = dated(read);
    let found: Vec<_> = found.iter().map(|(href, m, p)| (*href, m.as_str(), p.as_str())).collect();
    assert_eq!(found, expected);
}
