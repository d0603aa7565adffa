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
mod link_list;
mod markup;

use super::extraction::{Extraction, LinkFilter};
use super::list_summary::SITEMAP_LINKS_MAX;
use super::media::Media;
use crivello_common::time::Timestamp;
use entries::Entries;
use link_list::LinkList;
use std::io::BufRead;
use std::time::Duration;

/// Tolerance for dates in the future. A date without a time is that day at midnight in UTC, and the
/// day begins up to 14 hours earlier elsewhere.
const FUTURE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

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
