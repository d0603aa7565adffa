//! Selection of main text, block by block, in one pass.
//!
//! A block is the text between two breaks: tags of block-level elements, or two `br`. Its weight is
//! [`weight`]. A block is
//!
//! * a *content block* if at least [`CONTENT_MIN`] of its weight is outside links, and at least
//!   half of it;
//! * a *link block* if more than half of its weight is in links;
//! * otherwise a *short block*.
//!
//! Content blocks are main text. Link blocks are not. Short blocks between two content blocks are
//! main text if neither they nor the link blocks between them are long. A heading is also main text
//! shortly before a content block. If the page has little main text, the text of all blocks is
//! taken instead.
//!
//! Memory is bounded: short blocks that wait for a content block, one open block, and the beginning
//! of the text. The fingerprint covers the text beyond the bound too.

use super::characters::{push_collapsed, push_without_spaces, weight};
use super::element::{ElementClass, ElementKey, ExclusionMarks, SVG};
use super::fingerprint::{BUFFERED, FingerprintState, TextFingerprint};
use super::references;
use crate::text;
use encoding_rs::{Encoding, UTF_8};
use memchr::memchr;
use std::borrow::Cow;
use std::ops::Range;

/// Minimum weight outside links of a content block.
const CONTENT_MIN: usize = 70;
/// Maximum weight of short blocks between two content blocks that are main text.
const SHORT_MAX: usize = 1_000;
/// Maximum weight of link blocks between two content blocks whose short blocks are main text.
const LINKS_MAX: usize = 200;
/// Maximum weight of text between a heading and its content block.
const HEADING_DISTANCE: usize = 300;
/// Minimum weight of main text. With less, all text is taken.
const MAIN_MIN: usize = 200;
/// Main text must be at least one part in this number of all text. Otherwise all text is taken.
const MAIN_SHARE: usize = 8;
/// Maximum size of a block in bytes. A longer one is split.
const BLOCK_MAX: usize = 16 << 10;
const _: () = assert!(BLOCK_MAX + PIECE <= BUFFERED);
/// Size of the pieces in which text is processed in bytes.
const PIECE: usize = 4 << 10;
/// Maximum size of [`super::MainText::text`] in bytes.
pub(super) const TEXT_MAX: usize = 64 << 10;

/// An element that is left out.
#[derive(Clone, Copy, Debug)]
struct Exclusion {
    key: ElementKey,
    /// Number of open elements with this name.
    depth: u32,
    /// Tags that end it beside its own.
    ends_at: EndsAt,
}

/// Tags that end an exclusion before its own end tag, in case that one is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EndsAt {
    OwnEnd,
    /// Also the start of `main`.
    Main,
    /// Also any tag of a block-level element.
    Block,
}

/// Text of selected blocks.
#[derive(Default)]
pub(super) struct Selection {
    /// Blocks, each on a line, up to [`TEXT_MAX`].
    pub(super) text: String,
    weight: usize,
    state: FingerprintState,
}

impl Selection {
    fn clear(&mut self) {
        self.text.clear();
        self.weight = 0;
        self.state.clear();
    }

    /// Adds a block. `bare` is its text without spaces.
    fn add(&mut self, block: &str, bare: &[u8], weight: usize) {
        self.weight += weight;
        self.state.update(bare);
        let free = TEXT_MAX.saturating_sub(self.text.len() + 1);
        if free == 0 {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&block[..block.floor_char_boundary(free)]);
    }

    /// Returns the number of characters of the text without spaces, and its fingerprint.
    pub(super) fn finish(&mut self) -> (usize, TextFingerprint) {
        self.state.finish()
    }
}

/// A short block that waits for a content block.
#[derive(Clone, Debug)]
struct ShortBlock {
    text: Range<usize>,
    bare: Range<usize>,
    weight: usize,
    is_heading: bool,
}

/// Collector of the main text of a page.
#[derive(Default)]
pub(crate) struct Collector {
    main: Selection,
    all: Selection,
    /// Texts of waiting blocks and of the open block.
    buffer: String,
    /// Texts of waiting blocks without spaces.
    bare: Vec<u8>,
    waiting: Vec<ShortBlock>,
    waiting_weight: usize,
    /// Weight of link blocks since the last content block.
    links_weight: usize,
    /// True if a content block precedes, and all short blocks since then are waiting.
    continues: bool,
    /// Start of the open block in `buffer`.
    start: usize,
    block_weight: usize,
    block_link_weight: usize,
    in_link: bool,
    in_heading: bool,
    /// True after a `br`, until the next text.
    after_break: bool,
    excluded: Option<Exclusion>,
    /// Number of rare character references that may still be decoded.
    rare: u32,
    decoded: String,
    #[cfg(test)]
    pub(super) steps: usize,
}

