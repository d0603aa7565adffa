//! Responses in the form delivered by a fetcher, and archives in temporary directories.

use crate::{
    ArchiveError, ArchivePosition, ArchiveWriter, Capture, CaptureNotes, CrawlLabel, Digests,
    OriginalCapture, RecordBuilder, RecordLocation, Truncation, WarcRecord,
};
use crivello_common::certificate::CertificateStatus;
use crivello_common::config::Store;
use crivello_common::time::Timestamp;
use crivello_common::units::ByteSize;
use crivello_common::url::CrawlUrl;
use http::{HeaderMap, HeaderName, HeaderValue, Version};
use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

pub const NOON: Timestamp = Timestamp(1_795_176_000_123_456); // 2026-11-20T12:00:00.123456Z
pub const CRAWL: u32 = 0x0bad_cafe;

pub fn settings() -> Store {
    Store::default()
}

pub fn small_files(bytes: u64) -> Store {
    Store { file_size_max: ByteSize(bytes), ..settings() }
}

/// A [`Capture`] that owns its data.
pub struct Response {
    pub url: CrawlUrl,
    pub at: Timestamp,
    pub ip: IpAddr,
    pub status: u16,
    pub version: Version,
    pub headers: HeaderMap,
    pub request_head: Vec<u8>,
    pub body: Vec<u8>,
    pub truncated: Option<Truncation>,
    pub certificate: Option<CertificateStatus>,
}

pub fn response(url: &str, headers: &[(&str, &[u8])], body: &[u8]) -> Response {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
        map.append(name, HeaderValue::from_bytes(value).unwrap());
    }
    Response {
        url: CrawlUrl::parse(url).unwrap(),
        at: NOON,
        ip: "192.0.2.7".parse().unwrap(),
        status: 200,
        version: Version::HTTP_11,
        headers: map,
        request_head: b"GET /x HTTP/1.1\r\nhost: example.com\r\n\r\n".to_vec(),
        body: body.to_vec(),
        truncated: None,
        certificate: None,
    }
}

impl Response {
    pub fn capture(&self) -> Capture<'_> {
        Capture {
            url: &self.url,
            at: self.at,
            took: Duration::from_millis(12),
            ip: self.ip,
            status: self.status,
            version: self.version,
            headers: &self.headers,
            request_head: &self.request_head,
            body: &self.body,
            truncated: self.truncated,
            certificate: self.certificate,
        }
    }

    /// Returns the records required by `settings`.
    pub fn records(
        &self,
        settings: &Store,
        original: Option<&OriginalCapture<'_>>,
        outlinks: &[&str],
    ) -> Vec<WarcRecord> {
        let mut builder = RecordBuilder::new(settings);
        let capture = self.capture();
        let digests = Digests::of(&capture, settings.digest);
        builder.build(
            &capture,
            &digests,
            original,
            outlinks.iter().copied(),
            CaptureNotes::default(),
        )
    }
}

/// Returns pages of different lengths with these numbers.
pub fn pages(numbers: std::ops::Range<u32>) -> Vec<Vec<WarcRecord>> {
    let mut builder = RecordBuilder::new(&settings());
    numbers
        .map(|n| {
            let body: Vec<u8> = (0..n * 37 % 900).flat_map(|i| (i * n).to_le_bytes()).collect();
            let url = format!("http://host{}.example.com/page/{n}", n % 7);
            let response = response(&url, &[("content-type", b"text/html")], &body);
            let capture = response.capture();
            let digests = Digests::of(&capture, settings().digest);
            builder.build(&capture, &digests, None, std::iter::empty(), CaptureNotes::default())
        })
        .collect()
}

pub fn label() -> CrawlLabel {
    let settings_toml = "[store]\ngzip-level = 1\n\n[identity]\nname = \"a\"".to_owned();
    CrawlLabel { id: CRAWL, contact: "https://example.org/crawl".to_owned(), settings_toml }
}

pub fn open(
    dir: &Path,
    at: Option<&ArchivePosition>,
    settings: &Store,
) -> Result<ArchiveWriter, ArchiveError> {
    ArchiveWriter::open(dir, at, settings, label())
}

pub fn append(archive: &mut ArchiveWriter, pages: &[Vec<WarcRecord>]) -> Vec<RecordLocation> {
    let mut locations = Vec::new();
    archive.append(pages.iter().map(Vec::as_slice), NOON, &mut locations).unwrap();
    locations.into_iter().map(Option::unwrap).collect()
}
