//! Archives of zstd frames, and a change of the compression between two runs.

use super::reader::files;
use super::responses::{append, label, open, response, settings, small_files};
use crate::{
    ArchivePosition, ArchiveWriter, CaptureTail, DigestCheck, IndexLines, TailPosition, WarcReader,
    WarcRecord, check_record, find_file,
};
use crivello_common::config::{ArchiveCompression, Store};
use std::fs;
use std::path::Path;

fn zstd_settings() -> Store {
    Store { compression: ArchiveCompression::Zstd, ..settings() }
}

fn pages(settings: &Store, numbers: std::ops::Range<usize>) -> Vec<Vec<WarcRecord>> {
    let page = |n: usize| {
        let url = format!("http://host{}.example.com/page/{n}", n % 7);
        let body = format!("<p>page {n} ").repeat(n * 100);
        response(&url, &[("content-type", b"text/html")], body.as_bytes())
    };
    numbers.map(|n| page(n).records(settings, None, &["http://example.com/"])).collect()
}

/// Checks all records and indexes. Returns the captured pages in the order of the files.
fn captured(dir: &Path) -> Vec<usize> {
    let mut captured = Vec::new();
    for warc in files(dir, "").iter().filter(|file| file.to_string_lossy().contains(".warc.")) {
        let name = warc.file_name().unwrap().to_str().unwrap();
        let index = warc.with_file_name(format!("{}.cdxj", name.split('.').next().unwrap()));
        let index = fs::read(index).unwrap();
        let mut lines = IndexLines::read(&index[..], name).unwrap();
        let mut reader = WarcReader::open(warc).unwrap();
        while let Some(record) = reader.next_record() {
            let mut record = record.unwrap();
            let check = check_record(&mut record).unwrap();
            assert_eq!(check.block, DigestCheck::Matches);
            if record.head.kind() == "response" {
                assert_eq!(check.payload, DigestCheck::Matches);
                let url = record.head.uri("WARC-Target-URI").unwrap();
                captured.push(url.rsplit('/').next().unwrap().parse().unwrap());
            }
            let status = check.http.and_then(|http| http.status);
            let length = record.finish().unwrap();
            lines.compare(&record.head, record.offset(), length, status);
        }
        assert_eq!(lines.differences(), []);
    }
    captured
}

#[test]
fn frames_are_independent_and_have_a_length_and_a_checksum() {
    let dir = tempfile::tempdir().unwrap();
    let settings = zstd_settings();
    let mut archive = open(dir.path(), None, &settings).unwrap();
    let locations = append(&mut archive, &pages(&settings, 0..30));
    archive.close().unwrap();
    assert_eq!(captured(dir.path()), Vec::from_iter(0..30));
    let name = find_file(dir.path(), 0).unwrap();
    assert!(name.ends_with("-00000.warc.zst"), "{name}");
    let bytes = fs::read(dir.path().join(name)).unwrap();
    for location in locations {
        let at = location.offset as usize;
        let frame = &bytes[at..at + location.length as usize];
        let length = zstd::zstd_safe::get_frame_content_size(frame).unwrap().unwrap();
        assert_eq!(zstd::decode_all(frame).unwrap().len() as u64, length);
        let mut changed = frame.to_vec();
        *changed.last_mut().unwrap() ^= 1;
        zstd::decode_all(&changed[..]).expect_err("the checksum differs");
    }
}

#[test]
fn an_archive_of_frames_is_cut_back_to_its_last_commit() {
    let dir = tempfile::tempdir().unwrap();
    let settings = Store { file_size_max: small_files(20_000).file_size_max, ..zstd_settings() };
    let all = pages(&settings, 0..40);
    let mut archive = open(dir.path(), None, &settings).unwrap();
    append(&mut archive, &all[..20]);
    let position = ArchivePosition::from_bytes(&archive.sync().unwrap().to_bytes()).unwrap();
    append(&mut archive, &all[20..30]);
    drop(archive);
    let mut archive = open(dir.path(), Some(&position), &settings).unwrap();
    assert!(archive.missing_files().unwrap().is_empty());
    append(&mut archive, &all[30..]);
    let end = archive.close().unwrap();
    assert_eq!(captured(dir.path()), Vec::from_iter((0..20).chain(30..40)));
    assert!(files(dir.path(), ".warc.zst").len() > 1);
    let mut tail = CaptureTail::new(dir.path(), TailPosition::default());
    let mut followed = 0;
    loop {
        let batch = tail.next_batch(&end, 7).unwrap();
        if batch.lines.is_empty() {
            break;
        }
        followed += batch.lines.len();
    }
    assert_eq!(followed, 30);
    let last = archive.last_file().unwrap();
    assert_eq!(archive.delete_before(last).unwrap(), last as usize);
    assert_eq!(files(dir.path(), "").len(), 2);
}

#[test]
fn a_change_of_the_compression_begins_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut position = None;
    for run in 0..4 {
        let settings = if run % 2 == 0 { settings() } else { zstd_settings() };
        let mut archive: ArchiveWriter = open(dir.path(), position.as_ref(), &settings).unwrap();
        append(&mut archive, &pages(&settings, run * 5..run * 5 + 5));
        position = Some(if run == 1 { archive.sync().unwrap() } else { archive.close().unwrap() });
        ArchiveWriter::check(dir.path(), position.as_ref(), label().id).unwrap();
    }
    assert_eq!(captured(dir.path()), Vec::from_iter(0..20));
    let suffixes = files(dir.path(), "").into_iter().filter_map(|path| {
        let name = path.file_name()?.to_str()?.to_owned();
        name.contains(".warc").then(|| name.split_once('.').unwrap().1.to_owned())
    });
    assert_eq!(Vec::from_iter(suffixes), ["warc.gz", "warc.zst", "warc.gz", "warc.zst"]);
}
