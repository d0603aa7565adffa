//! Index lines: `<SURT> <yyyymmddhhmmss> {"url": …}`, the CDXJ format that pywb reads.

use crate::format::records::IndexEntry;

/// The line of a record in an index.
#[derive(Clone, Copy, Debug)]
pub struct IndexLine<'a, N> {
    /// SURT form of the URL: `com,example)/path`.
    pub key: &'a str,
    /// Time as fourteen digits.
    pub timestamp: &'a str,
    /// URL of the record.
    pub url: &'a str,
    /// Media type; `warc/revisit` for revisits.
    pub mime: &'a str,
    /// HTTP status.
    pub status: Option<u16>,
    /// Payload digest as in the record; `-` for none.
    pub digest: &'a str,
    /// Names and values of further members.
    pub notes: &'a [(N, String)],
    /// Length in bytes of what begins at the offset.
    pub length: u64,
    /// Offset of the record's member in bytes.
    pub offset: u64,
    /// Name of the file.
    pub file_name: &'a str,
}

impl<N: AsRef<str>> IndexLine<'_, N> {
    /// Appends the line, without a newline.
    pub fn push(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.key.as_bytes());
        out.push(b' ');
        out.extend_from_slice(self.timestamp.as_bytes());
        push_member(out, " {\"url\": ", self.url);
        push_member(out, ", \"mime\": ", self.mime);
        if let Some(status) = self.status {
            push_member(out, ", \"status\": ", &status.to_string());
        }
        push_member(out, ", \"digest\": ", self.digest);
        for (name, value) in self.notes {
            push_member(out, ", ", name.as_ref());
            push_member(out, ": ", value);
        }
        push_member(out, ", \"length\": ", &self.length.to_string());
        push_member(out, OFFSET, &self.offset.to_string());
        push_member(out, ", \"filename\": ", self.file_name);
        out.push(b'}');
    }
}

/// Appends the line of a record, including the newline.
pub(crate) fn push_line(
    out: &mut Vec<u8>,
    entry: &IndexEntry,
    offset: u64,
    length: usize,
    file_name: &str,
) {
    let line = IndexLine {
        key: &entry.surt,
        timestamp: &entry.timestamp,
        url: &entry.url,
        mime: &entry.mime,
        status: Some(entry.status),
        digest: &entry.digest,
        notes: &entry.notes,
        length: length as u64,
        offset,
        file_name,
    };
    line.push(out);
    out.push(b'\n');
}

const OFFSET: &str = ", \"offset\": ";

fn push_member(out: &mut Vec<u8>, before: &str, text: &str) {
    out.extend_from_slice(before.as_bytes());
    out.push(b'"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0x20.. if byte != 0x7f => out.push(byte),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.push(b'"');
}

/// Returns the offset of the record that a line describes.
pub(crate) fn offset_of(line: &[u8]) -> Option<u64> {
    let at = memchr::memmem::rfind(line, OFFSET.as_bytes())?;
    let digits = line.get(at + OFFSET.len() + 1..)?;
    let end = digits.iter().position(|&byte| byte == b'"')?;
    str::from_utf8(&digits[..end]).ok()?.parse().ok()
}
