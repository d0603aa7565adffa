//! Tests of sitemaps that are compressed, and of their bounds.

use super::Case;
use super::decoding::{base64, deflate, gzip, zlib, zstd};
use crate::{DecodeProblem, Media, SITEMAP_BYTES_MAX};
use std::fmt::Write as _;
use std::io::Write as _;

/// `urlset(300)` in brotli, encoded by another encoder (Node.js zlib, quality 11).
const BROTLI: &str = "G9owYCwOzLO5TioGdurmUeTTDdn5ujLAQqvrlzE2uin35tI+bGVz+effm/Pk4sOhDQMJPOl4+InyGOsrm6eU4fX1HR9+p5wvhX2rJ/x+ZRQQFBIWES1GrLgZJDICEBIRk5AmQ1ZcwiIgJCImIU2GrLhERUBIRExCmgxZcYmLgJCImIQ0GbLikhQBIRExCWkyZMUlXQSERMQkpMmQFZdMERASEZOQJkNWXLJFQEhETEKaDFlxyRUBIRExCWkyZD+amjMFA0MjYxPTZsySa1AGhkbGJqbNmCXXsAwMjYxNTJsxS65RGRgaGZuYNmOWXOMyMDQyNjFtxiy5JmVgaGRsYtqMWXJNl4GhkbGJaTNmyTVTBoZGxiamzZgl12wZGBoZm5g2Y5Zcc2VgaGRsYtqMWXF7WGVgaGRsYtqMWXINysDQyNjEtBmz5BqWgaGRsYlpM2bJNSoDQyNjE9NmzJJrXAaGRsYmps2YJdekDAyNjE1MmzFLrukyMDQyNjFtxiy5ZsrA0MjYxLQZs+SaLQNDI2MT02bMkmuuDAyNjE1MmzG73vFpAA==";
/// `urlset(3)` and 3 MiB of spaces in brotli.
const BROTLI_BOMB: &str =
    "m4gAMABE3ZaqITk1j7VyBMPgcNUD7tvok/L0iRbbYGNsXJdDCBr4y3c/8ZdFZ+ifffreBYNwhggtdBkTlxDx3PuXBg==";

/// Returns a sitemap of `n` entries.
fn urlset(n: usize) -> Vec<u8> {
    let mut text = String::from("<urlset>");
    for i in 0..n {
        let _ = write!(text, "<url><loc>http://h.example/{i}</loc></url>");
    }
    text.push_str("</urlset>");
    text.into_bytes()
}

#[test]
fn a_sitemap_may_be_a_gzip_file() {
    let bytes = gzip(&urlset(3));
    for content_type in
        ["application/gzip", "application/x-gzip", "application/octet-stream", "text/xml"]
    {
        let case = || Case::new(&bytes).header("content-type", content_type).sitemap();
        let read = case().read();
        assert_eq!((read.media, read.hrefs.len()), (Media::Sitemap, 3), "{content_type}");
        assert_eq!((read.problem, read.decoded_len), (None, urlset(3).len()));
        // Some servers declare the compression of the file as well, without compressing twice.
        let read = case().header("content-encoding", "gzip").read();
        assert_eq!((read.media, read.hrefs.len()), (Media::Sitemap, 3), "{content_type}");
    }
    let read = Case::new(&bytes).header("content-type", "application/x-gzip").read();
    assert_eq!(
        (read.media, read.hrefs.len()),
        (Media::Other, 0),
        "a gzip file was taken for a sitemap"
    );
    let list = gzip(b"http://h.example/1\nhttp://h.example/2\n");
    let read = Case::new(list).header("content-type", "application/gzip").sitemap().read();
    assert_eq!((read.media, read.hrefs.len()), (Media::TextSitemap, 2));
}

#[test]
fn each_coding_is_undone_while_the_sitemap_is_read() {
    for n in [0, 3, 20_000] {
        let text = urlset(n);
        for (body, coding) in [
            (text.clone(), "identity"),
            (gzip(&text), "gzip"),
            (zlib(&text), "deflate"),
            (deflate(&text), "deflate"),
            (zstd(&text), "zstd"),
            (zstd(&gzip(&text)), "zstd"),
            (gzip(&zlib(&gzip(&text))), "deflate, gzip"),
        ] {
            let read = Case::new(&body).header("content-encoding", coding).sitemap().read();
            assert_eq!((read.hrefs.len(), read.problem), (n, None), "{coding}");
            assert_eq!(read.decoded_len, text.len(), "{coding}");
            assert!(!read.list.unwrap().is_damaged, "{coding}");
        }
    }
}

#[test]
fn members_of_a_gzip_file_are_read_one_after_another() {
    let text = urlset(100);
    let (first, second) = text.split_at(777);
    let mut file = [gzip(first), gzip(b""), gzip(second)].concat();
    let read = Case::new(&file).sitemap().read();
    assert_eq!((read.hrefs.len(), read.problem), (100, None));
    file.extend([0; 20]);
    let padded = Case::new(&file).sitemap().read();
    assert_eq!((padded.hrefs.len(), padded.problem), (100, None), "padding is no damage");
}

