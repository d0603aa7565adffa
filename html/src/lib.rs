//! Parsing of responses: from the bytes of a response to its links.
//!
//! ```text
//!  body ─► decode ─► charset ─► media ─┬─► scan ─► html ─┐
//!          (content                    ├─► css ──────────┼─► links ─► ParsedPage
//!           encoding)                  └─► sitemap ──────┤
//!  headers ──────────────────────────────────────────────┘
//! ```
//! On request the HTML parser also collects the page's main text ([`MainText`]) in the same pass.
//!
//! A [`Parser`] receives the status, the headers and the body of a response as received
//! ([`ParseInput`]) and returns its links as text, not yet resolved ([`ParsedPage`]). It needs no
//! clock, socket or file, does not know which URLs have been or may be crawled, and keeps nothing
//! between pages but its buffers, up to a bound.
//!
//! Parsing never fails. A body that cannot be decoded or parsed yields its readable part, with the
//! reason ([`DecodeProblem`]).
//!
//! Each thread has its own parser. A page is read in one forward pass, in time linear in its length
//! and in memory bounded by `fetch.decoded-size-max`.

mod charset;
mod content_encoding;
mod css;
mod extraction;
mod headers;
mod html;
mod links;
mod list_summary;
mod main_text;
mod markup;
mod media;
mod microsyntax;
mod raw_text;
mod robots_txt;
mod scan;
mod simhash;
mod sitemap;
mod sitemap_stream;
mod tag;
mod text;
mod utf8_reader;

#[cfg(test)]
mod tests;

pub use content_encoding::{CODINGS_MAX, DecodeProblem};
pub use links::{ExtractedLink, ExtractedLinks, LinkKind, LinkSource};
pub use list_summary::{
    LinkDates, ListSummary, SITEMAP_BYTES_MAX, SITEMAP_LINKS_MAX, SITEMAP_URLS_MAX,
};
pub use main_text::{Language, MainText, TEXT_RECIPE, TextFingerprint};
pub use media::Media;
pub use robots_txt::RobotsTxt;
pub use simhash::{SIMHASH_RECIPE, SimHash, SimHasher};

use content_encoding::Decoder;
use crivello_common::config::{Fixed, Live};
use crivello_common::discard::Discard;
use crivello_common::signals::PageSignals;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, parse_cost};
use encoding_rs::{Encoding, UTF_8};
use extraction::{Extraction, LinkFilter};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use main_text::Collector;
use media::DeclaredType;
use sitemap_stream::SitemapStream;
use std::borrow::Cow;
use std::io::Read;
use std::sync::LazyLock;
use utf8_reader::Utf8Reader;

/// A response to be parsed.
#[derive(Clone, Copy, Debug)]
pub struct ParseInput<'a> {
    /// Requested URL.
    pub url: &'a CrawlUrl,
    /// HTTP status code.
    pub status: u16,
    /// Headers of the response.
    pub headers: &'a HeaderMap,
    /// Body as received.
    pub body: &'a [u8],
    /// Kind of the link through which the URL was found.
    pub kind: LinkKind,
    /// Time of the request, with which dates are compared.
    pub at: Timestamp,
}

/// The result of parsing a response.
#[derive(Clone, Debug)]
pub struct ParsedPage<'a> {
    /// Base URL of hrefs: the page's first `<base href>`, if it is not longer than
    /// `links.url-length-max`, otherwise the requested URL.
    pub base: url::Url,
    /// Links in the order of the page, headers first, not deduplicated.
    pub links: ExtractedLinks<'a>,
    /// Dates of the links of a sitemap or feed, in the order of the links.
    pub dates: &'a [LinkDates],
    /// Counts of a sitemap or feed; `None` for any other document.
    pub list: Option<ListSummary>,
    /// Number of links beyond the greater of [`SITEMAP_URLS_MAX`] and `links.per-page-max`, or
    /// beyond the bounds of a sitemap or feed: [`SITEMAP_URLS_MAX`] entries, as many images, videos
    /// and alternates, and in all as many bytes as `fetch.decoded-size-max`.
    pub links_over: u64,
    /// True if the whole page is `nofollow` (already part of each [`ExtractedLink::nofollow`]).
    pub page_nofollow: bool,
    /// Signals of the page and its headers, for any status.
    pub signals: PageSignals,
    /// Format as which the body was parsed.
    pub media: Media,
    /// WHATWG name of the page's encoding; `None` if the body was not parsed.
    pub charset: Option<&'static str>,
    /// Length of the body in bytes, with its content-encoding undone; 0 if it was not decoded.
    pub decoded_len: usize,
    /// Reason why the body was not decoded, or not completely.
    pub decode_problem: Option<DecodeProblem>,
    /// Title of the page, with white space collapsed, at most 256 bytes; `None` if there is none.
    pub title: Option<&'a str>,
    /// Main text of an HTML page; `None` if it was not asked for, or if the body is not HTML.
    pub main_text: Option<MainText<'a>>,
}

