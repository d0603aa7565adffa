//! The roles of this agent as ownership reads and sets them.

pub use crate::messages::{GroupRole, Role};

use crivello_common::hash::GroupHash;

/// The stored roles.
pub trait RoleStore {
    /// The role for one group.
    fn role(&self, group: GroupHash) -> Option<GroupRole>;
    /// Sets or removes the role for a group.
    fn set_role(&mut self, group: GroupHash, role: Option<GroupRole>);
    /// The first `most` roles after that of `group`, or of all, in the order of their groups.
    fn roles_after(&self, group: Option<GroupHash>, most: usize) -> Vec<(GroupHash, GroupRole)>;
}
