//! The rows of `groups`, including the changes that the next commit writes.

use crate::messages::{GroupRole, Role, RoleRows};
use crate::storage::{Batch, Database, DiskError, Family, GroupState, Row};
use crivello_common::hash::GroupHash;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

/// The rows of `groups`.
#[derive(Debug)]
pub struct GroupRows {
    disk: Arc<Database>,
    /// Rows as the next commit will leave them; `None` for a row to delete.
    pending: BTreeMap<GroupHash, Option<GroupState>>,
}

impl GroupRows {
    pub(super) const fn new(disk: Arc<Database>) -> Self {
        Self { disk, pending: BTreeMap::new() }
    }

    fn row(&self, group: GroupHash) -> Result<Option<GroupState>, DiskError> {
        if let Some(row) = self.pending.get(&group) {
            return Ok(row.clone());
        }
        self.disk.row(&group.to_bytes())
    }

    /// Returns true if the hosts of a group have rows in `schedule`.
    pub(super) fn is_open(&self, group: GroupHash) -> Result<bool, DiskError> {
        Ok(self.row(group)?.is_none_or(|row| row.open))
    }

    pub(super) fn set_open(&mut self, group: GroupHash, open: bool) -> Result<(), DiskError> {
        let tag = self.role(group)?;
        self.write(group, GroupState { open, tag });
        Ok(())
    }

    pub(super) fn remove(&mut self, group: GroupHash) {
        self.pending.insert(group, None);
    }

    fn write(&mut self, group: GroupHash, row: GroupState) {
        let row = Some(row).filter(|row| *row != GroupState::default());
        self.pending.insert(group, row);
    }

    /// Returns those of `groups` (sorted) whose hosts have no rows in `schedule`.
    pub(super) fn shut(&self, groups: &[GroupHash]) -> Result<BTreeSet<GroupHash>, DiskError> {
        let rows: Vec<_> = groups.iter().map(|group| group.to_bytes()).collect();
        let mut shut = BTreeSet::new();
        self.disk.get_sorted(Family::Groups, &rows, |i, value| {
            let row = match self.pending.get(&groups[i]) {
                Some(row) => row.clone(),
                None => value.map(GroupState::decode).transpose()?,
            };
            if row.is_some_and(|row| !row.open) {
                shut.insert(groups[i]);
            }
            Ok(())
        })?;
        Ok(shut)
    }

    /// Returns true if changes wait for the next commit.
    pub fn has_changes(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Adds the waiting changes to `batch`.
    pub(super) fn settle(&mut self, batch: &mut Batch) {
        for (group, row) in std::mem::take(&mut self.pending) {
            let value = row.map(|row| row.encode());
            batch.change(Family::Groups, &group.to_bytes(), value.as_deref());
        }
    }
}

impl RoleRows for GroupRows {
    fn role(&self, group: GroupHash) -> Result<Option<GroupRole>, DiskError> {
        Ok(self.row(group)?.and_then(|row| row.tag))
    }

    /// A group that had no row is then open only if this agent is its authority; later,
    /// [`ReplicaStore::open_group`](crate::messages::ReplicaStore::open_group) opens and
    /// [`ReplicaStore::close_group`](crate::messages::ReplicaStore::close_group) closes it.
    fn set_role(&mut self, group: GroupHash, tag: Option<GroupRole>) -> Result<(), DiskError> {
        let authority = matches!(&tag, None | Some(GroupRole { role: Role::Authority { .. }, .. }));
        let open = self.row(group)?.map_or(authority, |row| row.open);
        self.write(group, GroupState { open, tag });
        Ok(())
    }

    fn roles_after(
        &self,
        group: Option<GroupHash>,
        most: usize,
    ) -> Result<Vec<(GroupHash, GroupRole)>, DiskError> {
        let changed = self.pending.range((group.map_or(Unbounded, Excluded), Unbounded));
        let mut changed = changed
            .filter_map(|(&group, row)| Some((group, row.as_ref()?.tag.clone()?)))
            .peekable();
        let mut tags = Vec::with_capacity(most);
        let from = group.map_or_else(Vec::new, |group| [&group.to_bytes()[..], &[0]].concat());
        self.disk.walk(Family::Groups, &from, &[0xff; 9], |key, value| {
            let group = read_key(key)?;
            while tags.len() < most
                && let Some(next) = changed.next_if(|&(other, _)| other < group)
            {
                tags.push(next);
            }
            if tags.len() < most
                && !self.pending.contains_key(&group)
                && let Some(tag) = GroupState::decode(value)?.tag
            {
                tags.push((group, tag));
            }
            Ok(tags.len() < most)
        })?;
        let rest = most - tags.len();
        tags.extend(changed.take(rest));
        Ok(tags)
    }
}

fn read_key(key: &[u8]) -> Result<GroupHash, DiskError> {
    let bytes = key.try_into().map(GroupHash::from_bytes);
    bytes.map_err(|_| DiskError::Row { family: "groups", what: "its key is malformed" })
}
