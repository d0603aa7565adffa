//! Format of a body, which decides how it is parsed: declared by its header, otherwise recognized
//! by its first bytes.
//!
//! This is the part of the MIME Sniffing standard that is needed to recognize pages, feeds and
//! sitemaps.

use crate::links::LinkKind;

/// Format as which a body was parsed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Media {
    /// HTML, or XHTML parsed as HTML.
    Html,
    /// A sitemap or a sitemap index, in XML.
    Sitemap,
    /// A sitemap that is a list of URLs, one per line.
    TextSitemap,
    /// RSS or Atom.
    Feed,
    /// CSS.
    StyleSheet,
    /// Not parsed.
    Other,
}

/// The type declared by the `Content-Type` header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum DeclaredType {
    Html,
    Xml,
    Text,
    Gzip,
    Css,
    /// Missing, or unreliable.
    Unknown,
    /// A type without links.
    Other,
}

impl DeclaredType {
    /// Parses a media type (the value of the header up to its first `;`).
    pub(super) fn of(content_type: Option<&[u8]>) -> Self {
        let Some(value) = content_type else {
            return Self::Unknown;
        };
        let essence = value.split(|&b| b == b';').next().unwrap_or_default().trim_ascii();
        let is = |name: &str| essence.eq_ignore_ascii_case(name.as_bytes());
        let ends = |suffix: &[u8]| {
            essence.len() > suffix.len()
                && essence[essence.len() - suffix.len()..].eq_ignore_ascii_case(suffix)
        };
        if is("text/html") || is("application/xhtml+xml") {
            Self::Html
        } else if is("image/svg+xml") {
            Self::Other
        } else if ends(b"/xml") || ends(b"+xml") {
            Self::Xml
        } else if is("text/plain") {
            Self::Text
        } else if is("text/css") {
            Self::Css
        } else if is("application/gzip") || is("application/x-gzip") {
            Self::Gzip
        } else if is("application/octet-stream")
            || is("unknown/unknown")
            || is("application/unknown")
            || is("binary/octet-stream")
            || is("*/*")
            || !essence.contains(&b'/')
        {
            Self::Unknown
        } else {
            Self::Other
        }
    }

    /// Returns true if a body of this type can have links.
    pub(super) const fn may_have_links(self, kind: LinkKind) -> bool {
        match self {
            Self::Html | Self::Xml | Self::Css | Self::Unknown => true,
            Self::Text | Self::Gzip => matches!(kind, LinkKind::Sitemap),
            Self::Other => false,
        }
    }
}

/// First bytes of binary files.
const MAGIC: [&[u8]; 12] = [
    b"%PDF-",
    b"\x89PNG\r\n",
    b"GIF8",
    b"\xff\xd8\xff",
    b"\x1f\x8b",
    b"PK\x03\x04",
    b"RIFF",
    b"BZh",
    b"\xfd7zXZ\0",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
    b"\x7fELF",
];

/// Returns true if the first bytes of a body show that it is not text.
pub(super) fn is_binary(body: &[u8], declared: DeclaredType) -> bool {
    let utf16 = body.starts_with(&[0xff, 0xfe]) || body.starts_with(&[0xfe, 0xff]);
    MAGIC.iter().any(|magic| body.starts_with(magic))
        || declared == DeclaredType::Unknown && !utf16 && body[..body.len().min(512)].contains(&0)
}

/// Decides the format of a body in an ASCII-compatible encoding, without a byte order mark.
pub(super) fn detect(declared: DeclaredType, kind: LinkKind, body: &[u8]) -> Media {
    if declared == DeclaredType::Html && kind == LinkKind::Page {
        return Media::Html;
    }
    if declared == DeclaredType::Css {
        return Media::StyleSheet;
    }
    match (first_tag(body), declared, kind) {
        (Root::Sitemap, ..) => Media::Sitemap,
        (Root::Feed, ..) => Media::Feed,
        (Root::Html, ..) | (_, DeclaredType::Html, _) => Media::Html,
        (
            Root::None,
            DeclaredType::Text | DeclaredType::Gzip | DeclaredType::Unknown,
            LinkKind::Sitemap,
        ) => Media::TextSitemap,
        (Root::HtmlTag, DeclaredType::Unknown, _) => Media::Html,
        _ => Media::Other,
    }
}

/// The format indicated by the first tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Root {
    Sitemap,
    Feed,
    /// `<html`, or its doctype.
    Html,
    /// Another tag that can start a page.
    HtmlTag,
    Unknown,
    /// The body is empty or begins with text.
    None,
}

/// Tags by which the MIME Sniffing standard recognizes HTML (section 7.1), and three more.
const HTML_TAGS: [&str; 19] = [
    "head", "script", "iframe", "h1", "div", "font", "table", "a", "style", "title", "b", "body",
    "br", "p", "meta", "link", "base", "center", "frameset",
];

fn first_tag(body: &[u8]) -> Root {
    let mut rest = body[..body.len().min(SNIFFED)].trim_ascii_start();
    while let Some(skipped) = after_prolog(rest) {
        rest = skipped.trim_ascii_start();
    }
    let Some(tag) = rest.strip_prefix(b"<") else {
        return Root::None;
    };
    let declared = tag.strip_prefix(b"!").is_some_and(|d| {
        d.get(..7).is_some_and(|word| word.eq_ignore_ascii_case(b"doctype"))
            && d[7..].trim_ascii_start().get(..4).is_some_and(|n| n.eq_ignore_ascii_case(b"html"))
    });
    let end =
        tag.iter().position(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0c | b'>' | b'/'));
    let Some(name) = end.map(|end| &tag[..end]) else {
        return Root::Unknown;
    };
    let local = name.rsplit(|&b| b == b':').next().unwrap_or(name);
    let is = |known: &str| local.eq_ignore_ascii_case(known.as_bytes());
    if declared || is("html") {
        Root::Html
    } else if is("urlset") || is("sitemapindex") {
        Root::Sitemap
    } else if is("rss") || is("feed") || is("rdf") {
        Root::Feed
    } else if HTML_TAGS.iter().any(|known| is(known)) {
        Root::HtmlTag
    } else {
        Root::Unknown
    }
}

/// Number of bytes in which the first tag must begin.
const SNIFFED: usize = 4_096;

/// Returns the text after a comment, a processing instruction, or a doctype other than HTML's.
fn after_prolog(text: &[u8]) -> Option<&[u8]> {
    let end: &[u8] = if text.starts_with(b"<!--") {
        b"-->"
    } else if text.starts_with(b"<?") {
        b"?>"
    } else {
        return None;
    };
    let at = memchr::memmem::find(text, end)?;
    Some(&text[at + end.len()..])
}
