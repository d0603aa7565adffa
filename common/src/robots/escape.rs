//! Normal form in which rules and paths are compared (RFC 9309 section 2.2.2).
//!
//! - An escape of an unreserved character (RFC 3986 section 2.3) is decoded; every other escape
//!   is kept, its digits in upper case: `%7e` becomes `~`, `%c3` becomes `%C3`.
//! - A byte that is invalid in a URI (non-ASCII, controls, space, `"<>\^{|}` and the back quote) is
//!   escaped, so a rule may be written without escapes.
//! - Reserved characters are unchanged, so `/` and `%2F` differ (RFC 3986 section 2.2), with three
//!   exceptions: `%2A` and `%24` are the literal `*` and `$` of RFC 9309 section 2.2.3, and `%27`
//!   is `'`, which WHATWG URLs escape in a query.
//!
//! In a rule, the wildcard `*` becomes [`WILD`], a byte that no normal form contains.

use crate::url::escaped;
use std::borrow::Cow;

/// Wildcard `*` of a rule in normal form.
pub(super) const WILD: u8 = 0;

/// Bytes that are never escaped: unreserved and reserved characters of RFC 3986.
const PLAIN: [bool; 256] = table(b"-._~:/?#[]@!$&'()*+,;=");
/// Bytes whose escapes are decoded.
const DECODED: [bool; 256] = table(b"-._~*$'");

const fn table(marks: &[u8]) -> [bool; 256] {
    let mut table = [false; 256];
    let mut b = 0;
    while b < 128_u8 {
        table[b as usize] = b.is_ascii_alphanumeric();
        b += 1;
    }
    let mut i = 0;
    while i < marks.len() {
        table[marks[i] as usize] = true;
        i += 1;
    }
    table
}

/// Returns the normal form of a path with its query; borrowed if it is unchanged.
pub(super) fn path(path: &str) -> Cow<'_, [u8]> {
    let bytes = path.as_bytes();
    if bytes.first() == Some(&b'/') && bytes.iter().all(|&b| PLAIN[usize::from(b)]) {
        return Cow::Borrowed(bytes);
    }
    let mut normal = Vec::with_capacity(bytes.len() + 16);
    if bytes.first() != Some(&b'/') {
        normal.push(b'/');
    }
    push(bytes, &mut normal);
    Cow::Owned(normal)
}

/// Appends the normal form of a rule's value to `out`. Returns true if the value ends in `$`.
pub(super) fn pattern(value: &str, out: &mut Vec<u8>) -> bool {
    let (value, anchored) = match value.strip_suffix('$') {
        Some(rest) => (rest, true),
        None => (value, false),
    };
    for (i, literal) in value.split('*').enumerate() {
        if i > 0 {
            out.push(WILD);
        }
        push(literal.as_bytes(), out);
    }
    anchored
}

/// Returns the text of a rule in normal form, in the syntax of robots.txt.
pub(super) fn readable(pattern: &[u8], anchored: bool) -> String {
    let mut text = String::with_capacity(pattern.len() + 8);
    for (i, &b) in pattern.iter().enumerate() {
        match b {
            WILD => text.push('*'),
            b'*' => text.push_str("%2A"),
            b'#' => text.push_str("%23"),
            b'$' if i + 1 == pattern.len() => text.push_str("%24"),
            b => text.push(char::from(b)),
        }
    }
    if anchored {
        text.push('$');
    }
    text
}

/// Returns true if a byte may occur in a rule's normal form.
pub(super) const fn is_normal(b: u8) -> bool {
    b == WILD || b == b'%' || PLAIN[b as usize]
}

fn push(mut bytes: &[u8], out: &mut Vec<u8>) {
    while let Some((&first, rest)) = bytes.split_first() {
        let escape = escaped(bytes);
        bytes = rest;
        match escape {
            Some(value) => {
                bytes = &rest[2..];
                if DECODED[usize::from(value)] {
                    out.push(value);
                } else {
                    push_escape(value, out);
                }
            }
            None if PLAIN[usize::from(first)] || first == b'%' => out.push(first),
            None => push_escape(first, out),
        }
    }
}

/// Appends `%XX`.
pub(super) fn push_escape(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([b'%', DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_form_of_paths() {
        for (raw, normal) in [
            ("/foo", "/foo"),
            ("", "/"),
            ("?a", "/?a"),
            ("/%66oo", "/foo"),
            ("/%c3%a9", "/%C3%A9"),
            ("/é", "/%C3%A9"),
            ("/a%2fb", "/a%2Fb"),
            ("/%2a%24%27", "/*$'"),
            ("/a b{c}", "/a%20b%7Bc%7D"),
            ("/100%", "/100%"),
            ("/%zz%4", "/%zz%4"),
            ("/%%41", "/%A"),
            ("/\u{0}", "/%00"),
        ] {
            assert_eq!(&*path(raw), normal.as_bytes(), "{raw}");
        }
    }

    #[test]
    fn a_rule_round_trips_through_its_text() {
        for value in ["/a*b$", "/%2A$", "/a$b", "/%24", "*", "/$", "/é*%23"] {
            let (mut once, mut twice) = (Vec::new(), Vec::new());
            let anchored = pattern(value, &mut once);
            let text = readable(&once, anchored);
            assert_eq!(pattern(&text, &mut twice), anchored, "{value}");
            assert_eq!(once, twice, "{value} as {text}");
            assert!(once.iter().all(|&b| is_normal(b)));
        }
    }
}