impl Collector {
    pub(crate) fn clear(&mut self) {
        self.main.clear();
        self.all.clear();
        self.reset_waiting();
        self.continues = false;
        (self.in_link, self.in_heading, self.after_break) = (false, false, false);
        self.excluded = None;
        self.rare = references::RARE_MAX;
        self.decoded.clear();
        self.decoded.shrink_to(PIECE);
        #[cfg(test)]
        {
            self.steps = 0;
        }
    }

    /// Counts work, in bytes and blocks.
    #[cfg(test)]
    const fn step(&mut self, n: usize) {
        self.steps += n;
    }

    /// Work is counted in tests only.
    #[cfg(not(test))]
    const fn step(&mut self, _n: usize) {}

    /// Receives text between two tags.
    pub(crate) fn text(&mut self, raw: &[u8], encoding: &'static Encoding) {
        self.step(1);
        if self.excluded.is_some() || raw.is_empty() {
            return;
        }
        if raw.iter().all(u8::is_ascii_whitespace) {
            self.append(" ");
            return;
        }
        let text = match std::str::from_utf8(raw) {
            Ok(text) if encoding == UTF_8 => Cow::Borrowed(text),
            _ => text::decode(raw, encoding),
        };
        if memchr(b'&', raw).is_none() {
            self.append(&text);
            return;
        }
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.clear();
        references::decode(&text, &mut self.rare, &mut decoded);
        self.step(text.len());
        self.append(&decoded);
        self.decoded = decoded;
    }

