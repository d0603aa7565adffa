//! Tests of the records of one response.

use super::reader::{Read, read_warc, verifies};
use super::responses::{NOON, response, settings};
use crate::index::cdxj::{offset_of, push_line};
use crate::{
    CaptureNotes, Digests, OriginalCapture, RecordBuilder, RevisitReason, Truncation, WarcDigest,
    WarcRecord, read_notes,
};
use crivello_common::config::{DigestKind, Store};

fn read(records: &[WarcRecord]) -> Vec<Read> {
    let bytes: Vec<u8> = records.iter().flat_map(|record| record.bytes.clone()).collect();
    read_warc(&bytes)
}

#[test]
fn a_response_keeps_its_payload_as_sent() {
    let gzipped = b"\x1f\x8b not really\r\n\r\n\0";
    let headers: &[(&str, &[u8])] =
        &[("content-type", b"text/html; charset=utf-8"), ("content-encoding", b"gzip")];
    let response = response("http://www.Example.com/a?b", headers, gzipped);
    let records = response.records(&settings(), None, &[]);
    let read = read(&records);
    assert_eq!(read.len(), 2);
    let (reply, request) = (&read[0], &read[1]);
    assert_eq!(reply.kind(), "response");
    assert_eq!(reply.field("WARC-Date"), Some("2026-11-20T12:00:00.123456Z"));
    assert_eq!(reply.field("WARC-Target-URI"), Some("http://www.example.com/a?b"));
    assert_eq!(reply.field("WARC-IP-Address"), Some("192.0.2.7"));
    assert_eq!(reply.field("WARC-Protocol"), Some("http/1.1"));
    assert_eq!(reply.field("WARC-Truncated"), None);
    assert_eq!(reply.field("Content-Type"), Some("application/http;msgtype=response"));
    assert_eq!(reply.http().1, gzipped);
    assert_eq!(request.kind(), "request");
    assert_eq!(request.field("WARC-Concurrent-To"), reply.field("WARC-Record-ID"));
    assert_eq!(request.field("Content-Type"), Some("application/http;msgtype=request"));
    assert_eq!(request.block, response.request_head);
    let index = records[0].index.as_ref().unwrap();
    assert_eq!((index.surt.as_str(), index.mime.as_str()), ("com,example)/a?b", "text/html"));
    assert_eq!((index.timestamp.as_str(), index.status), ("20261120120000", 200));
    assert_eq!(Some(index.digest.as_str()), reply.field("WARC-Payload-Digest"));
    assert!(records[1].index.is_none());
}

#[test]
fn a_revisit_keeps_the_head_and_drops_the_payload() {
    let response = response("http://example.com/second", &[("content-length", b"4")], b"same");
    let reason = RevisitReason::SamePayload;
    let original = OriginalCapture { url: "http://example.com/first", at: NOON, reason };
    let records = response.records(&settings(), Some(&original), &[]);
    let revisit = &read(&records)[0];
    assert_eq!(revisit.kind(), "revisit");
    assert_eq!(
        revisit.field("WARC-Profile"),
        Some("http://netpreserve.org/warc/1.1/revisit/identical-payload-digest")
    );
    assert_eq!(revisit.field("WARC-Refers-To-Target-URI"), Some("http://example.com/first"));
    assert_eq!(revisit.field("WARC-Refers-To-Date"), Some("2026-11-20T12:00:00.123456Z"));
    assert!(verifies(revisit.field("WARC-Payload-Digest").unwrap(), b"same"));
    assert_eq!(revisit.http(), ("HTTP/1.1 200 OK\r\ncontent-length: 4".to_owned(), &b""[..]));
    assert_eq!(records[0].index.as_ref().unwrap().mime, "warc/revisit");
}

#[test]
fn a_page_that_is_not_modified_is_a_revisit_without_a_payload_digest() {
    let mut response = response("http://example.com/", &[("etag", b"\"1\"")], b"");
    response.status = 304;
    let reason = RevisitReason::NotModified;
    let original = OriginalCapture { url: "http://example.com/", at: NOON, reason };
    let records = response.records(&settings(), Some(&original), &[]);
    let revisit = &read(&records)[0];
    assert_eq!(revisit.kind(), "revisit");
    assert_eq!(
        revisit.field("WARC-Profile"),
        Some("http://netpreserve.org/warc/1.1/revisit/server-not-modified")
    );
    assert_eq!(revisit.field("WARC-Refers-To-Target-URI"), Some("http://example.com/"));
    assert_eq!(revisit.field("WARC-Refers-To-Date"), Some("2026-11-20T12:00:00.123456Z"));
    assert_eq!(revisit.field("WARC-Payload-Digest"), None);
    assert_eq!(revisit.block, b"", "replay would show the 304 instead of the page");
    assert_eq!(revisit.field("WARC-Truncated"), None);
    let index = records[0].index.as_ref().unwrap();
    assert_eq!((index.mime.as_str(), index.status), ("warc/revisit", 304));
    assert_eq!(index.digest, "-");
}

