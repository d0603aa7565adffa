//! What an agent remembers of a group it has rows of: one small row on disk.

use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The epoch in which it was written.
    pub epoch: u64,
    /// What this agent is to the group.
    pub role: Role,
}

/// What an agent is to a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// It may fetch the group, unless it has been declared dead since.
    Authority {
        /// Who else has all of the rows, and the epoch in which that became true.
        standing: Vec<(AgentId, u64)>,
    },
    /// It holds rows for another.
    Copy {
        /// Where they came from, as far as those may still have to bring them to the owner: while
        /// one of them is dead, this agent must.
        of: Vec<AgentId>,
    },
    /// It takes rows in as the owner, before it may fetch.
    Pending {
        /// Whether it has no row but what it took in so in this tag's epoch.
        new: bool,
    },
}

/// The tags on disk.
pub trait Tags {
    /// That of one group.
    fn tag(&self, group: GroupHash) -> Option<Tag>;
    /// Writes or removes one.
    fn set_tag(&mut self, group: GroupHash, tag: Option<Tag>);
    /// The first after `group`, or of all.
    fn tag_after(&self, group: Option<GroupHash>) -> Option<(GroupHash, Tag)>;
}
