//! Exports of hostile pages: from a record of an archive to JSON Lines, also with an article.
//!
//! Input: header lines, an empty line, and the body.

use super::response;
use crate::target::{FuzzTarget, MemoryBound};
use crivello_export::{ExportFormat, ExportJob, ExportProgress, OutputCompression};
use serde_json::Value;
use std::fmt::Write as _;
use std::path::PathBuf;

/// The target `export`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "export",
    run,
    samples,
    tokens: &[
        b"<div>",
        b"<b><p>",
        b"</b>",
        b"<table><tr><td>",
        b"<ul><li>",
        b"<a href='/x'>",
        b"<svg><math>",
        b"<template>",
        b"<select><option>",
        b"<article class=content>",
        b"<p>A sentence, with commas, that is long enough to count as text of an article.</p>",
        b"<script type='application/ld+json'>{\"@type\":[",
        b"<meta property='og:title' content='x'>",
        b"<base href='http://[::1'>",
        b"<!--",
        b"<![CDATA[",
        b"\x0c",
        b"transfer-encoding: chunked\n",
        b"content-encoding: gzip\n",
        b"content-type: text/html; charset=utf-16\n",
    ],
    len_max: 16_384,
    // Windows of decoders, buffers of the archive's reader and of the output; then the tree of a page, and
    // its copies in the attempts to find an article.
    peak: MemoryBound { base: 128 << 20, per_byte: 16_384 },
    total: MemoryBound { base: 256 << 20, per_byte: 262_144 },
};

fn run(input: &[u8]) {
    let (headers, body) = response::split(input);
    let mut head = String::from("HTTP/1.1 200 OK\r\n");
    for (name, value) in &headers {
        let _ = write!(head, "{name}: {}\r\n", String::from_utf8_lossy(value.as_bytes()));
    }
    head.push_str("\r\n");
    let length = head.len() + body.len();
    let record = format!(
        "WARC/1.0\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\n\
         WARC-Target-URI: http://h.test/\r\nWARC-Date: 2026-11-28T00:00:00Z\r\n\
         Content-Type: application/http\r\nContent-Length: {length}\r\n\r\n{head}"
    );
    let dir = tempfile::tempdir().expect("a directory");
    let files: [PathBuf; 1] = [dir.path().join("x.warc")];
    let bytes = [record.as_bytes(), body, b"\r\n\r\n"].concat();
    std::fs::write(&files[0], bytes).expect("written");
    for format in [ExportFormat::Jsonl, ExportFormat::Markdown] {
        let out = dir.path().join(format.name());
        let job = ExportJob {
            files: &files,
            dir: &out,
            format,
            compression: OutputCompression::None,
            selection: None,
            threads: 1,
        };
        let progress = ExportProgress::default();
        let report = job.run(&progress, &|| false, &|_, damage| panic!("{damage}"));
        let counts = report.expect("files can be written").counts;
        assert_eq!(counts.captures, 1);
        let reasons = ["failed", "time-budget", "threads-busy"];
        for reason in reasons {
            assert!(!counts.no_article.contains_key(reason), "{reason}");
        }
        if format == ExportFormat::Jsonl {
            let text = std::fs::read_to_string(out.join("x.jsonl")).expect("UTF-8");
            assert_eq!((counts.written, text.lines().count()), (1, 1));
            let line: Value = serde_json::from_str(&text).expect("JSON");
            assert!(!has_controls(&line), "control characters");
        }
    }
}

/// Returns true if a text or name has control characters other than tabs and line feeds.
fn has_controls(value: &Value) -> bool {
    let is_bad = |text: &str| text.contains(|c: char| c.is_control() && c != '\n' && c != '\t');
    match value {
        Value::String(text) => is_bad(text),
        Value::Array(values) => values.iter().any(has_controls),
        Value::Object(members) => members.iter().any(|(name, v)| is_bad(name) || has_controls(v)),
        _ => false,
    }
}

fn samples() -> Vec<Vec<u8>> {
    let html = [("content-type", "text/html")];
    let sentence =
        "<p>A sentence, with commas, that is long enough to count as text, for once.</p>";
    let article =
        format!("<html lang=en><title>T</title><article>{}</article>", sentence.repeat(20));
    let deep = |tag: &str, n: usize| tag.repeat(n) + sentence;
    vec![
        response::join(&html, article.as_bytes()),
        response::join(&html, deep("<div>", 3_000).as_bytes()),
        response::join(&html, deep("<div>", 250).as_bytes()),
        response::join(&html, deep("<b><p>", 250).as_bytes()),
        response::join(&html, deep("<table><td>", 250).as_bytes()),
        response::join(&html, deep("<x><table></x>", 250).as_bytes()),
        response::join(&[("transfer-encoding", "chunked")], b"6\r\n<html>\r\n0\r\n\r\n"),
    ]
}
