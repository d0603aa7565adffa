//! A response becomes WARC/1.1 records: response or revisit, request, metadata.
//!
//! Runs on the parser threads, one [`Recorder`] each; nothing is shared.

use super::digest::{Digests, PayloadDigest};
use super::fields::{self, WarcDate, push_field, push_number, push_uri, recycle};
use super::http_head::{protocol, push_response_head};
use super::identity::{RecordId, RecordIds};
use super::member::Member;
use super::surt::surt;
use crate::messages::{Fetched, Found, IndexEntry, Record, Response};
use crivello_common::config::{DigestKind, Settings};
use crivello_common::time::Timestamp;
use std::net::IpAddr;

/// The profile of revisits whose payload is the same, byte for byte (WARC/1.1 section 6.7.2).
const REVISIT_PROFILE: &str = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest";
/// What ends every record (WARC/1.1 section 4).
const RECORD_END: &[u8] = b"\r\n\r\n";

/// The archived response that has the same payload.
#[derive(Clone, Copy, Debug)]
pub struct DuplicateOf<'a> {
    /// Its URL.
    pub uri: &'a str,
    /// Its `WARC-Date`: when its request began.
    pub date: Timestamp,
}

/// Builds records; keep one a thread.
pub struct Recorder {
    kind: DigestKind,
    outlinks: bool,
    ids: RecordIds,
    member: Member,
    head: Vec<u8>,
    block: Vec<u8>,
}

/// What all records of one response share.
struct Capture<'a> {
    url: &'a str,
    date: WarcDate,
    address: IpAddr,
    protocol: &'static str,
}

impl Recorder {
    /// Digest, gzip level and outlinks as the settings say.
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        Self {
            kind: settings.store.digest,
            outlinks: settings.store.outlinks,
            ids: RecordIds::new(),
            member: Member::new(settings.store.gzip_level),
            head: Vec::new(),
            block: Vec::new(),
        }
    }

    /// The records of a response, the indexed one first. `digests` are its own; with a
    /// `duplicate` a `revisit` is written instead of the payload. `outlinks` are used when the
    /// settings ask for them.
    #[must_use]
    pub fn response(
        &mut self,
        fetched: &Fetched,
        response: &Response,
        digests: &Digests,
        duplicate: Option<&DuplicateOf<'_>>,
        outlinks: &[Found],
    ) -> Vec<Record> {
        let capture = Capture {
            url: fetched.url.as_str(),
            date: WarcDate::of(fetched.at),
            address: response.address.ip().to_canonical(),
            protocol: protocol(response.version),
        };
        let id = self.ids.next();
        let mut records = Vec::with_capacity(3);
        records.push(Record {
            bytes: self.reply(&capture, &id, response, digests, duplicate),
            index: Some(IndexEntry {
                surt: surt(&fetched.url),
                timestamp: capture.date.digits(),
                url: capture.url.to_owned(),
                mime: index_mime(response, duplicate.is_some()),
                status: response.status,
                digest: digests.payload.text(),
            }),
        });
        if !response.request_head.is_empty() {
            let bytes = self.request(&capture, &id, &response.request_head);
            records.push(Record { bytes, index: None });
        }
        if self.outlinks && !outlinks.is_empty() {
            let bytes = self.metadata(&capture, &id, fetched, outlinks);
            records.push(Record { bytes, index: None });
        }
        records
    }

    fn reply(
        &mut self,
        capture: &Capture<'_>,
        id: &RecordId,
        response: &Response,
        digests: &Digests,
        duplicate: Option<&DuplicateOf<'_>>,
    ) -> Vec<u8> {
        self.block.clear();
        push_response_head(&mut self.block, response);
        let head = &mut self.head;
        let (kind, payload) = match duplicate {
            Some(_) => ("revisit", &[][..]),
            None => ("response", &response.body[..]),
        };
        fields::begin(head, kind, id, &capture.date);
        capture.push(head);
        push_field(head, "WARC-Payload-Digest", digests.payload.text().as_bytes());
        let block = match duplicate {
            Some(_) => PayloadDigest::of(self.kind, &[&self.block]),
            None => digests.block,
        };
        push_field(head, "WARC-Block-Digest", block.text().as_bytes());
        let truncated = match duplicate {
            Some(original) => {
                push_field(head, "WARC-Profile", REVISIT_PROFILE.as_bytes());
                push_uri(head, "WARC-Refers-To-Target-URI", original.uri);
                let date = WarcDate::of(original.date);
                push_field(head, "WARC-Refers-To-Date", date.as_bytes());
                Some("length")
            }
            None => response.truncated.map(|reason| reason.name()),
        };
        if let Some(reason) = truncated {
            push_field(head, "WARC-Truncated", reason.as_bytes());
        }
        let length = self.block.len() + payload.len();
        fields::end(head, "application/http;msgtype=response", length);
        self.member.pack(&[head, &self.block, payload, RECORD_END])
    }

    fn request(&mut self, capture: &Capture<'_>, reply: &RecordId, request: &[u8]) -> Vec<u8> {
        let id = self.ids.next();
        let head = &mut self.head;
        fields::begin(head, "request", &id, &capture.date);
        capture.push(head);
        push_field(head, "WARC-Concurrent-To", reply.as_bytes());
        let block = PayloadDigest::of(self.kind, &[request]);
        push_field(head, "WARC-Block-Digest", block.text().as_bytes());
        fields::end(head, "application/http;msgtype=request", request.len());
        self.member.pack(&[head, request, RECORD_END])
    }

    fn metadata(
        &mut self,
        capture: &Capture<'_>,
        reply: &RecordId,
        fetched: &Fetched,
        outlinks: &[Found],
    ) -> Vec<u8> {
        let millis = u64::try_from(fetched.took.as_millis()).unwrap_or(u64::MAX);
        self.block.clear();
        push_number(&mut self.block, "fetchTimeMs", millis);
        for link in outlinks {
            push_uri(&mut self.block, "outlink", link.url.as_str());
        }
        let id = self.ids.next();
        let head = &mut self.head;
        fields::begin(head, "metadata", &id, &capture.date);
        push_uri(head, "WARC-Target-URI", capture.url);
        push_field(head, "WARC-Concurrent-To", reply.as_bytes());
        let block = PayloadDigest::of(self.kind, &[&self.block]);
        push_field(head, "WARC-Block-Digest", block.text().as_bytes());
        fields::end(head, "application/warc-fields", self.block.len());
        let bytes = self.member.pack(&[head, &self.block, RECORD_END]);
        recycle(&mut self.block);
        bytes
    }
}

impl Capture<'_> {
    fn push(&self, head: &mut Vec<u8>) {
        push_uri(head, "WARC-Target-URI", self.url);
        push_field(head, "WARC-IP-Address", self.address.to_string().as_bytes());
        push_field(head, "WARC-Protocol", self.protocol.as_bytes());
    }
}

/// The media type as the index has it: without parameters, `unk` where there is none.
fn index_mime(response: &Response, revisit: bool) -> String {
    if revisit {
        return "warc/revisit".to_owned();
    }
    let value = response.headers.get(http::header::CONTENT_TYPE).map_or(&b""[..], |v| v.as_bytes());
    let mime = value.trim_ascii_start().split(|&b| b == b';' || b.is_ascii_whitespace()).next();
    match mime {
        Some(mime) if !mime.is_empty() => String::from_utf8_lossy(mime).into_owned(),
        _ => "unk".to_owned(),
    }
}
