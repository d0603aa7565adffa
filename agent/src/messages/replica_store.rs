//! Store of the replication engine: traits for the rows that it reads and changes. The crawl
//! database implements them, and so can a simulator.

use super::{Fact, OutboxChange, RoleRows};
use crate::storage::DiskError;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::LostArchive;
use std::collections::BTreeSet;

/// Visitor of rows by key and value. Returns true to continue.
pub type RowVisitor<'a> = dyn FnMut(&[u8], &[u8]) -> Result<bool, DiskError> + 'a;

/// Rows of the outbox on disk.
pub trait OutboxRows {
    /// Returns the value of one row.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    fn outbox_row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DiskError>;
    /// Visits the rows in the order of their keys, until `visit` returns false.
    ///
    /// # Errors
    /// [`DiskError`] if the disk or `visit` fails.
    fn visit_outbox(&self, visit: &mut RowVisitor<'_>) -> Result<(), DiskError>;
    /// Writes changes at once, outside of a commit.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. Nothing is written then.
    fn write_outbox(&self, changes: &[OutboxChange]) -> Result<(), DiskError>;
}

/// Position of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportCursor {
    /// Index of the kind of rows that is exported.
    pub stage: usize,
    /// Last key that was exported in this stage; empty for none.
    pub last: Vec<u8>,
}

/// Operations of the replication engine on the rows of groups.
pub trait ReplicaStore {
    /// Returns the roles.
    fn roles(&mut self) -> &mut dyn RoleRows;
    /// Returns true if owners count the links to their URLs, so that links are sent also to URLs that are known there.
    fn counts_inlinks(&self) -> bool {
        false
    }
    /// Returns the outbox.
    fn outbox(&self) -> &dyn OutboxRows;
    /// Schedules the hosts of a group. Another agent may have visited them until `taken_over`, so they
    /// rest from then on; zero if their rows say when each was visited.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    fn open_group(&mut self, group: GroupHash, taken_over: Timestamp) -> Result<(), DiskError>;
    /// Stops scheduling the hosts of a group.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    fn close_group(&mut self, group: GroupHash) -> Result<(), DiskError>;
    /// Begins to delete all rows of a group, step by step, also in later epochs. No page of the group
    /// may be in flight, and nothing may be added to it before [`Self::cancel_deletion`] until all of
    /// its rows are deleted.
    fn delete_group(&mut self, group: GroupHash);
    /// Ends the deletion of a group, because new rows of it arrive. Returns true if it was being
    /// deleted: then some of its rows may be left.
    fn cancel_deletion(&mut self, group: GroupHash) -> bool;
    /// Makes the next scan of the schedule include hosts that were skipped because their group
    /// could not be fetched.
    fn rescan_schedule(&mut self);
    /// Returns the number of groups that are still opened, closed or deleted.
    fn n_jobs(&self) -> usize;
    /// Returns those of `groups` with hosts that are on the workbench, have pages in flight, are being
    /// dropped, or do not rest yet after a take-over.
    fn busy(&self, groups: &BTreeSet<GroupHash>) -> BTreeSet<GroupHash>;
    /// Returns the next facts of a group, about `bytes_max` by [`Fact::weight`], and the position of
    /// the next ones; `None` at the end. There may be none although others follow, because the rows
    /// that are read at once are bounded. The facts are those of the last commit; commits during an
    /// export report their own changes.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    fn export(
        &self,
        group: GroupHash,
        cursor: ExportCursor,
        bytes_max: usize,
    ) -> Result<(Vec<Fact>, Option<ExportCursor>), DiskError>;
    /// Returns true while rows are scanned for pages that only a lost archive has.
    fn is_refetching(&self) -> bool;
    /// Adds agents that are gone with their archives. Rows are scanned if there is a new one.
    fn set_lost_archives(&mut self, lost: &[LostArchive]);
}
