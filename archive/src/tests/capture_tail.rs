//! Tests of following an archive: each capture exactly once, in its order, from any place.

use super::responses::{append, open, pages, small_files};
use crate::{ArchivePosition, ArchiveWriter, CaptureTail, TailLine, TailPosition, WarcRecord};
use std::path::Path;

/// Returns the URLs of pages in their order.
fn urls(pages: &[Vec<WarcRecord>]) -> Vec<String> {
    let entries = pages.iter().flatten().filter_map(|record| record.index.as_ref());
    entries.map(|entry| entry.url.clone()).collect()
}

fn url(line: &TailLine) -> String {
    let json: serde_json::Value = serde_json::from_str(&line.to_json(7).unwrap()).unwrap();
    assert_eq!(json["position"], format!("7:{}", line.position));
    json["url"].as_str().unwrap().to_owned()
}

/// Reads everything before `end`, a few lines at a time.
fn rest(tail: &mut CaptureTail, end: &ArchivePosition) -> Vec<TailLine> {
    let mut lines = Vec::new();
    loop {
        let batch = tail.next_batch(end, 3).unwrap();
        assert_eq!(batch.files_missing, 0);
        if batch.lines.is_empty() {
            return lines;
        }
        assert!(batch.lines.len() <= 3);
        lines.extend(batch.lines);
    }
}

fn tail(dir: &Path, position: TailPosition) -> CaptureTail {
    let mut tail = CaptureTail::new(dir, position);
    // An index is read in several passes.
    tail.selected_max = 2;
    tail
}

/// Checks that a tail from each place returns exactly what follows.
fn assert_resumes(dir: &Path, end: &ArchivePosition, all: &[TailLine]) {
    for n in 0..=all.len() {
        let from = n.checked_sub(1).map_or_else(TailPosition::default, |n| all[n].position);
        assert_eq!(rest(&mut tail(dir, from), end), all[n..], "after {n} captures");
    }
}

fn reopen(archive: ArchiveWriter, dir: &Path, at: &ArchivePosition) -> ArchiveWriter {
    drop(archive);
    open(dir, Some(at), &small_files(6_000)).unwrap()
}

#[test]
fn captures_follow_in_order_while_files_grow_are_finished_and_are_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut archive = open(dir, None, &small_files(6_000)).unwrap();
    let mut end = archive.sync().unwrap();
    let (mut follower, mut followed, mut expected) =
        (tail(dir, TailPosition::default()), vec![], vec![]);
    for step in 0..12 {
        let new = pages(step * 5..step * 5 + 5);
        append(&mut archive, &new);
        // What is not committed yet is not there.
        followed.extend(rest(&mut follower, &end));
        assert_eq!(followed.len(), expected.len());
        expected.extend(urls(&new));
        end = archive.sync().unwrap();
        if step % 3 != 0 {
            followed.extend(rest(&mut follower, &end));
        }
        if step % 4 == 3 {
            assert_eq!(archive.close().unwrap(), archive.position());
            end = archive.position();
            assert_resumes(dir, &end, &rest(&mut tail(dir, TailPosition::default()), &end));
            archive = reopen(archive, dir, &end);
            follower = tail(dir, follower.position());
        }
    }
    followed.extend(rest(&mut follower, &end));
    assert!(archive.last_file().unwrap() > 2);
    assert_eq!(followed.iter().map(url).collect::<Vec<_>>(), expected);
    assert_resumes(dir, &end, &followed);
    assert_eq!(TailPosition::end_of(&end).file, archive.last_file().unwrap());
    assert_eq!(rest(&mut tail(dir, TailPosition::end_of(&end)), &end), []);
}

#[test]
fn files_that_are_gone_are_counted_and_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let mut archive = open(dir, None, &small_files(6_000)).unwrap();
    append(&mut archive, &pages(0..40));
    let end = archive.sync().unwrap();
    let all = rest(&mut tail(dir, TailPosition::default()), &end);
    archive.delete_before(2).unwrap();
    let left = all.iter().filter(|line| line.position.file >= 2).cloned().collect::<Vec<_>>();
    // From the start, it begins at the oldest file.
    assert_eq!(rest(&mut tail(dir, TailPosition::default()), &end), left);
    let mut late = tail(dir, all[0].position);
    let batch = late.next_batch(&end, 1_000).unwrap();
    assert_eq!((batch.files_missing, batch.lines[0].position.file), (2, 2));
}

#[test]
fn an_empty_archive_has_no_captures() {
    let dir = tempfile::tempdir().unwrap();
    let end = ArchivePosition::default();
    assert_eq!(rest(&mut tail(dir.path(), TailPosition::default()), &end), []);
    assert_eq!(TailPosition::end_of(&end), TailPosition::default());
}

#[test]
fn json_has_no_control_characters_and_damaged_lines_have_none() {
    let line = |line: &str| TailLine {
        position: TailPosition { file: 3, offset: 9 },
        line: line.to_owned(),
    };
    let json =
        line("com,a)/ 20261128000000 {\"url\": \"http://a.com/\u{9b}2J\"}").to_json(1).unwrap();
    assert_eq!(
        json,
        r#"{"agent": 1, "position": "1:3:9", "timestamp": "20261128000000", "url": "http://a.com/\u009b2J"}"#
    );
    for damaged in ["", "a", "a 2026", "a 2026 {", "a 2026 []", "a \"2026 {}", "a  {}"] {
        assert_eq!(line(damaged).to_json(1), None, "{damaged}");
    }
    assert_eq!("3:9".parse(), Ok(TailPosition { file: 3, offset: 9 }));
    for bad in ["", "3", "3:", ":9", "3:9:1", "-1:2", "3:x"] {
        assert!(bad.parse::<TailPosition>().is_err(), "{bad}");
    }
}
