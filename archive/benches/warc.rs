//! Benchmark of building and appending the records of a page, compared with a lower bound: gzip of
//! the payload alone.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use crivello_archive::{
    ArchiveWriter, Capture, CaptureNotes, CrawlLabel, Digests, RecordBuilder, WarcRecord, surt,
};
use crivello_common::config::{DigestKind, Store};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use flate2::{Compress, Compression, FlushCompress};
use sha1::Digest as _;
use std::hint::black_box;
use std::time::Duration;

const PAYLOAD: usize = 17 << 10;

/// Returns HTML of about 17 KiB with 30 links, with words from a small vocabulary.
fn html() -> Vec<u8> {
    let mut state = 7_u64;
    let mut draw = |n: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let words: Vec<String> = (0..1_500)
        .map(|_| (0..3 + draw(7)).map(|_| char::from(b'a' + draw(26) as u8)).collect())
        .collect();
    let mut page = String::from("<!doctype html><html><head><title>page</title></head><body>");
    while page.len() < PAYLOAD {
        if draw(60) == 0 {
            page.push_str(&format!(
                "</p><a href=\"/{}/{}\">",
                words[draw(1_500) as usize],
                draw(9_999)
            ));
        }
        page.push_str(&words[(draw(1_500) * draw(1_500) / 1_500) as usize]);
        page.push(' ');
    }
    page.into_bytes()
}

/// A [`Capture`] that owns its data.
struct Page {
    url: CrawlUrl,
    headers: http::HeaderMap,
    body: Vec<u8>,
}

fn page() -> Page {
    let url = CrawlUrl::parse("http://www.site117.example.com/section/article-4711.html?lang=en");
    let mut headers = http::HeaderMap::new();
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("server", "nginx/1.22.1"),
        ("date", "Fri, 20 Nov 2026 12:00:00 GMT"),
        ("last-modified", "Thu, 19 Nov 2026 08:00:00 GMT"),
        ("transfer-encoding", "chunked"),
    ] {
        headers.append(name, value.parse().expect("a value"));
    }
    Page { url: url.expect("a URL"), headers, body: html() }
}

impl Page {
    fn capture(&self) -> Capture<'_> {
        Capture {
            url: &self.url,
            at: Timestamp(1_795_176_000_123_456),
            took: Duration::from_millis(12),
            ip: "192.0.2.7".parse().expect("an address"),
            status: 200,
            version: http::Version::HTTP_11,
            headers: &self.headers,
            request_head:
                b"GET /section/article-4711.html?lang=en HTTP/1.1\r\nhost: www.site117.example.com\r\n\
              user-agent: crivello/0.1.0 (+https://example.org/crawl)\r\naccept: text/html,*/*;q=0.8\r\n\
              accept-encoding: gzip, deflate, br, zstd\r\n\r\n",
            body: &self.body,
            truncated: None,
            certificate: None,
        }
    }
}

fn records(builder: &mut RecordBuilder, page: &Page) -> Vec<WarcRecord> {
    let capture = page.capture();
    let digests = Digests::of(&capture, DigestKind::Sha1);
    builder.build(&capture, &digests, None, std::iter::empty(), CaptureNotes::default())
}

fn build(c: &mut Criterion) {
    let page = page();
    let mut group = c.benchmark_group("warc");
    group.throughput(Throughput::Bytes(page.body.len() as u64));

    let mut deflate = Compress::new_gzip(Compression::new(1), 15);
    let mut out = vec![0; 2 * PAYLOAD];
    group.bench_function("floor: gzip -1 of the payload", |b| {
        b.iter(|| {
            deflate.reset();
            deflate.compress(&page.body, &mut out, FlushCompress::Finish).expect("room");
            black_box(out[..deflate.total_out() as usize].to_vec())
        });
    });
    group.bench_function("digests of payload and block", |b| {
        b.iter(|| Digests::of(&black_box(&page).capture(), DigestKind::Sha1));
    });
    group.bench_function("one digest, by the sha1 crate", |b| {
        b.iter(|| sha1::Sha1::digest(black_box(&page.body)));
    });
    let mut builder = RecordBuilder::new(&Store::default());
    group.bench_function("digest, response and request", |b| {
        b.iter(|| records(&mut builder, black_box(&page)));
    });
    let bare = Page { body: Vec::new(), ..page };
    group.bench_function("digest, response and request without a payload", |b| {
        b.iter(|| records(&mut builder, black_box(&bare)));
    });
    group.bench_function("surt", |b| b.iter(|| surt(black_box(&bare.url))));
    group.finish();
}

fn append(c: &mut Criterion) {
    let page = records(&mut RecordBuilder::new(&Store::default()), &page());
    let dir = tempfile::tempdir().expect("a directory");
    let label = CrawlLabel { id: 1, contact: String::new(), settings_toml: String::new() };
    let mut archive =
        ArchiveWriter::open(dir.path(), None, &Store::default(), label).expect("an archive");
    let mut locations = Vec::new();
    let mut group = c.benchmark_group("archive");
    group.sample_size(20);
    group.bench_function("append of 64 pages", |b| {
        b.iter(|| {
            locations.clear();
            let pages = (0..64).map(|_| page.as_slice());
            archive.append(pages, Timestamp(1), &mut locations).expect("room");
        });
    });
    group.finish();
}

criterion_group!(benches, build, append);
criterion_main!(benches);
