//! One capture.

use super::chunked;
use crivello_archive::{ArchivedRecord, HttpMessageHead, RecordHead};
use std::io::{self, BufRead, ErrorKind, Read};

/// A capture: a `response`, `resource` or `revisit` record, and its metadata record.
#[derive(Clone, Debug)]
pub struct ArchivedCapture {
    /// Head of the record.
    pub head: RecordHead,
    /// Offset of the record in its file, in bytes.
    pub offset: u64,
    /// Length in bytes of what begins at the offset, without line ends in a plain file; `None` if the member has more records, or is damaged.
    pub length: Option<u64>,
    /// Head of the HTTP response; empty if the record has none.
    pub http: HttpMessageHead,
    /// Payload of the record; see [`super::Originals`] for that of a revisit.
    pub payload: Payload,
    /// Fields of the metadata record without its outlinks, in its order.
    pub notes: Vec<(String, String)>,
    /// URLs of the metadata record's outlinks, in its order, a million at most; empty if they were not
    /// asked for.
    pub outlinks: Vec<String>,
}

/// The payload of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Its bytes, with transfer-encoding undone and content-encoding kept.
    Bytes(Vec<u8>),
    /// Not read, because its media type is none of a page.
    Unread,
    /// Longer than [`Payload::BYTES_MAX`].
    TooLong,
    /// The record is damaged.
    Damaged,
}

impl Payload {
    /// Maximum length in bytes. Other payloads are not read: each thread has some in memory.
    pub const BYTES_MAX: u64 = 64 << 20;
}

/// Maximum number of fields and of bytes that are kept of a metadata record.
const NOTES_MAX: usize = 1_000;
const NOTE_BYTES_MAX: usize = 16 << 10;
/// Maximum number of outlinks of a capture, and of their bytes.
const OUTLINKS_MAX: usize = 1_000_000;
const OUTLINK_BYTES_MAX: usize = 64 << 20;
/// Maximum length of a line of a metadata record in bytes.
const NOTE_LINE_MAX: u64 = 1 << 20;

impl ArchivedCapture {
    /// Reads a record. Damage inside it becomes [`Payload::Damaged`], and the reader returns it next.
    pub(super) fn read<R: BufRead>(mut record: ArchivedRecord<'_, R>) -> Self {
        let (head, offset) = (record.head.clone(), record.offset());
        let http = if head.is_http() { record.read_http_head() } else { Ok(<_>::default()) };
        let damaged = http.is_err();
        let mut capture = Self {
            head,
            offset,
            length: None,
            http: http.unwrap_or_default(),
            payload: Payload::Unread,
            notes: Vec::new(),
            outlinks: Vec::new(),
        };
        if damaged {
            capture.payload = Payload::Damaged;
        } else if capture.may_be_page() {
            capture.payload = capture.read_payload(&mut record);
        }
        let length = record.finish().ok().flatten();
        capture.length = length.map(|length| length - record.plain_end_length());
        capture
    }

    fn read_payload<R: BufRead>(&self, record: &mut ArchivedRecord<'_, R>) -> Payload {
        let mut bytes = Vec::new();
        match record.take(Payload::BYTES_MAX + 1).read_to_end(&mut bytes) {
            Err(_) => Payload::Damaged,
            Ok(_) if bytes.len() as u64 > Payload::BYTES_MAX => Payload::TooLong,
            Ok(_) => Payload::Bytes(match self.http.fields.get("Transfer-Encoding") {
                Some(coding) if coding.eq_ignore_ascii_case("chunked") => {
                    chunked::undo(&bytes).unwrap_or(bytes)
                }
                _ => bytes,
            }),
        }
    }

