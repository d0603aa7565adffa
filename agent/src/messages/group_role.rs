//! Stored roles of this agent for the groups that it has rows of.

use crate::storage::DiskError;
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;

/// Role of this agent for a group, with the epoch in which it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRole {
    /// Epoch in which it was written.
    pub epoch: u64,
    /// Role of this agent.
    pub role: Role,
}

/// Role of an agent for a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// The agent may fetch the group, unless it has been declared dead since.
    Authority {
        /// Other agents that have all of the rows, each with the epoch in which that became true.
        in_sync: Vec<(AgentId, u64)>,
    },
    /// The agent holds a copy of the rows for another agent.
    Replica {
        /// Agents that the rows came from and that may still have to hand them off to the owner. If
        /// one of them is dead, this agent must hand the rows off.
        from: Vec<AgentId>,
    },
    /// The agent accepts rows as the owner, and may not fetch yet.
    Pending {
        /// True if all of its rows were accepted as the owner in this role's epoch.
        new: bool,
    },
}

/// Stored roles of this agent.
pub trait RoleRows {
    /// Returns the role for one group.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    fn role(&self, group: GroupHash) -> Result<Option<GroupRole>, DiskError>;
    /// Sets or removes the role for a group. The next commit writes it.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    fn set_role(&mut self, group: GroupHash, role: Option<GroupRole>) -> Result<(), DiskError>;
    /// Returns the first `most` roles after that of `group`, or of all, in the order of their
    /// groups.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    fn roles_after(
        &self,
        group: Option<GroupHash>,
        most: usize,
    ) -> Result<Vec<(GroupHash, GroupRole)>, DiskError>;
}
