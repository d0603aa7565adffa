//! The bytes of a robots.txt as it was received, and as they are read (RFC 9309 section 2.5).

use bytes::Bytes;
use flate2::bufread::GzDecoder;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use std::io::{ErrorKind, Read};

/// A robots.txt as it was received.
#[derive(Clone, Debug)]
pub struct RobotsTxt {
    body: Bytes,
    /// Whether the file is longer than what was read.
    cut: bool,
    size_max: usize,
}

impl RobotsTxt {
    /// A file of which at most `size_max` bytes count; `cut` if it is longer than `body`. `None` for a
    /// content coding that was not asked for and cannot be undone: it hides the rules.
    #[must_use]
    pub fn new(body: Bytes, headers: &HeaderMap, cut: bool, size_max: usize) -> Option<Self> {
        is_readable(headers).then_some(Self { body, cut, size_max })
    }

    /// Its length, unless it is compressed.
    #[must_use]
    pub fn plain_len(&self) -> Option<usize> {
        (!is_gzip(&self.body)).then_some(self.body.len())
    }

    /// The text. Its first bytes decide whether it is gzip, not the header: either may occur without the
    /// other, and no rule begins like gzip. `None` for damaged gzip.
    #[must_use]
    pub fn text(self) -> Option<Bytes> {
        if is_gzip(&self.body) { self.gunzip().map(Bytes::from) } else { Some(self.body) }
    }

    /// Decodes one member after another (RFC 1952); anything after the last one is ignored. A file that
    /// was cut is decoded as far as it goes. Any other damage makes it unusable, because half a file may
    /// lack the very rule that forbids a page.
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

/// Whether a content coding can be undone.
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
