//! Named fields of WARC and HTTP heads. Each field stays on one line, regardless of the content of
//! a server's response or a URL: control characters are replaced.

use super::record_id::RecordId;
use crivello_common::time::Timestamp;

/// Capacity in bytes beyond which a buffer is freed after use.
const KEPT_BYTES_MAX: usize = 256 << 10;

/// Frees a buffer that has grown too large.
pub(crate) fn clear_buffer(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT_BYTES_MAX {
        *buffer = Vec::new();
    }
}

/// Appends `name: value` with control characters replaced by spaces.
pub(crate) fn push_field(out: &mut Vec<u8>, name: &str, value: impl AsRef<[u8]>) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    push_line(out, value.as_ref());
}

/// Appends one line with control characters replaced by spaces.
pub(crate) fn push_line(out: &mut Vec<u8>, text: &[u8]) {
    let start = out.len();
    out.extend_from_slice(text);
    for byte in out[start..].iter_mut().filter(|byte| **byte != b'\t' && byte.is_ascii_control()) {
        *byte = b' ';
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends `name: uri`, with bytes that are not allowed in a URI percent-encoded.
pub(crate) fn push_uri(out: &mut Vec<u8>, name: &str, uri: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    if uri.bytes().all(|byte| byte.is_ascii_graphic()) {
        out.extend_from_slice(uri.as_bytes());
    } else {
        for byte in uri.bytes() {
            match byte {
                b'!'..=b'~' => out.push(byte),
                _ => out.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            }
        }
    }
    out.extend_from_slice(b"\r\n");
}

/// Starts the head of a WARC record.
pub(crate) fn begin_head(out: &mut Vec<u8>, kind: &str, id: &RecordId, date: &WarcDate) {
    out.clear();
    out.extend_from_slice(b"WARC/1.1\r\n");
    push_field(out, "WARC-Type", kind);
    push_field(out, "WARC-Record-ID", &id.0);
    push_field(out, "WARC-Date", &date.0);
}

/// Ends the head of a WARC record with the type and the length of its block.
pub(crate) fn end_head(out: &mut Vec<u8>, content_type: &str, length: usize) {
    push_field(out, "Content-Type", content_type);
    push_field(out, "Content-Length", length.to_string());
    out.extend_from_slice(b"\r\n");
}

/// `WARC-Date`: RFC 3339 with microseconds, as WARC/1.1 section 5.4 allows.
pub(crate) struct WarcDate(pub(super) String);

impl WarcDate {
    pub(crate) fn of(at: Timestamp) -> Self {
        Self(at.to_string())
    }

    /// Returns the fourteen digits of index lines and file names: `yyyymmddhhmmss`.
    pub(crate) fn digits(&self) -> String {
        self.0.chars().filter(char::is_ascii_digit).take(14).collect()
    }
}
