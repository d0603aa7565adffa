//! An archive with a record of every kind. Set `CRIVELLO_SAMPLE_DIR` to keep it for other readers.

use super::reader::check_archive;
use super::responses::{NOON, Response, open, response, settings};
use crate::{OriginalCapture, RevisitReason, Truncation, WarcRecord};
use crivello_common::config::{DigestKind, Store};
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

fn responses() -> Vec<Response> {
    let html: (&str, &[u8]) = ("content-type", b"text/html; charset=utf-8");
    let gzip: (&str, &[u8]) = ("content-encoding", b"gzip");
    let chunked: (&str, &[u8]) = ("transfer-encoding", b"chunked");
    let mut h2 = response("https://h2.example.org/", &[html, ("content-length", b"55")], HTML);
    h2.version = Version::HTTP_2;
    let mut truncated = response(
        "http://example.com/truncated",
        &[html, ("content-length", b"90000")],
        &HTML.repeat(20),
    );
    truncated.truncated = Some(Truncation::Length);
    let mut not_found = response("http://example.com/404", &[("content-type", b"text/plain")], b"");
    not_found.status = 404;
    let mut moved = response(
        "http://192.0.2.7/moved",
        &[("location", b"/elsewhere"), ("content-length", b"0")],
        b"",
    );
    moved.status = 301;
    vec![
        response("http://example.com/plain", &[html], HTML),
        response("http://www.example.com/gzip?b=1&A=2", &[html, gzip], &gzipped(HTML)),
        response("http://example.com:8080/chunked/", &[html, chunked], b"chunks undone"),
        response("http://example.com/both", &[html, chunked, gzip], &gzipped(HTML)),
        h2,
        truncated,
        not_found,
        moved,
        response("http://[2001:db8::1]/%7euser/%C3%A9?q=%20+", &[], b"\0\x01binary\r\n\r\n"),
    ]
}

fn pages(settings: &Store) -> Vec<Vec<WarcRecord>> {
    let mut pages = Vec::new();
    for (nth, mut response) in responses().into_iter().enumerate() {
        response.at = NOON + Duration::from_secs(nth as u64);
        pages.push(response.records(settings, None, &["http://example.com/y"]));
        let url = response.url.as_str().to_owned();
        let reason = RevisitReason::SamePayload;
        let original = OriginalCapture { url: &url, at: response.at, reason };
        response.url = CrawlUrl::parse(&format!("http://copy.example.net/{nth}")).unwrap();
        response.at = NOON + Duration::from_secs(1000 + nth as u64);
        pages.push(response.records(settings, Some(&original), &[]));
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
        settings.outlinks = true;
        settings.digest = kind;
        let pages = pages(&settings);
        let mut archive = open(&dir, None, &settings).unwrap();
        let mut locations = Vec::new();
        archive.append(pages.iter().map(Vec::as_slice), NOON, &mut locations).unwrap();
        archive.sync().unwrap();
        archive.close().unwrap();
        assert_eq!(check_archive(&dir).len(), 18);
    }
}
