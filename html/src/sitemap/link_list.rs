//! The links of one sitemap or feed, within the bounds.

use super::dates;
use crate::extraction::{Extraction, LinkFilter};
use crate::links::{LinkKind, LinkSource};
use crate::list_summary::{LinkDates, ListSummary, SITEMAP_URLS_MAX};
use crate::text;
use crivello_common::time::Timestamp;
use crivello_common::url::has_other_scheme;
use encoding_rs::UTF_8;

/// Maximum length of the text of a link, as a multiple of `links.url-length-max`: entities and
/// escapes may make it longer than its URL.
const LONGER: usize = 3;

/// A line, or the text of an element, which may be cut off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece<'a> {
    pub text: &'a str,
    /// True if the text goes on.
    pub is_cut: bool,
}

/// The links of one document, within the bounds.
pub(super) struct LinkList<'o> {
    pub out: &'o mut Extraction,
    pub summary: ListSummary,
    /// Links that are entries, and links that belong to entries.
    n_taken: [usize; 2],
    /// Bytes of links that may still be taken: as many as another document may have.
    bytes_left: usize,
    /// Maximum length of the text of a link in bytes.
    pub text_max: usize,
    /// Dates after this one are ignored.
    latest: Timestamp,
    /// True if images and videos are links.
    pub media: bool,
}

impl<'o> LinkList<'o> {
    pub fn new(filter: &LinkFilter, latest: Timestamp, out: &'o mut Extraction) -> Self {
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
    pub fn link(&mut self, piece: Piece<'_>, kind: LinkKind, source: LinkSource) {
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
    pub fn line(&mut self, piece: Piece<'_>) {
        let text = piece.text.trim();
        if !text.is_empty() && !text.starts_with('#') {
            self.summary.n_entries += 1;
            self.link(Piece { text, ..piece }, LinkKind::Page, LinkSource::Sitemap);
        }
    }

    /// Returns the date in a text; `None` if it is ignored.
    pub fn date(&mut self, piece: Piece<'_>) -> Option<Timestamp> {
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
    pub fn set_dates(
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
