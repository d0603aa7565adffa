//! Index lines: `<SURT> <yyyymmddhhmmss> {"url": …}`, the CDXJ format that pywb reads.

use crate::format::records::IndexEntry;

/// Appends the line of a record, including the newline.
pub(crate) fn push_line(
    out: &mut Vec<u8>,
    entry: &IndexEntry,
    offset: u64,
    length: usize,
    file_name: &str,
) {
    out.extend_from_slice(entry.surt.as_bytes());
    out.push(b' ');
    out.extend_from_slice(entry.timestamp.as_bytes());
    push_member(out, " {\"url\": ", &entry.url);
    push_member(out, ", \"mime\": ", &entry.mime);
    push_member(out, ", \"status\": ", &entry.status.to_string());
    push_member(out, ", \"digest\": ", &entry.digest);
    push_member(out, ", \"length\": ", &length.to_string());
    push_member(out, OFFSET, &offset.to_string());
    push_member(out, ", \"filename\": ", file_name);
    out.extend_from_slice(b"}\n");
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
