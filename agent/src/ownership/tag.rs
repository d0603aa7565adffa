//! The tags as ownership sees them: [`GroupRole`] lies on the floor, because the ledger keeps it.

pub use crate::messages::{GroupRole, Role};

use crivello_common::hash::GroupHash;

/// The tags on disk.
pub trait Tags {
    /// That of one group.
    fn tag(&self, group: GroupHash) -> Option<GroupRole>;
    /// Writes or removes one.
    fn set_tag(&mut self, group: GroupHash, tag: Option<GroupRole>);
    /// The first `most` after `group`, or of all, in the order of their groups.
    fn tags_after(&self, group: Option<GroupHash>, most: usize) -> Vec<(GroupHash, GroupRole)>;
}
