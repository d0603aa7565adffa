//! What a page costs on the parser threads to become records, and on the writer to be appended;
//! against the floor: the same payload through gzip alone.

use bytes::Bytes;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use crivello_agent::messages::{FetchOutcome, Fetched, HandedOut, Record, Response};
use crivello_agent::store::{Archive, CrawlLabel, Digests, Recorder, surt};
use crivello_common::config::{AssignBy, DigestKind, Settings};
use crivello_common::discard::Discard;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use flate2::{Compress, Compression, FlushCompress};
use sha1::Digest as _;
use std::hint::black_box;
use std::time::Duration;

const PAYLOAD: usize = 17 << 10;

/// HTML of about 17 KiB and 30 links, of words drawn from a small vocabulary.
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

fn page() -> (Fetched, Response) {
    let url = CrawlUrl::parse("http://www.site117.example.com/section/article-4711.html?lang=en");
    let url = url.expect("a URL");
    let fetched = Fetched {
        host: url.host_key(AssignBy::Domain),
        name: url.host().into(),
        row: None,
        url,
        address: std::net::Ipv4Addr::LOCALHOST.into(),
        at: Timestamp(1_795_176_000_123_456),
        took: Duration::from_millis(12),
        outcome: FetchOutcome::Discarded(Discard::Robots),
        handed_out: HandedOut::default(),
        traced: None,
    };
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
    let response = Response {
        status: 200,
        version: http::Version::HTTP_11,
        headers,
        request_head: Bytes::from_static(
            b"GET /section/article-4711.html?lang=en HTTP/1.1\r\nhost: www.site117.example.com\r\n\
              user-agent: crivello/0.1.0 (+https://example.org/crawl)\r\naccept: text/html,*/*;q=0.8\r\n\
              accept-encoding: gzip, deflate, br, zstd\r\n\r\n",
        ),
        address: "192.0.2.7:80".parse().expect("an address"),
        body: html().into(),
        truncated: None,
        room: None,
    };
    (fetched, response)
}

fn records(recorder: &mut Recorder, (fetched, response): &(Fetched, Response)) -> Vec<Record> {
    let digests = Digests::of(response, DigestKind::Sha1);
    recorder.response(fetched, response, &digests, None, &[])
}

fn build(c: &mut Criterion) {
    let page = page();
    let mut group = c.benchmark_group("warc");
    group.throughput(Throughput::Bytes(page.1.body.len() as u64));

    let mut deflate = Compress::new_gzip(Compression::new(1), 15);
    let mut out = vec![0; 2 * PAYLOAD];
    group.bench_function("floor: gzip -1 of the payload", |b| {
        b.iter(|| {
            deflate.reset();
            deflate.compress(&page.1.body, &mut out, FlushCompress::Finish).expect("room");
            black_box(out[..deflate.total_out() as usize].to_vec())
        });
    });
    group.bench_function("digests of payload and block", |b| {
        b.iter(|| Digests::of(black_box(&page.1), DigestKind::Sha1));
    });
    group.bench_function("one digest, by the sha1 crate", |b| {
        b.iter(|| sha1::Sha1::digest(black_box(&page.1.body)));
    });
    let mut recorder = Recorder::new(&Settings::default());
    group.bench_function("digest, response and request", |b| {
        b.iter(|| records(&mut recorder, black_box(&page)));
    });
    let mut bare = (page.0, page.1);
    bare.1.body = Bytes::new();
    group.bench_function("digest, response and request without a payload", |b| {
        b.iter(|| records(&mut recorder, black_box(&bare)));
    });
    group.bench_function("surt", |b| b.iter(|| surt(black_box(&bare.0.url))));
    group.finish();
}

fn append(c: &mut Criterion) {
    let page = records(&mut Recorder::new(&Settings::default()), &page());
    let dir = tempfile::tempdir().expect("a directory");
    let label = CrawlLabel { id: 1, settings_toml: String::new() };
    let mut archive =
        Archive::open(dir.path(), None, &Settings::default(), label).expect("an archive");
    let mut places = Vec::new();
    let mut group = c.benchmark_group("archive");
    group.sample_size(20);
    group.bench_function("append of 64 pages", |b| {
        b.iter(|| {
            places.clear();
            let pages = (0..64).map(|_| page.as_slice());
            archive.append(pages, Timestamp(1), &mut places).expect("room");
        });
    });
    group.finish();
}

criterion_group!(benches, build, append);
criterion_main!(benches);
