//! Effect of elements on the text around them, by name and attributes.

use crate::tag::{NAME_MAX, PutAttr, lowered};

/// Effect of an element on text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ElementClass {
    /// No effect. Also the class of unknown elements.
    Inline,
    /// `a`.
    Link,
    /// Void element that is not a break, such as `img`.
    Void,
    /// `br`.
    LineBreak,
    /// Begins and ends a block. Its end tag is required.
    Block,
    /// Begins and ends a block. Its end tag may be omitted, as of `p` and `body`.
    OpenBlock,
    /// `h1` to `h6`.
    Heading,
    /// `main`: a block that also ends an unclosed boilerplate section.
    Main,
    /// Section of boilerplate, such as `nav`.
    Boilerplate,
    /// Content that is no text of the page, such as `template` and `select`.
    NoText,
}

/// Packed name of an element in lower case. Names of up to eight letters and digits are exact. Of
/// longer ones the last seven count, which is unambiguous for known elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ElementKey(u64);

/// Key of `svg`, the only element of [`ElementClass::NoText`] that can close itself.
pub(super) const SVG: ElementKey = ElementKey(pack(b"svg"));

/// Packs a name.
const fn pack(name: &[u8]) -> u64 {
    // Longer names differ from all that have eight letters.
    let mut packed = if name.len() > 8 { 1 } else { 0 };
    let mut at = name.len().saturating_sub(if name.len() > 8 { 7 } else { 8 });
    while at < name.len() {
        packed = packed << 8 | (name[at] | 0x20) as u64;
        at += 1;
    }
    packed
}

impl ElementKey {
    /// Returns the key of an element's name, ignoring case.
    pub(super) const fn of(name: &[u8]) -> Self {
        Self(pack(name))
    }
}

impl ElementClass {
    /// Returns the class of the element with this name, ignoring case.
    pub(super) fn of(name: &[u8]) -> Self {
        match lowered(name, &mut [0; NAME_MAX]) {
            b"a" => Self::Link,
            b"p" | b"li" | b"td" | b"tr" | b"th" | b"dd" | b"dt" | b"tbody" | b"thead"
            | b"tfoot" | b"body" | b"html" | b"head" | b"caption" => Self::OpenBlock,
            b"div" | b"ul" | b"section" | b"article" | b"table" | b"ol" | b"dl" | b"form"
            | b"header" | b"pre" | b"blockquote" | b"figure" | b"figcaption" | b"fieldset"
            | b"legend" | b"address" | b"center" | b"details" | b"summary" | b"hgroup"
            | b"frameset" | b"dir" | b"hr" => Self::Block,
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => Self::Heading,
            b"br" => Self::LineBreak,
            b"img" | b"input" | b"meta" | b"link" | b"wbr" | b"area" | b"base" | b"col"
            | b"embed" | b"param" | b"source" | b"track" => Self::Void,
            b"main" => Self::Main,
            b"nav" | b"footer" | b"aside" | b"menu" | b"search" => Self::Boilerplate,
            b"svg" | b"button" | b"select" | b"template" | b"noscript" | b"dialog"
            | b"datalist" | b"video" | b"audio" | b"canvas" | b"object" | b"iframe" => Self::NoText,
            _ => Self::Inline,
        }
    }

    /// Returns true if the element separates the text before it from the text in it.
    pub(super) const fn is_block(self) -> bool {
        matches!(
            self,
            Self::Block | Self::OpenBlock | Self::Heading | Self::Main | Self::Boilerplate
        )
    }

    /// Returns true if the element can be left out as a whole, because its end is certain.
    pub(super) const fn has_end(self) -> bool {
        !matches!(self, Self::Void | Self::LineBreak | Self::OpenBlock | Self::Link)
    }
}

/// Attributes by which an element is left out.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct ExclusionMarks {
    /// True if the element is hidden.
    pub(super) hidden: bool,
    /// True if the element's role is boilerplate.
    pub(super) boilerplate: bool,
}

impl ExclusionMarks {
    /// Returns true if the element is left out.
    pub(super) const fn any(self) -> bool {
        self.hidden || self.boilerplate
    }
}

/// Number of bytes of a `style` attribute that are read.
const STYLE_READ: usize = 256;

impl<'a> PutAttr<'a> for ExclusionMarks {
    fn put(&mut self, name: &'a [u8], value: &'a [u8]) {
        match name.len() {
            4 if name.eq_ignore_ascii_case(b"role") => self.boilerplate |= is_boilerplate(value),
            5 if name.eq_ignore_ascii_case(b"style") => self.hidden |= hides(value),
            6 if name.eq_ignore_ascii_case(b"hidden") => self.hidden = true,
            11 if name.eq_ignore_ascii_case(b"aria-hidden") => {
                self.hidden |= value.eq_ignore_ascii_case(b"true");
            }
            _ => {}
        }
    }
}

/// ARIA roles of boilerplate and of controls.
const ROLES: [&[u8]; 13] = [
    b"navigation",
    b"banner",
    b"contentinfo",
    b"complementary",
    b"search",
    b"menu",
    b"menubar",
    b"toolbar",
    b"tablist",
    b"dialog",
    b"alertdialog",
    b"tooltip",
    b"button",
];

fn is_boilerplate(role: &[u8]) -> bool {
    let role = role.trim_ascii();
    role.len() <= 16 && ROLES.iter().any(|known| role.eq_ignore_ascii_case(known))
}

/// Returns true if a `style` attribute hides its element.
fn hides(style: &[u8]) -> bool {
    style[..style.len().min(STYLE_READ)].split(|&b| b == b';').any(|declaration| {
        let Some(colon) = memchr::memchr(b':', declaration) else {
            return false;
        };
        let (name, value) = (declaration[..colon].trim_ascii(), &declaration[colon + 1..]);
        let first = value.split(|&b| b == b'!').next().unwrap_or_default().trim_ascii();
        name.eq_ignore_ascii_case(b"display") && first.eq_ignore_ascii_case(b"none")
            || name.eq_ignore_ascii_case(b"visibility") && first.eq_ignore_ascii_case(b"hidden")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_classes() {
        for (name, class) in [
            ("P", ElementClass::OpenBlock),
            ("BlockQuote", ElementClass::Block),
            ("figcaption", ElementClass::Block),
            ("h6", ElementClass::Heading),
            ("h7", ElementClass::Inline),
            ("br", ElementClass::LineBreak),
            ("nav", ElementClass::Boilerplate),
            ("navi", ElementClass::Inline),
            ("noscript", ElementClass::NoText),
            ("x-noscript", ElementClass::Inline),
            ("a", ElementClass::Link),
        ] {
            assert_eq!(ElementClass::of(name.as_bytes()), class, "{name}");
        }
    }

    #[test]
    fn attributes_hide() {
        for (name, value, hidden, boilerplate) in [
            ("hidden", "", true, false),
            ("ARIA-hidden", "true", true, false),
            ("aria-hidden", "false", false, false),
            ("style", "color: red; DISPLAY : none !important", true, false),
            ("style", "visibility:hidden", true, false),
            ("style", "display:block;x-display:none", false, false),
            ("role", " Navigation ", false, true),
            ("role", "article", false, false),
            ("class", "hidden", false, false),
        ] {
            let mut marks = ExclusionMarks::default();
            marks.put(name.as_bytes(), value.as_bytes());
            assert_eq!((marks.hidden, marks.boilerplate), (hidden, boilerplate), "{name}={value}");
        }
    }
}
