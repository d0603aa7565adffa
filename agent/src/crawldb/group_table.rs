//! Rows of groups: the counts for the limits per domain. Those of the current commit are in memory,
//! and some others that the next commits are likely to need.

use super::hosts::Map;
use crate::storage::group_row::GroupRow;
use crate::storage::{Batch, Database, DiskError, Family, Row, keys};
use crivello_common::hash::GroupHash;
use std::sync::Arc;

/// Maximum number of rows in memory between two commits: about 5 MiB.
const KEPT_MAX: usize = 32_768;

/// Rows of groups in memory, and those to be written by the next commit.
#[derive(Debug)]
pub struct GroupTable {
    disk: Arc<Database>,
    /// Rows, each with true if it is newer than the row on disk.
    rows: Map<GroupHash, (GroupRow, bool)>,
    changed: Vec<GroupHash>,
}

impl GroupTable {
    pub fn new(disk: Arc<Database>) -> Self {
        Self { disk, rows: Map::default(), changed: Vec::new() }
    }

    /// Loads rows that are not in memory.
    pub fn load(&mut self, groups: impl Iterator<Item = GroupHash>) -> Result<(), DiskError> {
        let rows = &mut self.rows;
        let mut missing: Vec<_> = groups.filter(|group| !rows.contains_key(group)).collect();
        missing.sort_unstable();
        missing.dedup();
        let keys: Vec<_> = missing.iter().map(|&group| keys::group(group)).collect();
        self.disk.get_sorted(Family::Hosts, &keys, |i, value| {
            let row = value.map(GroupRow::decode).transpose()?.unwrap_or_default();
            rows.insert(missing[i], (row, false));
            Ok(())
        })
    }

    /// Returns the row of a group.
    pub fn row(&mut self, group: GroupHash) -> Result<&GroupRow, DiskError> {
        Ok(&self.entry(group)?.0)
    }

    /// Changes the row of a group. The next commit writes it.
    pub fn change<T>(
        &mut self,
        group: GroupHash,
        change: impl FnOnce(&mut GroupRow) -> T,
    ) -> Result<T, DiskError> {
        let entry = self.entry(group)?;
        let result = change(&mut entry.0);
        if !std::mem::replace(&mut entry.1, true) {
            self.changed.push(group);
        }
        Ok(result)
    }

    fn entry(&mut self, group: GroupHash) -> Result<&mut (GroupRow, bool), DiskError> {
        use hashbrown::hash_map::Entry;
        match self.rows.entry(group) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let row = self.disk.row(&keys::group(group))?;
                Ok(entry.insert((row.unwrap_or_default(), false)))
            }
        }
    }

    /// Deletes the row of a group of which no other row is left.
    pub fn delete(&mut self, batch: &mut Batch, group: GroupHash) {
        self.rows.remove(&group);
        batch.delete(Family::Hosts, &keys::group(group));
    }

    /// Adds all changed rows to `batch`.
    pub fn write(&mut self, batch: &mut Batch) {
        for group in self.changed.drain(..) {
            if let Some((row, changed)) = self.rows.get_mut(&group)
                && std::mem::take(changed)
            {
                batch.put(Family::Hosts, &keys::group(group), &row.encode());
            }
        }
        if self.rows.len() > KEPT_MAX {
            self.rows.clear();
        }
    }
}
