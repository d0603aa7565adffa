//! What is in the records of one response.

use super::reader::{Read, read_warc, verifies};
use super::web::{NOON, fetched, response, settings};
use crate::messages::{Found, LinkKind, Record, Truncation};
use crate::store::{Digests, DuplicateOf, PayloadDigest, Recorder};
use crivello_common::config::{AssignBy, DigestKind};
use crivello_common::url::CrawlUrl;

fn read(records: &[Record]) -> Vec<Read> {
    let bytes: Vec<u8> = records.iter().flat_map(|record| record.bytes.clone()).collect();
    read_warc(&bytes)
}

#[test]
fn a_response_keeps_its_payload_as_sent() {
    let gzipped = b"\x1f\x8b not really\r\n\r\n\0";
    let headers: &[(&str, &[u8])] =
        &[("content-type", b"text/html; charset=utf-8"), ("content-encoding", b"gzip")];
    let response = response(headers, gzipped);
    let digests = Digests::of(&response, DigestKind::Sha1);
    let url = fetched("http://www.Example.com/a?b");
    let records = Recorder::new(&settings()).response(&url, &response, &digests, None, &[]);
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
    assert_eq!(request.block, &response.request_head[..]);
    let index = records[0].index.as_ref().unwrap();
    assert_eq!((index.surt.as_str(), index.mime.as_str()), ("com,example)/a?b", "text/html"));
    assert_eq!((index.timestamp.as_str(), index.status), ("20261120120000", 200));
    assert_eq!(Some(index.digest.as_str()), reply.field("WARC-Payload-Digest"));
    assert!(records[1].index.is_none());
}

#[test]
fn a_revisit_keeps_the_head_and_drops_the_payload() {
    let response = response(&[("content-length", b"4")], b"same");
    let digests = Digests::of(&response, DigestKind::Sha1);
    let original = DuplicateOf { uri: "http://example.com/first", date: NOON };
    let url = fetched("http://example.com/second");
    let records =
        Recorder::new(&settings()).response(&url, &response, &digests, Some(&original), &[]);
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
fn a_cut_off_body_says_why() {
    for reason in [Truncation::Length, Truncation::Time, Truncation::Disconnect] {
        let mut response = response(&[("content-length", b"4000")], b"cut");
        response.truncated = Some(reason);
        let digests = Digests::of(&response, DigestKind::Sha1);
        let url = fetched("http://example.com/");
        let records = Recorder::new(&settings()).response(&url, &response, &digests, None, &[]);
        assert_eq!(read(&records)[0].field("WARC-Truncated"), Some(reason.name()));
    }
}

#[test]
fn outlinks_are_written_when_asked_for() {
    let link = |url: &str| {
        let url = CrawlUrl::parse(url).unwrap();
        let (host, hash) = (url.host_key(AssignBy::Domain), url.hash());
        Found { url, host, hash, depth: 1, kind: LinkKind::Page }
    };
    let links = [link("http://example.com/a"), link("http://example.org/b?c")];
    let response = response(&[], b"x");
    let digests = Digests::of(&response, DigestKind::Sha1);
    let url = fetched("http://example.com/");
    let mut asked = settings();
    let silent = Recorder::new(&asked).response(&url, &response, &digests, None, &links);
    assert_eq!(silent.len(), 2);
    asked.store.outlinks = true;
    let records = Recorder::new(&asked).response(&url, &response, &digests, None, &links);
    let read = read(&records);
    let metadata = &read[2];
    assert_eq!(metadata.kind(), "metadata");
    assert_eq!(metadata.field("WARC-Concurrent-To"), read[0].field("WARC-Record-ID"));
    assert_eq!(metadata.field("Content-Type"), Some("application/warc-fields"));
    assert_eq!(
        std::str::from_utf8(&metadata.block).unwrap(),
        "fetchTimeMs: 12\r\noutlink: http://example.com/a\r\noutlink: http://example.org/b?c\r\n"
    );
}

#[test]
fn sha256_and_ipv6_when_set() {
    let mut settings = settings();
    settings.store.digest = DigestKind::Sha256;
    let mut response = response(&[], b"");
    response.address = "[2001:db8::1]:443".parse().unwrap();
    response.request_head = bytes::Bytes::new();
    let digests = Digests::of(&response, DigestKind::Sha256);
    let url = fetched("https://example.com/");
    let records = Recorder::new(&settings).response(&url, &response, &digests, None, &[]);
    let read = read(&records);
    assert_eq!(read.len(), 1);
    assert!(read[0].field("WARC-Payload-Digest").unwrap().starts_with("sha256:4OYMIQUY7QOB"));
    assert_eq!(read[0].field("WARC-IP-Address"), Some("2001:db8::1"));
    assert_eq!(records[0].index.as_ref().unwrap().mime, "unk");
}

#[test]
fn the_key_of_duplicates_is_the_digests_head() {
    let digest = PayloadDigest::of(DigestKind::Sha1, &[b"abc"]);
    assert_eq!(digest.text(), "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5");
    assert_eq!(digest.content()[..4], [0xa9, 0x99, 0x3e, 0x36]);
}
