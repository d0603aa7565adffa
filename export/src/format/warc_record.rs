//! Records that derive from others. Their ids follow from those of the originals, so that the same archive
//! always gives the same bytes.

use crate::output::Output;
use crate::source::ArchivedCapture;
use data_encoding::{BASE32, HEXLOWER};
use sha1::{Digest, Sha1};
use std::io;

/// Head of a record under construction.
pub(super) struct RecordWriter(Vec<u8>);

impl RecordWriter {
    /// Starts a record of a type. `purpose` makes its id different from others of the same origin.
    pub(super) fn new(kind: &str, purpose: &str, origin: &str, date: &str) -> Self {
        let mut record = Self(b"WARC/1.0\r\n".to_vec());
        record.field("WARC-Type", kind);
        record.field("WARC-Record-ID", &derived_id(purpose, origin));
        record.field("WARC-Date", &seconds(date));
        record
    }

    /// Adds a field, with control characters replaced.
    pub(super) fn field(&mut self, name: &str, value: &str) {
        self.0.extend_from_slice(name.as_bytes());
        self.0.extend_from_slice(b": ");
        self.0.extend(value.bytes().map(|b| if b.is_ascii_control() { b' ' } else { b }));
        self.0.extend_from_slice(b"\r\n");
    }

    /// Writes the record with its block.
    pub(super) fn write(
        mut self,
        content_type: &str,
        block: &[u8],
        out: &mut Output,
    ) -> io::Result<()> {
        let digest = format!("sha1:{}", BASE32.encode(&Sha1::digest(block)));
        self.field("WARC-Block-Digest", &digest);
        self.field("Content-Type", content_type);
        self.field("Content-Length", &block.len().to_string());
        self.0.extend_from_slice(b"\r\n");
        out.write(&[&self.0, block, b"\r\n\r\n"])?;
        out.end_member()
    }
}

/// Writes the first record of a file, with the date of its first capture.
pub(super) fn write_warcinfo(
    purpose: &str,
    file_name: &str,
    date: &str,
    out: &mut Output,
) -> io::Result<()> {
    let mut record = RecordWriter::new("warcinfo", purpose, file_name, date);
    record.field("WARC-Filename", file_name);
    let block = format!(
        "software: crivello/{}\r\nformat: WARC File Format 1.0\r\ndescription: {purpose} of {file_name}\r\n",
        env!("CARGO_PKG_VERSION")
    );
    record.write("application/warc-fields", block.as_bytes(), out)
}

/// Returns the id of a capture's record.
pub(super) fn record_id(capture: &ArchivedCapture) -> &str {
    capture.head.fields.get("WARC-Record-ID").unwrap_or_default()
}

/// Returns a UUID of version 8 (RFC 9562), by SHA-1.
fn derived_id(purpose: &str, origin: &str) -> String {
    let hash = Sha1::new_with_prefix(purpose).chain_update([0]).chain_update(origin).finalize();
    let mut bytes: [u8; 16] = std::array::from_fn(|index| hash[index]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = HEXLOWER.encode(&bytes);
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    format!("<urn:uuid:{}>", parts.join("-"))
}

/// Returns a date without a fraction of a second, which WARC/1.0 does not have.
fn seconds(date: &str) -> String {
    match date.split_once('.') {
        Some((whole, _)) => format!("{whole}Z"),
        None => date.to_owned(),
    }
}
