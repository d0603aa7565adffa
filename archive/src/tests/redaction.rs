//! Captures that are taken out of an archive: nothing of them remains, and all other records stay in place.

use super::read_all::read_all;
use super::reader::{check_archive, files};
use super::responses::{NOON, append, open, response, settings};
use crate::format::redacted::RedactedRecordBuilder;
use crate::{
    FileRedaction, OriginalCapture, RecordHead, RedactionCause, RevisitReason, WarcRecord,
};
use crivello_common::config::{ArchiveCompression, DigestKind, Store};
use proptest::prelude::*;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const SECRET: &str = "http://secret.example/";
const COMPRESSIONS: [ArchiveCompression; 2] = [ArchiveCompression::Gzip, ArchiveCompression::Zstd];

fn redacted(compression: ArchiveCompression, digest: DigestKind, length: u64) -> Option<Vec<u8>> {
    let record = RedactedRecordBuilder::new(compression, digest, NOON).build(length)?;
    let mut bytes = Vec::new();
    record.write_to(&mut bytes).unwrap();
    Some(bytes)
}

/// Returns the text as the library of the format decodes it.
fn decoded(compression: ArchiveCompression, bytes: &[u8]) -> Vec<u8> {
    match compression {
        ArchiveCompression::Zstd => zstd::decode_all(bytes).unwrap(),
        ArchiveCompression::Gzip => {
            let mut text = Vec::new();
            let mut decoder = flate2::read::GzDecoder::new(bytes);
            std::io::Read::read_to_end(&mut decoder, &mut text).unwrap();
            text
        }
    }
}

fn check_redacted(compression: ArchiveCompression, digest: DigestKind, length: u64) {
    let bytes = redacted(compression, digest, length).unwrap();
    assert_eq!(bytes.len() as u64, length, "{compression:?}");
    let text = decoded(compression, &bytes);
    assert!(text.starts_with(b"WARC/1.1\r\nWARC-Type: metadata\r\n") && text.len() < 400);
    let (records, damages) = read_all(&bytes);
    assert!(damages.is_empty(), "{length}: {damages:?}");
    assert_eq!((records.len(), records[0].length), (1, Some(length)));
    assert_eq!(records[0].block, b"redacted: 2026-11-20T12:00:00.123456Z\r\n");
}

proptest! {
    #[test]
    fn a_redacted_record_has_any_length(length in 360_u64..200_000, zstd: bool, sha256: bool) {
        let digest = if sha256 { DigestKind::Sha256 } else { DigestKind::Sha1 };
        check_redacted(COMPRESSIONS[usize::from(zstd)], digest, length);
    }
}

#[test]
fn a_redacted_record_is_shorter_than_any_record_of_ours() {
    for compression in COMPRESSIONS {
        for digest in [DigestKind::Sha1, DigestKind::Sha256] {
            let store = Store { compression, digest, gzip_level: 9, zstd_level: 19, ..settings() };
            let mut page = response("http://a.b/", &[], b"");
            page.request_head = b"GET / HTTP/1.1\r\n\r\n".to_vec();
            let records = page.records(&store, None, &["http://a.b/"]);
            let shortest = records.iter().map(|record| record.bytes.len() as u64).min().unwrap();
            for length in shortest..shortest + 12 {
                check_redacted(compression, digest, length);
            }
            assert!(redacted(compression, digest, 100).is_none());
        }
    }
}

#[test]
fn gzip_and_zstd_programs_read_redacted_records() {
    for (compression, program) in COMPRESSIONS.into_iter().zip(["gzip", "zstd"]) {
        let bytes: Vec<u8> = [350, 361, 402, 5_003, 70_004, 3_000_000]
            .into_iter()
            .flat_map(|length| redacted(compression, DigestKind::Sha1, length).unwrap())
            .collect();
        let mut command = Command::new(program);
        command.arg("-dc").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => {
                eprintln!("not checked: {program}: {error}");
                continue;
            }
        };
        let mut input = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || input.write_all(&bytes).unwrap());
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(output.status.success(), "{program}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.matches("WARC/1.1\r\n").count(), 6, "{program}");
    }
}

