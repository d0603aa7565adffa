//! Events of an XML document, with bounded memory.

use quick_xml::Reader;
use quick_xml::events::Event;
use std::io::{self, BufRead, Read};

/// Maximum length in bytes of one event: a tag, a text, a comment. `quick-xml` holds it in memory as a
/// whole. A document with a longer one is not read further.
const EVENT_BYTES: usize = 1 << 20;
/// Number of bytes of markup after which a reader is replaced.
const READER_BYTES: u64 = 64 << 10;

/// Calls `f` with each event, up to the end or to the place where the document is no longer XML.
/// Returns true if it is XML to its end.
///
/// A reader stores the names of all open elements, although they are not compared with the closing
/// tags: a few megabytes of `<a>` would take several times as much memory. So after
/// [`READER_BYTES`] a new reader continues where the last one stopped, and the stored names never
/// exceed these bytes and one tag.
pub(super) fn each(source: impl BufRead, mut f: impl FnMut(Event<'_>)) -> bool {
    let mut source = BoundedEvents { inner: source, left: 0 };
    let mut buffer = Vec::new();
    loop {
        let mut reader = reader(&mut source);
        loop {
            buffer.clear();
            reader.get_mut().left = EVENT_BYTES;
            let Ok(event) = reader.read_event_into(&mut buffer) else {
                return false;
            };
            let is_start = matches!(event, Event::Start(_));
            if matches!(event, Event::Eof) {
                return true;
            }
            f(event);
            if is_start && reader.buffer_position() >= READER_BYTES {
                break;
            }
        }
    }
}

fn reader<R: BufRead>(source: R) -> Reader<R> {
    let mut reader = Reader::from_reader(source);
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    reader
}

/// Source whose reads fail once an event is too long.
struct BoundedEvents<R> {
    inner: R,
    /// Bytes that the event may still have.
    left: usize,
}

impl<R: BufRead> BufRead for BoundedEvents<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let bytes = self.inner.fill_buf()?;
        if self.left == 0 && !bytes.is_empty() {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(&bytes[..bytes.len().min(self.left)])
    }

    fn consume(&mut self, n: usize) {
        self.left = self.left.saturating_sub(n);
        self.inner.consume(n);
    }
}

impl<R: BufRead> Read for BoundedEvents<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut bytes = self.fill_buf()?;
        let n = bytes.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_readers_loses_no_markup() {
        let piece = "<a><b c='d'>e&amp;f</g><h/>";
        let document = piece.repeat((1 << 20) / piece.len());
        let (mut opened, mut texts, mut ended) = (0, 0, 0);
        let is_whole = each(document.as_bytes(), |event| match event {
            Event::Start(_) => opened += 1,
            Event::Text(_) | Event::GeneralRef(_) => texts += 1,
            Event::End(_) | Event::Empty(_) => ended += 1,
            other => panic!("{other:?}"),
        });
        assert!(is_whole, "XML, even if not well-formed");
        let n = document.len() / piece.len();
        assert_eq!((opened, texts, ended), (2 * n, 3 * n, 2 * n), "markup between reads was lost");
    }

    #[test]
    fn a_long_event_ends_the_document() {
        for (begin, end) in [("<!--", "-->"), ("", "<b/>"), ("<?", "?>"), ("<a b='", "'/>")] {
            for (len, fits) in [(EVENT_BYTES - 20, true), (EVENT_BYTES + 1, false)] {
                let document = format!("<x/>{begin}{}{end}<y/>", "z".repeat(len));
                let mut n_empty = 0;
                let is_whole = each(document.as_bytes(), |event| {
                    n_empty += usize::from(
                        matches!(event, Event::Empty(tag) if tag.local_name().as_ref() != "a"),
                    );
                });
                let expected = if fits { 2 + usize::from(begin.is_empty()) } else { 1 };
                assert_eq!((is_whole, n_empty), (fits, expected), "{begin} {len}");
            }
        }
    }
}
