//! What a journal survives, and what it refuses to survive.

use super::*;
use crivello_common::view::{AgentId, View};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use tempfile::tempdir;

fn record(epoch: u64) -> Record {
    let crawl = Crawl { id: "c0ffee".into(), begun: "today".into(), meaning: "a = 1\n".into() };
    let view = View { epoch, ..View::of_one(&format!("agent-{epoch}")) };
    let allowed = BTreeMap::from([(AgentId(3), epoch)]);
    let (drains, lone) = ([AgentId(2)].into(), [AgentId(1)].into());
    Record { crawl, next_id: 2, view, allowed, drains, lone }
}

/// Writes records of the epochs 1 to `n`; the lengths of the file after each.
fn write(dir: &Path, n: u64) -> Vec<usize> {
    let mut journal = Journal::open(dir).unwrap().journal;
    let path = dir.join(JOURNAL);
    (1..=n)
        .map(|epoch| {
            journal.append(&record(epoch)).unwrap();
            usize::try_from(fs::metadata(&path).unwrap().len()).unwrap()
        })
        .collect()
}

/// The epoch of the last record and whether something was cut off, or what is wrong.
fn read(dir: &Path) -> Result<(u64, bool), String> {
    let opened = Journal::open(dir).map_err(|error| error.to_string())?;
    Ok((opened.last.map_or(0, |record| record.view.epoch), opened.cut))
}

#[test]
fn what_was_written_last_is_found() {
    let dir = tempdir().unwrap();
    assert_eq!(read(dir.path()), Ok((0, false)));
    write(dir.path(), 5);
    let opened = Journal::open(dir.path()).unwrap();
    assert_eq!((opened.last, opened.cut), (Some(record(5)), false));
    let mut journal = opened.journal;
    journal.append(&record(6)).unwrap();
    journal.append(&record(7)).unwrap();
    drop(journal);
    assert_eq!(read(dir.path()), Ok((7, false)));
}

#[test]
fn a_tail_torn_at_any_byte_is_cut_off() {
    let dir = tempdir().unwrap();
    let ends = write(dir.path(), 4);
    let path = dir.path().join(JOURNAL);
    let whole = fs::read(&path).unwrap();
    for len in 0..whole.len() {
        let n_whole = ends.iter().filter(|&&end| end <= len).count() as u64;
        let expected = (n_whole, !ends.contains(&len));
        // Cut short; grown before its bytes came; with what was on the disk before.
        for filling in [vec![], vec![0; whole.len() - len], vec![0xA5; whole.len() - len]] {
            let is_short = filling.is_empty();
            fs::write(&path, [&whole[..len], &filling].concat()).unwrap();
            let found = read(dir.path());
            if n_whole == 0 {
                // The first record is there before the file is: this is no torn tail.
                assert!(found.unwrap_err().contains("damaged"), "{len}");
            } else {
                let expected = if is_short { expected } else { (n_whole, true) };
                assert_eq!(found, Ok(expected), "{len}");
            }
        }
    }
}

#[test]
fn damage_before_the_last_record_is_refused_at_every_byte() {
    let dir = tempdir().unwrap();
    let ends = write(dir.path(), 3);
    let path = dir.path().join(JOURNAL);
    let whole = fs::read(&path).unwrap();
    for at in 0..ends[1] {
        for flip in [0x01, 0x80, 0xFF] {
            let mut bytes = whole.clone();
            bytes[at] ^= flip;
            fs::write(&path, &bytes).unwrap();
            let error = read(dir.path()).expect_err("damaged");
            assert!(error.contains("damaged") && error.contains("nothing was changed"), "{error}");
            assert_eq!(fs::read(&path).unwrap(), bytes, "what was refused was touched");
        }
    }
}

#[test]
fn a_second_coordinator_is_refused() {
    let dir = tempdir().unwrap();
    let first = Journal::open(dir.path()).unwrap();
    let error = Journal::open(dir.path()).unwrap_err();
    assert!(matches!(error, JournalError::Locked(_)), "{error}");
    drop(first);
    Journal::open(dir.path()).unwrap();
}

#[test]
fn a_journal_does_not_grow_without_end() {
    let dir = tempdir().unwrap();
    let mut journal = Journal::open(dir.path()).unwrap().journal;
    let mut long = record(0);
    long.crawl.meaning = "m".repeat(300_000);
    for epoch in 1..100 {
        long.view.epoch = epoch;
        journal.append(&long).unwrap();
        let len = fs::metadata(dir.path().join(JOURNAL)).unwrap().len();
        assert!(len < RECORDS_MIN * 301_000, "{len}");
    }
    drop(journal);
    assert_eq!(read(dir.path()), Ok((99, false)));
}

#[test]
fn a_write_that_failed_is_made_good_by_the_next() {
    let dir = tempdir().unwrap();
    let mut journal = Journal::open(dir.path()).unwrap().journal;
    journal.append(&record(1)).unwrap();
    // A file that takes no byte more, in the place of the journal's.
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (_, len) = journal.file.take().unwrap();
    journal.file = Some((full, len));
    let error = journal.append(&record(2)).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    journal.append(&record(3)).unwrap();
    drop(journal);
    assert_eq!(read(dir.path()), Ok((3, false)));
}
