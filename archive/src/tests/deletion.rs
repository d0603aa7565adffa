//! Tests of the deletion of old files: the others stay whole, and the archive goes on.

use super::reader::{check_archive, files};
use super::responses::{NOON, append, open, pages, small_files};
use std::fs;

#[test]
fn files_before_a_serial_number_are_deleted_and_the_archive_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let settings = small_files(6_000);
    let mut archive = open(dir.path(), None, &settings).unwrap();
    append(&mut archive, &pages(0..40));
    let (last, sizes) = (archive.last_file().unwrap(), archive.file_sizes().unwrap());
    assert!(last > 2 && sizes.len() == last as usize + 1, "{sizes:?}");
    let on_disk: u64 = files(dir.path(), "").iter().map(|f| fs::metadata(f).unwrap().len()).sum();
    assert_eq!(sizes.values().sum::<u64>(), on_disk);
    let stranger = dir.path().join("crivello-00000001-20261120120000-00000.warc.gz");
    fs::write(&stranger, b"of another crawl").unwrap();
    assert_eq!(archive.delete_before(2).unwrap(), 2);
    assert_eq!(archive.delete_before(2).unwrap(), 0);
    assert_eq!(archive.file_sizes().unwrap().keys().copied().min(), Some(2));
    // Its index stays.
    let third = files(dir.path(), "00003.warc.gz").pop().unwrap();
    fs::rename(&third, dir.path().join("elsewhere")).unwrap();
    assert_eq!(archive.missing_files().unwrap(), [0, 1, 3]);
    fs::rename(dir.path().join("elsewhere"), &third).unwrap();
    // Never the last file, whatever is asked.
    assert_eq!(archive.delete_before(u32::MAX).unwrap(), last as usize - 2);
    assert_eq!(archive.file_sizes().unwrap().keys().copied().collect::<Vec<_>>(), [last]);
    assert_eq!(archive.start_new_file(NOON).unwrap(), last + 1);
    assert_eq!(archive.delete_before(last + 1).unwrap(), 1);
    let at = archive.sync().unwrap();
    drop(archive);
    let mut archive = open(dir.path(), Some(&at), &settings).unwrap();
    append(&mut archive, &pages(40..42));
    archive.close().unwrap();
    assert!(stranger.exists());
    fs::remove_file(&stranger).unwrap();
    let uris = check_archive(dir.path());
    assert_eq!(uris.len(), 2, "{uris:?}");
}
