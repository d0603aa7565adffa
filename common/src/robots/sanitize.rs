//! Sanitization of a robots.txt before the `robotstxt` crate reads it, so that no input makes the
//! crate panic, misread a byte order mark or drop part of a rule.
//!
//! The result is ASCII: every other byte is percent-encoded (as RFC 9309 section 2.2.2 requires in
//! rules; sitemap URLs keep their meaning), and the digits of escapes are in upper case, so the
//! crate never rewrites a value. Line numbers are unchanged.

use super::escape;
use crate::url::escaped;

/// Number of bytes of a robots.txt that are read (the minimum of RFC 9309 section 2.5).
pub const SIZE_MAX: usize = 500 * 1024;
/// Maximum length of a sanitized line: Google's limit, just below the limit of the crate.
const LINE_MAX: usize = 2083 * 8 - 1;

/// Returns the sanitized text of a robots.txt.
///
/// A body of [`SIZE_MAX`] bytes or more counts as truncated. Its last line may be incomplete and is
/// dropped, because a truncated rule can match more than the full one. A body that begins with a
/// byte order mark of UTF-16 is converted to UTF-8.
pub(super) fn sanitize(body: &[u8]) -> String {
    let (head, is_cut) = match body.get(..SIZE_MAX) {
        Some(head) => (head, true),
        None => (body, false),
    };
    let utf8 = of_utf16(head);
    let decoded = utf8.as_ref().map_or_else(|| without_bom(head), String::as_bytes);
    let body = if is_cut { without_last_line(decoded) } else { decoded };
    let mut text = Vec::with_capacity(body.len() + body.len() / 8);
    for (i, line) in lines(body).enumerate() {
        if i > 0 {
            text.push(b'\n');
        }
        push_line(line, &mut text);
    }
    String::from_utf8(text).unwrap_or_default()
}

fn without_last_line(body: &[u8]) -> &[u8] {
    match memchr::memrchr2(b'\n', b'\r', body) {
        Some(end) => &body[..end],
        None => body,
    }
}

/// Returns the text of a body in UTF-16, if its byte order mark marks it as such. An unpaired
/// surrogate becomes U+FFFD; an odd last byte is dropped.
fn of_utf16(body: &[u8]) -> Option<String> {
    let unit = match body {
        [0xFF, 0xFE, ..] => u16::from_le_bytes,
        [0xFE, 0xFF, ..] => u16::from_be_bytes,
        _ => return None,
    };
    let units = body[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

/// Drops a byte order mark, even an incomplete one, as Google does.
fn without_bom(mut body: &[u8]) -> &[u8] {
    for mark in [0xEF, 0xBB, 0xBF] {
        match body.split_first() {
            Some((&first, rest)) if first == mark => body = rest,
            _ => break,
        }
    }
    body
}

/// Splits at LF, CR or CR LF.
fn lines(body: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(body);
    std::iter::from_fn(move || {
        let text = rest?;
        let Some(end) = memchr::memchr2(b'\n', b'\r', text) else {
            return rest.take();
        };
        let after = if text[end..].starts_with(b"\r\n") { end + 2 } else { end + 1 };
        rest = text.get(after..);
        Some(&text[..end])
    })
}

fn push_line(line: &[u8], text: &mut Vec<u8>) {
    let line = line.split(|&b| b == b'#').next().unwrap_or_default();
    let start = text.len();
    match memchr::memchr(b':', line) {
        Some(colon) => {
            push_ascii(trim(&line[..colon]), text);
            text.extend(b": ");
            push_ascii(trim(&line[colon + 1..]), text);
        }
        None => push_ascii(trim(line), text),
    }
    truncate(start, text);
}

/// Truncates the line that begins at `start` to [`LINE_MAX`], but not within an escape.
fn truncate(start: usize, text: &mut Vec<u8>) {
    let max = start + LINE_MAX;
    if text.len() > max {
        let tail = max - 2;
        let escape = memchr::memrchr(b'%', &text[tail..max]).map(|i| tail + i);
        text.truncate(escape.unwrap_or(max));
    }
}

/// Trims white space, NUL and no-break spaces (a frequent mistake).
fn trim(mut text: &[u8]) -> &[u8] {
    loop {
        text = match text {
            [0 | 9..=13 | b' ', rest @ ..] | [rest @ .., 0 | 9..=13 | b' '] => rest,
            [0xC2, 0xA0, rest @ ..] | [rest @ .., 0xC2, 0xA0] => rest,
            _ => return text,
        }
    }
}

fn push_ascii(bytes: &[u8], text: &mut Vec<u8>) {
    let mut i = 0;
    while let Some(&b) = bytes.get(i) {
        match escaped(&bytes[i..]) {
            Some(value) => {
                escape::push_escape(value, text);
                i += 2;
            }
            None if b == 0 => text.push(b' '),
            None if b.is_ascii() => text.push(b),
            None => escape::push_escape(b, text),
        }
        i += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_their_ends() {
        for (body, sanitized) in [
            (&b""[..], ""),
            (b"a: b\r\nc :d\re:f # g\n\n", "a: b\nc: d\ne: f\n\n"),
            (b"\xEF\xBB\xBFa:b", "a: b"),
            (b"\xEF\xBBa:b", "a: b"),
            (b"a\n\xEF\xBB\xBFb", "a\n%EF%BB%BFb"),
            (b"a:\xC2\xA0/\xE9\0%c3\0", "a: /%E9 %C3"),
            (b"allow /x \t", "allow /x"),
        ] {
            assert_eq!(sanitize(body), sanitized, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_long_line_is_truncated_between_escapes() {
        for pad in 0..6 {
            let line = [vec![b'a'; pad], "é".repeat(20_000).into_bytes()].concat();
            let sanitized = sanitize(&line);
            assert!((LINE_MAX - 2..=LINE_MAX).contains(&sanitized.len()));
            assert_eq!((sanitized.len() - pad) % 3, 0, "pad {pad}");
        }
    }

    #[test]
    fn utf16_with_a_byte_order_mark_is_decoded() {
        let text = "a: /b\r\nc: /ü😀\n";
        let units = || text.encode_utf16();
        let little: Vec<u8> = units().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = units().flat_map(u16::to_be_bytes).collect();
        let wanted = "a: /b\nc: /%C3%BC%F0%9F%98%80\n";
        assert_eq!(sanitize(&[&[0xFF, 0xFE], &little[..]].concat()), wanted);
        assert_eq!(sanitize(&[&[0xFE, 0xFF], &big[..]].concat()), wanted);
        assert_eq!(sanitize(&[0xFF, 0xFE, b'a', 0, b'b']), "a", "an odd last byte");
        assert_eq!(sanitize(&[0xFE, 0xFF, 0xD8, 0]), "%EF%BF%BD", "an unpaired surrogate");
        let long = [&[0xFF, 0xFE], &little.repeat(40_000)[..]].concat();
        let sanitized = sanitize(&long);
        let sanitized = sanitized.trim_end();
        assert!(sanitized.ends_with("\nc: /%C3%BC%F0%9F%98%80") || sanitized.ends_with("\na: /b"));
    }

    #[test]
    fn a_truncated_body_loses_its_last_line() {
        let mut body = b"allow: /a\n".repeat(60_000);
        body.truncate(SIZE_MAX + 3);
        let sanitized = sanitize(&body);
        assert!(sanitized.len() < SIZE_MAX && sanitized.ends_with("\nallow: /a"));
    }
}
