//! Scanner of the tags of a page: the tokenizer of the HTML standard (section 13.2.5) without the
//! parts on which no link depends.
//!
//! The scanner works on bytes, for every encoding in which ASCII bytes outside of multi-byte
//! characters are ASCII characters and no trail byte looks like markup (all but UTF-16 and
//! ISO-2022-JP). It makes one forward pass, allocates nothing, and reports slices of the page. The
//! tests compare its results with those of `html5gum`.
//!
//! The scanner differs from a browser in two points: the content of `noscript` is read as markup,
//! and CDATA sections end at the first `>`.

use super::main_text::ExclusionMarks;
use super::raw_text;
use super::tag::{Attrs, PutAttr, TagName};
use memchr::memchr;
use std::ops::ControlFlow;

/// Receiver of the scanner's results.
pub(super) trait Sink<'a> {
    /// Receives a start tag. `Break` ends the scan.
    fn start_tag(&mut self, name: TagName, attrs: &Attrs<'a>) -> ControlFlow<()>;

    /// Receives the content of a `title` element, with character references not decoded.
    fn title(&mut self, _raw: &'a [u8]) {}

    /// Receives the content of a `style` element.
    fn style(&mut self, _raw: &'a [u8]) {}

    /// True if the sink receives text and the tags of all elements. If false, the scan does not
    /// contain any code for that.
    const RECEIVES_TEXT: bool = false;

    /// Receives text between two tags or comments, with character references not decoded. Content
    /// that is not markup is not text.
    fn text(&mut self, _raw: &'a [u8]) {}

    /// Receives the start tag of an element, before [`Sink::start_tag`].
    fn open(&mut self, _name: &'a [u8], _marks: ExclusionMarks, _self_closing: bool) {}

    /// Receives the end tag of an element.
    fn close(&mut self, _name: &'a [u8]) {}
}

/// Reports the tags of `page`.
pub(super) fn scan<'a>(page: &'a [u8], sink: &mut impl Sink<'a>) {
    // The result is not needed: it only shows if the sink ended the scan.
    let _ = Scanner { page, at: 0, foreign: 0, all_markup: false }.run(sink);
}

/// Reports the tags of `head` as the encoding sniffing algorithm sees them (HTML standard section
/// 13.2.3.2): all text is markup.
pub(super) fn prescan<'a>(head: &'a [u8], sink: &mut impl Sink<'a>) {
    let _ = Scanner { page: head, at: 0, foreign: 0, all_markup: true }.run(sink);
}

/// State of a scan. In all methods, `Break` means the end of the page.
struct Scanner<'a> {
    page: &'a [u8],
    at: usize,
    /// Number of open `svg` and `math` elements.
    foreign: u32,
    /// True if the content of no element is skipped.
    all_markup: bool,
}

impl<'a> Scanner<'a> {
    fn run<S: Sink<'a>>(mut self, sink: &mut S) -> ControlFlow<()> {
        while let Some(found) = memchr(b'<', &self.page[self.at..]) {
            if S::RECEIVES_TEXT {
                sink.text(&self.page[self.at..self.at + found]);
            }
            self.at += found + 1;
            match self.page.get(self.at) {
                Some(c) if c.is_ascii_alphabetic() => self.start_tag(sink)?,
                Some(b'/') => self.end_tag(sink)?,
                Some(b'!') => self.declaration()?,
                Some(b'?') => self.past(b'>')?,
                _ if S::RECEIVES_TEXT => sink.text(b"<"),
                _ => {}
            }
        }
        if S::RECEIVES_TEXT {
            sink.text(&self.page[self.at..]);
        }
        ControlFlow::Continue(())
    }

    fn start_tag<S: Sink<'a>>(&mut self, sink: &mut S) -> ControlFlow<()> {
        let start = self.at;
        let name = self.tag_name();
        let text_name = &self.page[start..self.at];
        let mut attrs = Attrs::default();
        let wanted = name.is_some_and(TagName::has_attributes).then_some(&mut attrs);
        let self_closing = if S::RECEIVES_TEXT {
            let mut marks = ExclusionMarks::default();
            let end = match wanted {
                Some(attrs) => self.attributes(Some(attrs)),
                None => self.attributes(Some(&mut marks)),
            };
            if let Some(self_closing) = end {
                sink.open(text_name, marks, self_closing);
            }
            end
        } else {
            self.attributes(wanted)
        };
        let Some(self_closing) = self_closing else {
            return ControlFlow::Break(());
        };
        let Some(name) = name else {
            return ControlFlow::Continue(());
        };
        sink.start_tag(name, &attrs)?;
        if matches!(name, TagName::Svg | TagName::Math) && !self_closing {
            self.foreign += 1;
        }
        if self.all_markup || self_closing && self.foreign > 0 {
            return ControlFlow::Continue(());
        }
        self.content(name, text_name, sink)
    }

    /// Skips content that is not markup.
    fn content(
        &mut self,
        name: TagName,
        text_name: &[u8],
        sink: &mut impl Sink<'a>,
    ) -> ControlFlow<()> {
        let rest = &self.page[self.at..];
        let len = match name {
            TagName::Script => raw_text::script_end(rest),
            TagName::Title
            | TagName::Style
            | TagName::Textarea
            | TagName::Iframe
            | TagName::Xmp
            | TagName::Noembed
            | TagName::Noframes => raw_text::plain_end(rest, text_name),
            TagName::Plaintext => return ControlFlow::Break(()),
            _ => 0,
        };
        match name {
            TagName::Title if self.foreign == 0 => sink.title(&rest[..len]),
            TagName::Style => sink.style(&rest[..len]),
            _ => {}
        }
        self.at += len;
        ControlFlow::Continue(())
    }

    /// Scans an end tag from its `/`.
    fn end_tag<S: Sink<'a>>(&mut self, sink: &mut S) -> ControlFlow<()> {
        self.at += 1;
        match self.page.get(self.at) {
            Some(c) if c.is_ascii_alphabetic() => {
                let start = self.at;
                if matches!(self.tag_name(), Some(TagName::Svg | TagName::Math)) {
                    self.foreign = self.foreign.saturating_sub(1);
                }
                if S::RECEIVES_TEXT {
                    sink.close(&self.page[start..self.at]);
                }
                match self.attributes(None::<&mut Attrs<'_>>) {
                    Some(_) => ControlFlow::Continue(()),
                    None => ControlFlow::Break(()),
                }
            }
            Some(_) => self.past(b'>'),
            None => ControlFlow::Break(()),
        }
    }

    /// Scans a comment, a doctype, or text that counts as a comment, from its `!`.
    fn declaration(&mut self) -> ControlFlow<()> {
        if !self.page[self.at..].starts_with(b"!--") {
            return self.past(b'>');
        }
        let opening = self.at + 1;
        self.at += 3;
        loop {
            self.past(b'>')?;
            let text = &self.page[opening..self.at - 1];
            // The dashes of the opening also close: `<!-->` and `<!--->` are whole comments.
            if text.ends_with(b"--") || text.len() >= 5 && text.ends_with(b"--!") {
                return ControlFlow::Continue(());
            }
        }
    }

    fn past(&mut self, byte: u8) -> ControlFlow<()> {
        match memchr(byte, &self.page[self.at..]) {
            Some(found) => {
                self.at += found + 1;
                ControlFlow::Continue(())
            }
            None => ControlFlow::Break(()),
        }
    }

    fn tag_name(&mut self) -> Option<TagName> {
        let start = self.at;
        self.run_until(SPACE | SLASH | CLOSE);
        TagName::of(&self.page[start..self.at])
    }

    /// Reads the attributes and the `>`. Returns true if the end was `/>`; `None` if the page ended
    /// before.
    fn attributes<P: PutAttr<'a>>(&mut self, mut into: Option<&mut P>) -> Option<bool> {
        loop {
            let mut slash = false;
            let first = loop {
                let byte = *self.page.get(self.at)?;
                self.at += 1;
                match CLASS[usize::from(byte)] {
                    SPACE => slash = false,
                    SLASH => slash = true,
                    class => break class,
                }
            };
            if first == CLOSE {
                return Some(slash);
            }
            let start = self.at - 1;
            self.run_until(SPACE | SLASH | CLOSE | EQUALS);
            let name = &self.page[start..self.at];
            self.skip_space();
            let value = if self.page.get(self.at) == Some(&b'=') {
                self.at += 1;
                self.value()?
            } else {
                &[]
            };
            if let Some(attrs) = into.as_deref_mut() {
                attrs.put(name, value);
            }
        }
    }

    /// Reads a value, from after the `=`.
    fn value(&mut self) -> Option<&'a [u8]> {
        self.skip_space();
        let page = self.page;
        match *page.get(self.at)? {
            quote @ (b'"' | b'\'') => {
                let start = self.at + 1;
                let len = memchr(quote, &page[start..])?;
                self.at = start + len + 1;
                Some(&page[start..start + len])
            }
            b'>' => Some(&[]),
            _ => {
                let start = self.at;
                self.run_until(SPACE | CLOSE);
                Some(&page[start..self.at])
            }
        }
    }

    fn skip_space(&mut self) {
        while self.page.get(self.at).is_some_and(|&b| CLASS[usize::from(b)] == SPACE) {
            self.at += 1;
        }
    }

    fn run_until(&mut self, classes: u8) {
        let rest = &self.page[self.at..];
        let end = rest.iter().position(|&b| CLASS[usize::from(b)] & classes != 0);
        self.at += end.unwrap_or(rest.len());
    }
}

const SPACE: u8 = 1;
const SLASH: u8 = 2;
const CLOSE: u8 = 4;
const EQUALS: u8 = 8;

/// Class of each byte within a tag.
static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    class[b'\t' as usize] = SPACE;
    class[b'\n' as usize] = SPACE;
    class[0x0c] = SPACE;
    class[b'\r' as usize] = SPACE;
    class[b' ' as usize] = SPACE;
    class[b'/' as usize] = SLASH;
    class[b'>' as usize] = CLOSE;
    class[b'=' as usize] = EQUALS;
    class
};
