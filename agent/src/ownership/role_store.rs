//! Access to the stored roles of this agent.

pub use crate::messages::{GroupRole, Role};

use crivello_common::hash::GroupHash;

/// Store of roles, by group.
pub trait RoleStore {
    /// Returns the role for a group.
    fn role(&self, group: GroupHash) -> Option<GroupRole>;
    /// Sets or removes the role for a group.
    fn set_role(&mut self, group: GroupHash, role: Option<GroupRole>);
    /// Returns the first `most` roles in the order of their groups, after that of `group` if given.
    fn roles_after(&self, group: Option<GroupHash>, most: usize) -> Vec<(GroupHash, GroupRole)>;
}
