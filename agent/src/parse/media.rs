//! What a body is, and so how it is read: by its header if that says so, else by its first bytes.
//!
//! A small part of the MIME Sniffing standard: enough to find the pages, feeds and sitemaps, and to
//! leave all else alone.

use crate::messages::LinkKind;

/// What a body was read as.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Media {
    /// HTML, or XHTML read as HTML.
    Html,
    /// A sitemap or a sitemap index, in XML.
    Sitemap,
    /// A sitemap that is a list of URLs, one a line.
    TextSitemap,
    /// RSS or Atom.
    Feed,
    /// CSS.
    StyleSheet,
    /// Not read.
    Other,
}

/// What the `Content-Type` header says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Claim {
    Html,
    Xml,
    Text,
    Gzip,
    Css,
    /// Nothing, or nothing that could be relied on.
    Unknown,
    /// A type that has no links.
    Other,
}

impl Claim {
    /// Reads a media type (the value of the header up to its first `;`).
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

    /// Whether a body of this claim may have links at all.
    pub(super) const fn is_worth_reading(self, kind: LinkKind) -> bool {
        match self {
            Self::Html | Self::Xml | Self::Css | Self::Unknown => true,
            Self::Text | Self::Gzip => matches!(kind, LinkKind::Sitemap),
            Self::Other => false,
        }
    }
}

/// First bytes of files that are no text.
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

/// Whether a body is known not to be text by its first bytes.
pub(super) fn is_binary(body: &[u8], claim: Claim) -> bool {
    let utf16 = body.starts_with(&[0xff, 0xfe]) || body.starts_with(&[0xfe, 0xff]);
    MAGIC.iter().any(|magic| body.starts_with(magic))
        || claim == Claim::Unknown && !utf16 && body[..body.len().min(512)].contains(&0)
}

/// Decides, on a body in an ASCII-compatible encoding, its byte order mark removed.
pub(super) fn detect(claim: Claim, kind: LinkKind, body: &[u8]) -> Media {
    if claim == Claim::Html && kind == LinkKind::Page {
        return Media::Html;
    }
    if claim == Claim::Css {
        return Media::StyleSheet;
    }
    match (first_tag(body), claim, kind) {
        (Root::Sitemap, ..) => Media::Sitemap,
        (Root::Feed, ..) => Media::Feed,
        (Root::Html, ..) | (_, Claim::Html, _) => Media::Html,
        (Root::None, Claim::Text | Claim::Gzip | Claim::Unknown, LinkKind::Sitemap) => {
            Media::TextSitemap
        }
        (Root::HtmlTag, Claim::Unknown, _) => Media::Html,
        _ => Media::Other,
    }
}

/// What the first tag says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Root {
    Sitemap,
    Feed,
    /// `<html`, or its doctype.
    Html,
    /// Another tag that begins a page.
    HtmlTag,
    Unknown,
    /// Text comes first, or nothing.
    None,
}

/// Tags by which the MIME Sniffing standard knows HTML (section 7.1), and three more.
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

/// Bytes among which the first tag must begin.
const SNIFFED: usize = 4_096;

/// What follows a comment, a processing instruction, or a doctype other than HTML's.
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
