//! Links in sitemaps (sitemaps.org), RSS and Atom.

use super::extraction::Extraction;
use super::links::LinkSource;
use super::text;
use crate::links::LinkKind;
use quick_xml::Reader;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesRef, BytesStart, Event};

/// Maximum depth at which elements are read. Deeper ones are only counted.
const DEPTH_READ: usize = 32;
/// Maximum length of the text of one URL in bytes.
const TEXT_MAX: usize = 16 << 10;
/// Maximum number of attributes read from one `link` element.
const ATTRIBUTES_READ: usize = 16;

/// Number of bytes of markup after which a reader is replaced.
const READER_BYTES: usize = 64 << 10;

/// Parses a document up to its end, or to the point where it is no longer XML.
pub(super) fn parse(document: &str, source: LinkSource, out: &mut Extraction) {
    let mut markup = Markup::new(document);
    let mut walk = Walk { path: Vec::with_capacity(DEPTH_READ), depth: 0, text: None, source, out };
    while let Some(event) = markup.next() {
        match event {
            Event::Start(tag) => walk.open(&tag),
            Event::Empty(tag) => walk.link_element(&tag),
            Event::End(_) => walk.close(),
            Event::Text(text) => walk.text(&text),
            Event::CData(text) => walk.text(&text),
            Event::GeneralRef(reference) => walk.reference(&reference),
            Event::Eof => break,
            _ => {}
        }
    }
}

/// Events of a document. A reader stores the names of all open elements, although they are not
/// compared with the closing tags: a few megabytes of `<a>` would take several times as much
/// memory. So after [`READER_BYTES`] a new reader continues where the last one stopped, and the
/// stored names never exceed these bytes and one tag.
struct Markup<'d> {
    /// Text from the start of the current reader.
    rest: &'d str,
    reader: Reader<&'d [u8]>,
}

impl<'d> Markup<'d> {
    fn new(rest: &'d str) -> Self {
        let mut reader = Reader::from_str(rest);
        let config = reader.config_mut();
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        Self { rest, reader }
    }

    /// Returns the next event; `None` once the document is no longer XML.
    fn next(&mut self) -> Option<Event<'d>> {
        let event = self.reader.read_event().ok()?;
        let read = self.read();
        if matches!(event, Event::Start(_)) && read >= READER_BYTES {
            *self = Self::new(self.rest.get(read..)?);
        }
        Some(event)
    }

    /// Returns the number of bytes that the current reader has read.
    fn read(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).unwrap_or(usize::MAX)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    Url,
    Sitemap,
    Loc,
    /// RSS `item` and `channel`, Atom `entry` and `feed`.
    Entry,
    Link,
    Other,
}

impl Element {
    fn of(local_name: &str) -> Self {
        match local_name {
            "url" => Self::Url,
            "sitemap" => Self::Sitemap,
            "loc" => Self::Loc,
            "item" | "channel" | "entry" | "feed" => Self::Entry,
            "link" => Self::Link,
            _ => Self::Other,
        }
    }
}

struct Walk<'f> {
    path: Vec<Element>,
    depth: usize,
    /// Text of the URL being read, and its kind.
    text: Option<(String, LinkKind)>,
    source: LinkSource,
    out: &'f mut Extraction,
}

impl Walk<'_> {
    fn open(&mut self, tag: &BytesStart<'_>) {
        self.link_element(tag);
        let element = Element::of(tag.local_name().as_ref());
        self.text = match (self.parent(), element) {
            (Some(Element::Url), Element::Loc) | (Some(Element::Entry), Element::Link) => {
                Some((String::new(), LinkKind::Page))
            }
            (Some(Element::Sitemap), Element::Loc) => Some((String::new(), LinkKind::Sitemap)),
            _ => None,
        };
        if self.depth == self.path.len() && self.depth < DEPTH_READ {
            self.path.push(element);
        }
        self.depth += 1;
    }

    /// Returns the innermost open element; `None` beyond [`DEPTH_READ`].
    fn parent(&self) -> Option<Element> {
        if self.depth == self.path.len() { self.path.last().copied() } else { None }
    }

    fn close(&mut self) {
        if let Some((text, kind)) = self.text.take() {
            self.out.link(&text, kind, self.source);
        }
        self.depth = self.depth.saturating_sub(1);
        self.path.truncate(self.depth);
    }

    fn text(&mut self, piece: &str) {
        if let Some((text, _)) = &mut self.text
            && text.len() + piece.len() <= TEXT_MAX
        {
            text.push_str(piece);
        }
    }

    fn reference(&mut self, reference: &BytesRef<'_>) {
        if let Ok(Some(c)) = reference.resolve_char_ref() {
            self.text(c.encode_utf8(&mut [0; 4]));
        } else if let Some(text) = quick_xml::escape::resolve_predefined_entity(reference) {
            self.text(text);
        }
    }

    /// Extracts `<link href>` of Atom, and `<xhtml:link rel="alternate" href>` of sitemaps.
    fn link_element(&mut self, tag: &BytesStart<'_>) {
        let inside = matches!(self.parent(), Some(Element::Url | Element::Entry));
        if !inside || tag.local_name().as_ref() != "link" {
            return;
        }
        let (mut href, mut followed) = (None, true);
        let mut attributes = tag.html_attributes();
        for attribute in attributes.with_checks(false).take(ATTRIBUTES_READ).flatten() {
            match attribute.key.as_ref() {
                "href" => href = Some(unescaped(&attribute)),
                "rel" => followed = matches!(&*attribute.value, "alternate" | "next" | "previous"),
                _ => {}
            }
        }
        if let (Some(text), true) = (href, followed) {
            self.out.link(&text, LinkKind::Page, self.source);
        }
    }
}

fn unescaped(attribute: &Attribute<'_>) -> String {
    match quick_xml::escape::unescape(&attribute.value) {
        Ok(text) => text.into_owned(),
        Err(_) => attribute.value.to_string(),
    }
}

/// Parses a sitemap that is a list of URLs, one per line.
pub(super) fn parse_lines(document: &str, out: &mut Extraction) {
    for line in document.lines() {
        let line = line.trim();
        if ["http://", "https://"].iter().any(|scheme| text::begins(line, scheme).is_some()) {
            out.link(line, LinkKind::Page, LinkSource::Sitemap);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_stores_no_more_than_its_share() {
        let piece = "<a><b c='d'>e&amp;f</g><h/>";
        let document = piece.repeat((1 << 20) / piece.len());
        let mut markup = Markup::new(&document);
        let (mut opened, mut texts, mut ended) = (0, 0, 0);
        loop {
            match markup.next().expect("XML, even if not well-formed") {
                Event::Start(_) => opened += 1,
                Event::Text(_) | Event::GeneralRef(_) => texts += 1,
                Event::End(_) | Event::Empty(_) => ended += 1,
                _ => break,
            }
            assert!(markup.read() <= READER_BYTES + piece.len(), "read {}", markup.read());
        }
        let n = document.len() / piece.len();
        assert_eq!((opened, texts, ended), (2 * n, 3 * n, 2 * n), "markup between reads was lost");
    }
}
