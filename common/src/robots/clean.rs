//! What is done to the bytes of a robots.txt before the `robotstxt` crate reads them, so that
//! nothing in them can make it panic, misread a byte order mark or drop part of a rule.
//!
//! The result is ASCII: every other byte is percent-encoded (which RFC 9309 section 2.2.2 asks
//! for in rules, and which URLs of sitemaps survive), and the digits of escapes are in upper
//! case, so the crate never rewrites a value. Lines keep their numbers.

use super::escape;

/// Bytes of a robots.txt that are read (RFC 9309 section 2.5 asks for at least this).
pub const SIZE_MAX: usize = 500 * 1024;
/// Bytes of one line after cleaning: Google's limit, and just under where the crate cuts.
const LINE_MAX: usize = 2083 * 8 - 1;

/// The cleaned text.
///
/// A body of [`SIZE_MAX`] bytes or more counts as cut off: its last line is incomplete and is
/// left out, because half a rule can say more than its author did.
pub(super) fn clean(body: &[u8]) -> String {
    let body = without_bom(complete(body));
    let mut text = Vec::with_capacity(body.len() + body.len() / 8);
    for (i, line) in lines(body).enumerate() {
        if i > 0 {
            text.push(b'\n');
        }
        push_line(line, &mut text);
    }
    String::from_utf8(text).unwrap_or_default()
}

fn complete(body: &[u8]) -> &[u8] {
    let Some(head) = body.get(..SIZE_MAX) else {
        return body;
    };
    match memchr::memrchr2(b'\n', b'\r', head) {
        Some(end) => &head[..end],
        None => head,
    }
}

/// Also drops a byte order mark that is cut short, as Google does.
fn without_bom(mut body: &[u8]) -> &[u8] {
    for mark in [0xEF, 0xBB, 0xBF] {
        match body.split_first() {
            Some((&first, rest)) if first == mark => body = rest,
            _ => break,
        }
    }
    body
}

/// The lines, ended by LF, CR or CR LF.
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
    cut(start, text);
}

/// Shortens the line that begins at `start` to [`LINE_MAX`], not within an escape.
fn cut(start: usize, text: &mut Vec<u8>) {
    let max = start + LINE_MAX;
    if text.len() > max {
        let tail = max - 2;
        let escape = memchr::memrchr(b'%', &text[tail..max]).map(|i| tail + i);
        text.truncate(escape.unwrap_or(max));
    }
}

/// Without white space, NUL and no-break spaces (a frequent accident) at both ends.
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
        match escape::escaped(b, &bytes[i + 1..]) {
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
        for (body, cleaned) in [
            (&b""[..], ""),
            (b"a: b\r\nc :d\re:f # g\n\n", "a: b\nc: d\ne: f\n\n"),
            (b"\xEF\xBB\xBFa:b", "a: b"),
            (b"\xEF\xBBa:b", "a: b"),
            (b"a\n\xEF\xBB\xBFb", "a\n%EF%BB%BFb"),
            (b"a:\xC2\xA0/\xE9\0%c3\0", "a: /%E9 %C3"),
            (b"allow /x \t", "allow /x"),
        ] {
            assert_eq!(clean(body), cleaned, "{}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn a_long_line_is_cut_between_escapes() {
        for pad in 0..6 {
            let line = [vec![b'a'; pad], "é".repeat(20_000).into_bytes()].concat();
            let cleaned = clean(&line);
            assert!((LINE_MAX - 2..=LINE_MAX).contains(&cleaned.len()));
            assert_eq!((cleaned.len() - pad) % 3, 0, "pad {pad}");
        }
    }

    #[test]
    fn a_body_cut_off_loses_its_last_line() {
        let mut body = b"allow: /a\n".repeat(60_000);
        body.truncate(SIZE_MAX + 3);
        let cleaned = clean(&body);
        assert!(cleaned.len() < SIZE_MAX && cleaned.ends_with("\nallow: /a"));
    }
}
