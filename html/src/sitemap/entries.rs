//! Entries of sitemaps, RSS and Atom: elements to links and dates.

use super::dates::DATE_MAX;
use super::link_list::{LinkList, Piece};
use crate::links::{LinkKind, LinkSource};
use crate::microsyntax::Rel;
use crivello_common::time::Timestamp;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// Maximum depth at which elements are read. Deeper ones are only counted.
const DEPTH_READ: usize = 32;
/// Maximum number of attributes read from one element.
const ATTRIBUTES_READ: usize = 16;
/// Length in bytes of the longest name of an element that is read.
const NAME_MAX: usize = 16;

/// An element that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Element {
    /// `url` of a sitemap.
    Url,
    /// `sitemap` of an index.
    Sitemap,
    /// `item` of RSS, `entry` of Atom.
    Article,
    /// `channel` of RSS, `feed` of Atom.
    Channel,
    News,
    Image,
    Video,
    Loc,
    /// `video:content_loc` or `video:player_loc`.
    VideoLoc,
    /// `video:thumbnail_loc`.
    ThumbnailLoc,
    Link,
    Guid,
    /// `lastmod`, or `updated` and `modified` of a feed.
    Modified,
    /// `news:publication_date`, or `pubDate`, `published`, `issued` and `dc:date` of a feed.
    Published,
    Other,
}

impl Element {
    fn of(local_name: &str, is_feed: bool) -> Self {
        let mut name = [0; NAME_MAX];
        let Some(name) = name.get_mut(..local_name.len()) else {
            return Self::Other;
        };
        name.copy_from_slice(local_name.as_bytes());
        name.make_ascii_lowercase();
        match (&*name, is_feed) {
            (b"link", _) => Self::Link,
            (b"url", false) => Self::Url,
            (b"sitemap", false) => Self::Sitemap,
            (b"loc", false) => Self::Loc,
            (b"lastmod", false) => Self::Modified,
            (b"news", false) => Self::News,
            (b"image", false) => Self::Image,
            (b"video", false) => Self::Video,
            (b"content_loc" | b"player_loc", false) => Self::VideoLoc,
            (b"thumbnail_loc", false) => Self::ThumbnailLoc,
            (b"publication_date", false) => Self::Published,
            (b"item" | b"entry", true) => Self::Article,
            (b"channel" | b"feed", true) => Self::Channel,
            (b"guid", true) => Self::Guid,
            (b"updated" | b"modified", true) => Self::Modified,
            (b"pubdate" | b"published" | b"issued" | b"date", true) => Self::Published,
            _ => Self::Other,
        }
    }

    const fn is_entry(self) -> bool {
        matches!(self, Self::Url | Self::Sitemap | Self::Article)
    }
}

/// Meaning of the text of an element.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Link(LinkKind, LinkSource),
    Guid,
    Modified,
    Published,
}

/// An element whose text is being read.
struct OpenText {
    meaning: Meaning,
    text: String,
    /// True if the text is too long, so that not all of it is kept.
    is_cut: bool,
}

/// An entry that is being read.
struct Entry {
    /// Number of elements around it.
    depth: usize,
    /// Index of its first link.
    first: usize,
    modified: Option<Timestamp>,
    published: Option<Timestamp>,
    is_news: bool,
    /// Permanent link of RSS, which is used if there is no `link`.
    guid: Option<OpenText>,
}

/// Reader of a document's entries.
pub(super) struct Entries<'l, 'o> {
    list: &'l mut LinkList<'o>,
    is_feed: bool,
    path: Vec<Element>,
    depth: usize,
    text: Option<OpenText>,
    entry: Option<Entry>,
}