    fn append(&mut self, mut text: &str) {
        if text == " " && (self.buffer.len() == self.start || self.buffer.ends_with(' ')) {
            return;
        }
        while !text.is_empty() {
            let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE));
            self.step(piece.len());
            let before = self.buffer.len();
            push_collapsed(piece, self.start, &mut self.buffer);
            let weight = weight(&self.buffer[before..]);
            self.block_weight += weight;
            if self.in_link {
                self.block_link_weight += weight;
            }
            self.after_break &= self.buffer.len() == before;
            if self.buffer.len() - self.start > BLOCK_MAX {
                self.end_block();
            }
            text = rest;
        }
    }

    /// Receives the beginning of an element.
    pub(crate) fn open(&mut self, name: &[u8], marks: ExclusionMarks, self_closing: bool) {
        self.step(1);
        let key = ElementKey::of(name);
        if self_closing && key == SVG {
            return;
        }
        let class = ElementClass::of(name);
        if let Some(excluded) = &mut self.excluded {
            if excluded.key == key {
                excluded.depth = excluded.depth.saturating_add(1);
            }
            match excluded.ends_at {
                EndsAt::Main if class == ElementClass::Main => {}
                EndsAt::Block if class.is_block() => {}
                _ => return,
            }
            self.excluded = None;
        }
        if class.is_block() {
            self.end_block();
        }
        match class {
            ElementClass::Boilerplate | ElementClass::NoText => self.exclude(key, class, marks),
            // `<i hidden/>` is an error that many pages have. It means an empty element.
            ElementClass::Inline if self_closing => {}
            _ if marks.any() && class.has_end() => self.exclude(key, class, marks),
            ElementClass::Heading => self.in_heading = true,
            ElementClass::OpenBlock => self.in_heading = false,
            ElementClass::LineBreak if self.after_break => self.end_block(),
            ElementClass::LineBreak => {
                self.append(" ");
                self.after_break = true;
            }
            _ => {}
        }
    }

    /// Receives the beginning of an `a` element.
    pub(crate) const fn open_link(&mut self, has_href: bool) {
        if self.excluded.is_none() {
            self.in_link = has_href;
        }
    }

    /// Receives the end of an element.
    pub(crate) fn close(&mut self, name: &[u8]) {
        self.step(1);
        let key = ElementKey::of(name);
        let class = ElementClass::of(name);
        if let Some(excluded) = &mut self.excluded {
            if excluded.key == key {
                excluded.depth -= 1;
                if excluded.depth == 0 {
                    self.excluded = None;
                }
                return;
            }
            if excluded.ends_at != EndsAt::Block || !class.is_block() {
                return;
            }
            self.excluded = None;
        }
        if class.is_block() {
            self.end_block();
        }
        match class {
            ElementClass::Link => self.in_link = false,
            ElementClass::Heading => self.in_heading = false,
            _ => {}
        }
    }

    fn exclude(&mut self, key: ElementKey, class: ElementClass, marks: ExclusionMarks) {
        let ends_at = match class {
            ElementClass::Inline => EndsAt::Block,
            ElementClass::NoText => EndsAt::OwnEnd,
            _ if marks.hidden => EndsAt::OwnEnd,
            _ => EndsAt::Main,
        };
        if !class.is_block() {
            self.append(" ");
        }
        self.excluded = Some(Exclusion { key, depth: 1, ends_at });
    }

    /// Ends the open block and decides whether it is main text.
    fn end_block(&mut self) {
        self.after_break = false;
        if self.buffer.ends_with(' ') && self.buffer.len() > self.start {
            self.buffer.pop();
            self.block_weight -= 1;
        }
        let text = self.start..self.buffer.len();
        let (weight, in_links) = (self.block_weight, self.block_link_weight.min(self.block_weight));
        (self.block_weight, self.block_link_weight) = (0, 0);
        if text.is_empty() {
            return;
        }
        self.step(text.len());
        let bare = self.bare.len();
        push_without_spaces(&self.buffer[text.clone()], &mut self.bare);
        let bare = bare..self.bare.len();
        self.all.add(&self.buffer[text.clone()], &self.bare[bare.clone()], weight);

        let outside_links = weight - in_links;
        let block = ShortBlock { text, bare, weight, is_heading: self.in_heading };
        if in_links > outside_links {
            self.links_weight = self.links_weight.saturating_add(weight);
            self.buffer.truncate(block.text.start);
            self.bare.truncate(block.bare.start);
        } else if outside_links >= CONTENT_MIN {
            self.take_waiting();
            self.main.add(&self.buffer[block.text], &self.bare[block.bare], weight);
            self.reset_waiting();
            self.continues = true;
        } else {
            self.waiting_weight += weight;
            self.waiting.push(block);
            if self.waiting_weight > SHORT_MAX {
                self.continues = false;
                self.forget_oldest();
            }
        }
        self.start = self.buffer.len();
    }

    /// Adds the waiting blocks that the content block after them makes main text.
    fn take_waiting(&mut self) {
        self.step(self.waiting.len());
        let keeps_all = self.continues && self.links_weight <= LINKS_MAX;
        let mut distance = self.waiting_weight;
        for block in self.waiting.drain(..) {
            distance -= block.weight;
            if keeps_all || block.is_heading && distance <= HEADING_DISTANCE {
                self.main.add(&self.buffer[block.text], &self.bare[block.bare], block.weight);
            }
        }
    }

    fn reset_waiting(&mut self) {
        self.waiting.clear();
        self.buffer.clear();
        self.bare.clear();
        (self.waiting_weight, self.links_weight, self.start) = (0, 0, 0);
        (self.block_weight, self.block_link_weight) = (0, 0);
    }

    /// Removes the oldest waiting blocks, so that half of the maximum weight is left.
    fn forget_oldest(&mut self) {
        let mut n = 0;
        while self.waiting_weight > SHORT_MAX / 2 && n < self.waiting.len() {
            self.waiting_weight -= self.waiting[n].weight;
            n += 1;
        }
        self.step(self.buffer.len() + self.waiting.len());
        let text = self.waiting.get(n).map_or(self.buffer.len(), |next| next.text.start);
        let bare = self.waiting.get(n).map_or(self.bare.len(), |next| next.bare.start);
        self.buffer.drain(..text);
        self.bare.drain(..bare);
        self.waiting.drain(..n);
        for block in &mut self.waiting {
            block.text = block.text.start - text..block.text.end - text;
            block.bare = block.bare.start - bare..block.bare.end - bare;
        }
    }

    /// Ends the page. Returns the selected text, and true if it is the main text; false if it is
    /// all text.
    pub(super) fn select(&mut self) -> (&mut Selection, bool) {
        self.end_block();
        let is_main =
            self.main.weight >= MAIN_MIN && self.main.weight * MAIN_SHARE >= self.all.weight;
        (if is_main { &mut self.main } else { &mut self.all }, is_main)
    }
}
