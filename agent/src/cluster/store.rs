//! The rows that the replication engine reads and changes, as traits: the crawl database implements
//! them, and so can a simulator.

use crate::crawldb::ExportCursor;
use crate::messages::{Fact, GroupRole, OutboxChange};
use crate::storage::DiskError;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeSet;

/// A visitor of rows: key and value. It returns whether to go on.
pub type RowVisitor<'a> = dyn FnMut(&[u8], &[u8]) -> Result<bool, DiskError> + 'a;

/// The roles of this agent for groups. Changes are written with the next commit.
pub trait RoleRows {
    /// The role for one group.
    ///
    /// # Errors
    /// When the disk fails.
    fn role(&self, group: GroupHash) -> Result<Option<GroupRole>, DiskError>;
    /// Sets or removes the role for a group.
    ///
    /// # Errors
    /// When the disk fails.
    fn set_role(&mut self, group: GroupHash, role: Option<GroupRole>) -> Result<(), DiskError>;
    /// The first `most` roles after that of `group`, or of all, in the order of their groups.
    ///
    /// # Errors
    /// When the disk fails.
    fn roles_after(
        &self,
        group: Option<GroupHash>,
        most: usize,
    ) -> Result<Vec<(GroupHash, GroupRole)>, DiskError>;
}

/// The rows of the outbox on disk.
pub trait OutboxRows {
    /// One row.
    ///
    /// # Errors
    /// When the disk fails.
    fn outbox_row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DiskError>;
    /// Visits all rows in the order of their keys.
    ///
    /// # Errors
    /// When the disk fails, or `visit` does.
    fn visit_outbox(&self, visit: &mut RowVisitor<'_>) -> Result<(), DiskError>;
    /// Writes changes at once, outside of a commit.
    ///
    /// # Errors
    /// When the disk fails; nothing is then written.
    fn write_outbox(&self, changes: &[OutboxChange]) -> Result<(), DiskError>;
}

/// All that the replication engine does to rows of groups.
pub trait ReplicaStore {
    /// The role rows.
    type Roles: RoleRows;
    /// The outbox rows.
    type Outbox: OutboxRows;

    /// The roles.
    fn roles(&mut self) -> &mut Self::Roles;
    /// The outbox.
    fn outbox(&self) -> &Self::Outbox;
    /// Schedules the hosts of a group; none is due before `not_before`.
    ///
    /// # Errors
    /// When the disk fails.
    fn open_group(&mut self, group: GroupHash, not_before: Timestamp) -> Result<(), DiskError>;
    /// Stops scheduling the hosts of a group.
    ///
    /// # Errors
    /// When the disk fails.
    fn close_group(&mut self, group: GroupHash) -> Result<(), DiskError>;
    /// Deletes all rows of a group, step by step.
    fn delete_group(&mut self, group: GroupHash);
    /// Hosts that were skipped because their group could not be fetched are looked at again.
    fn rescan_schedule(&mut self);
    /// Those of `groups` with hosts on the workbench or pages in the pipeline.
    fn busy(&self, groups: &BTreeSet<GroupHash>) -> BTreeSet<GroupHash>;
    /// The next facts of a group, about `bytes_max` bytes, and where to go on; `None` at the end.
    ///
    /// # Errors
    /// When the disk fails.
    fn export(
        &self,
        group: GroupHash,
        cursor: ExportCursor,
        bytes_max: usize,
    ) -> Result<(Vec<Fact>, Option<ExportCursor>), DiskError>;
    /// Whether rows are still scanned for pages that only a lost archive has.
    fn is_refetching(&self) -> bool;
    /// The archives of these agents are lost.
    fn set_lost_archives(&mut self, lost: &[AgentId]);
}
