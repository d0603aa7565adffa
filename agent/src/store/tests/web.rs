//! Responses as the fetcher would hand them over, and archives in a directory of their own.

use crate::messages::{FetchOutcome, Fetched, HandedOut, Record, Response};
use crate::store::{Archive, CrawlLabel, Digests, Error, Place, Position, Recorder};
use bytes::Bytes;
use crivello_common::config::{AssignBy, Settings};
use crivello_common::time::Timestamp;
use crivello_common::units::ByteSize;
use crivello_common::url::CrawlUrl;
use http::{HeaderMap, HeaderName, HeaderValue, Version};
use std::path::Path;
use std::time::Duration;

pub const NOON: Timestamp = Timestamp(1_795_176_000_123_456); // 2026-11-20T12:00:00.123456Z
pub const CRAWL: u32 = 0x0bad_cafe;

pub fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.identity.contact = "https://example.org/crawl".to_owned();
    settings
}

pub fn small_files(bytes: u64) -> Settings {
    let mut settings = settings();
    settings.store.file_size_max = ByteSize(bytes);
    settings
}

pub fn fetched(url: &str) -> Fetched {
    let url = CrawlUrl::parse(url).unwrap();
    Fetched {
        host: url.host_key(AssignBy::Domain),
        name: url.host().into(),
        row: None,
        url,
        address: "192.0.2.7".parse().unwrap(),
        at: NOON,
        took: Duration::from_millis(12),
        outcome: FetchOutcome::Discarded(crivello_common::discard::Discard::Robots),
        handed_out: HandedOut::default(),
        traced: None,
    }
}

pub fn response(headers: &[(&str, &[u8])], body: &[u8]) -> Response {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        map.append(name, HeaderValue::from_bytes(value).unwrap());
    }
    Response {
        status: 200,
        version: Version::HTTP_11,
        headers: map,
        request_head: Bytes::from_static(b"GET /x HTTP/1.1\r\nhost: example.com\r\n\r\n"),
        address: "192.0.2.7:80".parse().unwrap(),
        body: Bytes::copy_from_slice(body),
        truncated: None,
        room: None,
    }
}

/// The records of a page, without duplicate and outlinks.
pub fn records(recorder: &mut Recorder, url: &str, response: &Response) -> Vec<Record> {
    let digests = Digests::of(response, settings().store.digest);
    recorder.response(&fetched(url), response, &digests, None, &[])
}

/// A number of pages of different lengths.
pub fn pages(numbers: std::ops::Range<u32>) -> Vec<Vec<Record>> {
    let mut recorder = Recorder::new(&settings());
    numbers
        .map(|n| {
            let body: Vec<u8> = (0..n * 37 % 900).flat_map(|i| (i * n).to_le_bytes()).collect();
            let url = format!("http://host{}.example.com/page/{n}", n % 7);
            records(&mut recorder, &url, &response(&[("content-type", b"text/html")], &body))
        })
        .collect()
}

pub fn label() -> CrawlLabel {
    let settings_toml = "[store]\ngzip-level = 1\n\n[identity]\nname = \"a\"".to_owned();
    CrawlLabel { id: CRAWL, settings_toml }
}

pub fn open(dir: &Path, at: Option<&Position>, settings: &Settings) -> Result<Archive, Error> {
    Archive::open(dir, at, settings, label())
}

pub fn append(archive: &mut Archive, pages: &[Vec<Record>]) -> Vec<Place> {
    let mut places = Vec::new();
    archive.append(pages.iter().map(Vec::as_slice), NOON, &mut places).unwrap();
    places.into_iter().map(Option::unwrap).collect()
}
