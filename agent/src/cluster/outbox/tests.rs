//! Tests of rows that are only on disk, and of changes that are written early.

use super::*;
use crate::storage::Database;
use crivello_common::config::Settings;

#[test]
fn a_long_line_can_be_read_before_and_after_its_commit() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Database::open(dir.path(), true, &Settings::default().fixed.state).unwrap();
    let mut outbox = Outbox::open(&disk).unwrap();
    let lane = (AgentId(2), Lane::Main);
    let fact = |n: usize| Bytes::from(vec![n as u8; ROW_BYTES_MAX / 2]);
    let n_facts = 6 * KEPT_BYTES_MAX / ROW_BYTES_MAX;
    let rows = outbox.push(lane, None, (0..n_facts).map(fact).collect());
    let read = |outbox: &Outbox| {
        let facts = rows.iter().map(|&seq| outbox.read(&disk, lane, seq).unwrap());
        facts.flatten().collect::<Vec<_>>()
    };
    let all: Vec<Bytes> = (0..n_facts).map(fact).collect();
    assert!(read(&outbox) == all, "before the first write, all rows are in memory");
    disk.write_outbox(&outbox.take_changes()).unwrap();
    outbox.on_committed();
    assert!(read(&outbox) == all, "after the commit, some rows are only on disk");
    assert!(outbox.lanes[&lane].kept_bytes <= KEPT_BYTES_MAX);
    rows.iter().for_each(|&seq| outbox.remove(lane, seq));
    let rest = &outbox.lanes[&lane];
    assert_eq!((rest.bytes, rest.kept_bytes), (0, 0));
}

#[test]
fn a_row_is_replaced_in_memory_and_on_disk() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Database::open(dir.path(), true, &Settings::default().fixed.state).unwrap();
    let mut outbox = Outbox::open(&disk).unwrap();
    let lane = (AgentId(2), Lane::Replicas);
    let commit = |outbox: &mut Outbox| {
        disk.write_outbox(&outbox.take_changes()).unwrap();
        outbox.on_committed();
    };
    let fact = |n: usize| Bytes::from(vec![n as u8; ROW_BYTES_MAX / 2]);
    let n_facts = 4 * KEPT_BYTES_MAX / ROW_BYTES_MAX;
    let rows = outbox.push(lane, None, (0..n_facts).map(fact).collect());
    commit(&mut outbox);
    let is_kept = |outbox: &Outbox, seq| outbox.lanes[&lane].rows[&seq].facts.is_some();
    let (first, last) = (rows[0], *rows.last().unwrap());
    assert!(is_kept(&outbox, first) && !is_kept(&outbox, last), "one row of each kind");
    for seq in [first, last] {
        let kept = vec![Bytes::from_static(b"kept")];
        outbox.replace(lane, seq, kept.clone());
        assert_eq!(outbox.read(&disk, lane, seq).unwrap(), kept, "before the commit");
        commit(&mut outbox);
        assert_eq!(outbox.read(&disk, lane, seq).unwrap(), kept, "after the commit");
    }
    assert!(!is_kept(&outbox, last), "it leaves memory again");
    rows.iter().for_each(|&seq| outbox.remove(lane, seq));
    commit(&mut outbox);
    let rest = &outbox.lanes[&lane];
    assert_eq!((rest.bytes, rest.kept_bytes), (0, 0));
    let mut n_left = 0;
    let mut count = |_: &[u8], _: &[u8]| {
        n_left += 1;
        Ok(true)
    };
    disk.visit_outbox(&mut count).unwrap();
    assert_eq!(n_left, 0, "rows are left on disk");
}

#[test]
fn what_changes_is_written_once_it_is_much_and_a_restart_finds_it() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Database::open(dir.path(), true, &Settings::default().fixed.state).unwrap();
    let mut outbox = Outbox::open(&disk).unwrap();
    let lane = (AgentId(2), Lane::Main);
    let fact = Bytes::from(vec![1; ROW_BYTES_MAX / 2]);
    for n in 1..=3 * CHANGES_BYTES_MAX / ROW_BYTES_MAX {
        outbox.push(lane, None, vec![fact.clone(), fact.clone()]);
        outbox.relieve(&disk);
        let waiting: usize = outbox.changes.iter().flat_map(|(_, value)| value).map(Vec::len).sum();
        assert!(waiting < CHANGES_BYTES_MAX, "{waiting} bytes after {n} rows");
    }
    let (written, of) = (Outbox::open(&disk).unwrap().len(), outbox.len());
    assert!(written > of / 2, "only {written} of {of} rows are written");
}

#[test]
fn a_recalled_row_is_offered_only_after_its_release() {
    let dir = tempfile::tempdir().unwrap();
    let disk = Database::open(dir.path(), true, &Settings::default().fixed.state).unwrap();
    let mut outbox = Outbox::open(&disk).unwrap();
    let lane = (AgentId(2), Lane::Main);
    let push = |outbox: &mut Outbox, fact: u8| {
        let rows = outbox.push(lane, None, vec![Bytes::from(vec![fact])]);
        disk.write_outbox(&outbox.take_changes()).unwrap();
        outbox.on_committed();
        outbox.on_synced();
        rows[0]
    };
    let next = |outbox: &Outbox| outbox.next_to_offer(&disk, lane).unwrap().map(|(seq, _)| seq);
    let rows = [push(&mut outbox, 1), push(&mut outbox, 2)];
    outbox.offered(lane, rows[0]);
    assert_eq!(next(&outbox), Some(rows[1]));
    assert_eq!(outbox.recall(), rows.map(|seq| (lane, seq)));
    // Nor does a later row overtake it.
    let later = push(&mut outbox, 3);
    assert_eq!(next(&outbox), None);
    outbox.release(lane, rows[0]);
    assert_eq!(next(&outbox), Some(rows[0]));
    outbox.offered(lane, rows[0]);
    assert_eq!(next(&outbox), None);
    outbox.remove(lane, rows[1]);
    outbox.release(lane, rows[1]);
    assert_eq!(next(&outbox), Some(later));
}
