//! What a page is found to link to: an arena that is filled and emptied page by page.

use crate::messages::LinkKind;

/// A link as it stands in a page, not yet resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link<'a> {
    /// A URL or a reference relative to the page's base: trimmed, without tabs, newlines and
    /// fragment, character references decoded, the query percent-encoded in the page's encoding
    /// where that is not UTF-8. May be of any scheme; empty means the base itself.
    pub href: &'a str,
    /// What it is to be fetched as.
    pub kind: LinkKind,
    /// Where it was found.
    pub via: Via,
    /// Whether the link itself, or the whole page, asks not to be followed. Never set on a
    /// redirect's target.
    pub nofollow: bool,
}

/// Where a link was found.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Via {
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
    /// `script`, or a style sheet, also one that another imports.
    Script,
    /// The `Location` header of a redirect.
    Location,
    /// A sitemap or a sitemap index.
    Sitemap,
    /// RSS or Atom.
    Feed,
}

impl Via {
    /// The name used in metadata records: element and attribute where there is one.
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
pub struct Links<'a> {
    text: &'a str,
    rest: std::slice::Iter<'a, Entry>,
    page_nofollow: bool,
}

impl<'a> Iterator for Links<'a> {
    type Item = Link<'a>;

    fn next(&mut self) -> Option<Link<'a>> {
        let entry = self.rest.next()?;
        Some(Link {
            href: &self.text[entry.start as usize..entry.end as usize],
            kind: entry.kind,
            via: entry.via,
            nofollow: entry.via != Via::Location && (entry.nofollow || self.page_nofollow),
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.rest.size_hint()
    }
}

impl ExactSizeIterator for Links<'_> {}

#[derive(Clone, Copy, Debug)]
struct Entry {
    start: u32,
    end: u32,
    kind: LinkKind,
    via: Via,
    nofollow: bool,
}

/// Bytes of text that are kept allocated between pages.
const KEPT_TEXT: usize = 256 << 10;
/// Links that are kept allocated between pages.
const KEPT_LINKS: usize = 4_096;

/// The arena.
#[derive(Debug, Default)]
pub(super) struct LinkArena {
    text: String,
    entries: Vec<Entry>,
    /// Links beyond this are only counted.
    links_max: usize,
    over: u64,
}

impl LinkArena {
    /// Forgets all links.
    pub(super) fn clear(&mut self, links_max: usize) {
        self.text.clear();
        self.text.shrink_to(KEPT_TEXT);
        self.entries.clear();
        self.entries.shrink_to(KEPT_LINKS);
        self.links_max = links_max;
        self.over = 0;
    }

    /// Adds a link.
    pub(super) fn push(&mut self, href: &str, kind: LinkKind, via: Via, nofollow: bool) {
        let start = self.text.len();
        let place = (u32::try_from(start), u32::try_from(start + href.len()));
        let (Ok(start), Ok(end)) = place else {
            self.over += 1;
            return;
        };
        if self.entries.len() >= self.links_max {
            self.over += 1;
            return;
        }
        self.text.push_str(href);
        self.entries.push(Entry { start, end, kind, via, nofollow });
    }

    /// How many links were not kept.
    pub(super) const fn over(&self) -> u64 {
        self.over
    }

    /// All of them.
    pub(super) fn links(&self, page_nofollow: bool) -> Links<'_> {
        Links { text: &self.text, rest: self.entries.iter(), page_nofollow }
    }
}
