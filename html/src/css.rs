//! Links in style sheets: `@import`, and `url()` anywhere (CSS Syntax Level 3).
//!
//! The scanner makes one forward pass over comments, strings and functions; the rest of the
//! language does not matter for links. The URL of `@namespace` is a name and not a link. The bare
//! strings of `image-set()` and the `style` attributes of pages are not read.

use super::extraction::{Extraction, LinkFilter};
use super::links::LinkSource;
use super::text::{self, begins};
use crate::links::LinkKind;
use encoding_rs::UTF_8;
use memchr::memmem;
use std::borrow::Cow;

/// Parses a style sheet, or the content of a `style` element.
pub(super) fn parse(sheet: &str, filter: &LinkFilter, out: &mut Extraction) {
    let mut rest = sheet;
    let mut in_word = false;
    while let Some(first) = rest.bytes().next() {
        let whole_word = !std::mem::replace(&mut in_word, is_word(first));
        rest = match first {
            b'/' if rest.starts_with("/*") => after_comment(rest),
            b'"' | b'\'' => string(rest).1,
            // An escaped character starts no string, comment or word.
            b'\\' => after_escaped(rest),
            b'@' => match begins(rest, "@import") {
                Some(after) => import(after, filter, out),
                None => begins(rest, "@namespace").map_or(&rest[1..], after_statement),
            },
            b'u' | b'U' if whole_word => match url(rest) {
                Some((href, after)) => {
                    if filter.images {
                        push(&href, LinkSource::Image, out);
                    }
                    after
                }
                None => &rest[1..],
            },
            _ => &rest[first_char(rest)..],
        };
    }
}

/// Extracts the sheet named by an `@import` and returns the rest. `text` begins after `@import`.
fn import<'a>(text: &'a str, filter: &LinkFilter, out: &mut Extraction) -> &'a str {
    let rest = after_space(text);
    let named = match rest.bytes().next() {
        Some(b'"' | b'\'') => Some(string(rest)),
        _ => url(rest),
    };
    match named {
        Some((href, after)) => {
            if filter.scripts {
                push(&href, LinkSource::Script, out);
            }
            after
        }
        None => rest,
    }
}

fn push(text: &str, source: LinkSource, out: &mut Extraction) {
    let href = text::href(text, UTF_8);
    if !href.is_empty() && begins(&href, "data:").is_none() {
        out.links.push(&href, LinkKind::Page, source, false);
    }
}

/// Parses a `url(…)` at the beginning of `text`. Returns the URL and the rest.
fn url(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let inner = begins(text, "url(")?.trim_ascii_start();
    if let Some(b'"' | b'\'') = inner.bytes().next() {
        let (href, after) = string(inner);
        // Skip to the parenthesis, if there is one.
        let after = after.trim_ascii_start();
        return Some((href, after.strip_prefix(')').unwrap_or(after)));
    }
    let end = end_of(inner, |byte| byte == b')');
    let (raw, after) = inner.split_at(end);
    Some((unescape(raw.trim_ascii_end()), after.get(1..).unwrap_or_default()))
}

/// Parses the string at the beginning of `text`. Returns the string and the rest. An unescaped end
/// of line ends a string like its quote.
fn string(text: &str) -> (Cow<'_, str>, &str) {
    let quote = text.as_bytes()[0];
    let inner = &text[1..];
    let end = end_of(inner, |byte| byte == quote || byte == b'\n');
    (unescape(&inner[..end]), inner.get(end + 1..).unwrap_or_default())
}

/// Returns the index of the first unescaped byte for which `ends` returns true, or the end of
/// `text`.
fn end_of(text: &str, ends: impl Fn(u8) -> bool) -> usize {
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let here = !escaped && ends(byte);
        escaped = !escaped && byte == b'\\';
        here
    });
    end.unwrap_or(text.len())
}

fn unescape(text: &str) -> Cow<'_, str> {
    let Some(at) = text.find('\\') else {
        return Cow::Borrowed(text);
    };
    let (mut plain, mut rest) = (text[..at].to_owned(), &text[at..]);
    while let Some(escaped) = rest.strip_prefix('\\') {
        let digits = escaped.bytes().take(6).take_while(u8::is_ascii_hexdigit).count();
        let (digits, after) = escaped.split_at(digits);
        if let Ok(code) = u32::from_str_radix(digits, 16) {
            plain.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = after.strip_prefix([' ', '\t', '\n']).unwrap_or(after);
        } else {
            // An escaped end of line is removed. Any other escaped character stands for itself.
            rest = after.strip_prefix('\n').unwrap_or(after);
            if rest.len() == after.len() {
                let one = first_char(rest);
                plain.push_str(&rest[..one]);
                rest = &rest[one..];
            }
        }
        let next = rest.find('\\').unwrap_or(rest.len());
        plain.push_str(&rest[..next]);
        rest = &rest[next..];
    }
    Cow::Owned(plain)
}

fn after_space(mut text: &str) -> &str {
    loop {
        text = text.trim_ascii_start();
        if !text.starts_with("/*") {
            return text;
        }
        text = after_comment(text);
    }
}

fn after_comment(text: &str) -> &str {
    let end = memmem::find(&text.as_bytes()[2..], b"*/");
    end.map_or("", |end| &text[end + 4..])
}

fn after_statement(text: &str) -> &str {
    text.split_once(';').map_or("", |(_, after)| after)
}

fn after_escaped(text: &str) -> &str {
    let escaped = &text[1..];
    &escaped[first_char(escaped)..]
}

/// Returns the length of the first character in bytes; 0 if there is none.
fn first_char(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'\\') || !byte.is_ascii()
}
