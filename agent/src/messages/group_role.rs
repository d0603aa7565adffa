//! What an agent remembers of a group that it has rows of: from custody to the crawl database and back.

use crivello_common::view::AgentId;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupRole {
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
        in_sync: Vec<(AgentId, u64)>,
    },
    /// It holds rows for another.
    Replica {
        /// Where they came from, as far as those may still have to bring them to the owner: while
        /// one of them is dead, this agent must.
        from: Vec<AgentId>,
    },
    /// It takes rows in as the owner, before it may fetch.
    Pending {
        /// Whether it has no row but what it took in so in this tag's epoch.
        new: bool,
    },
}
