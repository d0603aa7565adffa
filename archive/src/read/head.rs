//! The head of a WARC record (WARC/1.0 and ISO 28500:2017, section 4).

use super::damage::DamageKind;
use super::fields::FieldList;
use super::member_text::MemberText;
use std::io::BufRead;

/// Maximum length of a head in bytes.
pub(super) const HEAD_BYTES_MAX: usize = 1 << 20;

/// The version of the format that a record states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarcVersion {
    /// WARC/1.0 (ISO 28500:2009).
    V1_0,
    /// WARC/1.1 (ISO 28500:2017).
    V1_1,
}

/// The head of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordHead {
    /// Stated version.
    pub version: WarcVersion,
    /// Named fields.
    pub fields: FieldList,
    /// Length of the block in bytes, as `Content-Length` states.
    pub content_length: u64,
}

impl RecordHead {
    /// Returns the value of `WARC-Type`; empty if there is none.
    pub fn kind(&self) -> &str {
        self.fields.get("WARC-Type").unwrap_or_default()
    }

    /// Returns the value of a field that is a URI, without the angle brackets around it that some
    /// programs write.
    pub fn uri(&self, name: &str) -> Option<&str> {
        let value = self.fields.get(name)?;
        Some(value.strip_prefix('<').and_then(|uri| uri.strip_suffix('>')).unwrap_or(value))
    }

    /// Returns true if the block is an HTTP request or response.
    pub fn is_http(&self) -> bool {
        const HTTP: &str = "application/http";
        let value = self.fields.get("Content-Type").unwrap_or_default();
        value.get(..HTTP.len()).is_some_and(|start| start.eq_ignore_ascii_case(HTTP))
    }
}

/// Reads a head and its empty line.
pub(super) fn read_head<R: BufRead>(text: &mut MemberText<R>) -> Result<RecordHead, DamageKind> {
    // Before the rest is read: what inflates without end is no head.
    if !text.fill(5)?.starts_with(b"WARC/") {
        return Err(DamageKind::Version);
    }
    let mut left = HEAD_BYTES_MAX;
    let mut line = Vec::new();
    read_line(text, &mut line, &mut left)?;
    let version = match line.as_slice() {
        b"WARC/1.0" => WarcVersion::V1_0,
        b"WARC/1.1" => WarcVersion::V1_1,
        _ => return Err(DamageKind::Version),
    };
    let mut fields = FieldList::default();
    loop {
        read_line(text, &mut line, &mut left)?;
        if line.is_empty() {
            break;
        }
        fields.push_line(&line);
    }
    let length = fields.get("Content-Length").ok_or(DamageKind::NoContentLength)?;
    let is_number = length.bytes().all(|byte| byte.is_ascii_digit());
    let content_length = length.parse().ok().filter(|_| is_number);
    let invalid = || DamageKind::ContentLength(length.chars().take(40).collect());
    let content_length = content_length.ok_or_else(invalid)?;
    Ok(RecordHead { version, fields, content_length })
}

fn read_line<R: BufRead>(
    text: &mut MemberText<R>,
    line: &mut Vec<u8>,
    left: &mut usize,
) -> Result<(), DamageKind> {
    line.clear();
    loop {
        let bytes = text.fill(1)?;
        if bytes.is_empty() {
            return Err(text.end_kind(DamageKind::HeadEnd));
        }
        let newline = memchr::memchr(b'\n', bytes);
        let n = newline.map_or(bytes.len(), |at| at + 1);
        *left = left.checked_sub(n).ok_or(DamageKind::HeadLength)?;
        line.extend_from_slice(&bytes[..n]);
        text.consume(n);
        if newline.is_some() {
            line.truncate(line.trim_ascii_end().len());
            return Ok(());
        }
    }
}
