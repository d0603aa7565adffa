//! A record that an index has.

use super::key::index_key;
use crate::counts::Skip;
use crate::page::PageFacts;
use crate::source::ArchivedCapture;
use crivello_archive::{IndexLine, IndexNotes};
use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The data of a capture in an index and in a list of pages.
pub(crate) struct IndexedRecord {
    /// Offset of the record in its file.
    pub(crate) offset: u64,
    /// Its page, if that was asked for.
    pub(crate) page: Option<PageFacts>,
    length: u64,
    key: String,
    timestamp: String,
    url: String,
    mime: String,
    status: Option<u16>,
    digest: String,
    notes: Vec<(String, String)>,
    id: Option<String>,
    is_seed: bool,
}

impl IndexedRecord {
    /// Reads a capture, without its page.
    ///
    /// # Errors
    /// The reason why an index cannot have it.
    pub(super) fn of(capture: &ArchivedCapture, notes: &IndexNotes) -> Result<Self, Skip> {
        let field = |name| capture.head.fields.get(name);
        Ok(Self {
            offset: capture.offset,
            page: None,
            length: capture.length.ok_or(Skip::NoLength)?,
            key: index_key(capture.url()),
            timestamp: timestamp(capture.date()).ok_or(Skip::NoDate)?,
            url: capture.url().to_owned(),
            mime: mime(capture).to_owned(),
            status: capture.status(),
            digest: field("WARC-Payload-Digest").unwrap_or("-").to_owned(),
            notes: notes.at(capture.offset).to_vec(),
            id: capture
                .head
                .uri("WARC-Record-ID")
                .map(|id| id.trim_start_matches("urn:uuid:").to_owned()),
            // Names of Heritrix: one letter for each link from a seed.
            is_seed: capture.note("hopsFromSeed").is_some_and(str::is_empty),
        })
    }

    /// Returns the line for a file of this name, with the record at this offset. It has no newline.
    pub(crate) fn line(&self, file_name: &str, offset: u64) -> Vec<u8> {
        let mut line = Vec::new();
        IndexLine {
            key: &self.key,
            timestamp: &self.timestamp,
            url: &self.url,
            mime: &self.mime,
            status: self.status,
            digest: &self.digest,
            notes: &self.notes,
            length: self.length,
            offset,
            file_name,
        }
        .push(&mut line);
        line
    }

    /// Returns the URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Returns the time as fourteen digits.
    pub(crate) fn timestamp(&self) -> &str {
        &self.timestamp
    }

    /// Returns the id of the record.
    pub(crate) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Returns true if the archive notes that it is a seed of the crawl.
    pub(crate) const fn is_seed(&self) -> bool {
        self.is_seed
    }
}

/// Returns the media type as it is written, without parameters; `unk` if there is none.
fn mime(capture: &ArchivedCapture) -> &str {
    if capture.is_revisit() {
        return "warc/revisit";
    }
    let fields = if capture.head.is_http() { &capture.http.fields } else { &capture.head.fields };
    let value = fields.get("Content-Type").unwrap_or_default().trim_ascii_start();
    let is_end = |c: char| c == ';' || c.is_ascii_whitespace();
    value.split(is_end).next().filter(|mime| !mime.is_empty()).unwrap_or("unk")
}

/// Returns a date as fourteen digits; `None` for an invalid one.
fn timestamp(date: &str) -> Option<String> {
    let without_zone = || date.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok();
    let at = date.parse::<Timestamp>().ok().or_else(|| Some(without_zone()?.timestamp()))?;
    let digits = at.strftime("%Y%m%d%H%M%S").to_string();
    (digits.len() == 14 && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(digits)
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn dates_of_all_forms_are_fourteen_digits() {
        let cases = [
            ("2026-11-28T07:30:00Z", Some("20261128073000")),
            ("2026-11-28T07:30:00.999999Z", Some("20261128073000")),
            ("2026-11-28T08:30:00+01:00", Some("20261128073000")),
            ("2026-11-28T07:30:00", Some("20261128073000")),
            ("2026-11-28", Some("20261128000000")),
            ("-000001-01-01T00:00:00Z", None),
            ("", None),
            ("yesterday", None),
        ];
        for (date, digits) in cases {
            assert_eq!(timestamp(date).as_deref(), digits, "{date}");
        }
    }
}
