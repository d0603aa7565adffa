//! Implementation of the replication engine's store by the crawl database.

use crate::cluster::store::{OutboxRows, ReplicaStore, RoleRows, RowVisitor};
use crate::crawldb::{CrawlDb, ExportCursor, GroupRows};
use crate::messages::{Fact, GroupRole, OutboxChange};
use crate::storage::{Batch, Database, DiskError, Family};
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeSet;

impl RoleRows for GroupRows {
    fn role(&self, group: GroupHash) -> Result<Option<GroupRole>, DiskError> {
        Self::role(self, group)
    }

    fn set_role(&mut self, group: GroupHash, role: Option<GroupRole>) -> Result<(), DiskError> {
        Self::set_role(self, group, role)
    }

    fn roles_after(
        &self,
        group: Option<GroupHash>,
        most: usize,
    ) -> Result<Vec<(GroupHash, GroupRole)>, DiskError> {
        Self::roles_after(self, group, most)
    }
}

impl OutboxRows for Database {
    fn outbox_row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DiskError> {
        Ok(self.get(Family::Outbox, key)?.map(|value| value.to_vec()))
    }

    fn visit_outbox(&self, visit: &mut RowVisitor<'_>) -> Result<(), DiskError> {
        self.walk(Family::Outbox, &[], &[0xff], visit)
    }

    fn write_outbox(&self, changes: &[OutboxChange]) -> Result<(), DiskError> {
        let mut batch = Batch::default();
        add_outbox_changes(self, &mut batch, changes);
        self.commit(&batch)
    }
}

/// Adds changes of the outbox to a batch.
pub fn add_outbox_changes(disk: &Database, batch: &mut Batch, changes: &[OutboxChange]) {
    for (key, value) in changes {
        match value {
            Some(value) => disk.put(batch, Family::Outbox, key, value),
            None => disk.delete(batch, Family::Outbox, key),
        }
    }
}

impl ReplicaStore for CrawlDb {
    type Roles = GroupRows;
    type Outbox = Database;

    fn roles(&mut self) -> &mut GroupRows {
        self.group_rows()
    }

    fn outbox(&self) -> &Database {
        self.disk()
    }

    fn open_group(&mut self, group: GroupHash, not_before: Timestamp) -> Result<(), DiskError> {
        Self::open_group(self, group, not_before)
    }

    fn close_group(&mut self, group: GroupHash) -> Result<(), DiskError> {
        Self::close_group(self, group)
    }

    fn delete_group(&mut self, group: GroupHash) {
        Self::delete_group(self, group);
    }

    fn rescan_schedule(&mut self) {
        Self::rescan_schedule(self);
    }

    fn busy(&self, groups: &BTreeSet<GroupHash>) -> BTreeSet<GroupHash> {
        Self::busy(self, groups)
    }

    fn export(
        &self,
        group: GroupHash,
        cursor: ExportCursor,
        bytes_max: usize,
    ) -> Result<(Vec<Fact>, Option<ExportCursor>), DiskError> {
        Self::export(self, group, cursor, bytes_max)
    }

    fn is_refetching(&self) -> bool {
        Self::is_refetching(self)
    }

    fn set_lost_archives(&mut self, lost: &[AgentId]) {
        Self::set_lost_archives(self, lost);
    }
}
