//! Row changes that are collected for one write.

use super::Family;
use rocksdb::{ColumnFamily, WriteBatch};
use std::ops::Range;

/// Changes that become visible and durable together, or not at all.
#[derive(Default)]
pub struct Batch {
    changes: Vec<Change>,
    /// Keys and values of all changes, one after another.
    bytes: Vec<u8>,
}

/// A change of one row.
struct Change {
    family: Family,
    key: Range<usize>,
    action: Action,
}

enum Action {
    Put(Range<usize>),
    Delete,
    /// Deletes all rows from the key to below this one.
    DeleteTo(Range<usize>),
}

impl Batch {
    /// Returns true if it changes nothing.
    pub const fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Adds a row.
    pub fn put(&mut self, family: Family, key: &[u8], value: &[u8]) {
        self.change(family, key, Some(value));
    }

    /// Adds the deletion of a row.
    pub fn delete(&mut self, family: Family, key: &[u8]) {
        self.change(family, key, None);
    }

    /// Adds a row, or its deletion without a value.
    pub fn change(&mut self, family: Family, key: &[u8], value: Option<&[u8]>) {
        let action = value.map_or(Action::Delete, |value| Action::Put(self.keep(value)));
        self.add(family, key, action);
    }

    /// Adds the deletion of all rows from `from` to below `end`, of which the batch changes no other.
    pub fn delete_range(&mut self, family: Family, from: &[u8], end: &[u8]) {
        let action = Action::DeleteTo(self.keep(end));
        self.add(family, from, action);
    }

    fn add(&mut self, family: Family, key: &[u8], action: Action) {
        let key = self.keep(key);
        self.changes.push(Change { family, key, action });
    }

    fn keep(&mut self, bytes: &[u8]) -> Range<usize> {
        let begin = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        begin..self.bytes.len()
    }

    /// Returns the changes in the order of families and keys. Adjacent keys that are inserted one
    /// after another find their neighbors in the CPU caches. Changes of one row keep their order.
    pub(super) fn sorted<'a>(&self, family: impl Fn(Family) -> &'a ColumnFamily) -> WriteBatch {
        let key = |change: &Change| &self.bytes[change.key.clone()];
        let with_order = |change| (order(change, key(change)), change);
        let mut changes: Vec<(u128, &Change)> = self.changes.iter().map(with_order).collect();
        changes.sort_by(|(a, x), (b, y)| a.cmp(b).then_with(|| key(x).cmp(key(y))));
        let mut batch = WriteBatch::default();
        for changes in changes.chunk_by(|(_, a), (_, b)| a.family == b.family) {
            let of = family(changes[0].1.family);
            for (_, change) in changes {
                let bytes = |range: &Range<usize>| &self.bytes[range.clone()];
                match &change.action {
                    Action::Put(value) => batch.put_cf(of, key(change), bytes(value)),
                    Action::Delete => batch.delete_cf(of, key(change)),
                    Action::DeleteTo(end) => batch.delete_range_cf(of, key(change), bytes(end)),
                }
            }
        }
        batch
    }
}

/// Returns a number with the order of a change: its family, and the first 15 bytes of its key. Few
/// keys are equal in them, and comparing numbers is cheap.
fn order(change: &Change, key: &[u8]) -> u128 {
    let mut bytes = [0; 16];
    bytes[0] = change.family as u8;
    let n = key.len().min(15);
    bytes[1..=n].copy_from_slice(&key[..n]);
    u128::from_be_bytes(bytes)
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Batch of {} changes", self.changes.len())
    }
}

#[cfg(test)]
mod tests {
    use crate::storage::{Batch, Database, Family};
    use crivello_common::config::State;

    #[test]
    fn the_last_change_of_a_row_counts_whatever_stands_between() {
        let dir = tempfile::tempdir().unwrap();
        let disk = Database::open(dir.path(), true, &State::default()).unwrap();
        let mut batch = Batch::default();
        batch.put(Family::Seen, b"b", b"1");
        batch.put(Family::Frontier, b"b", b"other");
        batch.put(Family::Seen, b"c", b"gone");
        batch.put(Family::Seen, b"a", b"");
        batch.delete(Family::Seen, b"c");
        batch.delete(Family::Seen, b"b");
        batch.put(Family::Seen, b"b", b"2");
        // The same batch is written again, as after a full disk.
        for _ in 0..2 {
            disk.commit(&batch).unwrap();
            let row = |family, key| disk.get(family, key).unwrap();
            assert_eq!(row(Family::Seen, b"a"), Some(vec![]));
            assert_eq!(row(Family::Seen, b"b"), Some(b"2".to_vec()));
            assert_eq!(row(Family::Seen, b"c"), None);
            assert_eq!(row(Family::Frontier, b"b"), Some(b"other".to_vec()));
        }
    }
}
