//! Transfer-encoding `chunked` (RFC 9112 section 7.1), which some programs keep in their archives.

/// Returns the body of a chunked message; `None` if it is not chunked, whatever its header says. The
/// chunks before an end that is cut off are returned.
pub(super) fn undo(message: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    let mut rest = message;
    let mut is_first = true;
    loop {
        let Some((size, after)) = chunk_size(rest) else {
            return (!is_first).then_some(body);
        };
        is_first = false;
        let chunk = &after[..size.min(after.len())];
        body.extend_from_slice(chunk);
        if size == 0 || chunk.len() < size {
            return Some(body);
        }
        let end = &after[size..];
        rest = end.strip_prefix(b"\r\n").unwrap_or(end);
    }
}

/// Reads the line with a chunk's size.
fn chunk_size(text: &[u8]) -> Option<(usize, &[u8])> {
    /// Longest line: the size, and extensions.
    const LINE_MAX: usize = 1 << 10;
    let newline = text.iter().take(LINE_MAX).position(|&byte| byte == b'\n')?;
    let line = str::from_utf8(&text[..newline]).ok()?;
    let digits = line.split(';').next()?.trim_ascii();
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let size = usize::from_str_radix(digits, 16).ok().filter(|_| is_hex)?;
    Some((size, &text[newline + 1..]))
}

#[cfg(test)]
mod tests {
    use super::undo;

    #[test]
    fn chunks_are_joined() {
        let cases: [(&[u8], Option<&[u8]>); 6] = [
            (b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n", Some(b"hello world")),
            (b"5\r\nhello\r\n6\r\n wo", Some(b"hello wo")),
            (b"5\r\nhello\r\nzz\r\n", Some(b"hello")),
            (b"0\r\n\r\n", Some(b"")),
            (b"<html>not chunked\n</html>", None),
            (b"ffffffffffffffff\r\nx", Some(b"x")),
        ];
        for (message, body) in cases {
            assert_eq!(undo(message).as_deref(), body, "{}", message.escape_ascii());
        }
    }
}
