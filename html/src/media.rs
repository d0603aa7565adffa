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
        match &*essence.to_ascii_lowercase() {
            b"text/html" | b"application/xhtml+xml" => Self::Html,
            b"image/svg+xml" => Self::Other,
            [_, .., b'/' | b'+', b'x', b'm', b'l'] => Self::Xml,
            b"text/plain" => Self::Text,
            b"text/css" => Self::Css,
            b"application/gzip" | b"application/x-gzip" => Self::Gzip,
            b"application/octet-stream"
            | b"binary/octet-stream"
            | b"application/unknown"
            | b"unknown/unknown"
            | b"*/*" => Self::Unknown,
            _ if !essence.contains(&b'/') => Self::Unknown,
            _ => Self::Other,
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

fn first_tag(body: &[u8]) -> Root {
    let mut rest = body[..body.len().min(SNIFFED)].trim_ascii_start();
    while let Some(skipped) = after_prolog(rest) {
        rest = skipped.trim_ascii_start();
    }
    let Some(tag) = rest.strip_prefix(b"<") else {
        return Root::None;
    };
    let declared = after_word(tag, b"!doctype")
        .is_some_and(|rest| after_word(rest.trim_ascii_start(), b"html").is_some());
    let end =
        tag.iter().position(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0c | b'>' | b'/'));
    let Some(name) = end.map(|end| &tag[..end]) else {
        return Root::Unknown;
    };
    let local = name.rsplit(|&b| b == b':').next().unwrap_or(name);
    match &*local.to_ascii_lowercase() {
        _ if declared => Root::Html,
        b"html" => Root::Html,
        b"urlset" | b"sitemapindex" => Root::Sitemap,
        b"rss" | b"feed" | b"rdf" => Root::Feed,
        // Tags by which the MIME Sniffing standard recognizes HTML (section 7.1), and three more.
        b"head" | b"script" | b"iframe" | b"h1" | b"div" | b"font" | b"table" | b"a" | b"style"
        | b"title" | b"b" | b"body" | b"br" | b"p" | b"meta" | b"link" | b"base" | b"center"
        | b"frameset" => Root::HtmlTag,
        _ => Root::Unknown,
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
        return after_doctype(text);
    };
    let at = memchr::memmem::find(text, end)?;
    Some(&text[at + end.len()..])
}

/// Returns the text after a doctype other than HTML's, also one with declarations in brackets.
fn after_doctype(text: &[u8]) -> Option<&[u8]> {
    let rest = after_word(text, b"<!doctype")?.trim_ascii_start();
    if after_word(rest, b"html").is_some() {
        return None;
    }
    let mut end = memchr::memchr2(b'[', b'>', rest)?;
    if rest[end] == b'[' {
        end += memchr::memchr(b']', &rest[end..])?;
        end += memchr::memchr(b'>', &rest[end..])?;
    }
    Some(&rest[end + 1..])
}

/// Returns the text after `word`, if `text` begins with it, ignoring case.
fn after_word<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let (head, rest) = text.split_at_checked(word.len())?;
    head.eq_ignore_ascii_case(word).then_some(rest)
}
