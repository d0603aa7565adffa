//! Links of a page, in an arena that is filled and cleared for each page.

use crivello_common::closed_set;

/// Kind of link through which a URL was found. It decides how the response is parsed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum LinkKind {
    /// A page, or a file of any kind.
    #[default]
    Page = 0,
    /// A sitemap or a sitemap index.
    Sitemap = 1,
}

/// A link as written in a page, not yet resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ExtractedLink<'a> {
    /// URL, or reference relative to the page's base. It is trimmed and has no tabs, newlines or
    /// fragment; character references are decoded; the query is percent-encoded in the page's
    /// encoding if that is not UTF-8. It can have any scheme. If empty, it is the base itself.
    pub href: &'a str,
    /// Kind of the target, which decides how its response is parsed.
    pub kind: LinkKind,
    /// Place of the link.
    pub source: LinkSource,
    /// True if the link or the whole page is `nofollow`. Never true for the target of a redirect.
    pub nofollow: bool,
}

closed_set! {
    /// The place of a link in a page or its headers. Its name, used in metadata records, is element
    /// and attribute if there are any.
    pub enum LinkSource {
        /// `a`.
        Anchor => "a/@href",
        /// `area`.
        Area => "area/@href",
        /// `frame` or `iframe`.
        Frame => "iframe/@src",
        /// `link rel=canonical`, in the page or the header.
        Canonical => "link/@rel=canonical",
        /// `link rel=alternate`, in the page or the header.
        Alternate => "link/@rel=alternate",
        /// `link rel=next` or `prev`, in the page or the header.
        Sequence => "link/@rel=next",
        /// `meta http-equiv=refresh`, or the `Refresh` header.
        Refresh => "refresh",
        /// `img`, `source`, `video`, `audio`, `input`, an icon, or `url()` in a style sheet.
        Image => "img/@src",
        /// `object` or `embed`.
        Object => "object/@data",
        /// `script`, or a style sheet, including an imported one.
        Script => "script/@src",
        /// The `Location` header of a redirect.
        Location => "Location",
        /// `loc` of a sitemap or a sitemap index, or a line of a sitemap that is a list.
        Sitemap => "sitemap",
        /// `image:loc` or `video:thumbnail_loc` of a sitemap.
        SitemapImage => "sitemap/image",
        /// `video:content_loc` or `video:player_loc` of a sitemap.
        SitemapVideo => "sitemap/video",
        /// `xhtml:link` of a sitemap: the page in another language, or for other devices.
        SitemapAlternate => "sitemap/alternate",
        /// `Sitemap` of a robots.txt.
        RobotsTxt => "robots.txt",
        /// RSS or Atom.
        Feed => "feed",
        /// `/favicon.ico`, which browsers request for a page that declares no icon.
        Favicon => "/favicon.ico",
    }
}

impl LinkSource {
    /// Returns true for an entry of a sitemap or a feed.
    pub const fn is_entry(self) -> bool {
        matches!(self, Self::Sitemap | Self::Feed)
    }

    /// Returns the value of `link.kind` in expressions.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Anchor | Self::Area => "anchor",
            Self::Frame => "frame",
            Self::Canonical => "canonical",
            Self::Alternate | Self::SitemapAlternate => "alternate",
            Self::Sequence => "sequence",
            Self::Refresh | Self::Location => "redirect",
            Self::Image | Self::SitemapImage | Self::Favicon => "image",
            Self::SitemapVideo => "video",
            Self::Object => "object",
            Self::Script => "script",
            Self::Sitemap | Self::RobotsTxt => "sitemap",
            Self::Feed => "feed",
        }
    }
}

/// The links of a page, in the order of the page.
#[derive(Clone, Debug)]
pub struct ExtractedLinks<'a> {
    text: &'a str,
    rest: std::slice::Iter<'a, Entry>,
    page_nofollow: bool,
}

impl<'a> Iterator for ExtractedLinks<'a> {
    type Item = ExtractedLink<'a>;

    fn next(&mut self) -> Option<ExtractedLink<'a>> {
        let entry = self.rest.next()?;
        Some(ExtractedLink {
            href: &self.text[entry.start as usize..entry.end as usize],
            kind: entry.kind,
            source: entry.source,
            nofollow: entry.source != LinkSource::Location
                && (entry.nofollow || self.page_nofollow),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl ExactSizeIterator for ExtractedLinks<'_> {}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    end: u32,
    kind: LinkKind,
    source: LinkSource,
    nofollow: bool,
}

/// Number of bytes of text that stay allocated between pages.
const KEPT_TEXT: usize = 256 << 10;
/// Number of links that stay allocated between pages.
const KEPT_LINKS: usize = 4_096;

/// The links of a page and their text.
#[derive(Debug, Default)]
pub(super) struct LinkArena {
    text: String,
    entries: Vec<Entry>,
    /// Links beyond this number are counted but not kept.
    links_max: usize,
    /// Number of links that were not kept.
    pub(super) over: u64,
}

impl LinkArena {
    /// Removes all links.
    pub(super) fn clear(&mut self, links_max: usize) {
        self.text.clear();
        self.text.shrink_to(KEPT_TEXT);
        self.entries.clear();
        self.entries.shrink_to(KEPT_LINKS);
        self.links_max = links_max;
        self.over = 0;
    }

    /// Allows at least `links_max` links.
    pub(super) fn allow(&mut self, links_max: usize) {
        self.links_max = self.links_max.max(links_max);
    }

    /// Returns the number of links.
    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the index and the source of each link from index `first` on.
    pub(super) fn sources(&self, first: usize) -> impl Iterator<Item = (u32, LinkSource)> {
        let entries = self.entries.iter().enumerate().skip(first);
        entries.map(|(index, entry)| (index as u32, entry.source))
    }

    /// Adds a link.
    pub(super) fn push(&mut self, href: &str, kind: LinkKind, source: LinkSource, nofollow: bool) {
        let start = self.text.len();
        match (u32::try_from(start), u32::try_from(start + href.len())) {
            (Ok(start), Ok(end)) if self.entries.len() < self.links_max => {
                self.text.push_str(href);
                self.entries.push(Entry { start, end, kind, source, nofollow });
            }
            _ => self.over += 1,
        }
    }

    /// Returns all links.
    pub(super) fn links(&self, page_nofollow: bool) -> ExtractedLinks<'_> {
        ExtractedLinks { text: &self.text, rest: self.entries.iter(), page_nofollow }
    }
}
