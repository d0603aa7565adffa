//! Links, base, title and signals in the tags of an HTML page.

use super::css;
use super::extraction::{Extraction, LinkFilter};
use super::links::LinkSource;
use super::main_text::{Collector, ExclusionMarks};
use super::microsyntax::{Rel, is_license_type, refresh_url, srcset};
use super::scan::{Sink, scan};
use super::tag::{Attr, Attrs, TagName};
use super::text;
use crate::links::LinkKind;
use encoding_rs::Encoding;
use std::ops::ControlFlow;

/// Number of bytes of a title that are read.
const TITLE_READ: usize = 1_024;
/// Number of bytes of a title that are kept.
const TITLE_KEPT: usize = 256;

/// Number of links to licenses that are read, and maximum length of their URLs and those of policies.
const LICENSES_READ: usize = 4;
const URL_READ: usize = 4_096;

/// Keeps the first value that is not too long.
fn keep_first(slot: &mut String, value: &str) {
    if slot.is_empty() && value.len() <= URL_READ {
        slot.push_str(value);
    }
}

/// Parses `page`, which is in the ASCII-compatible `encoding`. Queries of URLs are percent-encoded
/// in `query_encoding`. Text is read only if there is a collector of main text.
pub(super) fn parse(
    page: &[u8],
    encoding: &'static Encoding,
    query_encoding: &'static Encoding,
    filter: &LinkFilter,
    out: &mut Extraction,
    main_text: Option<&mut Collector>,
) {
    match main_text {
        None => {
            let main_text = NoText;
            let has_title = false;
            let mut reader = Reader { encoding, query_encoding, filter, out, has_title, main_text };
            scan(page, &mut reader);
        }
        Some(main_text) => {
            let has_title = false;
            let mut reader = Reader { encoding, query_encoding, filter, out, has_title, main_text };
            scan(page, &mut reader);
        }
    }
}

/// Receiver of text and tags.
trait TextReceiver {
    /// False if nothing is received.
    const RECEIVES_TEXT: bool;

    fn text(&mut self, raw: &[u8], encoding: &'static Encoding);
    fn open(&mut self, name: &[u8], marks: ExclusionMarks, self_closing: bool);
    fn open_link(&mut self, has_href: bool);
    fn close(&mut self, name: &[u8]);
}

/// Receiver of nothing: the reader of links only.
struct NoText;

impl TextReceiver for NoText {
    const RECEIVES_TEXT: bool = false;

    fn text(&mut self, _raw: &[u8], _encoding: &'static Encoding) {}
    fn open(&mut self, _name: &[u8], _marks: ExclusionMarks, _self_closing: bool) {}
    fn open_link(&mut self, _has_href: bool) {}
    fn close(&mut self, _name: &[u8]) {}
}

impl TextReceiver for &mut Collector {
    const RECEIVES_TEXT: bool = true;

    fn text(&mut self, raw: &[u8], encoding: &'static Encoding) {
        Collector::text(self, raw, encoding);
    }

    fn open(&mut self, name: &[u8], marks: ExclusionMarks, self_closing: bool) {
        Collector::open(self, name, marks, self_closing);
    }

    fn open_link(&mut self, has_href: bool) {
        Collector::open_link(self, has_href);
    }

    fn close(&mut self, name: &[u8]) {
        Collector::close(self, name);
    }
}

struct Reader<'p, T> {
    encoding: &'static Encoding,
    query_encoding: &'static Encoding,
    filter: &'p LinkFilter,
    out: &'p mut Extraction,
    has_title: bool,
    main_text: T,
}

impl<'a, T: TextReceiver> Sink<'a> for Reader<'_, T> {
    const RECEIVES_TEXT: bool = T::RECEIVES_TEXT;

    fn text(&mut self, raw: &'a [u8]) {
        self.main_text.text(raw, self.encoding);
    }

    fn open(&mut self, name: &'a [u8], marks: ExclusionMarks, self_closing: bool) {
        self.main_text.open(name, marks, self_closing);
    }

    fn close(&mut self, name: &'a [u8]) {
        self.main_text.close(name);
    }