impl<'l, 'o> Entries<'l, 'o> {
    pub(super) fn new(list: &'l mut LinkList<'o>, is_feed: bool) -> Self {
        let path = Vec::with_capacity(DEPTH_READ);
        Self { list, is_feed, path, depth: 0, text: None, entry: None }
    }

    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::Empty(tag) => self.link_element(tag),
            Event::End(tag) => self.close(tag.local_name().as_ref()),
            Event::Text(text) => self.text(text),
            Event::CData(text) => self.text(text),
            Event::GeneralRef(reference) => self.reference(reference),
            _ => {}
        }
    }

    /// Ends the document. Returns false if an element is open.
    pub(super) fn end(mut self) -> bool {
        self.end_entry();
        self.depth == 0
    }

    fn open(&mut self, tag: &BytesStart<'_>) {
        self.link_element(tag);
        let element = self.element(tag.local_name().as_ref());
        self.text = self.meaning(element, tag).map(|meaning| {
            let (text, is_cut) = (String::new(), false);
            OpenText { meaning, text, is_cut }
        });
        if element.is_entry() {
            self.begin_entry();
        }
        if let (Element::News, Some(entry)) = (element, &mut self.entry) {
            entry.is_news = true;
        }
        if self.depth == self.path.len() && self.depth < DEPTH_READ {
            self.path.push(element);
        }
        self.depth += 1;
    }

    /// Returns the element of this name. News, images and videos belong to a page.
    fn element(&self, local_name: &str) -> Element {
        match Element::of(local_name, self.is_feed) {
            Element::News | Element::Image | Element::Video
                if self.parent() != Some(Element::Url) =>
            {
                Element::Other
            }
            element => element,
        }
    }

    /// Returns the innermost open element; `None` beyond [`DEPTH_READ`].
    fn parent(&self) -> Option<Element> {
        if self.depth == self.path.len() { self.path.last().copied() } else { None }
    }

    /// Returns the meaning of the text of `element`; `None` if it is not read.
    fn meaning(&self, element: Element, tag: &BytesStart<'_>) -> Option<Meaning> {
        use Element::{
            Article, Channel, Guid, Image, Link, Loc, Modified, News, Published, Sitemap,
            ThumbnailLoc, Url, Video, VideoLoc,
        };
        let page = |source| Some(Meaning::Link(LinkKind::Page, source));
        let media = |source| page(source).filter(|_| self.list.media);
        match (self.parent()?, element) {
            (Url, Loc) => page(LinkSource::Sitemap),
            (Sitemap, Loc) => Some(Meaning::Link(LinkKind::Sitemap, LinkSource::Sitemap)),
            (Url | Sitemap | Article, Modified) => Some(Meaning::Modified),
            (News | Article, Published) => Some(Meaning::Published),
            (Image, Loc) | (Video, ThumbnailLoc) => media(LinkSource::SitemapImage),
            (Video, VideoLoc) => media(LinkSource::SitemapVideo),
            (Article | Channel, Link) => page(LinkSource::Feed),
            (Article, Guid) if is_permanent_link(tag) => Some(Meaning::Guid),
            _ => None,
        }
    }

    /// Begins an entry. One that is open was not closed.
    fn begin_entry(&mut self) {
        if let Some(entry) = &self.entry {
            self.close_to(entry.depth);
        }
        self.end_entry();
        self.list.summary.n_entries += 1;
        self.entry = Some(Entry {
            depth: self.depth,
            first: self.list.out.links.len(),
            modified: None,
            published: None,
            is_news: false,
            guid: None,
        });
    }

    fn end_entry(&mut self) {
        let Some(entry) = self.entry.take() else {
            return;
        };
        if let Some(guid) = entry.guid.filter(|_| self.list.out.links.len() == entry.first) {
            let piece = Piece { text: &guid.text, is_cut: guid.is_cut };
            self.list.link(piece, LinkKind::Page, LinkSource::Feed);
        }
        self.list.summary.n_news += u64::from(entry.is_news);
        self.list.set_dates(entry.first, entry.modified, entry.published);
    }

    /// Closes the innermost element, whatever its name is. The end of an entry also closes elements
    /// in it that have no end: HTML in an article that is not escaped would hide all that follow.
    fn close(&mut self, local_name: &str) {
        if let Some(open) = self.text.take() {
            self.end_text(open);
        }
        let is_entry = Element::of(local_name, self.is_feed).is_entry();
        let entry_depth = self.entry.as_ref().map(|entry| entry.depth);
        let innermost = self.depth.saturating_sub(1);
        self.close_to(entry_depth.filter(|_| is_entry).unwrap_or(innermost));
        if entry_depth.is_some_and(|depth| depth >= self.depth) {
            self.end_entry();
        }
    }

    fn close_to(&mut self, depth: usize) {
        self.depth = depth;
        self.path.truncate(depth);
    }

    fn end_text(&mut self, open: OpenText) {
        let piece = Piece { text: &open.text, is_cut: open.is_cut };
        match (open.meaning, &mut self.entry) {
            (Meaning::Link(kind, source), _) => self.list.link(piece, kind, source),
            (Meaning::Modified, Some(entry)) => {
                entry.modified = self.list.date(piece).max(entry.modified);
            }
            (Meaning::Published, Some(entry)) => {
                entry.published = self.list.date(piece).max(entry.published);
            }
            (Meaning::Guid, Some(entry)) => entry.guid = Some(open),
            (_, None) => {}
        }
    }

    fn text(&mut self, piece: &str) {
        let Some(open) = &mut self.text else {
            return;
        };
        let max = match open.meaning {
            Meaning::Link(..) | Meaning::Guid => self.list.text_max,
            Meaning::Modified | Meaning::Published => DATE_MAX,
        };
        let piece = if open.text.is_empty() { piece.trim_start() } else { piece };
        let kept = piece.floor_char_boundary(max - open.text.len());
        open.text.push_str(&piece[..kept]);
        open.is_cut |= kept < piece.len();
    }

    /// Adds a character to the text. A reference that XML does not define is a `&` that should have
    /// been escaped, as in `?a=1&copy;=2`.
    fn reference(&mut self, reference: &BytesRef<'_>) {
        if let Ok(Some(c)) = reference.resolve_char_ref() {
            self.text(c.encode_utf8(&mut [0; 4]));
        } else if let Some(text) = quick_xml::escape::resolve_predefined_entity(reference) {
            self.text(text);
        } else {
            self.text("&");
            self.text(reference);
            self.text(";");
        }
    }

    /// Extracts `<link href>` of Atom, and `<xhtml:link rel="alternate" href>` of sitemaps.
    fn link_element(&mut self, tag: &BytesStart<'_>) {
        let source = match self.parent() {
            Some(Element::Url) => LinkSource::SitemapAlternate,
            Some(Element::Article | Element::Channel) => LinkSource::Feed,
            _ => return,
        };
        if Element::of(tag.local_name().as_ref(), self.is_feed) != Element::Link {
            return;
        }
        let (mut href, mut is_followed) = (None, true);
        for_each_attribute(tag, |name, attribute| {
            if name.eq_ignore_ascii_case("href") {
                href = Some(unescaped(attribute));
            } else if name.eq_ignore_ascii_case("rel") {
                let rel = Rel::of(attribute.value.as_bytes());
                is_followed = rel.alternate || rel.sequence;
            }
        });
        if let (Some(text), true) = (href, is_followed) {
            let piece = Piece { text: &text, is_cut: false };
            self.list.link(piece, LinkKind::Page, source);
        }
    }
}

/// Returns false for a `guid` that is no URL.
fn is_permanent_link(tag: &BytesStart<'_>) -> bool {
    let mut is_permanent = true;
    for_each_attribute(tag, |name, attribute| {
        if name.eq_ignore_ascii_case("isPermaLink") {
            is_permanent = !attribute.value.trim().eq_ignore_ascii_case("false");
        }
    });
    is_permanent
}

fn for_each_attribute(tag: &BytesStart<'_>, mut f: impl FnMut(&str, &Attribute<'_>)) {
    let mut attributes = tag.html_attributes();
    for attribute in attributes.with_checks(false).take(ATTRIBUTES_READ).flatten() {
        f(attribute.key.as_ref(), &attribute);
    }
}

fn unescaped(attribute: &Attribute<'_>) -> String {
    match quick_xml::escape::unescape(&attribute.value) {
        Ok(text) => text.into_owned(),
        Err(_) => attribute.value.to_string(),
    }
}
