//! One decision about ownership: the stored roles that it uses, and everything that follows from it.

use super::Effect;
use crate::messages::{GroupRole, OwnershipMessage, Role, RoleRows};
use crate::storage::DiskError;
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;

/// Access to the stored roles of this agent, with a record of the changes and of the effects. An
/// error of the disk is kept for the caller; a role that cannot be read counts as missing.
pub struct OwnershipDecision<'a> {
    rows: &'a mut dyn RoleRows,
    changed: Vec<GroupHash>,
    effects: Vec<Effect>,
    error: Option<DiskError>,
}

impl<'a> OwnershipDecision<'a> {
    /// Begins a decision without changes.
    pub const fn new(rows: &'a mut dyn RoleRows) -> Self {
        Self { rows, changed: Vec::new(), effects: Vec::new(), error: None }
    }

    /// Returns the groups whose roles were set, and the effects, in order.
    ///
    /// # Errors
    /// [`DiskError`] if the disk has failed since the decision began.
    pub fn finish(self) -> Result<(Vec<GroupHash>, Vec<Effect>), DiskError> {
        self.error.map_or(Ok((self.changed, self.effects)), Err)
    }

    fn or_default<T: Default>(&mut self, result: Result<T, DiskError>) -> T {
        result.unwrap_or_else(|error| {
            self.error = Some(error);
            T::default()
        })
    }

    /// Returns the role for a group.
    pub(super) fn role(&mut self, group: GroupHash) -> Option<GroupRole> {
        let role = self.rows.role(group);
        self.or_default(role)
    }

    /// Returns the first `most` roles in the order of their groups, after that of `group` if given.
    pub(super) fn roles_after(
        &mut self,
        group: Option<GroupHash>,
        most: usize,
    ) -> Vec<(GroupHash, GroupRole)> {
        let roles = self.rows.roles_after(group, most);
        self.or_default(roles)
    }

    /// Sets the role for a group.
    pub(super) fn set_role(&mut self, group: GroupHash, epoch: u64, role: Role) {
        self.put(group, Some(GroupRole { epoch, role }));
    }

    /// Removes the role for a group, and deletes the group's rows.
    pub(super) fn delete(&mut self, group: GroupHash) {
        self.put(group, None);
        self.add(Effect::Delete(group));
    }

    fn put(&mut self, group: GroupHash, role: Option<GroupRole>) {
        self.changed.push(group);
        let result = self.rows.set_role(group, role);
        self.or_default(result);
    }

    /// Adds an effect.
    pub(super) fn add(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    /// Sends a message.
    pub(super) fn send(&mut self, to: AgentId, message: OwnershipMessage) {
        self.add(Effect::Send { to, message });
    }
}
