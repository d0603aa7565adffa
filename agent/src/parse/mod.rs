//! Parse: from a response's bytes to its links.
//!
//! *Comes in*: a status, headers and a body as received. *Goes out*: an [`Extract`], whose links
//! are text still to be resolved. *Remembers*: nothing between pages but allocated buffers, up to a
//! bound. *Never knows*: a clock, a socket, a file; what has been crawled, and what may be.
//! *Goes wrong*: never; a body that cannot be decoded or read yields what could be read, and says
//! why ([`DecodeProblem`]).
//!
//! ```text
//!  body ─► decode ─► charset ─► media ─┬─► scan ─► html ─┐
//!          (coding)                    ├─► css ──────────┼─► links ─► Extract
//!                                      └─► xml ──────────┤
//!  headers ─► head ──────────────────────────────────────┘
//! ```
//! One [`Parser`] belongs to one thread. All of it is one pass forward over the page, in time
//! linear in its length and in memory bounded by `fetch.decoded-size-max`.

mod charset;
mod coding;
mod css;
mod decode;
mod gleanings;
mod head;
mod html;
mod links;
mod media;
mod microsyntax;
mod raw_text;
mod scan;
mod tag;
mod value;
mod xml;

#[cfg(test)]
mod tests;

pub use decode::{CODINGS_MAX, DecodeProblem};
pub use links::{Link, Links, Via};
pub use media::Media;

use crate::limits::SITEMAP_URLS_MAX;
use crate::messages::LinkKind;
use crivello_common::config::Settings;
use crivello_common::url::CrawlUrl;
use encoding_rs::{Encoding, UTF_8};
use gleanings::{Gleanings, Wanted};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use media::Claim;
use std::borrow::Cow;
use std::sync::LazyLock;

/// Links read of any document, be it a sitemap: what is beyond is only counted.
pub const LINKS_READ_MAX: usize = SITEMAP_URLS_MAX;

/// A response, ready to be read.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The URL that was requested.
    pub url: &'a CrawlUrl,
    /// The HTTP status code.
    pub status: u16,
    /// The response's headers.
    pub headers: &'a HeaderMap,
    /// The body as received.
    pub body: &'a [u8],
    /// What the URL was found as.
    pub kind: LinkKind,
}

/// What a response holds for a crawler.
#[derive(Clone, Debug)]
pub struct Extract<'a> {
    /// What hrefs are relative to: the URL requested, or the page's first `<base href>` unless
    /// that is longer than `links.url-length-max`.
    pub base: url::Url,
    /// In the order of the page, headers first; not deduplicated.
    pub links: Links<'a>,
    /// Links beyond the number that is read ([`LINKS_READ_MAX`] or `links.per-page-max`, whichever
    /// is more).
    pub links_over: u64,
    /// The page as a whole says `nofollow` (already part of each [`Link::nofollow`]).
    pub page_nofollow: bool,
    /// The page says `noindex`.
    pub noindex: bool,
    /// What the body was read as.
    pub media: Media,
    /// The WHATWG name of the page's encoding; `None` if the body was not read.
    pub charset: Option<&'static str>,
    /// Bytes of the body with its content-encoding undone; 0 if that was not needed.
    pub decoded_len: usize,
    /// Why the body was not, or not wholly, decoded.
    pub decode_problem: Option<DecodeProblem>,
    /// The page's title, white space collapsed, at most 256 bytes; `None` if there is none.
    pub title: Option<&'a str>,
}

/// How the body was read.
#[derive(Default)]
struct Reading {
    media: Option<Media>,
    charset: Option<&'static str>,
    decoded_len: usize,
    problem: Option<DecodeProblem>,
}

/// Reads responses, one after another, into the same buffers.
pub struct Parser {
    wanted: Wanted,
    decoder: decode::Decoder,
    found: Gleanings,
}

