//! Roles in memory, for tests.

use crate::messages::{GroupRole, RoleRows};
use crate::storage::DiskError;
use crivello_common::hash::GroupHash;
use std::collections::BTreeMap;
use std::ops::Bound;

#[derive(Default)]
pub(super) struct Roles(pub(super) BTreeMap<GroupHash, GroupRole>);

impl RoleRows for Roles {
    fn role(&self, group: GroupHash) -> Result<Option<GroupRole>, DiskError> {
        Ok(self.0.get(&group).cloned())
    }

    fn set_role(&mut self, group: GroupHash, role: Option<GroupRole>) -> Result<(), DiskError> {
        match role {
            Some(role) => self.0.insert(group, role),
            None => self.0.remove(&group),
        };
        Ok(())
    }

    fn roles_after(
        &self,
        group: Option<GroupHash>,
        most: usize,
    ) -> Result<Vec<(GroupHash, GroupRole)>, DiskError> {
        let from = group.map_or(Bound::Unbounded, Bound::Excluded);
        let roles = self.0.range((from, Bound::Unbounded)).take(most);
        Ok(roles.map(|(&group, role)| (group, role.clone())).collect())
    }
}
