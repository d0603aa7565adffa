//! One archive with a record of every kind, for other readers: set `CRIVELLO_SAMPLE_DIR` to keep
//! it.

use super::reader::check_archive;
use super::web::{NOON, fetched, open, response, settings};
use crate::messages::{Found, LinkKind, Record, Response, Truncation};
use crate::store::{Digests, DuplicateOf, Recorder};
use crivello_common::config::{AssignBy, DigestKind, Settings};
use crivello_common::url::CrawlUrl;
use flate2::{Compression, write::GzEncoder};
use http::Version;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

const HTML: &[u8] = b"<!doctype html><title>x</title><p>\xc3\xa9 <a href=/y>y</a>";

fn gzipped(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn responses() -> Vec<(String, Response)> {
    let html: (&str, &[u8]) = ("content-type", b"text/html; charset=utf-8");
    let gzip: (&str, &[u8]) = ("content-encoding", b"gzip");
    let chunked: (&str, &[u8]) = ("transfer-encoding", b"chunked");
    let mut h2 = response(&[html, ("content-length", b"55")], HTML);
    h2.version = Version::HTTP_2;
    let mut truncated = response(&[html, ("content-length", b"90000")], &HTML.repeat(20));
    truncated.truncated = Some(Truncation::Length);
    let mut not_found = response(&[("content-type", b"text/plain")], b"");
    not_found.status = 404;
    let mut moved = response(&[("location", b"/elsewhere"), ("content-length", b"0")], b"");
    moved.status = 301;
    vec![
        ("http://example.com/plain".into(), response(&[html], HTML)),
        ("http://www.example.com/gzip?b=1&A=2".into(), response(&[html, gzip], &gzipped(HTML))),
        ("http://example.com:8080/chunked/".into(), response(&[html, chunked], b"chunks undone")),
        ("http://example.com/both".into(), response(&[html, chunked, gzip], &gzipped(HTML))),
        ("https://h2.example.org/".into(), h2),
        ("http://example.com/truncated".into(), truncated),
        ("http://example.com/404".into(), not_found),
        ("http://192.0.2.7/moved".into(), moved),
        (
            "http://[2001:db8::1]/%7euser/%C3%A9?q=%20+".into(),
            response(&[], b"\0\x01binary\r\n\r\n"),
        ),
    ]
}

fn pages(settings: &Settings) -> Vec<Vec<Record>> {
    let mut recorder = Recorder::new(settings);
    let link = CrawlUrl::parse("http://example.com/y").unwrap();
    let (host, hash) = (link.host_key(AssignBy::Domain), link.hash());
    let links = [Found { url: link, host, hash, depth: 1, kind: LinkKind::Page }];
    let mut pages = Vec::new();
    for (nth, (url, response)) in responses().iter().enumerate() {
        let mut fetched = fetched(url);
        fetched.at = NOON + Duration::from_secs(nth as u64);
        let digests = Digests::of(response, settings.store.digest);
        pages.push(recorder.response(&fetched, response, &digests, None, &links));
        let original = DuplicateOf { uri: url, date: fetched.at };
        let mut again = self::fetched(&format!("http://copy.example.net/{nth}"));
        again.at = NOON + Duration::from_secs(1000 + nth as u64);
        pages.push(recorder.response(&again, response, &digests, Some(&original), &[]));
    }
    pages
}

#[test]
fn every_kind_of_record_is_read_back() {
    for (name, kind) in [("sha1", DigestKind::Sha1), ("sha256", DigestKind::Sha256)] {
        let temporary = tempfile::tempdir().unwrap();
        let kept = std::env::var_os("CRIVELLO_SAMPLE_DIR").map(PathBuf::from);
        let dir = kept.unwrap_or_else(|| temporary.path().to_owned()).join(name);
        let mut settings = settings();
        settings.store.outlinks = true;
        settings.store.digest = kind;
        let pages = pages(&settings);
        let mut archive = open(&dir, None, &settings).unwrap();
        let mut places = Vec::new();
        archive.append(pages.iter().map(Vec::as_slice), NOON, &mut places).unwrap();
        archive.sync().unwrap();
        archive.close().unwrap();
        assert_eq!(check_archive(&dir).len(), 18);
    }
}
