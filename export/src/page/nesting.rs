//! The nesting of a page's elements, before a tree is built from them.

use std::collections::HashMap;

/// Elements that have no end tag.
const VOID: [&[u8]; 13] = [
    b"area", b"base", b"br", b"col", b"embed", b"hr", b"img", b"input", b"link", b"meta",
    b"source", b"track", b"wbr",
];
/// Elements whose end tags are usually left out. Each of them needs a parent that is counted to be nested.
const IMPLIED_END: [&[u8]; 20] = [
    b"p",
    b"li",
    b"dt",
    b"dd",
    b"tr",
    b"td",
    b"th",
    b"tbody",
    b"thead",
    b"tfoot",
    b"option",
    b"optgroup",
    b"colgroup",
    b"caption",
    b"rb",
    b"rt",
    b"rtc",
    b"html",
    b"head",
    b"body",
];

/// A count of open elements: the depth of the tree up to a small factor, since end tags that close nothing
/// are known only to a whole parser.
#[derive(Debug, Default)]
pub(super) struct Nesting {
    open: HashMap<Vec<u8>, u32>,
    depth: u32,
    /// Greatest number of elements that were open at once.
    pub(super) depth_max: u32,
    /// Number of elements.
    pub(super) elements: u32,
}

impl Nesting {
    pub(super) fn start(&mut self, name: &[u8]) {
        self.elements += 1;
        if VOID.contains(&name) || IMPLIED_END.contains(&name) {
            return;
        }
        match self.open.get_mut(name) {
            Some(count) => *count += 1,
            None => {
                self.open.insert(name.to_vec(), 1);
            }
        }
        self.depth += 1;
        self.depth_max = self.depth_max.max(self.depth);
    }

    pub(super) fn end(&mut self, name: &[u8]) {
        if let Some(count) = self.open.get_mut(name).filter(|count| **count > 0) {
            *count -= 1;
            self.depth -= 1;
        }
    }
}
