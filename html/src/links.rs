//! Links of a page, in an arena that is filled and cleared for each page.

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

/// Maximum number of URLs read from one sitemap (sitemaps.org), and the minimum limit on links for
/// any document. Links beyond it are counted but not read.
pub const SITEMAP_URLS_MAX: usize = 50_000;

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

/// The place of a link in a page or its headers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LinkSource {
    /// `a`.
    Anchor,
    /// `area`.
    Area,
    /// `frame` or `iframe`.
    Frame,
    /// `link rel=canonical`, in the page or the header.
    Canonical,
    /// `link rel=alternate`, in the page or the header.
    Alternate,
    /// `link rel=next` or `prev`, in the page or the header.
    Sequence,
    /// `meta http-equiv=refresh`, or the `Refresh` header.
    Refresh,
    /// `img`, `source`, `video`, `audio`, `input`, an icon, or `url()` in a style sheet.
    Image,
    /// `script`, or a style sheet, including an imported one.
    Script,
    /// The `Location` header of a redirect.
    Location,
    /// A sitemap or a sitemap index.
    Sitemap,
    /// RSS or Atom.
    Feed,
}

impl LinkSource {
    /// Returns the name used in metadata records: element and attribute if there are any.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Anchor => "a/@href",
            Self::Area => "area/@href",
            Self::Frame => "iframe/@src",
            Self::Canonical => "link/@rel=canonical",
            Self::Alternate => "link/@rel=alternate",
            Self::Sequence => "link/@rel=next",
            Self::Refresh => "refresh",
            Self::Image => "img/@src",
            Self::Script => "script/@src",
            Self::Location => "Location",
            Self::Sitemap => "sitemap",
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
    over: u64,
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

    /// Adds a link.
    pub(super) fn push(&mut self, href: &str, kind: LinkKind, source: LinkSource, nofollow: bool) {
        let start = self.text.len();
        let range = (u32::try_from(start), u32::try_from(start + href.len()));
        let (Ok(start), Ok(end)) = range else {
            self.over += 1;
            return;
        };
        if self.entries.len() >= self.links_max {
            self.over += 1;
            return;
        }
        self.text.push_str(href);
        self.entries.push(Entry { start, end, kind, source, nofollow });
    }

    /// Returns the number of links that were not kept.
    pub(super) const fn over(&self) -> u64 {
        self.over
    }

    /// Returns all links.
    pub(super) fn links(&self, page_nofollow: bool) -> ExtractedLinks<'_> {
        ExtractedLinks { text: &self.text, rest: self.entries.iter(), page_nofollow }
    }
}
