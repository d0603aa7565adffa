//! Tests of content-encodings: undone, bounded, and named if they are not undone.

use super::Case;
use crate::{DecodeProblem, Media};
use crivello_common::units::ByteSize;
use flate2::Compression;
use std::io::Write;

const PAGE: &str = "<!doctype html><title>t</title><a href=x>x</a><a href=y>y</a>";

/// `PAGE` in brotli, encoded by another encoder (Node.js zlib, quality 5).
const BROTLI: &str = "GzwAAAQccoiBtJMHHhRswIFTwoEPGA0bY+C40piNKiG+roNlYevY5VXYcysA";
/// `PAGE` in brotli with a window of 1 GiB, which is not an HTTP content-encoding.
const BROTLI_LARGE_WINDOW: &str =
    "EV7wAAAQcMghBtJOHnhQsAEHTgkHPmA0bIyB40pjNqqE+LoOloWtY5dXYc+tAA==";
/// `PAGE` and 64 MiB of spaces.
const BROTLI_BOMB: &str = "y///PwAENuBIJ0ppKNiAEx/ME548WtwGD9n2dcWEKGCGeL4OpoVtxcurkOh8938T////AJAAiMMC0L3/4///HwASAHFYALr3f/z//wNAAiAOC0D3/o///38ASADEYQHo3v/x//8PAAmAOCwA3fs//v//ASABEIcFoHv/x///PwAkAOKwAHTv/4IHAIAEQBwRwAE=";

pub(super) fn base64(text: &str) -> Vec<u8> {
    data_encoding::BASE64.decode(text.as_bytes()).unwrap()
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::GzBuilder::new()
        .filename("name")
        .comment("comment")
        .extra(vec![1, 2, 3])
        .write(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(super) fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

fn encoded(body: impl AsRef<[u8]>, coding: &str) -> Case {
    Case::html(body).header("content-encoding", coding)
}

#[test]
fn every_encoding_is_undone() {
    let page = PAGE.as_bytes();
    let cases = [
        (page.to_vec(), "identity"),
        (page.to_vec(), ""),
        (gzip(page), "gzip"),
        (gzip(page), "X-GZip"),
        (zlib(page), "deflate"),
        (deflate(page), "deflate"),
        (base64(BROTLI), "br"),
        (zstd(page), "zstd"),
        ([gzip(&page[..20]), gzip(&page[20..])].concat(), "gzip"),
        ([zstd(&page[..20]), zstd(&page[20..])].concat(), "zstd"),
        (zstd(&gzip(page)), "gzip, zstd"),
        (gzip(&zlib(&zstd(page))), "zstd,deflate , gzip"),
        ([gzip(page), b"trailing".to_vec()].concat(), "gzip"),
    ];
    let mut parser =
        crate::Parser::new(&Case::html("").settings.fixed, &Case::html("").settings.live);
    for (body, coding) in cases {
        let read = encoded(body, coding).read_with(&mut parser);
        assert_eq!(read.problem, None, "{coding}");
        assert_eq!((read.hrefs.len(), read.decoded_len), (2, PAGE.len()), "{coding}");
    }
}

#[test]
fn what_cannot_be_undone_is_named() {
    let read = encoded("x", "gzip, compress").read();
    assert_eq!(read.problem, Some(DecodeProblem::UnknownCoding("compress".into())));
    assert_eq!((read.media, read.hrefs.len()), (Media::Other, 0));
    let read = encoded("x", "gzip,gzip,gzip,gzip").read();
    assert_eq!(read.problem, Some(DecodeProblem::TooManyCodings));
    let read = encoded(PAGE, "gzip").read();
    assert_eq!((read.problem, read.hrefs.len()), (Some(DecodeProblem::NotEncoded), 2));
}

#[test]
fn what_is_broken_yields_what_comes_before() {
    let mut page = String::from(PAGE);
    let mut seed = 1_u32;
    for _ in 0..20_000 {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        page.push(char::from(b'a' + (seed >> 24) as u8 % 26));
    }
    let page = page.as_bytes();
    for (body, coding) in
        [(gzip(page), "gzip"), (zlib(page), "deflate"), (deflate(page), "deflate")]
    {
        let read = encoded(&body[..body.len() * 3 / 4], coding).read();
        assert_eq!((read.problem, read.hrefs.len()), (Some(DecodeProblem::CutOff), 2), "{coding}");
    }
    let read = encoded(base64(BROTLI_LARGE_WINDOW), "br").read();
    assert_eq!((read.problem, read.decoded_len), (Some(DecodeProblem::Corrupt), 0));
    let body = zstd(page);
    assert_eq!(
        encoded(&body[..body.len() - 1], "zstd").read().problem,
        Some(DecodeProblem::CutOff)
    );
    let body = base64(BROTLI);
    let read = encoded(&body[..body.len() - 2], "br").read();
    assert_eq!(read.problem, Some(DecodeProblem::CutOff));
    let mut body = gzip(PAGE.as_bytes());
    body.extend(gzip(b"").iter().take(5));
    assert_eq!(encoded(body, "gzip").read().problem, Some(DecodeProblem::CutOff));
    for coding in ["deflate", "br"] {
        let read = encoded(b"\x9f neither of the two", coding).read();
        assert!(read.problem.is_some() && read.hrefs.is_empty(), "{coding} {:?}", read.problem);
    }
}

#[test]
fn a_bomb_stops_at_the_cap() {
    let cap = 1 << 20;
    let filler = vec![b' '; 64 << 20];
    let page = [PAGE.as_bytes(), &filler].concat();
    for (body, coding) in [
        (gzip(&page), "gzip"),
        (zlib(&page), "deflate"),
        (zstd(&page), "zstd"),
        (base64(BROTLI_BOMB), "br"),
        (gzip(&gzip(&page)), "gzip, gzip"),
    ] {
        let mut case = encoded(body, coding);
        case.settings.fixed.fetch.decoded_size_max = ByteSize(cap as u64);
        let mut parser = crate::Parser::new(&case.settings.fixed, &case.settings.live);
        let read = case.read_with(&mut parser);
        assert_eq!((read.problem, read.hrefs.len()), (Some(DecodeProblem::TooLong), 2), "{coding}");
        assert_eq!(read.decoded_len, cap, "{coding}");
        let allocated = parser.decoder.front.capacity() + parser.decoder.back.capacity();
        assert!(allocated <= 3 * cap, "{coding}");
    }
}

#[test]
fn a_body_of_just_the_cap_is_whole() {
    for body in [gzip(PAGE.as_bytes()), zstd(PAGE.as_bytes())] {
        let coding = if body[0] == 0x1f { "gzip" } else { "zstd" };
        let exact = |len: usize| {
            let size = ByteSize(len as u64);
            encoded(&body, coding).settings(|s| s.fixed.fetch.decoded_size_max = size).read()
        };
        assert_eq!(exact(PAGE.len()).problem, None);
        let short = exact(PAGE.len() - 1);
        assert_eq!(short.problem, Some(DecodeProblem::TooLong));
        assert_eq!(short.decoded_len, PAGE.len() - 1);
    }
}
