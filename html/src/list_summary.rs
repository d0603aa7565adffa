//! Summary of a sitemap or feed: its counts, the dates of its links, and its bounds.

use crivello_common::time::Timestamp;

/// Maximum number of entries read from one sitemap or feed (sitemaps.org), and the minimum limit on
/// links for any other document. Links beyond it are counted but not read.
pub const SITEMAP_URLS_MAX: usize = 50_000;
/// Maximum number of links of one sitemap: one for each entry, and as many images, videos and
/// alternates.
pub const SITEMAP_LINKS_MAX: usize = 2 * SITEMAP_URLS_MAX;
/// Maximum length of a sitemap in bytes, with its encodings undone (sitemaps.org: 50 MiB).
pub const SITEMAP_BYTES_MAX: usize = 50 << 20;

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
