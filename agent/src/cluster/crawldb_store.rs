//! Implementation of the replication engine's store by the crawl database.

use crate::cluster::store::{OutboxRows, ReplicaStore, RowVisitor};
use crate::crawldb::{CrawlDb, ExportCursor};
use crate::messages::{Fact, OutboxChange, RoleRows};
use crate::storage::{Batch, Database, DiskError, Family};
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeSet;

impl OutboxRows for Database {
    fn outbox_row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DiskError> {
        Ok(self.get(Family::Outbox, key)?.map(|value| value.to_vec()))
    }

    fn visit_outbox(&self, visit: &mut RowVisitor<'_>) -> Result<(), DiskError> {
        self.walk(Family::Outbox, &[], &[0xff], visit)
    }

    fn write_outbox(&self, changes: &[OutboxChange]) -> Result<(), DiskError> {
        let mut batch = Batch::default();
        add_outbox_changes(&mut batch, changes);
        self.commit(&batch)
    }
}

/// Adds changes of the outbox to a batch.
pub fn add_outbox_changes(batch: &mut Batch, changes: &[OutboxChange]) {
    for (key, value) in changes {
        batch.change(Family::Outbox, key, value.as_deref());
    }
}

impl ReplicaStore for CrawlDb {
    fn roles(&mut self) -> &mut dyn RoleRows {
        self.group_rows()
    }

    fn outbox(&self) -> &dyn OutboxRows {
        self.disk()
    }

    fn open_group(&mut self, group: GroupHash, taken_over: Timestamp) -> Result<(), DiskError> {
        Self::open_group(self, group, taken_over)
    }

    fn close_group(&mut self, group: GroupHash) -> Result<(), DiskError> {
        Self::close_group(self, group)
    }

    fn delete_group(&mut self, group: GroupHash) {
        Self::delete_group(self, group);
    }

    fn cancel_deletion(&mut self, group: GroupHash) -> bool {
        Self::cancel_deletion(self, group)
    }

    fn rescan_schedule(&mut self) {
        Self::rescan_schedule(self);
    }

    fn n_jobs(&self) -> usize {
        Self::n_jobs(self)
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