fn pages(store: &Store) -> Vec<Vec<WarcRecord>> {
    let html: (&str, &[u8]) = ("content-type", b"text/html");
    let page = |url: &str, body: &str| response(url, &[html], body.as_bytes());
    let original = OriginalCapture { url: SECRET, at: NOON, reason: RevisitReason::SamePayload };
    vec![
        page("http://a.example/", "first").records(store, None, &["http://a.example/2"]),
        page(SECRET, "a secret").records(store, None, &["http://secret.example/2"]),
        page("http://b.example/", "a secret").records(
            store,
            Some(&original),
            &["http://c.example/"],
        ),
        page("http://d.example/", "last").records(store, None, &["http://e.example/"]),
    ]
}

fn archive(dir: &Path, store: &Store) -> PathBuf {
    let mut archive = open(dir, None, store).unwrap();
    append(&mut archive, &pages(store));
    archive.close().unwrap();
    files(dir, "").into_iter().find(|path| path.to_string_lossy().contains(".warc.")).unwrap()
}

fn cause(head: &RecordHead) -> Option<RedactionCause> {
    let is_secret = |name| head.uri(name) == Some(SECRET);
    if is_secret("WARC-Target-URI") {
        return Some(RedactionCause::Url);
    }
    is_secret("WARC-Refers-To-Target-URI").then_some(RedactionCause::Reference)
}

fn text_of(path: &Path) -> String {
    let (records, damages) = read_all(&fs::read(path).unwrap());
    assert!(damages.is_empty(), "{damages:?}");
    let texts = records
        .iter()
        .map(|found| format!("{:?} {}", found.head.fields, String::from_utf8_lossy(&found.block)));
    texts.collect()
}

#[test]
fn captures_and_their_revisits_are_taken_out_and_all_else_stays_in_place() {
    for compression in COMPRESSIONS {
        let dir = tempfile::tempdir().unwrap();
        let store = Store { compression, outlinks: true, ..settings() };
        let path = archive(dir.path(), &store);
        let (before, _) = read_all(&fs::read(&path).unwrap());
        let found = FileRedaction::find(&path, cause).unwrap();
        let causes: Vec<_> =
            found.captures.iter().map(|capture| (capture.url.as_str(), capture.cause)).collect();
        let expected =
            [(SECRET, RedactionCause::Url), ("http://b.example/", RedactionCause::Reference)];
        assert_eq!(causes, expected);
        assert_eq!(found.n_records(), 6, "response, request and metadata of both");
        found.apply(&path, store.digest, NOON).unwrap();
        let (after, damages) = read_all(&fs::read(&path).unwrap());
        assert!(damages.is_empty());
        let place = |found: &super::read_all::Found| (found.offset, found.length);
        assert!(before.iter().map(place).eq(after.iter().map(place)));
        let is_kept = |url: &str| ["http://a.example/", "http://d.example/"].contains(&url);
        for (before, after) in before.iter().zip(&after) {
            match before.head.uri("WARC-Target-URI") {
                Some(url) if !is_kept(url) => {
                    assert_eq!(after.head.uri("WARC-Target-URI"), None);
                }
                _ => assert_eq!((&before.head, &before.block), (&after.head, &after.block)),
            }
        }
        let text = text_of(&path);
        assert!(!text.contains("secret") && !text.contains("c.example"), "{text}");
        let index = files(dir.path(), ".cdxj").remove(0);
        let index = fs::read_to_string(index).unwrap();
        assert_eq!((index.lines().count(), index.contains("b.example")), (2, false));
        if compression == ArchiveCompression::Gzip {
            assert_eq!(check_archive(dir.path()).len(), 2);
        }
        let again = FileRedaction::find(&path, cause).unwrap();
        assert!(again.is_empty() && again.captures.is_empty());
    }
}

#[test]
fn a_kill_after_the_index_was_replaced_leaves_captures_that_are_found_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = archive(dir.path(), &settings());
    let old = fs::read(&path).unwrap();
    let found = FileRedaction::find(&path, cause).unwrap();
    found.apply(&path, DigestKind::Sha1, NOON).unwrap();
    fs::write(&path, old).unwrap();
    let again = FileRedaction::find(&path, cause).unwrap();
    assert_eq!(again.captures, found.captures);
    again.apply(&path, DigestKind::Sha1, NOON).unwrap();
    assert_eq!(check_archive(dir.path()).len(), 2);
}
