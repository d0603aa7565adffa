//! Tests of malformed heads, and of heads that would mislead a replay.

use super::responses::{Response, response};
use crate::format::http_head::{protocol, push_response_head};
use http::{HeaderValue, Version};

const URL: &str = "http://example.com/";

type Fields<'a> = &'a [(&'a str, &'a [u8])];

fn head(response: &Response) -> String {
    let mut out = Vec::new();
    push_response_head(&mut out, &response.capture());
    String::from_utf8(out).unwrap()
}

#[test]
fn fields_about_the_transfer_are_renamed_and_corrected() {
    let cases: &[(Fields<'_>, &str)] = &[
        (&[], ""),
        (&[("content-length", b"5")], "content-length: 5\r\n"),
        (&[("content-length", b"9")], "X-Crawler-Content-Length: 9\r\nContent-Length: 5\r\n"),
        (
            &[("content-length", b"5"), ("content-length", b"5")],
            "content-length: 5\r\nX-Crawler-Content-Length: 5\r\n",
        ),
        (
            &[("content-length", b"many"), ("x", b"y")],
            "X-Crawler-Content-Length: many\r\nx: y\r\nContent-Length: 5\r\n",
        ),
        (
            &[("transfer-encoding", b"chunked"), ("content-encoding", b"gzip")],
            "X-Crawler-Transfer-Encoding: chunked\r\ncontent-encoding: gzip\r\nContent-Length: 5\r\n",
        ),
        (
            &[("transfer-encoding", b"chunked"), ("content-length", b"5")],
            "X-Crawler-Transfer-Encoding: chunked\r\ncontent-length: 5\r\n",
        ),
    ];
    for (headers, expected) in cases {
        let head = head(&response(URL, headers, b"hello"));
        assert_eq!(head, format!("HTTP/1.1 200 OK\r\n{expected}\r\n"));
    }
}

#[test]
fn a_not_modified_keeps_the_length_that_it_states() {
    let mut response = response(URL, &[("content-length", b"900")], b"");
    response.status = 304;
    assert_eq!(head(&response), "HTTP/1.1 304 Not Modified\r\ncontent-length: 900\r\n\r\n");
}

#[test]
fn status_lines_are_http_1_whatever_the_version() {
    let cases = [
        (200, Version::HTTP_2, "HTTP/1.1 200 OK", "h2"),
        (404, Version::HTTP_10, "HTTP/1.0 404 Not Found", "http/1.0"),
        (299, Version::HTTP_11, "HTTP/1.1 299 ", "http/1.1"),
        (999, Version::HTTP_11, "HTTP/1.1 999 ", "http/1.1"),
    ];
    for (status, version, line, spoken) in cases {
        let mut response = response(URL, &[], b"");
        (response.status, response.version) = (status, version);
        assert_eq!(head(&response), format!("{line}\r\n\r\n"));
        assert_eq!(protocol(version), spoken);
    }
}

#[test]
fn a_value_with_line_breaks_stays_one_field() {
    let mut response = response(URL, &[], b"");
    // A lenient HTTP parser might accept these.
    let folded = HeaderValue::from_bytes(b"a\x09b\x80").unwrap();
    response.headers.append("x-odd", folded);
    let mut out = Vec::new();
    push_response_head(&mut out, &response.capture());
    assert_eq!(out, b"HTTP/1.1 200 OK\r\nx-odd: a\tb\x80\r\n\r\n");
    let mut field = Vec::new();
    crate::format::fields::push_field(&mut field, "x", b"1\r\nwarc-type: forged\r\n\r\n\0");
    assert_eq!(field, b"x: 1  warc-type: forged     \r\n");
}

#[test]
fn a_uri_with_white_space_stays_one_word() {
    let mut field = Vec::new();
    crate::format::fields::push_uri(&mut field, "u", "http://a/\r\nx: y \u{e9}");
    assert_eq!(field, b"u: http://a/%0D%0Ax:%20y%20%C3%A9\r\n");
}
