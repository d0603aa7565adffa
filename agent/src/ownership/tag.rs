//! The tags as custody sees them: [`Tag`] lies on the floor, because the ledger keeps it.

pub use crate::messages::{Role, Tag};

use crivello_common::hash::GroupHash;

/// The tags on disk.
pub trait Tags {
    /// That of one group.
    fn tag(&self, group: GroupHash) -> Option<Tag>;
    /// Writes or removes one.
    fn set_tag(&mut self, group: GroupHash, tag: Option<Tag>);
    /// The first `most` after `group`, or of all, in the order of their groups.
    fn tags_after(&self, group: Option<GroupHash>, most: usize) -> Vec<(GroupHash, Tag)>;
}
