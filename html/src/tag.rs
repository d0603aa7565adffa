//! Names of the tags and attributes that matter for links, ignoring case.

/// A tag that has a link, or that changes how the text after it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TagName {
    A,
    Area,
    Audio,
    Base,
    Frame,
    Iframe,
    Img,
    ParseInput,
    Link,
    Math,
    Meta,
    Noembed,
    Noframes,
    Plaintext,
    Script,
    Source,
    Style,
    Svg,
    Textarea,
    Title,
    Video,
    Xmp,
    Other,
}

/// Length of the longest name in [`TagName`] in bytes.
const TAG_NAME_MAX: usize = 9;

impl TagName {
    /// Returns the tag with this name, ignoring case.
    pub(super) fn of(name: &[u8]) -> Self {
        let mut lower = [0; TAG_NAME_MAX];
        match lowered(name, &mut lower) {
            b"a" => Self::A,
            b"area" => Self::Area,
            b"audio" => Self::Audio,
            b"base" => Self::Base,
            b"frame" => Self::Frame,
            b"iframe" => Self::Iframe,
            b"img" => Self::Img,
            b"input" => Self::ParseInput,
            b"link" => Self::Link,
            b"math" => Self::Math,
            b"meta" => Self::Meta,
            b"noembed" => Self::Noembed,
            b"noframes" => Self::Noframes,
            b"plaintext" => Self::Plaintext,
            b"script" => Self::Script,
            b"source" => Self::Source,
            b"style" => Self::Style,
            b"svg" => Self::Svg,
            b"textarea" => Self::Textarea,
            b"title" => Self::Title,
            b"video" => Self::Video,
            b"xmp" => Self::Xmp,
            _ => Self::Other,
        }
    }

    /// Returns true if its attributes are needed.
    pub(super) const fn has_attributes(self) -> bool {
        matches!(
            self,
            Self::A
                | Self::Area
                | Self::Audio
                | Self::Base
                | Self::Frame
                | Self::Iframe
                | Self::Img
                | Self::ParseInput
                | Self::Link
                | Self::Meta
                | Self::Script
                | Self::Source
                | Self::Video
        )
    }
}

/// An attribute that holds a link or describes one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attr {
    Charset = 0,
    Content = 1,
    Href = 2,
    HttpEquiv = 3,
    Name = 4,
    Poster = 5,
    Rel = 6,
    Src = 7,
    Srcset = 8,
}

const N_ATTRS: usize = 9;
/// Length of the longest name in [`Attr`] in bytes.
const ATTR_NAME_MAX: usize = 10;

impl Attr {
    fn of(name: &[u8]) -> Option<Self> {
        let mut lower = [0; ATTR_NAME_MAX];
        Some(match lowered(name, &mut lower) {
            b"charset" => Self::Charset,
            b"content" => Self::Content,
            b"href" => Self::Href,
            b"http-equiv" => Self::HttpEquiv,
            b"name" => Self::Name,
            b"poster" => Self::Poster,
            b"rel" => Self::Rel,
            b"src" => Self::Src,
            b"srcset" => Self::Srcset,
            _ => return None,
        })
    }
}

/// Needed attributes of one tag, undecoded, in a fixed number of slots regardless of the number of
/// attributes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attrs<'a>([Option<&'a [u8]>; N_ATTRS]);

impl<'a> Attrs<'a> {
    /// Adds a value, unless the tag already has an attribute with this name: the first one wins.
    pub(super) fn put(&mut self, name: &[u8], value: &'a [u8]) {
        if let Some(attr) = Attr::of(name) {
            self.0[attr as usize].get_or_insert(value);
        }
    }

    /// Returns the value, with character references not decoded.
    pub(super) fn get(&self, attr: Attr) -> Option<&'a [u8]> {
        self.0[attr as usize]
    }
}

/// Returns `name` in lower case; empty if it is longer than all known names.
fn lowered<'b>(name: &[u8], into: &'b mut [u8]) -> &'b [u8] {
    match into.get_mut(..name.len()) {
        Some(lower) => {
            for (to, from) in lower.iter_mut().zip(name) {
                *to = from.to_ascii_lowercase();
            }
            lower
        }
        None => &[],
    }
}
