//! Checks of records and indexes find every difference, and none in files of the writer.

use super::read_all::gzip;
use super::reader::files;
use super::responses::{NOON, append, open, pages, response, settings};
use crate::{
    DigestCheck, IndexDifference, IndexLines, OriginalCapture, RevisitReason, WarcReader,
    check_record,
};
use crivello_common::config::DigestKind;
use std::fs;

#[test]
fn records_of_the_writer_match_their_digests() {
    for kind in [DigestKind::Sha1, DigestKind::Sha256] {
        let mut settings = settings();
        (settings.digest, settings.outlinks) = (kind, true);
        let page = response("http://example.com/a", &[("content-type", b"text/html")], b"<p>a");
        let reason = RevisitReason::SamePayload;
        let original = OriginalCapture { url: "http://example.com/", at: NOON, reason };
        let mut records = page.records(&settings, None, &["http://example.com/b"]);
        records.extend(page.records(&settings, Some(&original), &[]));
        let file: Vec<u8> = records.iter().flat_map(|record| record.bytes.clone()).collect();
        let mut reader = WarcReader::new(&file[..]);
        let mut kinds = Vec::new();
        while let Some(record) = reader.next_record() {
            let mut record = record.unwrap();
            let check = check_record(&mut record).unwrap();
            assert_eq!(check.block, DigestCheck::Matches);
            let kind = record.head.kind().to_owned();
            match kind.as_str() {
                "response" => assert_eq!(check.payload, DigestCheck::Matches),
                "revisit" => assert!(matches!(check.payload, DigestCheck::NotChecked { .. })),
                _ => assert_eq!(check.payload, DigestCheck::Absent),
            }
            if matches!(kind.as_str(), "response" | "revisit") {
                assert_eq!(check.http.unwrap().status, Some(200));
            }
            kinds.push(kind);
        }
        assert_eq!(kinds, ["response", "request", "metadata", "revisit", "request"]);
    }
}

#[test]
fn a_changed_payload_is_found() {
    let file: Vec<u8> = pages(9..10)[0][0].bytes.clone();
    let mut text = Vec::new();
    std::io::Read::read_to_end(&mut flate2::bufread::GzDecoder::new(&file[..]), &mut text).unwrap();
    let at = text.len() - 10;
    text[at] ^= 1;
    let changed = gzip(&text);
    let mut reader = WarcReader::new(&changed[..]);
    let check = check_record(&mut reader.next_record().unwrap().unwrap()).unwrap();
    assert!(matches!(check.block, DigestCheck::Differs { .. }), "{check:?}");
    assert!(matches!(check.payload, DigestCheck::Differs { .. }), "{check:?}");
}

#[test]
fn differences_of_an_index_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), None, &settings()).unwrap();
    append(&mut archive, &pages(0..20));
    archive.close().unwrap();
    let warc = files(dir.path(), ".warc.gz").remove(0);
    let name = warc.file_name().unwrap().to_str().unwrap();
    let index = fs::read_to_string(files(dir.path(), ".cdxj").remove(0)).unwrap();
    let differences = |index: &str| {
        let mut lines = IndexLines::read(index.as_bytes(), name).unwrap();
        let mut reader = WarcReader::open(&warc).unwrap();
        while let Some(record) = reader.next_record() {
            let mut record = record.unwrap();
            let http = check_record(&mut record).unwrap().http;
            let length = record.finish().unwrap();
            let status = http.and_then(|http| http.status);
            lines.compare(&record.head, record.offset(), length, status);
        }
        lines.differences()
    };
    assert_eq!(differences(&index), []);
    let lines: Vec<&str> = index.lines().collect();
    let others = lines[1..].join("\n");
    let with = |line: &str| differences(&format!("{line}\n{others}"));
    let line = lines[0];
    let member = |name: &str| {
        let value = line.split(&format!("\"{name}\": \"")).nth(1).unwrap();
        value.split('"').next().unwrap()
    };
    let changed = |name: &str, to: &str| {
        let of = |value: &str| format!("\"{name}\": \"{value}\"");
        let members = with(&line.replace(&of(member(name)), &of(to)));
        let names = members.iter().map(|difference| match difference {
            IndexDifference::Member { name, line, record, .. } => {
                assert_ne!(line, record);
                *name
            }
            other => panic!("{other:?}"),
        });
        names.collect::<Vec<_>>()
    };
    assert_eq!(changed("url", "http://other.example.com/"), ["url"]);
    assert_eq!(changed("status", "404"), ["status"]);
    assert_eq!(changed("length", "99999"), ["length"]);
    assert_eq!(changed("digest", "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"), ["digest"]);
    assert_eq!(with(&line.replacen("20261120120000", "20261120120001", 1)).len(), 1);
    let offset: u64 = member("offset").parse().unwrap();
    assert_eq!(with(""), [IndexDifference::NoLine { offset }]);
    assert_eq!(
        with("com,example)/ 2026 {"),
        [IndexDifference::Line { number: 1 }, IndexDifference::NoLine { offset }]
    );
    assert_eq!(with(&format!("{line}\n{line}")), [IndexDifference::Line { number: 2 }]);
    let elsewhere = line.replace(&format!("\"offset\": \"{offset}\""), "\"offset\": 1");
    assert_eq!(
        with(&elsewhere),
        [IndexDifference::NoLine { offset }, IndexDifference::NoRecord { offset: 1 }]
    );
    assert_eq!(with(&line.replace(name, "other.warc.gz")), [IndexDifference::NoLine { offset }]);
    // As pywb writes it: no algorithm.
    assert_eq!(with(&line.replace("sha1:", "")), []);
}
