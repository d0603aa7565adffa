//! The WARC/1.1 records of a response: response or revisit, request, metadata.

use super::compress::RecordCompressor;
use super::digest::{Digests, WarcDigest};
use super::fields::{self, WarcDate, clear_buffer, push_field, push_uri};
use super::http_head::{protocol, push_response_head};
use super::record_id::{RecordId, RecordIds};
use crate::capture::{Capture, CaptureNotes, OriginalCapture, RevisitReason, Truncation};
use crate::index::surt::surt;
use crivello_common::config::{DigestKind, Store};

/// Profile of revisits whose payload is identical byte for byte (WARC/1.1 section 6.7.2).
const SAME_PAYLOAD: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// Profile of answers 304 to conditional requests (WARC/1.1 section 6.7.3).
const NOT_MODIFIED: &str = "http://netpreserve.org/warc/1.1/revisit/server-not-modified";
/// A field of our own: `valid` if the certificate of the connection was valid, else the reason why not.
const CERTIFICATE: &str = "X-Crivello-Certificate";
/// End of every record (WARC/1.1 section 4).
pub(super) const RECORD_END: &[u8] = b"\r\n\r\n";

/// One record, compressed to a separate gzip member or zstd frame.
#[derive(Debug)]
pub struct WarcRecord {
    /// Bytes of the member or frame.
    pub bytes: Vec<u8>,
    /// The record's line of the index, without offset, length and file name; `None` for records
    /// that are not indexed (request, metadata).
    pub index: Option<IndexEntry>,
}

/// The part of a record's CDXJ line that is independent of its position in the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// SURT form of the URL: `com,example)/path`.
    pub surt: String,
    /// Time as fourteen digits.
    pub timestamp: String,
    /// URL of the record.
    pub url: String,
    /// Media type; `warc/revisit` for revisits.
    pub mime: String,
    /// HTTP status.
    pub status: u16,
    /// Payload digest as in the record: `sha1:…`.
    pub digest: String,
    /// Notes: names and values of further members.
    pub notes: Vec<(&'static str, String)>,
}

/// Builder of the records of responses. Each thread has its own builder with its own buffers.
pub struct RecordBuilder {
    kind: DigestKind,
    outlinks: bool,
    ids: RecordIds,
    compressor: RecordCompressor,
    head: Vec<u8>,
    block: Vec<u8>,
}

impl RecordBuilder {
    /// Creates a builder with the digest, the compression and the choice of outlinks in `settings`.
    #[must_use]
    pub fn new(settings: &Store) -> Self {
        Self {
            kind: settings.digest,
            outlinks: settings.outlinks,
            ids: RecordIds::new(),
            compressor: RecordCompressor::new(settings),
            head: Vec::new(),
            block: Vec::new(),
        }
    }

