//! Decoding of attributes, headers and other values to text.

use encoding_rs::{EncoderResult, Encoding, UTF_8};
use html5gum::{State, Token, Tokenizer};
use memchr::memchr;
use std::borrow::Cow;
use std::fmt::Write;

/// Decodes an attribute's value: the page's encoding, then NULs, then character references. In
/// another order, the UTF-8 of a reference would be decoded twice.
pub(super) fn attribute<'a>(raw: &'a [u8], encoding: &'static Encoding) -> Cow<'a, str> {
    let text = text(raw, encoding);
    if memchr(b'&', raw).is_none() {
        return text;
    }
    Cow::Owned(unescape_attribute(&text))
}

/// Decodes the page's encoding only.
pub(super) fn decode<'a>(raw: &'a [u8], encoding: &'static Encoding) -> Cow<'a, str> {
    if encoding == UTF_8 {
        String::from_utf8_lossy(raw)
    } else {
        encoding.decode_without_bom_handling(raw).0
    }
}

fn text<'a>(raw: &'a [u8], encoding: &'static Encoding) -> Cow<'a, str> {
    let text = decode(raw, encoding);
    if memchr(0, raw).is_none() {
        return text;
    }
    Cow::Owned(text.replace('\0', "\u{fffd}"))
}

/// Decodes the content of an RCDATA element.
pub(super) fn rcdata<'a>(raw: &'a [u8], encoding: &'static Encoding) -> Cow<'a, str> {
    let text = text(raw, encoding);
    if memchr(b'&', raw).is_none() {
        return text;
    }
    let mut tokens = Tokenizer::new(&*text);
    tokens.set_state(State::RcData);
    let mut decoded = String::with_capacity(text.len());
    for token in tokens {
        if let Ok(Token::String(string)) = token {
            decoded.push_str(&String::from_utf8_lossy(&string));
        }
    }
    Cow::Owned(decoded)
}

/// Decodes character references by the rules for attributes (HTML standard section 13.2.5.73): a
/// reference without a semicolon is not decoded before `=`, a letter or a digit, so that
/// `?a=1&copy=2` is unchanged. Common cases are decoded here, all others by `html5gum`.
fn unescape_attribute(text: &str) -> String {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        decoded.push_str(&rest[..=at]);
        rest = &rest[at + 1..];
        let name = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
        match (&rest[..name], rest.as_bytes().get(name)) {
            ("amp", Some(b';')) => rest = &rest[name + 1..],
            ("", Some(b'#')) => return unescape_by_tokenizer(text),
            ("", _) | (_, Some(b'=')) => {}
            _ => return unescape_by_tokenizer(text),
        }
    }
    decoded.push_str(rest);
    decoded
}

fn unescape_by_tokenizer(text: &str) -> String {
    let tag = format!("<a a=\"{}\">", text.replace('"', "&quot;"));
    for token in Tokenizer::new(&tag) {
        if let Ok(Token::StartTag(tag)) = token
            && let Some(value) = tag.attributes.get(b"a".as_slice())
        {
            return String::from_utf8_lossy(value).into_owned();
        }
    }
    text.to_owned()
}

/// Number of bytes of a `data:` or `javascript:` URL that are kept: enough to identify it.
const NO_FETCH_KEPT: usize = 64;

/// Prepares the text of an attribute for resolution: trims it, removes tabs and newlines (URL
/// standard section 4.4), cuts off the fragment, and percent-encodes the query if the encoding is
/// not UTF-8.
pub(super) fn href<'a>(text: &'a str, encoding: &'static Encoding) -> Cow<'a, str> {
    let trimmed = text.trim_matches(|c: char| c <= ' ');
    if begins(trimmed, "data:").is_some() || begins(trimmed, "javascript:").is_some() {
        let end = trimmed.floor_char_boundary(NO_FETCH_KEPT);
        return Cow::Borrowed(&trimmed[..end]);
    }
    let bare = trimmed.split('#').next().unwrap_or_default();
    let bare = if bare.bytes().any(|b| matches!(b, b'\t' | b'\n' | b'\r')) {
        Cow::Owned(bare.replace(['\t', '\n', '\r'], ""))
    } else {
        Cow::Borrowed(bare)
    };
    if encoding == UTF_8 || bare.is_ascii() {
        return bare;
    }
    match bare.split_once('?') {
        Some((path, query)) => Cow::Owned(format!("{path}?{}", encode_query(query, encoding))),
        None => bare,
    }
}

/// Returns the text after `word`, if `text` begins with it, ignoring case.
pub(super) fn begins<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(word.len())?;
    head.eq_ignore_ascii_case(word).then_some(rest)
}

/// Percent-encodes a query after encoding it (URL standard section 5.2, special-query set; a
/// character that the encoding lacks becomes a percent-encoded decimal reference).
fn encode_query(query: &str, encoding: &'static Encoding) -> String {
    let escapes = |byte| matches!(byte, 0..=b' ' | b'"' | b'#' | b'<' | b'>' | b'\'' | 0x7f..);
    let mut encoder = encoding.new_encoder();
    let mut encoded = String::with_capacity(query.len() + 32);
    let mut buffer = [0; 64];
    let mut rest = query;
    loop {
        let (result, read, written) =
            encoder.encode_from_utf8_without_replacement(rest, &mut buffer, true);
        percent_encode(&buffer[..written], escapes, &mut encoded);
        rest = &rest[read..];
        match result {
            EncoderResult::InputEmpty => return encoded,
            EncoderResult::OutputFull => {}
            EncoderResult::Unmappable(c) => {
                // Writing to a String cannot fail.
                let _ = write!(encoded, "%26%23{}%3B", u32::from(c));
            }
        }
    }
}

/// Appends `bytes`, percent-encoded if `escapes` returns true.
fn percent_encode(bytes: &[u8], escapes: impl Fn(u8) -> bool, into: &mut String) {
    for &byte in bytes {
        if escapes(byte) {
            // Writing to a String cannot fail.
            let _ = write!(into, "%{byte:02X}");
        } else {
            into.push(char::from(byte));
        }
    }
}

/// Returns the text of a header. If it is not UTF-8, all non-ASCII bytes are percent-encoded, as
/// browsers do with `Location`.
pub(super) fn header(raw: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(raw) {
        return Cow::Borrowed(text);
    }
    let mut encoded = String::with_capacity(raw.len() + 32);
    percent_encode(raw, |byte| !byte.is_ascii(), &mut encoded);
    Cow::Owned(encoded)
}
