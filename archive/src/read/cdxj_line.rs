//! Lines of CDXJ indexes, as any program writes them.

use serde_json::{Map, Value};
use std::io::{self, BufRead, Read as _};

/// Maximum length of a line in bytes.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// The members of a line that locate and describe a record.
pub(super) struct CdxjLine {
    /// Fourteen digits.
    pub(super) timestamp: String,
    pub(super) url: String,
    pub(super) mime: String,
    pub(super) status: String,
    pub(super) digest: String,
    pub(super) file_name: String,
    pub(super) offset: u64,
    pub(super) length: Option<u64>,
    /// Names and values of further members.
    pub(super) notes: Vec<(String, String)>,
}

/// Names of the members that describe the record and its place.
const DESCRIBING: [&str; 7] = ["url", "mime", "status", "digest", "length", "offset", "filename"];

impl CdxjLine {
    fn parse(line: &[u8]) -> Option<Self> {
        let mut parts = str::from_utf8(line).ok()?.splitn(3, ' ');
        let (_, timestamp, json) = (parts.next()?, parts.next()?, parts.next()?);
        let json: Map<String, Value> = serde_json::from_str(json).ok()?;
        let text = |name| match json.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        Some(Self {
            timestamp: timestamp.to_owned(),
            url: text("url"),
            mime: text("mime"),
            status: text("status"),
            digest: text("digest"),
            file_name: text("filename"),
            offset: text("offset").parse().ok()?,
            length: text("length").parse().ok(),
            notes: notes(&json),
        })
    }
}

fn notes(json: &Map<String, Value>) -> Vec<(String, String)> {
    let notes = json.iter().filter(|(name, _)| !DESCRIBING.contains(&name.as_str()));
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    notes.map(|(name, value)| (name.clone(), text(value))).collect()
}

/// Passes each line with its number, from 1; `None` for a line that cannot be read. Empty lines and
/// headers are left out.
pub(super) fn for_each_line(
    mut index: impl BufRead,
    mut f: impl FnMut(u64, Option<CdxjLine>),
) -> io::Result<()> {
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if index.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        let text = line.trim_ascii();
        if !text.is_empty() && !text.starts_with(b"!") {
            f(number, CdxjLine::parse(text));
        }
    }
    Ok(())
}
