//! Facts of a page, as the crawler reads them, and its markup.

mod links;
mod markup;
mod nesting;

pub use links::LinkReader;
pub use markup::{Markup, MarkupLink};

use crate::source::{ArchivedCapture, Payload};
use crivello_common::config::Settings;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_html::{LinkKind, ParseInput, ParsedPage, Parser, SimHash, SimHasher};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Facts of an HTML page, read as the crawler reads it.
#[derive(Clone, Debug)]
pub struct PageFacts {
    /// Base URL of its links.
    pub base: url::Url,
    /// Title, up to 256 bytes.
    pub title: Option<String>,
    /// WHATWG name of its encoding.
    pub charset: Option<&'static str>,
    /// Language of the main text, by ISO 639-3; `und` if it is unknown.
    pub language: String,
    /// Main text by the crawler's rules, up to 64 KiB.
    pub text: String,
    /// Characters of the main text, without white space.
    pub text_length: usize,
    /// True if the page has `noindex`.
    pub noindex: bool,
    /// True if the page has `noarchive`.
    pub noarchive: bool,
    /// True if the page has `nofollow` for all its links.
    pub nofollow: bool,
}

/// The response of a capture. The payload of a revisit is that of its original; so is its head, if the record has
/// none of its own, or that of an answer 304, which lacks the headers of the page.
pub(crate) struct PageSource<'a> {
    url: &'a CrawlUrl,
    status: u16,
    headers: HeaderMap,
    body: &'a [u8],
}

/// Status of a `resource` record, which has no HTTP head.
const RESOURCE_STATUS: u16 = 200;

impl<'a> PageSource<'a> {
    /// Returns the response of a capture, and for a revisit of its original; `None` if the payload was not
    /// read.
    pub(crate) fn of(
        url: &'a CrawlUrl,
        capture: &'a ArchivedCapture,
        original: Option<&'a ArchivedCapture>,
    ) -> Option<Self> {
        let original = original.unwrap_or(capture);
        let Payload::Bytes(body) = &original.payload else { return None };
        let has_head = capture.http.status.is_some_and(|status| status != 304);
        let head = if has_head { capture } else { original };
        let status = head.http.status.unwrap_or(RESOURCE_STATUS);
        Some(Self { url, status, headers: headers(head), body })
    }

    /// Returns true if the status is one of success. Other pages have no text.
    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    fn input(&self) -> ParseInput<'_> {
        ParseInput {
            url: self.url,
            status: self.status,
            headers: &self.headers,
            body: self.body,
            kind: LinkKind::Page,
            at: Timestamp::MAX,
        }
    }
}

/// Converts the headers of a response. Invalid ones are left out, as the crawler does.
fn headers(capture: &ArchivedCapture) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let resource = capture.head.fields.get("Content-Type").map(|value| ("Content-Type", value));
    let resource = resource.filter(|_| !capture.head.is_http());
    for (name, value) in capture.http.fields.iter().chain(resource) {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            // A map that is full ends the headers.
            let _ = headers.try_append(name, value);
        }
    }
    headers
}

/// A reader of pages, one after another.
pub(crate) struct PageReader {
    parser: Parser,
}

impl PageReader {
    /// Creates a reader with the default settings of crawls.
    pub(crate) fn new() -> Self {
        let settings = Settings::default();
        let mut parser = Parser::new(&settings.fixed, &settings.live);
        parser.collect_main_text(true);
        Self { parser }
    }

    /// Returns the facts of a page; `None` if the response is no HTML page.
    pub(crate) fn facts(&mut self, source: &PageSource<'_>) -> Option<PageFacts> {
        facts(self.parser.parse(source.input()))
    }

    /// Returns the facts of a page, as [`Self::facts`], and the SimHash of its main text, if it has one.
    pub(crate) fn hashed(
        &mut self,
        source: &PageSource<'_>,
        hasher: &mut SimHasher,
    ) -> Option<(PageFacts, Option<SimHash>)> {
        let page = self.parser.parse(source.input());
        // The text as the crawler has it: a control character separates words.
        let hash = page.main_text.as_ref().and_then(|text| hasher.hash(text.text));
        Some((facts(page)?, hash))
    }

    /// Returns the decoded markup of a page; `None` if the response is no HTML page.
    pub(crate) fn markup(&mut self, source: &PageSource<'_>) -> Option<String> {
        self.parser.markup(source.input())
    }
}

fn facts(page: ParsedPage<'_>) -> Option<PageFacts> {
    let text = page.main_text?;
    Some(PageFacts {
        base: page.base,
        title: page.title.map(clean),
        charset: page.charset,
        language: text.language.to_string(),
        text: clean(text.text),
        text_length: text.chars,
        noindex: page.signals.robots.noindex(),
        noarchive: page.signals.robots.noarchive(),
        nofollow: page.page_nofollow,
    })
}

/// Returns a text of a page without control characters, but with its lines and tabs.
pub(crate) fn clean(text: &str) -> String {
    text.chars().filter(|&c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}
