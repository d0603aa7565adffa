//! Tests of the index of each file: sorted when the file is finished, and complete after every
//! reopening.

use super::reader::{check_archive, files};
use super::responses::{NOON, append, open, pages, response, settings, small_files};
use crate::index::sort::sort_lines;
use std::fs;

#[test]
fn files_are_rotated_and_records_never_span_them() {
    let dir = tempfile::tempdir().unwrap();
    let settings = small_files(6_000);
    let mut archive = open(dir.path(), None, &settings).unwrap();
    let locations = append(&mut archive, &pages(0..100));
    archive.close().unwrap();
    let warcs = files(dir.path(), ".warc.gz");
    assert!(warcs.len() > 5, "{}", warcs.len());
    assert!(warcs.iter().all(|warc| fs::metadata(warc).unwrap().len() <= 6_000));
    assert_eq!(check_archive(dir.path()).len(), 100);
    assert!(warcs[3].to_str().unwrap().ends_with("crivello-0badcafe-20261120120000-00003.warc.gz"));
    for location in locations {
        let bytes = fs::read(&warcs[location.file as usize]).unwrap();
        assert_eq!(bytes[location.offset as usize..][..2], [0x1f, 0x8b]);
    }
}

#[test]
fn a_closed_archive_continues_in_its_last_file() {
    let dir = tempfile::tempdir().unwrap();
    let all = pages(0..90);
    let mut position = None;
    for chunk in all.chunks(30) {
        let mut archive = open(dir.path(), position.as_ref(), &settings()).unwrap();
        append(&mut archive, chunk);
        position = Some(archive.close().unwrap());
        check_archive(dir.path());
    }
    assert_eq!(check_archive(dir.path()).len(), 90);
    assert_eq!(files(dir.path(), ".warc.gz").len(), 1);
}

#[test]
fn pages_without_records_have_no_place_and_begin_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), None, &settings()).unwrap();
    let mut locations = Vec::new();
    archive.append([&[][..], &[][..]], NOON, &mut locations).unwrap();
    assert_eq!(locations, [None, None]);
    assert_eq!(archive.position(), Default::default());
    assert!(files(dir.path(), "").is_empty());
}

#[test]
fn sorting_in_runs_gives_what_sorting_at_once_gives() {
    let dir = tempfile::tempdir().unwrap();
    let (from, to) = (dir.path().join("from"), dir.path().join("to"));
    for count in [0_u64, 1, 2, 500] {
        let mut lines: Vec<String> = (0..count)
            .map(|n| format!("{:x} {n}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
            .collect();
        fs::write(&from, lines.concat()).unwrap();
        lines.sort();
        for run_bytes in [1, 100, 1 << 20] {
            sort_lines(&from, &to, run_bytes).unwrap();
            assert_eq!(fs::read_to_string(&to).unwrap(), lines.concat());
            assert_eq!(files(dir.path(), "").len(), 2, "scratch files were left");
        }
    }
}

#[test]
fn a_hostile_media_type_stays_a_string() {
    let dir = tempfile::tempdir().unwrap();
    let page = |value: &[u8]| {
        let response = response("http://example.com/", &[("content-type", value)], b"");
        response.records(&settings(), None, &[])
    };
    let hostile: [&[u8]; 4] = [b"a\"b\\c", b"\", \"offset\": \"0", b"\xff\xfe", b"{\"url\":1}"];
    let pages: Vec<_> = hostile.iter().map(|value| page(value)).collect();
    let mut archive = open(dir.path(), None, &settings()).unwrap();
    append(&mut archive, &pages);
    let at = archive.close().unwrap();
    assert_eq!(check_archive(dir.path()).len(), 4);
    open(dir.path(), Some(&at), &settings()).unwrap().close().unwrap();
    assert_eq!(check_archive(dir.path()).len(), 4);
}
