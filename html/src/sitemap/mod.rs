//! Links and dates in sitemaps (sitemaps.org, with Google's extensions for news, images, videos and
//! languages), RSS and Atom.
//!
//! ```text
//!  UTF-8 text ─► markup (events) ─► entries ─┬─► links
//!           └──► lines ──────────────────────┼─► dates ─► LinkDates
//!                                            └─► counts ─► ListSummary
//! ```
//! The text is read once, piece by piece: memory does not grow with its length. A document that is
//! damaged yields the entries before the damage.
//!
//! Elements are recognized by their local names and by the elements around them. Namespaces are not
//! resolved, because many sitemaps use prefixes that they do not declare, and the case of letters is
//! ignored.

mod dates;
mod entries;
mod lines;
mod markup;

use super::extraction::{Extraction, LinkFilter};
use super::links::{LinkKind, LinkSource};
use super::media::Media;
use super::text;
use crivello_common::time::Timestamp;
use crivello_common::url::has_other_scheme;
use encoding_rs::UTF_8;
use entries::Entries;
use std::io::BufRead;
use std::time::Duration;

/// Maximum number of entries read from one sitemap or feed (sitemaps.org), and the minimum limit on
/// links for any other document. Links beyond it are counted but not read.
pub const SITEMAP_URLS_MAX: usize = 50_000;
/// Maximum number of links of one sitemap: one for each entry, and as many images, videos and
/// alternates.
pub const SITEMAP_LINKS_MAX: usize = 2 * SITEMAP_URLS_MAX;
/// Maximum length of a sitemap in bytes, with its encodings undone (sitemaps.org: 50 MiB).
pub const SITEMAP_BYTES_MAX: usize = 50 << 20;

/// Tolerance for dates in the future. A date without a time is that day at midnight in UTC, and the
/// day begins up to 14 hours earlier elsewhere.
const FUTURE_MAX: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum length of the text of a link, as a multiple of `links.url-length-max`: entities and
/// escapes may make it longer than its URL.
const LONGER: usize = 3;

/// The dates of one link of a sitemap or feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LinkDates {
    /// Index of the link among the links of the page.
    pub link: u32,
    /// Time of the last change, in whole seconds: `lastmod` of a sitemap, `updated` of a feed.
    pub modified: Option<Timestamp>,
    /// Time of publication, in whole seconds: `news:publication_date` of a sitemap, `pubDate`,
    /// `dc:date` or `published` of a feed.
    pub published: Option<Timestamp>,
}

/// Counts of one sitemap or feed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ListSummary {
    /// Entries: pages, sitemaps, or articles, also beyond [`SITEMAP_URLS_MAX`].
    pub n_entries: u64,
    /// Entries that are news articles. A news sitemap should have at most 1,000, which is not
    /// enforced.
    pub n_news: u64,
    /// URLs of a sitemap that are not absolute, which the protocol demands: they are not links.
    pub n_relative: u64,
    /// URLs longer than three times `links.url-length-max`: they are not links.
    pub n_too_long: u64,
    /// Dates that lie more than a day in the future: they are ignored.
    pub n_future_dates: u64,
    /// Dates that cannot be read: they are ignored.
    pub n_invalid_dates: u64,
    /// True if the document is cut off, or is not XML from some place on: entries after that place
    /// are not read.
    pub is_damaged: bool,
    /// True if the document is longer than [`SITEMAP_BYTES_MAX`], or is compressed too much: the
    /// rest is not read.
    pub is_too_large: bool,
}

/// Parses a sitemap or feed in UTF-8. Dates are compared with `now`.
pub(super) fn parse(
    source: impl BufRead,
    media: Media,
    now: Timestamp,
    filter: &LinkFilter,
    out: &mut Extraction,
) {
    out.links.allow(SITEMAP_LINKS_MAX);
    let latest = Timestamp(now.0.saturating_add(FUTURE_MAX.as_micros() as u64));
    let mut list = LinkList::new(filter, latest, out);
    let is_whole = match media {
        Media::TextSitemap => lines::each(source, |line| list.line(line)),
        _ => {
            let is_feed = media == Media::Feed;
            let mut entries = Entries::new(&mut list, is_feed);
            let is_xml = markup::each(source, |event| entries.event(&event));
            let is_closed = entries.end();
            is_xml && is_closed
        }
    };
    list.summary.is_damaged |= !is_whole;
    let summary = list.summary;
    out.list = Some(summary);
}