#[test]
fn a_broken_file_yields_what_comes_before() {
    let text = urlset(20_000);
    for (body, coding) in [
        (gzip(&text), "gzip"),
        (gzip(&text), "identity"),
        (zlib(&text), "deflate"),
        (zstd(&text), "zstd"),
    ] {
        let cut =
            Case::new(&body[..body.len() / 2]).header("content-encoding", coding).sitemap().read();
        assert_eq!(cut.problem, Some(DecodeProblem::CutOff), "{coding}");
        assert!((1_000..20_000).contains(&cut.hrefs.len()), "{coding}: {}", cut.hrefs.len());
        assert!(cut.list.unwrap().is_damaged);
        let mut bad = body.clone();
        let middle = bad.len() / 2;
        bad[middle..middle + 64].fill(0xff);
        let bad = Case::new(&bad).header("content-encoding", coding).sitemap().read();
        assert!(bad.list.is_some_and(|list| list.is_damaged), "{coding}");
        assert!(bad.hrefs.len() < 20_000, "{coding}");
    }
    // The first block is corrupt. What it would have yielded is not taken from a buffer instead.
    let read = Case::new(b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xff\xff\xff\xff").sitemap().read();
    assert_eq!((read.problem, read.decoded_len), (Some(DecodeProblem::Corrupt), 0));
    assert!(read.list.unwrap().is_damaged);
    let body = base64(BROTLI);
    let read = |body: &[u8]| Case::new(body).header("content-encoding", "br").sitemap().read();
    let (whole, cut) = (read(&body), read(&body[..body.len() / 2]));
    assert_eq!((whole.hrefs.len(), whole.problem), (300, None));
    assert_eq!(cut.problem, Some(DecodeProblem::CutOff));
    assert!((1..300).contains(&cut.hrefs.len()), "{}", cut.hrefs.len());
    let bad = [&body[..body.len() / 2], &[0xff; 100]].concat();
    assert!(read(&bad).problem.is_some());
    let read =
        Case::new([0x1f, 0x8b, 8, 0]).header("content-type", "application/gzip").sitemap().read();
    assert_eq!((read.media, read.hrefs.len()), (Media::Other, 0));
}

/// Far more than `fetch.decoded-size-max`, and no buffer of this length.
#[test]
fn a_long_sitemap_is_read_up_to_its_bound() {
    let entry = format!("<url><loc>http://h.example/</loc><x>{}</x></url>", "y".repeat(2_000));
    let n_fit = SITEMAP_BYTES_MAX / entry.len();
    let mut text = String::from("<urlset>");
    text.push_str(&entry.repeat(n_fit + 10));
    let mut parser =
        crate::Parser::new(&Case::html("").settings.fixed, &Case::html("").settings.live);
    for body in [text.clone().into_bytes(), gzip(text.as_bytes())] {
        let read = Case::new(&body).sitemap().read_with(&mut parser);
        if body[0] == b'<' {
            assert_eq!(
                (read.decoded_len, read.problem),
                (SITEMAP_BYTES_MAX, Some(DecodeProblem::TooLong))
            );
            assert!(
                (n_fit - 1..=n_fit + 1).contains(&read.hrefs.len()),
                "{} of {n_fit}",
                read.hrefs.len()
            );
        }
        let list = read.list.unwrap();
        assert!(list.is_too_large && !list.is_damaged);
        let buffers = parser.decoder.front.capacity() + parser.decoder.back.capacity();
        assert_eq!(buffers, 0, "a sitemap was decoded into a buffer");
    }
    let exact = format!("{}</urlset>", &text[..SITEMAP_BYTES_MAX - 9]);
    let read = Case::new(&exact).sitemap().read();
    assert_eq!((read.decoded_len, read.problem), (SITEMAP_BYTES_MAX, None));
}

/// A small file that expands 1,000-fold.
#[test]
fn a_file_that_expands_too_much_is_not_read_to_its_end() {
    let text = [urlset(3), b"<x/>".repeat(10 << 20)].concat();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&text).unwrap();
    let bomb = encoder.finish().unwrap();
    for (body, coding) in [
        (bomb.clone(), "identity"),
        (bomb.clone(), "gzip"),
        (gzip(&bomb), "gzip, gzip"),
        (gzip(&bomb), "gzip"),
        (zstd(&text), "zstd"),
        (base64(BROTLI_BOMB), "br"),
    ] {
        let read = Case::new(&body).header("content-encoding", coding).sitemap().read();
        assert_eq!((read.hrefs.len(), read.problem), (3, Some(DecodeProblem::Ratio)), "{coding}");
        let len_max = (body.len() * 200).max(1 << 20);
        assert_eq!(read.decoded_len, len_max, "{coding}");
        assert!(read.list.unwrap().is_too_large, "{coding}");
    }
}

#[test]
fn a_page_in_place_of_a_sitemap_is_decoded_as_a_page() {
    let read = Case::html(gzip(b"<!doctype html><a href=x>"))
        .header("content-encoding", "gzip")
        .sitemap()
        .read();
    assert_eq!((read.media, read.hrefs), (Media::Html, vec!["x".to_owned()]));
    let unknown = Case::new(urlset(1)).header("content-encoding", "x-unknown").sitemap().read();
    assert!(unknown.hrefs.is_empty() && unknown.problem.is_some());
}