/// Result of parsing a body.
#[derive(Default)]
struct BodyParse {
    media: Option<Media>,
    charset: Option<&'static str>,
    decoded_len: usize,
    problem: Option<DecodeProblem>,
}

/// Parser of responses, one after another, with reused buffers.
pub struct Parser {
    filter: LinkFilter,
    decoder: Decoder,
    extraction: Extraction,
    main_text: Option<Box<Collector>>,
}

impl Parser {
    /// Creates a parser with the settings' link filter.
    #[must_use]
    pub fn new(fixed: &Fixed, live: &Live) -> Self {
        Self {
            filter: LinkFilter::of(fixed, live),
            decoder: Decoder::default(),
            extraction: Extraction::default(),
            main_text: None,
        }
    }

    /// Sets whether the main text of pages is collected. By default it is not, and then parsing
    /// costs nothing more.
    pub fn collect_main_text(&mut self, collects: bool) {
        match (&self.main_text, collects) {
            (None, true) => self.main_text = Some(Box::default()),
            (_, true) => {}
            (_, false) => self.main_text = None,
        }
    }

    /// Parses one response. Links are extracted from the body and headers of 2xx responses, and
    /// from `Location` of 3xx responses.
    pub fn parse(&mut self, input: ParseInput<'_>) -> ParsedPage<'_> {
        self.extraction.clear(self.filter.links_max);
        let mut body = BodyParse::default();
        let signals = &mut self.extraction.signals;
        headers::signals(input.headers, input.url, &self.filter, signals);
        match input.status {
            200..=299 => {
                headers::parse(input.headers, &self.filter, &mut self.extraction);
                body = self.body(input);
            }
            300..=399 => headers::redirect(input.headers, input.kind, &mut self.extraction),
            _ => {}
        }
        let base = self.base(input.url);
        let signals = self.extraction.take_signals(&base);
        let nofollow = signals.robots.nofollow() && (200..300).contains(&input.status);
        let is_html = body.media == Some(Media::Html);
        let main_text = self.main_text.as_deref_mut().filter(|_| is_html);
        let main_text = main_text.map(Collector::finish);
        let extraction = &self.extraction;
        ParsedPage {
            base,
            links: extraction.links.links(nofollow),
            dates: &extraction.dates,
            list: extraction.list,
            links_over: extraction.links.over,
            page_nofollow: nofollow,
            signals,
            media: body.media.unwrap_or(Media::Other),
            charset: body.charset,
            decoded_len: body.decoded_len,
            decode_problem: body.problem,
            title: (!extraction.title.is_empty()).then_some(extraction.title.as_str()),
            main_text,
        }
    }

    fn body(&mut self, input: ParseInput<'_>) -> BodyParse {
        let content_type = input.headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
        let declared = DeclaredType::of(content_type);
        if !declared.may_have_links(input.kind) {
            return BodyParse::default();
        }
        let is_sitemap = input.kind == LinkKind::Sitemap;
        if is_sitemap && let Some(parse) = self.sitemap(input, declared) {
            return parse;
        }
        let decoded =
            self.decoder.decode(input.headers, input.body, self.filter.decoded_max, is_sitemap);
        let mut parse = BodyParse {
            decoded_len: decoded.bytes.len(),
            problem: decoded.problem,
            ..BodyParse::default()
        };
        if decoded.bytes.is_empty() || media::is_binary(decoded.bytes, declared) {
            return parse;
        }
        let (encoding, bom) = charset::choose(content_type, decoded.bytes, input.url.host());
        let text = Text::of(&decoded.bytes[bom..], encoding);
        let media = media::detect(declared, input.kind, &text.bytes);
        parse.media = Some(media);
        parse.charset = Some(encoding.name());
        let main_text = self.main_text.as_deref_mut();
        parse_text(media, &text, input, &self.filter, &mut self.extraction, main_text);
        self.add_problem(parse.problem.as_ref());
        parse
    }

    /// Parses a sitemap or feed while it is decoded; `None` if the body is neither, or has encodings
    /// that cannot be undone.
    fn sitemap(&mut self, input: ParseInput<'_>, declared: DeclaredType) -> Option<BodyParse> {
        let mut stream = SitemapStream::open(input.headers, input.body).ok()?;
        let head = stream.take_bytes(HEAD_BYTES);
        if head.is_empty() && stream.is_damaged() {
            self.extraction.list = Some(ListSummary { is_damaged: true, ..ListSummary::default() });
            return Some(BodyParse { problem: stream.problem(), ..BodyParse::default() });
        }
        if head.is_empty() || media::is_binary(&head, declared) {
            return None;
        }
        let content_type = input.headers.get(CONTENT_TYPE).map(http::HeaderValue::as_bytes);
        let (encoding, bom) = charset::choose(content_type, &head, input.url.host());
        let media = media::detect(declared, input.kind, &Text::of(&head[bom..], encoding).bytes);
        if !matches!(media, Media::Sitemap | Media::TextSitemap | Media::Feed) {
            return None;
        }
        let text = Utf8Reader::new(head[bom..].chain(&mut stream), encoding);
        sitemap::parse(text, media, input.at, &self.filter, &mut self.extraction);
        let parse = BodyParse {
            media: Some(media),
            charset: Some(encoding.name()),
            decoded_len: stream.read_bytes(),
            problem: stream.problem(),
        };
        self.add_problem(parse.problem.as_ref());
        Some(parse)
    }

    /// Adds a problem of the decoder to the counts of a sitemap or feed.
    fn add_problem(&mut self, problem: Option<&DecodeProblem>) {
        if let (Some(problem), Some(list)) = (problem, &mut self.extraction.list) {
            match problem {
                DecodeProblem::TooLong | DecodeProblem::Ratio => list.is_too_large = true,
                DecodeProblem::CutOff | DecodeProblem::Corrupt => list.is_damaged = true,
                _ => {}
            }
            // The end of a document that was cut is no damage of its own.
            list.is_damaged &= !list.is_too_large;
        }
    }

    /// Returns the page's base. If the page links to itself and its base is another URL, the base
    /// becomes a link.
    fn base(&mut self, page: &CrawlUrl) -> url::Url {
        let page = page_url(page);
        let Some(href) = &self.extraction.base else {
            return page;
        };
        // A costly name is refused before it is parsed.
        match parse_cost(href).and_then(|_| page.join(href).map_err(|_| Discard::Unparsable)) {
            Ok(base) if self.is_usable(&base) => {
                if self.extraction.to_base {
                    self.extraction.links.push("", LinkKind::Page, LinkSource::Anchor, false);
                }
                base
            }
            _ => page,
        }
    }

    /// Returns true if a base may be used. A long base would be copied for each link of a page
    /// (escapes can make it longer than its `href`). The excluded schemes are those of the HTML
    /// standard.
    fn is_usable(&self, base: &url::Url) -> bool {
        base.as_str().len() <= self.filter.base_max
            && !matches!(base.scheme(), "data" | "javascript")
    }
}

/// Returns the URL of a page, for resolving links. Every URL in normal form parses. If one did not,
/// its page's relative links would be discarded as unparsable, without a panic.
fn page_url(page: &CrawlUrl) -> url::Url {
    url::Url::parse(page.as_str()).unwrap_or_else(|_| ABOUT_BLANK.clone())
}

#[expect(clippy::expect_used, reason = "a constant that every test parses")]
static ABOUT_BLANK: LazyLock<url::Url> =
    LazyLock::new(|| url::Url::parse("about:blank").expect("about:blank is a URL"));

/// Number of bytes by which the encoding and the format of a sitemap are recognized.
const HEAD_BYTES: usize = 16 << 10;

/// A page in an ASCII-compatible encoding.
struct Text<'a> {
    bytes: Cow<'a, [u8]>,
    encoding: &'static Encoding,
    query_encoding: &'static Encoding,
}

impl<'a> Text<'a> {
    /// Decodes UTF-16 and ISO-2022-JP as a whole. Other encodings are decoded value by value.
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

fn parse_text(
    media: Media,
    text: &Text<'_>,
    input: ParseInput<'_>,
    filter: &LinkFilter,
    out: &mut Extraction,
    mut main_text: Option<&mut Collector>,
) {
    match media {
        Media::Html => {
            if let Some(main_text) = &mut main_text {
                main_text.clear();
            }
            html::parse(&text.bytes, text.encoding, text.query_encoding, filter, out, main_text);
            if filter.images && !out.has_icon {
                favicon(input.url, out);
            }
        }
        Media::Sitemap | Media::Feed | Media::TextSitemap => {
            sitemap::parse(text.as_str().as_bytes(), media, input.at, filter, out);
        }
        Media::StyleSheet => css::parse(&text.as_str(), filter, out),
        Media::Other => {}
    }
}

/// Adds the icon that a browser requests for a page that declares none.
fn favicon(page: &CrawlUrl, out: &mut Extraction) {
    let url = format!("{}/favicon.ico", page.origin().on_host(page.host()));
    out.links.push(&url, LinkKind::Page, LinkSource::Favicon, false);
}