#[test]
fn a_truncated_body_has_a_reason() {
    for reason in [Truncation::Length, Truncation::Time, Truncation::Disconnect] {
        let mut response = response("http://example.com/", &[("content-length", b"4000")], b"cut");
        response.truncated = Some(reason);
        let records = response.records(&settings(), None, &[]);
        assert_eq!(read(&records)[0].field("WARC-Truncated"), Some(reason.name()));
    }
}

#[test]
fn outlinks_are_written_if_the_settings_ask_for_them() {
    let links = ["http://example.com/a", "http://example.org/b?c"];
    let response = response("http://example.com/", &[], b"x");
    let mut asked = settings();
    assert_eq!(response.records(&asked, None, &links).len(), 2);
    asked.outlinks = true;
    let read = read(&response.records(&asked, None, &links));
    let metadata = &read[2];
    assert_eq!(metadata.kind(), "metadata");
    assert_eq!(metadata.field("WARC-Concurrent-To"), read[0].field("WARC-Record-ID"));
    assert_eq!(metadata.field("Content-Type"), Some("application/warc-fields"));
    assert_eq!(
        std::str::from_utf8(&metadata.block).unwrap(),
        "fetchTimeMs: 12\r\noutlink: http://example.com/a\r\noutlink: http://example.org/b?c\r\n"
    );
    assert_eq!(response.records(&asked, None, &[]).len(), 2, "a metadata record without outlinks");
}

#[test]
fn sha256_and_ipv6_when_set() {
    let mut settings = settings();
    settings.digest = DigestKind::Sha256;
    let mut response = response("https://example.com/", &[], b"");
    response.ip = "2001:db8::1".parse().unwrap();
    response.request_head = Vec::new();
    let records = response.records(&settings, None, &[]);
    let read = read(&records);
    assert_eq!(read.len(), 1);
    assert!(read[0].field("WARC-Payload-Digest").unwrap().starts_with("sha256:4OYMIQUY7QOB"));
    assert_eq!(read[0].field("WARC-IP-Address"), Some("2001:db8::1"));
    assert_eq!(records[0].index.as_ref().unwrap().mime, "unk");
}

#[test]
fn the_key_of_duplicates_is_the_head_of_the_digest() {
    let digest = WarcDigest::of(DigestKind::Sha1, &[b"abc"]);
    assert_eq!(digest.text(), "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
}

#[test]
fn notes_are_fields_of_the_metadata_record_and_members_of_the_index_line() {
    let response = response("http://example.com/a", &[], b"x");
    let capture = response.capture();
    let digests = Digests::of(&capture, DigestKind::Sha1);
    let build = |outlinks: &[&str], notes| {
        let mut builder = RecordBuilder::new(&Store { outlinks: true, ..settings() });
        builder.build(&capture, &digests, None, outlinks.iter().copied(), notes)
    };
    assert_eq!(build(&[], CaptureNotes::default()).len(), 2);
    let notes = CaptureNotes {
        fields: vec![("simHash", "00ff".to_owned()), ("nearDuplicateOf", "a\r\nb: c".to_owned())],
        members: vec![("near", "\", \"offset\": \"7".to_owned())],
    };
    let records = build(&["http://example.com/b"], notes);
    let metadata = &read(&records)[2];
    let fields = "fetchTimeMs: 12\r\nsimHash: 00ff\r\nnearDuplicateOf: a  b: c\r\n\
                  outlink: http://example.com/b\r\n";
    assert_eq!(String::from_utf8_lossy(&metadata.block), fields);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.warc.gz");
    let bytes = records.iter().flat_map(|record| record.bytes.clone()).collect::<Vec<u8>>();
    std::fs::write(&path, [&bytes[..], &bytes[..]].concat()).unwrap();
    for offset in [0, bytes.len() as u64] {
        let notes = read_notes(&path, offset).unwrap();
        let expected = [("fetchTimeMs", "12"), ("simHash", "00ff"), ("nearDuplicateOf", "a  b: c")];
        assert!(notes.iter().eq(expected), "{notes:?}");
    }
    let request = records[0].bytes.len() as u64;
    assert_eq!(read_notes(&path, request).unwrap().iter().count(), 0);
    let mut line = Vec::new();
    push_line(&mut line, records[0].index.as_ref().unwrap(), 99, 5, "f");
    assert_eq!(offset_of(&line), Some(99));
    let text = String::from_utf8(line).unwrap();
    assert!(text.contains(r#", "near": "\", \"offset\": \"7", "length": "5""#), "{text}");
}
