//! Bytes of a robots.txt as received, and their decoding (RFC 9309 section 2.5).

use bytes::Bytes;
use flate2::bufread::GzDecoder;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::io::{ErrorKind, Read};

/// A robots.txt as received.
#[derive(Clone, Debug)]
pub struct RobotsTxt {
    body: Bytes,
    /// True if the file is longer than the bytes read.
    cut: bool,
    size_max: usize,
}

impl RobotsTxt {
    /// Creates a file of which at most `size_max` bytes count. `cut` is true if the file is longer
    /// than `body`. Returns `None` for a content coding that was not requested and cannot be
    /// undone: it hides the rules.
    #[must_use]
    pub fn new(body: Bytes, headers: &HeaderMap, cut: bool, size_max: usize) -> Option<Self> {
        is_readable(headers).then_some(Self { body, cut, size_max })
    }

    /// Returns the length, unless the file is compressed.
    pub fn plain_len(&self) -> Option<usize> {
        (!is_gzip(&self.body)).then_some(self.body.len())
    }

    /// Returns the text. The first bytes, not the header, decide if it is gzip: either may occur
    /// without the other, and no rule begins like gzip. Returns `None` for damaged gzip.
    pub fn text(self) -> Option<Bytes> {
        if is_gzip(&self.body) { self.gunzip().map(Bytes::from) } else { Some(self.body) }
    }

    /// Decodes one member after another (RFC 1952); anything after the last one is ignored. A
    /// truncated file is decoded as far as possible. Any other damage makes the file unusable,
    /// because half a file may lack the very rule that forbids a page.
    fn gunzip(&self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let mut rest: &[u8] = &self.body;
        while is_gzip(rest) && text.len() < self.size_max {
            let room = (self.size_max - text.len()) as u64;
            let mut member = GzDecoder::new(rest);
            match member.by_ref().take(room).read_to_end(&mut text) {
                Ok(_) => rest = member.into_inner(),
                Err(error) if self.cut && error.kind() == ErrorKind::UnexpectedEof => break,
                Err(_) => return None,
            }
        }
        Some(text)
    }
}

/// Returns true if a content coding can be undone.
fn is_readable(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    let (Some(coding), None) = (codings.next(), codings.next()) else {
        return headers.get(CONTENT_ENCODING).is_none();
    };
    let is = |known: &[u8]| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(known);
    is(b"") || is(b"identity") || is(b"gzip") || is(b"x-gzip")
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}
