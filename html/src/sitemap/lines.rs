//! Lines of a text, with a bound.

use super::link_list::Piece;
use std::io::{BufRead, Read};

/// Maximum length of a line in bytes. The rest of a longer one is not read.
const LINE_MAX: usize = 64 << 10;

/// Calls `f` with each line, without its end. Returns false if the source fails.
pub(super) fn each(mut source: impl BufRead, mut f: impl FnMut(Piece<'_>)) -> bool {
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = source.by_ref().take(LINE_MAX as u64).read_until(b'\n', &mut line);
        let Ok(n @ 1..) = read else {
            return read.is_ok();
        };
        let is_cut = n == LINE_MAX && line.last() != Some(&b'\n');
        if is_cut && skip_line(&mut source).is_err() {
            return false;
        }
        for line in String::from_utf8_lossy(&line).split(['\r', '\n']) {
            f(Piece { text: line, is_cut });
        }
    }
}

/// Skips the rest of a line.
fn skip_line(source: &mut impl BufRead) -> std::io::Result<()> {
    loop {
        let bytes = source.fill_buf()?;
        let end = memchr::memchr(b'\n', bytes);
        let (n, is_end) = (end.map_or(bytes.len(), |end| end + 1), end.is_some());
        source.consume(n);
        if is_end || n == 0 {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<(String, bool)> {
        let mut lines = Vec::new();
        let mut add = |piece: Piece<'_>| lines.push((piece.text.to_owned(), piece.is_cut));
        assert!(each(text.as_bytes(), &mut add));
        lines.retain(|(line, _)| !line.is_empty());
        lines
    }

    #[test]
    fn a_line_ends_in_one_of_three_ways() {
        let expected = ["a", "b", "c", "d"].map(|line| (line.to_owned(), false));
        assert_eq!(lines("a\nb\r\n\nc\rd"), expected);
        assert_eq!(lines(""), []);
    }

    #[test]
    fn a_long_line_is_cut() {
        let long = "x".repeat(LINE_MAX);
        for (end, n) in [("", LINE_MAX), ("y", LINE_MAX), ("yyy\nz", LINE_MAX)] {
            let found = lines(&format!("{long}{end}"));
            assert_eq!((found[0].0.len(), found[0].1), (n, true));
            assert_eq!(found.len(), 1 + usize::from(end.contains('\n')));
        }
        let fits = format!("{}\nz", "x".repeat(LINE_MAX - 1));
        assert!(lines(&fits).iter().all(|(_, is_cut)| !is_cut));
    }
}