impl Parser {
    /// A parser for one thread.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            wanted: Wanted::of(settings),
            decoder: decode::Decoder::default(),
            found: Gleanings::default(),
        }
    }

    /// Takes over changed settings, from the next page on.
    pub fn adopt(&mut self, settings: &Settings) {
        self.wanted = Wanted::of(settings);
    }

    /// Reads one response. Links are taken from the body and headers of 2xx responses, and from
    /// `Location` of 3xx responses.
    pub fn read(&mut self, input: Input<'_>) -> Extract<'_> {
        self.found.clear(self.wanted.links_max);
        let mut reading = Reading::default();
        match input.status {
            200..=299 => {
                head::read(input.headers, &self.wanted, &mut self.found);
                reading = self.body(input);
            }
            300..=399 => head::redirect(input.headers, input.kind, &mut self.found),
            _ => {}
        }
        let base = self.base(input.url);
        let found = &self.found;
        Extract {
            base,
            links: found.links.links(found.directives.nofollow),
            links_over: found.links.over(),
            page_nofollow: found.directives.nofollow,
            noindex: found.directives.noindex,
            media: reading.media.unwrap_or(Media::Other),
            charset: reading.charset,
            decoded_len: reading.decoded_len,
            decode_problem: reading.problem,
            title: (!found.title.is_empty()).then_some(found.title.as_str()),
        }
    }

    fn body(&mut self, input: Input<'_>) -> Reading {
        let content_type = input.headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
        let claim = Claim::of(content_type);
        if !claim.is_worth_reading(input.kind) {
            return Reading::default();
        }
        let is_sitemap = input.kind == LinkKind::Sitemap;
        let decoded =
            self.decoder.decode(input.headers, input.body, self.wanted.decoded_max, is_sitemap);
        let mut reading = Reading {
            decoded_len: decoded.bytes.len(),
            problem: decoded.problem,
            ..Reading::default()
        };
        if decoded.bytes.is_empty() || media::is_binary(decoded.bytes, claim) {
            return reading;
        }
        let (encoding, bom) = charset::choose(content_type, decoded.bytes, input.url.host());
        let text = Text::of(&decoded.bytes[bom..], encoding);
        let media = media::detect(claim, input.kind, &text.bytes);
        reading.media = Some(media);
        reading.charset = Some(encoding.name());
        read_text(media, &text, &self.wanted, &mut self.found);
        reading
    }

    /// The page's base; a link to it, if a link led to the page itself.
    fn base(&mut self, page: &CrawlUrl) -> url::Url {
        let page = page_url(page);
        let Some(href) = &self.found.base else {
            return page;
        };
        match page.join(href) {
            Ok(base) if self.is_usable(&base) => {
                if self.found.to_base {
                    self.found.links.push("", LinkKind::Page, Via::Anchor, false);
                }
                base
            }
            _ => page,
        }
    }

    /// A long `base` would be copied for each of a page's links (escapes may have made it longer
    /// than its `href`). The schemes are those that the HTML standard leaves out.
    fn is_usable(&self, base: &url::Url) -> bool {
        base.as_str().len() <= self.wanted.base_max
            && !matches!(base.scheme(), "data" | "javascript")
    }
}

/// The URL of a page, to resolve against. Every URL in normal form parses; were one not to, its
/// page's relative links would be discarded as unparsable, and the parser would live.
fn page_url(page: &CrawlUrl) -> url::Url {
    url::Url::parse(page.as_str()).unwrap_or_else(|_| NOWHERE.clone())
}

#[expect(clippy::expect_used, reason = "a constant, parsed in every test")]
static NOWHERE: LazyLock<url::Url> =
    LazyLock::new(|| url::Url::parse("about:blank").expect("about:blank is a URL"));

/// A page in an encoding in which ASCII means itself.
struct Text<'a> {
    bytes: Cow<'a, [u8]>,
    encoding: &'static Encoding,
    query_encoding: &'static Encoding,
}

impl<'a> Text<'a> {
    /// UTF-16 and ISO-2022-JP are decoded as a whole; all else is decoded value by value.
    fn of(bytes: &'a [u8], encoding: &'static Encoding) -> Self {
        let query_encoding = encoding.output_encoding();
        if encoding.is_ascii_compatible() {
            return Self { bytes: Cow::Borrowed(bytes), encoding, query_encoding };
        }
        let text = encoding.decode_without_bom_handling(bytes).0.into_owned();
        Self { bytes: Cow::Owned(text.into_bytes()), encoding: UTF_8, query_encoding }
    }

    fn as_str(&self) -> Cow<'_, str> {
        self.encoding.decode_without_bom_handling(&self.bytes).0
    }
}

fn read_text(media: Media, text: &Text<'_>, wanted: &Wanted, found: &mut Gleanings) {
    match media {
        Media::Html => {
            html::read(&text.bytes, text.encoding, text.query_encoding, wanted, found);
        }
        Media::Sitemap => xml::read(&text.as_str(), Via::Sitemap, found),
        Media::Feed => xml::read(&text.as_str(), Via::Feed, found),
        Media::TextSitemap => xml::read_lines(&text.as_str(), found),
        Media::StyleSheet => css::read(&text.as_str(), wanted, found),
        Media::Other => {}
    }
}