/// A line, or the text of an element, which may be cut off.
#[derive(Clone, Copy, Debug)]
struct Piece<'a> {
    text: &'a str,
    /// True if the text goes on.
    is_cut: bool,
}

/// The links of one document, within the bounds.
struct LinkList<'o> {
    out: &'o mut Extraction,
    summary: ListSummary,
    /// Links that are entries, and links that belong to entries.
    n_taken: [usize; 2],
    /// Bytes of links that may still be taken: as many as another document may have.
    bytes_left: usize,
    /// Maximum length of the text of a link in bytes.
    text_max: usize,
    /// Dates after this one are ignored.
    latest: Timestamp,
    /// True if images and videos are links.
    media: bool,
}

impl<'o> LinkList<'o> {
    fn new(filter: &LinkFilter, latest: Timestamp, out: &'o mut Extraction) -> Self {
        Self {
            out,
            summary: ListSummary::default(),
            n_taken: [0; 2],
            bytes_left: filter.decoded_max,
            text_max: filter.base_max.saturating_mul(LONGER),
            latest,
            media: filter.images,
        }
    }

    /// Adds a link, unless it is empty, too long, relative in a sitemap, or beyond a bound.
    fn link(&mut self, piece: Piece<'_>, kind: LinkKind, source: LinkSource) {
        if piece.is_cut || piece.text.len() > self.text_max {
            self.summary.n_too_long += 1;
            return;
        }
        let href = text::href(piece.text, UTF_8);
        if href.is_empty() {
            return;
        }
        if source != LinkSource::Feed && !is_absolute(&href) {
            self.summary.n_relative += 1;
            return;
        }
        let taken = &mut self.n_taken[usize::from(!source.is_entry())];
        if *taken >= SITEMAP_URLS_MAX || href.len() > self.bytes_left {
            self.out.links.over += 1;
            return;
        }
        *taken += 1;
        self.bytes_left -= href.len();
        self.out.links.push(&href, kind, source, false);
    }

    /// Adds a line of a sitemap that is a list. Empty lines and comments are no entries.
    fn line(&mut self, piece: Piece<'_>) {
        let text = piece.text.trim();
        if !text.is_empty() && !text.starts_with('#') {
            self.summary.n_entries += 1;
            self.link(Piece { text, ..piece }, LinkKind::Page, LinkSource::Sitemap);
        }
    }

    /// Returns the date in a text; `None` if it is ignored.
    fn date(&mut self, piece: Piece<'_>) -> Option<Timestamp> {
        let text = piece.text.trim();
        if text.is_empty() {
            return None;
        }
        let Some(date) = dates::parse(text).filter(|_| !piece.is_cut) else {
            self.summary.n_invalid_dates += 1;
            return None;
        };
        if date > self.latest {
            self.summary.n_future_dates += 1;
            return None;
        }
        Some(date)
    }

    /// Adds the dates of the entries among the links from index `first` on.
    fn set_dates(
        &mut self,
        first: usize,
        modified: Option<Timestamp>,
        published: Option<Timestamp>,
    ) {
        if modified.is_none() && published.is_none() {
            return;
        }
        for (link, source) in self.out.links.sources(first) {
            if source.is_entry() {
                self.out.dates.push(LinkDates { link, modified, published });
            }
        }
    }
}

/// Returns true for an http or https URL with an authority, and for any URL with another scheme,
/// which is refused as a link.
fn is_absolute(href: &str) -> bool {
    let is_http = |scheme| text::begins(href, scheme).is_some();
    is_http("http://") || is_http("https://") || has_other_scheme(href)
}