    fn start_tag(&mut self, name: TagName, attrs: &Attrs<'a>) -> ControlFlow<()> {
        let (images, scripts) = (self.filter.images, self.filter.scripts);
        match name {
            TagName::A => {
                self.main_text.open_link(attrs.get(Attr::Href).is_some());
                self.anchor(attrs, LinkSource::Anchor);
            }
            TagName::Area => self.anchor(attrs, LinkSource::Area),
            TagName::Base => self.base(attrs),
            TagName::Link => self.link(attrs),
            TagName::Meta => self.meta(attrs),
            TagName::Frame | TagName::Iframe => self.attr(attrs, Attr::Src, LinkSource::Frame),
            TagName::Script if scripts => self.attr(attrs, Attr::Src, LinkSource::Script),
            TagName::Img | TagName::Source | TagName::Video | TagName::Audio | TagName::Input
                if images =>
            {
                self.image(attrs);
            }
            TagName::Embed if images => self.attr(attrs, Attr::Src, LinkSource::Object),
            TagName::Object if images => self.attr(attrs, Attr::Data, LinkSource::Object),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn title(&mut self, raw: &'a [u8]) {
        if std::mem::replace(&mut self.has_title, true) {
            return;
        }
        let text = text::rcdata(&raw[..raw.len().min(TITLE_READ)], self.encoding);
        for word in text.split_ascii_whitespace() {
            let free = TITLE_KEPT.saturating_sub(self.out.title.len());
            if free <= 1 {
                return;
            }
            if !self.out.title.is_empty() {
                self.out.title.push(' ');
            }
            let kept = word.floor_char_boundary(free - 1);
            self.out.title.push_str(&word[..kept]);
        }
    }

    fn style(&mut self, raw: &'a [u8]) {
        if self.filter.images || self.filter.scripts {
            let sheet = self.encoding.decode_without_bom_handling(raw).0;
            css::parse(&sheet, self.filter, self.out);
        }
    }
}

impl<T> Reader<'_, T> {
    fn anchor(&mut self, attrs: &Attrs<'_>, source: LinkSource) {
        let Some(href) = attrs.get(Attr::Href) else {
            return;
        };
        let nofollow = attrs.get(Attr::Rel).is_some_and(|rel| Rel::of(rel).nofollow);
        self.push(href, source, nofollow);
    }

    fn attr(&mut self, attrs: &Attrs<'_>, attr: Attr, source: LinkSource) {
        if let Some(raw) = attrs.get(attr) {
            self.push(raw, source, false);
        }
    }

    fn push(&mut self, raw: &[u8], source: LinkSource, nofollow: bool) {
        let text = text::attribute(raw, self.encoding);
        self.push_text(&text, source, nofollow);
    }

    fn push_text(&mut self, text: &str, source: LinkSource, nofollow: bool) {
        let href = text::href(text, self.query_encoding);
        if href.is_empty() {
            self.out.to_base = true;
        } else {
            self.out.links.push(&href, LinkKind::Page, source, nofollow);
        }
    }

    /// Stores the base. The first `base` with an `href` counts, even if it is too long to be used.
    fn base(&mut self, attrs: &Attrs<'_>) {
        if let (None, Some(raw)) = (&self.out.base, attrs.get(Attr::Href)) {
            let text = text::attribute(raw, self.encoding);
            let href = text::href(&text, self.query_encoding);
            let fits = href.len() <= self.filter.base_max;
            self.out.base = Some(if fits { href.into_owned() } else { String::new() });
        }
    }

    fn link(&mut self, attrs: &Attrs<'_>) {
        let (Some(rel), Some(href)) = (attrs.get(Attr::Rel), attrs.get(Attr::Href)) else {
            return;
        };
        let rel = Rel::of(rel);
        self.out.has_icon |= rel.icon;
        if rel.license {
            self.license(attrs, href);
        }
        if let Some(source) = self.filter.source_of(rel) {
            self.push(href, source, false);
        }
    }

    fn license(&mut self, attrs: &Attrs<'_>, href: &[u8]) {
        let media = attrs.get(Attr::Type).unwrap_or_default();
        if is_license_type(&text::attribute(media, self.encoding))
            && self.out.licenses.len() < LICENSES_READ
            && href.len() <= URL_READ
        {
            self.out.licenses.push(text::attribute(href, self.encoding).into_owned());
        }
    }

    fn meta(&mut self, attrs: &Attrs<'_>) {
        let Some(content) = attrs.get(Attr::Content) else {
            return;
        };
        if attrs.is(Attr::Name, "robots") || attrs.is(Attr::Name, &self.filter.agent) {
            self.out.signals.robots.add_list(&text::attribute(content, self.encoding));
        } else if attrs.is(Attr::Name, "tdm-reservation") {
            let value = text::attribute(content, self.encoding);
            // Other values count as not there.
            if matches!(value.trim_ascii(), "0" | "1") {
                keep_first(&mut self.out.tdm.0, &value);
            }
        } else if attrs.is(Attr::Name, "tdm-policy") {
            keep_first(&mut self.out.tdm.1, &text::attribute(content, self.encoding));
        } else if attrs.is(Attr::HttpEquiv, "refresh") {
            let text = text::attribute(content, self.encoding);
            if let Some(url) = refresh_url(&text) {
                self.push_text(url, LinkSource::Refresh, false);
            }
        }
    }

    fn image(&mut self, attrs: &Attrs<'_>) {
        self.attr(attrs, Attr::Src, LinkSource::Image);
        self.attr(attrs, Attr::Poster, LinkSource::Image);
        if let Some(raw) = attrs.get(Attr::Srcset) {
            let text = text::attribute(raw, self.encoding);
            srcset(&text, |url| self.push_text(url, LinkSource::Image, false));
        }
    }
}
