//! What the tags of an HTML page say: links, base, title, robots directives.

use super::css;
use super::gleanings::{Gleanings, Wanted};
use super::links::Via;
use super::microsyntax::{Rel, refresh_url, srcset};
use super::scan::{Sink, scan};
use super::tag::{Attr, Attrs, TagName};
use super::value;
use crate::messages::LinkKind;
use encoding_rs::Encoding;
use std::ops::ControlFlow;

/// Bytes of a title that are looked at.
const TITLE_READ: usize = 1_024;
/// Bytes of a title that are kept.
const TITLE_KEPT: usize = 256;

/// Reads `page`, written in `encoding` (one in which ASCII means itself).
/// `query_encoding` is what URLs' queries are written in.
pub(super) fn read(
    page: &[u8],
    encoding: &'static Encoding,
    query_encoding: &'static Encoding,
    wanted: &Wanted,
    found: &mut Gleanings,
) {
    scan(page, &mut Reader { encoding, query_encoding, wanted, found, has_title: false });
}

struct Reader<'p> {
    encoding: &'static Encoding,
    query_encoding: &'static Encoding,
    wanted: &'p Wanted,
    found: &'p mut Gleanings,
    has_title: bool,
}

impl<'a> Sink<'a> for Reader<'_> {
    fn start_tag(&mut self, name: TagName, attrs: &Attrs<'a>) -> ControlFlow<()> {
        let (images, scripts) = (self.wanted.images, self.wanted.scripts);
        match name {
            TagName::A => self.anchor(attrs, Via::Anchor),
            TagName::Area => self.anchor(attrs, Via::Area),
            TagName::Base => self.base(attrs),
            TagName::Link => self.link(attrs),
            TagName::Meta => self.meta(attrs),
            TagName::Frame | TagName::Iframe => self.attr(attrs, Attr::Src, Via::Frame),
            TagName::Script if scripts => self.attr(attrs, Attr::Src, Via::Script),
            TagName::Img | TagName::Source | TagName::Video | TagName::Audio | TagName::Input
                if images =>
            {
                self.image(attrs);
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn title(&mut self, raw: &'a [u8]) {
        if std::mem::replace(&mut self.has_title, true) {
            return;
        }
        let text = value::rcdata(&raw[..raw.len().min(TITLE_READ)], self.encoding);
        for word in text.split_ascii_whitespace() {
            let room = TITLE_KEPT.saturating_sub(self.found.title.len());
            if room <= 1 {
                return;
            }
            if !self.found.title.is_empty() {
                self.found.title.push(' ');
            }
            let kept = word.floor_char_boundary(room - 1);
            self.found.title.push_str(&word[..kept]);
        }
    }

    fn style(&mut self, raw: &'a [u8]) {
        if self.wanted.images || self.wanted.scripts {
            let sheet = self.encoding.decode_without_bom_handling(raw).0;
            css::read(&sheet, self.wanted, self.found);
        }
    }
}

impl Reader<'_> {
    fn anchor(&mut self, attrs: &Attrs<'_>, via: Via) {
        let Some(href) = attrs.get(Attr::Href) else {
            return;
        };
        let nofollow = attrs.get(Attr::Rel).is_some_and(|rel| Rel::of(rel).nofollow);
        self.push(href, via, nofollow);
    }

    fn attr(&mut self, attrs: &Attrs<'_>, attr: Attr, via: Via) {
        if let Some(raw) = attrs.get(attr) {
            self.push(raw, via, false);
        }
    }

    fn push(&mut self, raw: &[u8], via: Via, nofollow: bool) {
        let text = value::attribute(raw, self.encoding);
        self.push_text(&text, via, nofollow);
    }

    fn push_text(&mut self, text: &str, via: Via, nofollow: bool) {
        let href = value::href(text, self.query_encoding);
        if href.is_empty() {
            self.found.to_base = true;
        } else {
            self.found.links.push(&href, LinkKind::Page, via, nofollow);
        }
    }

    /// The first `base` with an `href` counts, even where that is too long to be used.
    fn base(&mut self, attrs: &Attrs<'_>) {
        if let (None, Some(raw)) = (&self.found.base, attrs.get(Attr::Href)) {
            let text = value::attribute(raw, self.encoding);
            let href = value::href(&text, self.query_encoding);
            let fits = href.len() <= self.wanted.base_max;
            self.found.base = Some(if fits { href.into_owned() } else { String::new() });
        }
    }

    fn link(&mut self, attrs: &Attrs<'_>) {
        let (Some(rel), Some(href)) = (attrs.get(Attr::Rel), attrs.get(Attr::Href)) else {
            return;
        };
        if let Some(via) = self.wanted.via(Rel::of(rel)) {
            self.push(href, via, false);
        }
    }

    fn meta(&mut self, attrs: &Attrs<'_>) {
        let Some(content) = attrs.get(Attr::Content) else {
            return;
        };
        let is = |attr, known: &str| {
            attrs.get(attr).is_some_and(|v| v.trim_ascii().eq_ignore_ascii_case(known.as_bytes()))
        };
        if is(Attr::Name, "robots") || is(Attr::Name, &self.wanted.agent) {
            self.found.directives.add(&value::attribute(content, self.encoding));
        } else if is(Attr::HttpEquiv, "refresh") {
            let text = value::attribute(content, self.encoding);
            if let Some(url) = refresh_url(&text) {
                self.push_text(url, Via::Refresh, false);
            }
        }
    }

    fn image(&mut self, attrs: &Attrs<'_>) {
        self.attr(attrs, Attr::Src, Via::Image);
        self.attr(attrs, Attr::Poster, Via::Image);
        if let Some(raw) = attrs.get(Attr::Srcset) {
            let text = value::attribute(raw, self.encoding);
            srcset(&text, |url| self.push_text(url, Via::Image, false));
        }
    }
}
