//! Rows of groups that one commit touches: the counts for the limits per domain.

use crate::storage::values::GroupRow;
use crate::storage::{Batch, Database, DiskError, Family, keys};
use crivello_common::hash::GroupHash;
use hashbrown::HashMap;

/// Rows of groups that one commit touches.
#[derive(Debug, Default)]
pub struct DomainCounters(HashMap<GroupHash, GroupRow, foldhash::fast::RandomState>);

impl DomainCounters {
    /// Returns the row of `group`, which is read at first use.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn row(&mut self, disk: &Database, group: GroupHash) -> Result<&mut GroupRow, DiskError> {
        use hashbrown::hash_map::Entry;
        match self.0.entry(group) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let value = disk.get(Family::Hosts, &keys::group(group))?;
                let row = value.map_or(Ok(GroupRow::default()), |v| GroupRow::decode(&v))?;
                Ok(entry.insert(row))
            }
        }
    }

    /// Adds all rows to `batch`.
    pub fn write(&self, disk: &Database, batch: &mut Batch) {
        for (&group, row) in &self.0 {
            disk.put(batch, Family::Hosts, &keys::group(group), &row.encode());
        }
    }
}
