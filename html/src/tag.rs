//! Names of the tags and attributes that matter for links, ignoring case.

/// Length of the longest name in bytes.
pub(super) const NAME_MAX: usize = 10;

/// Declares an enum of names and its look-up, which ignores case.
macro_rules! names {
    ($(#[$about:meta])+ $Name:ident { $($Variant:ident = $name:literal,)+ }) => {
        $(#[$about])+
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum $Name {
            $($Variant,)+
        }

        impl $Name {
            /// Returns the variant with this name, ignoring case.
            pub(super) fn of(name: &[u8]) -> Option<Self> {
                match lowered(name, &mut [0; NAME_MAX]) {
                    $($name => Some(Self::$Variant),)+
                    _ => None,
                }
            }
        }
    };
}

names! {
    /// A tag that has a link, or that changes how the text after it is read.
    TagName {
        A = b"a",
        Area = b"area",
        Audio = b"audio",
        Base = b"base",
        Embed = b"embed",
        Frame = b"frame",
        Iframe = b"iframe",
        Img = b"img",
        Input = b"input",
        Link = b"link",
        Math = b"math",
        Meta = b"meta",
        Noembed = b"noembed",
        Noframes = b"noframes",
        Object = b"object",
        Plaintext = b"plaintext",
        Script = b"script",
        Source = b"source",
        Style = b"style",
        Svg = b"svg",
        Textarea = b"textarea",
        Title = b"title",
        Video = b"video",
        Xmp = b"xmp",
    }
}

names! {
    /// An attribute that holds a link or describes one.
    Attr {
        Charset = b"charset",
        Content = b"content",
        Data = b"data",
        Href = b"href",
        HttpEquiv = b"http-equiv",
        Name = b"name",
        Poster = b"poster",
        Rel = b"rel",
        Src = b"src",
        Srcset = b"srcset",
        Type = b"type",
    }
}

const N_ATTRS: usize = Attr::Type as usize + 1;

impl TagName {
    /// Returns true if its attributes are needed.
    pub(super) const fn has_attributes(self) -> bool {
        !matches!(
            self,
            Self::Math
                | Self::Noembed
                | Self::Noframes
                | Self::Plaintext
                | Self::Style
                | Self::Svg
                | Self::Textarea
                | Self::Title
                | Self::Xmp
        )
    }
}

/// Needed attributes of one tag, undecoded, in a fixed number of slots regardless of the number of
/// attributes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Attrs<'a>([Option<&'a [u8]>; N_ATTRS]);

/// Receiver of the attributes of a tag.
pub(crate) trait PutAttr<'a> {
    /// Receives an attribute, undecoded.
    fn put(&mut self, name: &'a [u8], value: &'a [u8]);
}

impl<'a> PutAttr<'a> for Attrs<'a> {
    /// Adds a value, unless the tag already has an attribute with this name: the first one wins.
    fn put(&mut self, name: &'a [u8], value: &'a [u8]) {
        if let Some(attr) = Attr::of(name) {
            self.0[attr as usize].get_or_insert(value);
        }
    }
}

impl<'a> Attrs<'a> {
    /// Returns the value, with character references not decoded.
    pub(super) fn get(&self, attr: Attr) -> Option<&'a [u8]> {
        self.0[attr as usize]
    }

    /// Returns true if the value is `known`, ignoring case and white space around it.
    pub(super) fn is(&self, attr: Attr, known: &str) -> bool {
        self.get(attr).is_some_and(|v| v.trim_ascii().eq_ignore_ascii_case(known.as_bytes()))
    }
}

/// Returns `name` in lower case; empty if it is longer than all known names.
pub(super) fn lowered<'b>(name: &[u8], into: &'b mut [u8]) -> &'b [u8] {
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
