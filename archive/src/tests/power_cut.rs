//! Tests of power cuts at any moment: any part of the unsynced bytes is lost, and the bytes covered
//! by a commit remain.

use super::reader::{check_archive, files};
use super::responses::{append, open, pages, small_files};
use crate::write::io::faulty::synced_len;
use crate::{ArchiveError, ArchivePosition};
use proptest::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};

/// Copies the remains of the files: all synced bytes and a part of the rest, whose bytes may be
/// zero although the length is present.
fn cut_power(live: &Path, left: &Path, share: f64, hole: bool) {
    for file in files(live, "") {
        let mut bytes = fs::read(&file).unwrap();
        // A renamed index was synced under its former name.
        let former = PathBuf::from(format!("{}.tmp", file.display()));
        let synced = synced_len(&file).max(synced_len(&former)) as usize;
        let kept = synced + ((bytes.len() - synced) as f64 * share) as usize;
        bytes.truncate(kept);
        if hole {
            bytes[synced..].fill(0);
        }
        fs::write(left.join(file.file_name().unwrap()), bytes).unwrap();
    }
}

fn numbers(archive: &Path) -> Vec<u32> {
    let uris = check_archive(archive);
    uris.iter().map(|uri| uri.rsplit('/').next().unwrap().parse().unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_commit_may_cover_survives(
        groups in prop::collection::vec(0_u32..12, 1..6),
        on_the_way in 0_u32..12,
        rotate in prop_oneof![Just(6_000_u64), Just(1 << 30)],
        share in 0.0..=1.0_f64,
        hole in any::<bool>(),
        pick in any::<prop::sample::Index>(),
    ) {
        let (live, left) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let settings = small_files(rotate);
        let all = pages(0..groups.iter().sum::<u32>() + on_the_way);
        let mut archive = open(live.path(), None, &settings).unwrap();
        let mut commits: Vec<(u32, ArchivePosition)> = Vec::new();
        let mut done = 0;
        for group in groups {
            append(&mut archive, &all[done as usize..(done + group) as usize]);
            done += group;
            commits.push((done, archive.sync().unwrap()));
        }
        append(&mut archive, &all[done as usize..]);
        cut_power(live.path(), left.path(), share, hole);
        // The last commits may also be lost.
        let (done, at) = &commits[pick.index(commits.len())];
        let mut archive = open(left.path(), Some(at), &settings).unwrap();
        prop_assert_eq!(&archive.sync().unwrap(), at);
        append(&mut archive, &all[*done as usize..]);
        archive.close().unwrap();
        prop_assert_eq!(numbers(left.path()), (0..all.len() as u32).collect::<Vec<_>>());
    }
}

#[test]
fn less_than_was_synced_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), None, &small_files(1 << 30)).unwrap();
    append(&mut archive, &pages(0..10));
    let at = archive.sync().unwrap();
    drop(archive);
    for suffix in [".warc.gz", ".part"] {
        let path = files(dir.path(), suffix).remove(0);
        let whole = fs::read(&path).unwrap();
        for kept in [0, whole.len() / 2, whole.len() - 1] {
            fs::write(&path, &whole[..kept]).unwrap();
            let opened = open(dir.path(), Some(&at), &small_files(1 << 30));
            assert!(
                matches!(opened.err(), Some(ArchiveError::Short { path: named, .. }) if named == path)
            );
            assert_eq!(
                fs::metadata(&path).unwrap().len(),
                kept as u64,
                "a damaged file was changed"
            );
        }
        fs::write(&path, &whole).unwrap();
    }
}
