//! Tests of sealed files: which are never written again, and that a sealed file stays as it is.

use super::responses::{append, open, pages, small_files};
use crate::sealed_files;
use std::fs;

#[test]
fn files_before_the_committed_end_are_sealed_and_the_last_one_once_it_is_closed() {
    let dir = tempfile::tempdir().unwrap();
    let settings = small_files(6_000);
    let mut archive = open(dir.path(), None, &settings).unwrap();
    let begin = archive.sync().unwrap();
    assert_eq!(sealed_files(dir.path(), &begin, true).unwrap(), []);
    append(&mut archive, &pages(0..20));
    let early = archive.sync().unwrap();
    append(&mut archive, &pages(20..40));
    let at = archive.sync().unwrap();
    let last = archive.last_file().unwrap();
    let serials = |end, is_closed| {
        let files = sealed_files(dir.path(), end, is_closed).unwrap();
        for part in files.iter().flat_map(|file| file.parts().unwrap()) {
            assert_eq!(part.length, fs::metadata(&part.path).unwrap().len());
        }
        files.iter().map(|file| file.serial).collect::<Vec<_>>()
    };
    assert_eq!(serials(&at, false), (0..last).collect::<Vec<_>>());
    // Files after a committed end may still go.
    let before = serials(&early, false);
    assert!(!before.is_empty() && before.len() < last as usize, "{before:?}");
    archive.close().unwrap();
    assert_eq!(serials(&at, true), (0..=last).collect::<Vec<_>>());
    let first = || sealed_files(dir.path(), &at, false).unwrap().remove(0);
    fs::remove_file(first().index.unwrap().path).unwrap();
    assert_eq!(first().parts(), None);
}

#[test]
fn a_sealed_file_stays_as_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let settings = small_files(1 << 20);
    let mut archive = open(dir.path(), None, &settings).unwrap();
    append(&mut archive, &pages(0..10));
    let at = archive.close().unwrap();
    let read = || {
        let file = &sealed_files(dir.path(), &at, true).unwrap()[0];
        file.parts().unwrap().map(|part| fs::read(&part.path).unwrap())
    };
    let before = read();
    drop(archive);
    let mut archive = open(dir.path(), Some(&at), &settings).unwrap();
    archive.seal().unwrap();
    assert_eq!(archive.sync().unwrap(), at);
    append(&mut archive, &pages(10..20));
    assert_eq!(archive.last_file(), Some(1));
    let after = archive.close().unwrap();
    assert_eq!(read(), before);
    assert_eq!(sealed_files(dir.path(), &after, true).unwrap().len(), 2);
}