    /// Builds the records of a response, the indexed one first. `digests` are the digests of
    /// `capture`. With an `original`, a `revisit` record is written instead of the payload.
    /// `outlinks` are the URLs for the metadata record, if the settings require them. It is written if
    /// it has any, or a note.
    #[must_use]
    pub fn build<'a>(
        &mut self,
        capture: &Capture<'_>,
        digests: &Digests,
        original: Option<&OriginalCapture<'_>>,
        outlinks: impl ExactSizeIterator<Item = &'a str>,
        notes: CaptureNotes,
    ) -> Vec<WarcRecord> {
        let date = WarcDate::of(capture.at);
        let id = self.ids.next();
        let mut records = Vec::with_capacity(3);
        records.push(WarcRecord {
            bytes: self.response(capture, &date, &id, digests, original),
            index: Some(IndexEntry {
                surt: surt(capture.url),
                timestamp: date.digits(),
                url: capture.url.as_str().to_owned(),
                mime: index_mime(capture, original.is_some()),
                status: capture.status,
                digest: match is_not_modified(original) {
                    true => "-".to_owned(),
                    false => digests.payload.text(),
                },
                notes: notes.members,
            }),
        });
        if !capture.request_head.is_empty() {
            let bytes = self.request(capture, &date, &id);
            records.push(WarcRecord { bytes, index: None });
        }
        let n_outlinks = if self.outlinks { outlinks.len() } else { 0 };
        if n_outlinks > 0 || !notes.fields.is_empty() {
            let outlinks = outlinks.take(n_outlinks);
            let bytes = self.metadata(capture, &date, &id, outlinks, &notes.fields);
            records.push(WarcRecord { bytes, index: None });
        }
        records
    }

    fn response(
        &mut self,
        capture: &Capture<'_>,
        date: &WarcDate,
        id: &RecordId,
        digests: &Digests,
        original: Option<&OriginalCapture<'_>>,
    ) -> Vec<u8> {
        self.block.clear();
        // With the head of a 304, pywb would replay the 304 instead of the page.
        if !is_not_modified(original) {
            push_response_head(&mut self.block, capture);
        }
        let head = &mut self.head;
        let (kind, payload, block, truncated) = match original {
            Some(original) => {
                let is_cut = original.reason == RevisitReason::SamePayload;
                let block = WarcDigest::of(self.kind, &[&self.block]);
                ("revisit", &[][..], block, is_cut.then_some("length"))
            }
            None => {
                ("response", capture.body, digests.block, capture.truncated.map(Truncation::name))
            }
        };
        fields::begin_head(head, kind, id, date);
        push_exchange(head, capture);
        if let Some(certificate) = capture.certificate {
            push_field(head, CERTIFICATE, certificate.name());
        }
        // A 304 has no payload; that of the original is not known here.
        if !is_not_modified(original) {
            push_field(head, "WARC-Payload-Digest", digests.payload.text());
        }
        push_field(head, "WARC-Block-Digest", block.text());
        if let Some(original) = original {
            let profile = if is_not_modified(Some(original)) { NOT_MODIFIED } else { SAME_PAYLOAD };
            push_field(head, "WARC-Profile", profile);
            push_uri(head, "WARC-Refers-To-Target-URI", original.url);
            push_field(head, "WARC-Refers-To-Date", WarcDate::of(original.at).0);
        }
        if let Some(reason) = truncated {
            push_field(head, "WARC-Truncated", reason);
        }
        let length = self.block.len() + payload.len();
        fields::end_head(head, "application/http;msgtype=response", length);
        self.compressor.compress(&[head, &self.block, payload, RECORD_END])
    }

    fn request(&mut self, capture: &Capture<'_>, date: &WarcDate, response: &RecordId) -> Vec<u8> {
        let id = self.ids.next();
        let request = capture.request_head;
        let head = &mut self.head;
        fields::begin_head(head, "request", &id, date);
        push_exchange(head, capture);
        push_field(head, "WARC-Concurrent-To", &response.0);
        push_field(head, "WARC-Block-Digest", WarcDigest::of(self.kind, &[request]).text());
        fields::end_head(head, "application/http;msgtype=request", request.len());
        self.compressor.compress(&[head, request, RECORD_END])
    }

    fn metadata<'a>(
        &mut self,
        capture: &Capture<'_>,
        date: &WarcDate,
        response: &RecordId,
        outlinks: impl Iterator<Item = &'a str>,
        notes: &[(&str, String)],
    ) -> Vec<u8> {
        self.block.clear();
        push_field(&mut self.block, "fetchTimeMs", capture.took.as_millis().to_string());
        for (name, value) in notes {
            push_field(&mut self.block, name, value);
        }
        for url in outlinks {
            push_uri(&mut self.block, "outlink", url);
        }
        let id = self.ids.next();
        let head = &mut self.head;
        fields::begin_head(head, "metadata", &id, date);
        push_uri(head, "WARC-Target-URI", capture.url.as_str());
        push_field(head, "WARC-Concurrent-To", &response.0);
        push_field(head, "WARC-Block-Digest", WarcDigest::of(self.kind, &[&self.block]).text());
        fields::end_head(head, "application/warc-fields", self.block.len());
        let bytes = self.compressor.compress(&[head, &self.block, RECORD_END]);
        clear_buffer(&mut self.block);
        bytes
    }
}

fn is_not_modified(original: Option<&OriginalCapture<'_>>) -> bool {
    original.is_some_and(|original| original.reason == RevisitReason::NotModified)
}

/// Appends the fields that are common to the records of a request and its response.
fn push_exchange(head: &mut Vec<u8>, capture: &Capture<'_>) {
    push_uri(head, "WARC-Target-URI", capture.url.as_str());
    push_field(head, "WARC-IP-Address", capture.ip.to_canonical().to_string());
    push_field(head, "WARC-Protocol", protocol(capture.version));
}

/// Returns the media type in the form of the index: without parameters, and `unk` if there is none.
fn index_mime(capture: &Capture<'_>, revisit: bool) -> String {
    if revisit {
        return "warc/revisit".to_owned();
    }
    let value = capture.headers.get(http::header::CONTENT_TYPE).map_or(&b""[..], |v| v.as_bytes());
    let mime = value.trim_ascii_start().split(|&b| b == b';' || b.is_ascii_whitespace()).next();
    match mime {
        Some(mime) if !mime.is_empty() => String::from_utf8_lossy(mime).into_owned(),
        _ => "unk".to_owned(),
    }
}
