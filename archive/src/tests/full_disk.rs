//! Tests with a disk that fills up at any point of a write: no partial write remains, and nothing
//! is lost.

use super::reader::{check_archive, files};
use super::responses::{NOON, append, open, pages, settings, small_files};
use crate::write::io::faulty::set_free_bytes;
use crate::{ArchivePosition, ArchiveWriter, WarcRecord};
use proptest::prelude::*;
use std::fs;
use std::process::Command;

fn try_append(archive: &mut ArchiveWriter, pages: &[Vec<WarcRecord>]) -> (usize, bool) {
    let mut locations = Vec::new();
    let result = archive.append(pages.iter().map(Vec::as_slice), NOON, &mut locations);
    if let Err(error) = &result {
        assert!(error.is_full(), "{error}");
    }
    (locations.len(), result.is_ok())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn an_append_can_be_retried(
        first in 0_u32..20,
        rest in 1_u32..30,
        free in 0_u64..60_000,
        rotate in prop_oneof![Just(6_000_u64), Just(1 << 30)],
    ) {
        let dir = tempfile::tempdir().unwrap();
        let all = pages(0..first + rest);
        let mut archive = open(dir.path(), None, &small_files(rotate)).unwrap();
        append(&mut archive, &all[..first as usize]);
        let late = &all[first as usize..];
        set_free_bytes(Some(free));
        let (written, _) = try_append(&mut archive, late);
        let (more, _) = try_append(&mut archive, &late[written..]);
        set_free_bytes(None);
        check_lengths(dir.path(), &archive.position());
        let written = written + more;
        prop_assert_eq!(try_append(&mut archive, &late[written..]), (late.len() - written, true));
        archive.close().unwrap();
        prop_assert_eq!(check_archive(dir.path()).len(), all.len());
    }
}

/// The files end exactly at the position.
fn check_lengths(dir: &std::path::Path, at: &ArchivePosition) {
    if !at.file.is_empty() {
        assert_eq!(fs::metadata(dir.join(&at.file)).unwrap().len(), at.warc_len);
    }
    if let Some(part) = files(dir, ".part").first() {
        assert_eq!(fs::metadata(part).unwrap().len(), at.index_len);
    }
}

/// A small file system, unmounted on drop.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"]).arg(dir.path());
        mount.output().is_ok_and(|output| output.status.success()).then_some(Self(dir))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn a_real_full_file_system_is_survived() {
    let Some(mounted) = Mounted::new() else {
        eprintln!("SKIPPED: mounting a small tmpfs needs root");
        return;
    };
    let dir = mounted.0.path().join("warc");
    let all = pages(0..3_000);
    let mut archive = open(&dir, None, &settings()).unwrap();
    let ballast = mounted.0.path().join("ballast");
    fs::write(&ballast, vec![0; 96 << 10]).unwrap();
    let (written, ok) = all
        .chunks(10)
        .try_fold((0, true), |(sum, _), chunk| {
            let (written, ok) = try_append(&mut archive, chunk);
            if ok { Ok((sum + written, ok)) } else { Err((sum + written, ok)) }
        })
        .unwrap_or_else(|stopped| stopped);
    assert!(!ok && written > 0, "{written}");
    let at = archive.position();
    check_lengths(&dir, &at);
    assert_eq!(try_append(&mut archive, &all[written..written + 10]), (0, false));
    fs::remove_file(&ballast).unwrap();
    assert_eq!(try_append(&mut archive, &all[written..written + 10]), (10, true));
    archive.close().unwrap();
    assert_eq!(check_archive(&dir).len(), written + 10);
}
