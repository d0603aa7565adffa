//! Notes of one capture.

use super::fields::FieldList;
use super::reader::WarcReader;
use std::io::{self, BufRead as _, Read as _};
use std::path::Path;

/// Maximum number of records between a capture and its metadata record.
const RECORDS_MAX: usize = 4;
/// Maximum number of bytes that are read of a metadata record.
const BYTES_MAX: u64 = 64 << 10;

/// Returns the fields of the metadata record of the capture whose record is at `offset` of a file, before its
/// outlinks. They are empty if it has none.
///
/// # Errors
/// The error of the system. Damage ends the fields.
pub fn read_notes(path: &Path, offset: u64) -> io::Result<FieldList> {
    let mut reader = WarcReader::open(path)?;
    reader.seek(offset)?;
    let mut capture: Option<String> = None;
    for _ in 0..RECORDS_MAX {
        let Some(Ok(record)) = reader.next_record() else { break };
        let field = |name| record.head.fields.get(name);
        let Some(capture) = &capture else {
            capture = field("WARC-Record-ID").map(str::to_owned);
            continue;
        };
        if field("WARC-Concurrent-To") != Some(capture) {
            break;
        }
        if record.head.kind() != "metadata" {
            continue;
        }
        let mut fields = FieldList::default();
        for line in io::BufReader::new(record.take(BYTES_MAX)).split(b'\n') {
            match line {
                Ok(line) if !line.starts_with(b"outlink:") => fields.push_line(&line),
                _ => break,
            }
        }
        return Ok(fields);
    }
    Ok(FieldList::default())
}
