//! Captures of WARC files: each response, resource or revisit with the metadata record that belongs to it.

mod capture;
mod chunked;
mod originals;

pub use capture::{ArchivedCapture, Payload};
pub use originals::Originals;

use crivello_archive::{ArchivedRecord, Damage, RecordHead, WarcReader};
use std::io::BufRead;

/// Content of records that describe others.
const FIELDS: &str = "application/warc-fields";

/// A reader of the captures of one WARC file, in the order of the file. It has at most two payloads in
/// memory, each of at most [`Payload::BYTES_MAX`] bytes.
pub struct CaptureReader<R> {
    warc: WarcReader<R>,
    /// The last capture, whose metadata record may follow.
    pending: Option<ArchivedCapture>,
    /// True if `metadata` records with contents of their own are captures, too, as indexes have them.
    has_metadata: bool,
    /// True if outlinks of metadata records are kept.
    has_outlinks: bool,
}

impl<R: BufRead> CaptureReader<R> {
    /// Creates a reader of the records that `warc` has left.
    pub const fn new(warc: WarcReader<R>) -> Self {
        Self { warc, pending: None, has_metadata: false, has_outlinks: false }
    }

    /// Creates a reader of the captures that an index of the file has: also `metadata` records, but no
    /// `resource` or `metadata` with fields only.
    pub const fn indexed(warc: WarcReader<R>) -> Self {
        Self { warc, pending: None, has_metadata: true, has_outlinks: false }
    }

    /// Creates a reader that keeps the outlinks of metadata records.
    pub const fn with_outlinks(warc: WarcReader<R>) -> Self {
        Self { warc, pending: None, has_metadata: false, has_outlinks: true }
    }

    /// Returns the next capture, or the damage before it; `None` at the end of the file.
    ///
    /// # Errors
    /// [`Damage`]; reading goes on after it.
    pub fn next_capture(&mut self) -> Option<Result<ArchivedCapture, Damage>> {
        loop {
            let record = match self.warc.next_record() {
                None => return self.pending.take().map(Ok),
                Some(Err(damage)) => return Some(Err(damage)),
                Some(Ok(record)) => record,
            };
            let is_fields = record.head.fields.get("Content-Type") == Some(FIELDS);
            match record.head.kind() {
                "resource" if self.has_metadata && is_fields => {}
                "metadata" if !self.has_metadata || is_fields => {
                    add_notes(self.pending.as_mut(), record, self.has_outlinks);
                }
                "response" | "resource" | "revisit" | "metadata" => {
                    let next = ArchivedCapture::read(record);
                    if let Some(done) = self.pending.replace(next) {
                        return Some(Ok(done));
                    }
                }
                _ => {}
            }
        }
    }
}

/// Adds the fields of a metadata record to its capture.
fn add_notes<R: BufRead>(
    capture: Option<&mut ArchivedCapture>,
    record: ArchivedRecord<'_, R>,
    has_outlinks: bool,
) {
    if let Some(capture) = capture.filter(|capture| is_about(&record.head, &capture.head)) {
        capture.read_notes(record, has_outlinks);
    }
}

fn is_about(metadata: &RecordHead, capture: &RecordHead) -> bool {
    let id = capture.fields.get("WARC-Record-ID");
    let names = ["WARC-Concurrent-To", "WARC-Refers-To"];
    id.is_some() && names.iter().any(|name| metadata.fields.get(name) == id)
}
