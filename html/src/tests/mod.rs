//! Tests of the public API: a response in, links out.

mod css;
mod decoding;
mod feeds;
mod headers;
mod hostile;
mod oracle;
mod pages;

use super::{DecodeProblem, Media, ParseInput, Parser};
use crate::LinkKind;
use crivello_common::config::Settings;
use crivello_common::url::CrawlUrl;
use http::{HeaderMap, HeaderName, HeaderValue};

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
    nofollow: Vec<bool>,
    page_nofollow: bool,
    noindex: bool,
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
        });
        Read {
            base: extract.base.to_string(),
            hrefs: extract.links.clone().map(|l| l.href.to_owned()).collect(),
            kinds: extract.links.clone().map(|l| l.kind).collect(),
            nofollow: extract.links.map(|l| l.nofollow).collect(),
            page_nofollow: extract.page_nofollow,
            noindex: extract.noindex,
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
