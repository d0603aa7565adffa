//! Detection of a page's encoding: byte order mark, header, declaration, valid UTF-8, otherwise a
//! guess.

use super::scan::{Sink, prescan};
use super::tag::{Attr, Attrs, TagName};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, REPLACEMENT, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252, X_USER_DEFINED};
use memchr::memchr;
use std::ops::ControlFlow;

/// Returns the encoding of `body` and the length of its byte order mark. `content_type` is the
/// header. The last label of `host`, from which the body was received, improves the guess.
pub(super) fn choose(
    content_type: Option<&[u8]>,
    body: &[u8],
    host: &str,
) -> (&'static Encoding, usize) {
    if let Some((encoding, len)) = Encoding::for_bom(body) {
        return (encoding, len);
    }
    let labeled = content_type
        .and_then(|value| labeled(value, b"charset"))
        .and_then(known)
        .or_else(|| declared_label(body).and_then(known).map(as_declared));
    (labeled.unwrap_or_else(|| guess(body, host)), 0)
}

/// Returns the encoding of a label. Labels of encodings that browsers refuse to decode are ignored:
/// most of such a page is ASCII, and so are most of its links.
fn known(label: &[u8]) -> Option<&'static Encoding> {
    Encoding::for_label(label).filter(|&encoding| encoding != REPLACEMENT)
}

/// Replaces encodings that a declaration cannot mean: a page whose declaration could be read as
/// ASCII is not in UTF-16 (HTML standard section 13.2.3.2).
fn as_declared(encoding: &'static Encoding) -> &'static Encoding {
    if encoding == UTF_16BE || encoding == UTF_16LE {
        UTF_8
    } else if encoding == X_USER_DEFINED {
        WINDOWS_1252
    } else {
        encoding
    }
}

/// Number of bytes from which the encoding is guessed. The detector reads about 50 MB per second.
const SAMPLE_BYTES: usize = 16 << 10;
/// Number of bytes in the sample before the first non-ASCII byte.
const SAMPLE_BYTES_BEFORE: usize = 256;

fn guess(body: &[u8], host: &str) -> &'static Encoding {
    let valid = Encoding::utf8_valid_up_to(body);
    let is_utf8 = match std::str::from_utf8(&body[valid..]) {
        Ok(_) => true,
        // A truncated character at the end of a truncated body.
        Err(error) => valid > 0 && error.valid_up_to() == 0 && error.error_len().is_none(),
    };
    if is_utf8 {
        return UTF_8;
    }
    let first = Encoding::ascii_valid_up_to(body);
    let start = first.saturating_sub(SAMPLE_BYTES_BEFORE);
    let sample = &body[start..body.len().min(start + SAMPLE_BYTES)];
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
    detector.feed(sample, start + sample.len() == body.len());
    detector.guess(top_level_domain(host), Utf8Detection::Deny)
}

/// Returns the last label of a host name, if the detector accepts it.
fn top_level_domain(host: &str) -> Option<&[u8]> {
    let label = host.rsplit('.').next()?.as_bytes();
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-';
    (!label.is_empty() && label.iter().all(plain)).then_some(label)
}

/// Returns the label of an XML declaration or of the first `meta` element that has one, in the
/// first [`PRESCAN_BYTES`] bytes.
fn declared_label(body: &[u8]) -> Option<&[u8]> {
    let head = &body[..body.len().min(PRESCAN_BYTES)];
    if let Some(declaration) = head.strip_prefix(b"<?xml".as_slice()) {
        let end = memchr(b'>', declaration).unwrap_or(0);
        if let Some(label) = labeled(&declaration[..end], b"encoding") {
            return Some(label);
        }
    }
    let mut finder = CharsetFinder(None);
    prescan(head, &mut finder);
    finder.0
}

/// Number of bytes searched for a declaration (HTML standard section 13.2.3.2).
const PRESCAN_BYTES: usize = 1_024;

struct CharsetFinder<'a>(Option<&'a [u8]>);

impl<'a> Sink<'a> for CharsetFinder<'a> {
    fn start_tag(&mut self, name: TagName, attrs: &Attrs<'a>) -> ControlFlow<()> {
        if name != TagName::Meta {
            return ControlFlow::Continue(());
        }
        let is_content_type = attrs.is(Attr::HttpEquiv, "content-type");
        self.0 = match (attrs.get(Attr::Charset), attrs.get(Attr::Content)) {
            (Some(label), _) => Some(label),
            (None, Some(content)) if is_content_type => labeled(content, b"charset"),
            _ => None,
        };
        if self.0.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Returns the value of `key=…` in a media type (HTML standard, "extracting a character encoding
/// from a meta element"), or of the `encoding` of an XML declaration.
fn labeled<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut rest = text;
    loop {
        let at = rest.windows(key.len()).position(|w| w.eq_ignore_ascii_case(key))?;
        rest = rest[at + key.len()..].trim_ascii_start();
        let Some(value) = rest.strip_prefix(b"=") else {
            continue;
        };
        let value = value.trim_ascii_start();
        return match *value.first()? {
            quote @ (b'"' | b'\'') => {
                let inner = &value[1..];
                Some(&inner[..memchr(quote, inner)?])
            }
            _ => {
                let end = value.iter().position(|b| b.is_ascii_whitespace() || *b == b';');
                Some(&value[..end.unwrap_or(value.len())])
            }
        };
    }
}
