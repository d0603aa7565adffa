//! The crawl database as the store of the replication engine.

use super::CrawlDb;
use super::transfer::next_facts;
use crate::messages::{ExportCursor, Fact, OutboxRows, ReplicaStore, RoleRows};
use crate::storage::DiskError;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::LostArchive;
use std::collections::BTreeSet;

/// Groups are opened, closed and deleted as [`CrawlDb::step_job`] proceeds.
impl ReplicaStore for CrawlDb {
    fn roles(&mut self) -> &mut dyn RoleRows {
        self.group_rows()
    }

    fn outbox(&self) -> &dyn OutboxRows {
        &*self.frontier.disk
    }

    fn open_group(&mut self, group: GroupHash, taken_over: Timestamp) -> Result<(), DiskError> {
        let was_closed =
            self.group_jobs.reschedule(group, true, taken_over, &mut self.group_rows)?;
        if was_closed && self.recrawl.is_adaptive() {
            self.due.on_opened(group);
        }
        Ok(())
    }

    fn close_group(&mut self, group: GroupHash) -> Result<(), DiskError> {
        self.group_jobs.reschedule(group, false, Timestamp::ZERO, &mut self.group_rows).map(|_| ())
    }

    fn delete_group(&mut self, group: GroupHash) {
        self.group_jobs.delete(group);
    }

    fn cancel_deletion(&mut self, group: GroupHash) -> bool {
        let was_deleting = self.group_jobs.cancel_deletion(group);
        if was_deleting {
            self.sieve.forget();
        }
        was_deleting
    }

    fn rescan_schedule(&mut self) {
        self.server.rescan_schedule();
        self.due.rescan(&mut self.frontier);
    }

    fn counts_inlinks(&self) -> bool {
        self.inlinks.is_on()
    }

    fn n_jobs(&self) -> usize {
        self.group_jobs.count()
    }

    fn busy(&self, groups: &BTreeSet<GroupHash>) -> BTreeSet<GroupHash> {
        let mut busy = self.frontier.hosts.busy(groups);
        busy.extend(groups.iter().filter(|group| self.group_jobs.is_unrested(**group)));
        busy
    }

    fn export(
        &self,
        group: GroupHash,
        cursor: ExportCursor,
        bytes_max: usize,
    ) -> Result<(Vec<Fact>, Option<ExportCursor>), DiskError> {
        next_facts(&self.frontier.disk, group, cursor, bytes_max)
    }

    fn is_refetching(&self) -> bool {
        self.refetch.is_running()
    }

    fn set_lost_archives(&mut self, lost: &[LostArchive]) {
        if self.refetch.add(lost) {
            self.frontier.changes.refetching = true;
        }
    }
}
