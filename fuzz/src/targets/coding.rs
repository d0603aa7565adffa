//! Content encodings: gzip, deflate, brotli and zstd, nested and damaged, of pages and of robots.txt.
//!
//! Input: header lines, an empty line, and the body.

use super::page::{DECODED_MAX, page_url, settings};
use super::response;
use crate::target::{FuzzTarget, MemoryBound};
use bytes::Bytes;
use crivello_common::time::Timestamp;
use crivello_html::{LinkKind, ParseInput, Parser, RobotsTxt};
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use http::{HeaderMap, HeaderName, HeaderValue, header};
use std::cell::RefCell;
use std::io::{self, Write};

/// The target `coding`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "coding",
    run,
    samples,
    tokens: &[
        b"content-encoding: ",
        b"gzip",
        b"x-gzip",
        b"deflate",
        b"br",
        b"zstd",
        b"identity",
        b", ",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
        b"\x1f\x8b\x08\x1f",
        b"\x28\xb5\x2f\xfd",
        b"\x50\x2a\x4d\x18",
        b"\x78\x9c",
        b"\x03\x00",
    ],
    len_max: 65_536,
    // Two buffers of the bound, the window of brotli, and what is encoded again.
    peak: MemoryBound { base: 8 << 20, per_byte: 32 },
    total: MemoryBound { base: 32 << 20, per_byte: 64 },
};

/// Bytes of a robots.txt that count.
const ROBOTS_MAX: usize = 64 << 10;

thread_local! {
    static PARSER: RefCell<Parser> = RefCell::new({
        let settings = settings();
        Parser::new(&settings.fixed, &settings.live)
    });
}

fn run(input: &[u8]) {
    let (headers, body) = response::split(input);
    let (len, _) = decode(&headers, body);
    assert!(len <= DECODED_MAX.as_usize(), "{len} bytes decoded");
    robots(&headers, body);
    for codings in [&["gzip"][..], &["deflate"], &["raw"], &["zstd"], &["zstd", "gzip", "deflate"]]
    {
        round_trip(codings, &body[..body.len().min(4_096)]);
    }
}

/// Decodes a body. Returns its length, and whether it is complete.
fn decode(headers: &HeaderMap, body: &[u8]) -> (usize, bool) {
    let url = page_url();
    let input = ParseInput {
        url: &url,
        status: 200,
        headers,
        body,
        kind: LinkKind::Page,
        at: Timestamp::ZERO,
    };
    PARSER.with_borrow_mut(|parser| {
        let page = parser.parse(input);
        (page.decoded_len, page.decode_problem.is_none())
    })
}

fn robots(headers: &HeaderMap, body: &[u8]) {
    for cut in [false, true] {
        let file = RobotsTxt::new(Bytes::copy_from_slice(body), headers, cut, ROBOTS_MAX);
        let is_plain = file.as_ref().is_some_and(|file| file.plain_len().is_some());
        if let Some(text) = file.and_then(RobotsTxt::text) {
            assert!(is_plain || text.len() <= ROBOTS_MAX, "{} bytes of robots.txt", text.len());
        }
    }
}

/// Checks that what is encoded is decoded to the same length.
fn round_trip(codings: &[&str], body: &[u8]) {
    let mut encoded = body.to_vec();
    let mut headers = HeaderMap::new();
    for coding in codings {
        let Ok(next) = encode(coding, &encoded) else { return };
        encoded = next;
        let name = if *coding == "raw" { "deflate" } else { coding };
        if let Ok(value) = HeaderValue::from_str(name) {
            headers.append(header::CONTENT_ENCODING, value);
        }
    }
    let html = HeaderValue::from_static("text/html");
    headers.insert(HeaderName::from_static("content-type"), html);
    assert_eq!(decode(&headers, &encoded), (body.len(), true), "{codings:?}");
}

fn encode(coding: &str, body: &[u8]) -> io::Result<Vec<u8>> {
    let level = Compression::fast();
    match coding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(body)?;
            encoder.finish()
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(body)?;
            encoder.finish()
        }
        "raw" => {
            let mut encoder = DeflateEncoder::new(Vec::new(), level);
            encoder.write_all(body)?;
            encoder.finish()
        }
        _ => zstd::encode_all(body, 1),
    }
}

fn samples() -> Vec<Vec<u8>> {
    let page = b"<title>x</title><a href=/y>y</a>".repeat(20);
    let bomb = vec![0; 4 << 20];
    let mut samples = Vec::new();
    for (names, body) in [
        ("gzip", encode("gzip", &page)),
        ("deflate", encode("deflate", &page)),
        ("deflate", encode("raw", &page)),
        ("zstd", encode("zstd", &page)),
        ("zstd", encode("zstd", &bomb)),
        ("gzip", encode("gzip", &bomb)),
        ("deflate, gzip", encode("deflate", &page).and_then(|body| encode("gzip", &body))),
        ("gzip, zstd", encode("gzip", &bomb).and_then(|body| encode("zstd", &body))),
    ] {
        let headers = [("content-type", "text/html"), ("content-encoding", names)];
        samples.extend(body.ok().map(|body| response::join(&headers, &body)));
    }
    samples
}