    /// Keeps the fields of its metadata record, and with `has_outlinks` its outlinks. Damage ends them.
    pub(super) fn read_notes<R: BufRead>(
        &mut self,
        record: ArchivedRecord<'_, R>,
        has_outlinks: bool,
    ) {
        let mut record = io::BufReader::new(record);
        let mut line = Vec::new();
        // A capture may have several such records.
        let kept = self.outlinks.iter().map(String::len).sum();
        let mut outlink_bytes_left = OUTLINK_BYTES_MAX.saturating_sub(kept);
        let mut bytes_left = NOTE_BYTES_MAX;
        while has_outlinks || self.notes.len() < NOTES_MAX {
            line.clear();
            match record.by_ref().take(NOTE_LINE_MAX).read_until(b'\n', &mut line) {
                Ok(0) => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => break,
                Ok(_) => {}
            }
            let text = String::from_utf8_lossy(line.trim_ascii_end());
            match text.split_once(':') {
                Some(("outlink", value)) if has_outlinks => {
                    // Other programs write the kind of the link after its URL.
                    let url = value.split_ascii_whitespace().next().unwrap_or_default();
                    let left = outlink_bytes_left.checked_sub(url.len());
                    let Some(left) = left.filter(|_| self.outlinks.len() < OUTLINKS_MAX) else {
                        break;
                    };
                    outlink_bytes_left = left;
                    self.outlinks.push(url.to_owned());
                }
                Some((name, value)) if name != "outlink" && self.notes.len() < NOTES_MAX => {
                    let left = bytes_left.checked_sub(text.len());
                    if left.is_none() && !has_outlinks {
                        break;
                    }
                    bytes_left = left.unwrap_or_default();
                    if left.is_some() {
                        self.notes.push((name.to_owned(), value.trim_ascii().to_owned()));
                    }
                }
                _ => {}
            }
        }
    }

    /// Returns the URL; empty if the record has none.
    pub fn url(&self) -> &str {
        self.head.uri("WARC-Target-URI").unwrap_or_default()
    }

    /// Returns `WARC-Date`; empty if the record has none.
    pub fn date(&self) -> &str {
        self.head.fields.get("WARC-Date").unwrap_or_default()
    }

    /// Returns true if the payload is that of an earlier capture.
    pub fn is_revisit(&self) -> bool {
        self.head.kind() == "revisit"
    }

    /// Returns the HTTP status; 304 for a revisit by a conditional request, whose record has no HTTP head.
    pub fn status(&self) -> Option<u16> {
        let profile = self.head.fields.get("WARC-Profile").unwrap_or_default();
        let is_unmodified = self.is_revisit() && profile.ends_with("/server-not-modified");
        self.http.status.or(is_unmodified.then_some(304))
    }

    /// Returns the media type without parameters, in lower case; empty if there is none.
    pub fn media(&self) -> String {
        let http = self.http.fields.get("Content-Type");
        let value = http.or_else(|| {
            self.head.fields.get("Content-Type").filter(|_| self.head.kind() == "resource")
        });
        let essence = value.unwrap_or_default().split(';').next().unwrap_or_default();
        essence.trim_ascii().to_ascii_lowercase()
    }

    /// Returns the length of the payload in bytes, as it is stored.
    pub fn payload_length(&self) -> u64 {
        self.head.content_length.saturating_sub(self.http.length)
    }

    /// Returns the value of a field of the metadata record.
    pub fn note(&self, name: &str) -> Option<&str> {
        let mut notes = self.notes.iter();
        notes.find(|(note, _)| note.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns true if a robots directive is noted; `None` if none is.
    pub fn directive(&self, name: &str) -> Option<bool> {
        let directives = self.note("robots")?;
        Some(directives.split(',').any(|directive| directive.trim_ascii() == name))
    }

    /// Returns true if the media type may be that of a page. Responses often lack or misstate it.
    fn may_be_page(&self) -> bool {
        let media = self.media();
        let is_other = ["image/", "video/", "audio/", "font/"];
        !is_other.iter().any(|start| media.starts_with(start)) && media != "application/pdf"
    }
}
