//! Tests of kills at any moment: the archive is recovered to the position of the last commit.

use super::reader::{check_archive, files};
use super::responses::{append, open, pages, settings, small_files};
use crate::{ArchiveError, ArchivePosition};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

fn copy_dir(from: &Path, to: &Path) {
    for file in files(from, "") {
        fs::copy(&file, to.join(file.file_name().unwrap())).unwrap();
    }
}

/// Truncates a file to a length between the committed length and the current one.
fn tear(path: &Path, at_least: u64, share: f64) {
    let full = fs::metadata(path).unwrap().len();
    let kept = at_least + ((full - at_least) as f64 * share) as u64;
    fs::OpenOptions::new().write(true).open(path).unwrap().set_len(kept).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Committed pages exist once and others do not, regardless of partial writes.
    #[test]
    fn a_kill_loses_nothing_that_was_committed(
        committed in 0_u32..40,
        open_group in 0_u32..40,
        rotate in prop_oneof![Just(6_000_u64), Just(1 << 30)],
        warc_share in 0.0..=1.0_f64,
        index_share in 0.0..=1.0_f64,
        finished_just_before in any::<bool>(),
    ) {
        let (live, dead) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let settings = small_files(rotate);
        let all = pages(0..committed + open_group + 10);
        let mut archive = open(live.path(), None, &settings).unwrap();
        append(&mut archive, &all[..committed as usize]);
        let position = ArchivePosition::from_bytes(&archive.position().to_bytes()).unwrap();
        append(&mut archive, &all[committed as usize..(committed + open_group) as usize]);
        if finished_just_before {
            archive.close().unwrap();
        }
        copy_dir(live.path(), dead.path());
        for (suffix, recorded, share) in [
            (".warc.gz", position.warc_len, warc_share),
            (".part", position.index_len, index_share),
        ] {
            if let Some(last) = files(dead.path(), suffix).last() {
                let stem = last.file_name().unwrap().to_str().unwrap().split('.').next().unwrap();
                let own = position.file.starts_with(stem);
                tear(last, if own { recorded } else { 0 }, share);
            }
        }
        let mut archive = open(dead.path(), Some(&position), &settings).unwrap();
        prop_assert_eq!(archive.position(), position);
        append(&mut archive, &all[(committed + open_group) as usize..]);
        archive.close().unwrap();
        let expected: Vec<u32> =
            (0..committed).chain(committed + open_group..committed + open_group + 10).collect();
        let found: Vec<u32> = check_archive(dead.path())
            .iter()
            .map(|uri| uri.rsplit('/').next().unwrap().parse().unwrap())
            .collect();
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_kill_while_a_file_is_finished_leaves_one_index() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), None, &settings()).unwrap();
    append(&mut archive, &pages(0..20));
    let position = archive.position();
    let part = files(dir.path(), ".part").remove(0);
    let lines = fs::read(&part).unwrap();
    archive.close().unwrap();
    let index = files(dir.path(), ".cdxj").remove(0);
    let scratch = index.with_extension("cdxj.tmp");
    let run = index.with_extension("cdxj.tmp.0");
    // Three cases: runs partially written; scratch file partially written; renamed, but the part
    // not removed.
    for (leftovers, finished) in
        [(vec![&run], false), (vec![&scratch, &run], false), (vec![], true)]
    {
        fs::write(&part, &lines).unwrap();
        for leftover in leftovers {
            fs::write(leftover, &lines[..100]).unwrap();
        }
        if !finished {
            fs::remove_file(&index).unwrap();
        }
        let mut archive = open(dir.path(), Some(&position), &settings()).unwrap();
        archive.close().unwrap();
        assert_eq!(check_archive(dir.path()).len(), 20);
        assert_eq!(files(dir.path(), "").len(), 2);
    }
}

#[test]
fn an_earlier_file_without_an_index_gets_one() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), None, &small_files(6_000)).unwrap();
    append(&mut archive, &pages(0..60));
    let position = archive.position();
    let first = files(dir.path(), ".cdxj").remove(0);
    fs::rename(&first, first.with_extension("cdxj.part")).unwrap();
    open(dir.path(), Some(&position), &settings()).unwrap().close().unwrap();
    assert_eq!(check_archive(dir.path()).len(), 60);
}

#[test]
fn archives_without_a_position_are_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), None, &settings()).unwrap();
    let before = archive.position();
    append(&mut archive, &pages(0..3));
    drop(archive);
    assert!(matches!(open(dir.path(), None, &settings()), Err(ArchiveError::Occupied { .. })));
    assert_eq!(files(dir.path(), ".warc.gz").len(), 1);
    // A kill before the first commit of pages causes no damage.
    let archive = open(dir.path(), Some(&before), &settings()).unwrap();
    assert!(files(dir.path(), "").is_empty());
    assert_eq!(archive.position(), before);
}

#[test]
fn damage_is_reported_and_nothing_is_changed() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), None, &settings()).unwrap();
    append(&mut archive, &pages(0..10));
    let at = archive.position();
    drop(archive);
    let warc = files(dir.path(), ".warc.gz").remove(0);
    let part = files(dir.path(), ".part").remove(0);
    let (whole, lines) = (fs::read(&warc).unwrap(), fs::read(&part).unwrap());
    let later = dir.path().join("crivello-0badcafe-20261120120001-00001.warc.gz");
    fs::write(&later, "still wanted, perhaps").unwrap();
    let reopened = || open(dir.path(), Some(&at), &settings()).map(drop);

    fs::write(&warc, &whole[..whole.len() - 1]).unwrap();
    assert!(matches!(reopened(), Err(ArchiveError::Short { path, recorded, found })
        if path == warc && recorded == found + 1));
    fs::remove_file(&warc).unwrap();
    assert!(matches!(reopened(), Err(ArchiveError::Missing { path }) if path == warc));
    fs::write(&warc, &whole).unwrap();
    fs::write(&part, &lines[1..]).unwrap();
    assert!(matches!(reopened(), Err(ArchiveError::Short { path, .. }) if path == part));
    fs::remove_file(&part).unwrap();
    assert!(matches!(reopened(), Err(ArchiveError::Missing { path }) if path == part));
    fs::write(part.with_extension(""), &lines[1..]).unwrap();
    assert!(matches!(reopened(), Err(ArchiveError::Index { .. })));
    fs::write(part.with_extension(""), &lines).unwrap();
    reopened().unwrap();
}

#[test]
fn a_position_of_something_else_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    for file in ["crivello-00000001-20261120120000-00000.warc.gz", "x", "../../etc/passwd"] {
        let at = ArchivePosition { file: file.to_owned(), warc_len: 1, index_len: 1 };
        assert!(matches!(open(dir.path(), Some(&at), &settings()), Err(ArchiveError::Position(_))));
    }
    for bytes in [&b""[..], b"\x01short", &[9; 40]] {
        assert!(matches!(ArchivePosition::from_bytes(bytes), Err(ArchiveError::Position(_))));
    }
}

#[test]
fn other_files_in_the_directory_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), None, &settings()).unwrap();
    append(&mut archive, &pages(0..3));
    let at = archive.position();
    let others = ["notes.txt", "crivello-00000001-20261120120000-00009.warc.gz", "upload.warc.gz"];
    for other in others {
        fs::write(dir.path().join(other), "mine").unwrap();
    }
    open(dir.path(), Some(&at), &settings()).unwrap();
    for other in others {
        assert_eq!(fs::read(dir.path().join(other)).unwrap(), b"mine");
    }
}
