//! Adapter of role rows for [`Ownership`](crate::ownership::Ownership).

use crate::cluster::store::RoleRows;
use crate::messages::GroupRole;
use crate::ownership::RoleStore;
use crate::storage::DiskError;
use crivello_common::hash::GroupHash;
use std::cell::Cell;

/// Role rows with a record of the changed groups. An error of the disk is kept for the caller.
pub struct RecordedRoles<'a, R> {
    rows: &'a mut R,
    changed: Vec<GroupHash>,
    error: Cell<Option<DiskError>>,
}

impl<'a, R: RoleRows> RecordedRoles<'a, R> {
    pub fn new(rows: &'a mut R) -> Self {
        Self { rows, changed: Vec::new(), error: Cell::new(None) }
    }

    /// Returns the groups whose roles were set.
    ///
    /// # Errors
    /// [`DiskError`] if the disk has failed since the creation.
    pub fn into_changed(self) -> Result<Vec<GroupHash>, DiskError> {
        self.error.into_inner().map_or(Ok(self.changed), Err)
    }

    fn or_none<T>(&self, result: Result<Option<T>, DiskError>) -> Option<T> {
        result.unwrap_or_else(|error| {
            self.error.set(Some(error));
            None
        })
    }
}

impl<R: RoleRows> RoleStore for RecordedRoles<'_, R> {
    fn role(&self, group: GroupHash) -> Option<GroupRole> {
        self.or_none(self.rows.role(group))
    }

    fn set_role(&mut self, group: GroupHash, role: Option<GroupRole>) {
        self.changed.push(group);
        if let Err(error) = self.rows.set_role(group, role) {
            self.error.set(Some(error));
        }
    }

    fn roles_after(&self, group: Option<GroupHash>, most: usize) -> Vec<(GroupHash, GroupRole)> {
        self.or_none(self.rows.roles_after(group, most).map(Some)).unwrap_or_default()
    }
}
