//! The ledger's tags in the shape that ownership asks for.

use crate::crawldb::GroupRows;
use crate::ownership::{GroupRole, Tags};
use crate::storage::DiskError;
use crivello_common::hash::GroupHash;
use std::cell::Cell;

/// The tags as ownership sees them; an error of the disk is kept for whoever asked.
pub struct CrawlDbRoleStore<'a> {
    pub rows: &'a mut GroupRows,
    pub changed: &'a mut Vec<GroupHash>,
    pub error: &'a Cell<Option<DiskError>>,
}

impl CrawlDbRoleStore<'_> {
    fn or_none<T>(&self, result: Result<Option<T>, DiskError>) -> Option<T> {
        result.unwrap_or_else(|error| {
            self.error.set(Some(error));
            None
        })
    }
}

impl Tags for CrawlDbRoleStore<'_> {
    fn tag(&self, group: GroupHash) -> Option<GroupRole> {
        self.or_none(self.rows.tag(group))
    }

    fn set_tag(&mut self, group: GroupHash, tag: Option<GroupRole>) {
        self.changed.push(group);
        if let Err(error) = self.rows.set_tag(group, tag) {
            self.error.set(Some(error));
        }
    }

    fn tags_after(&self, group: Option<GroupHash>, most: usize) -> Vec<(GroupHash, GroupRole)> {
        self.or_none(self.rows.tags_after(group, most).map(Some)).unwrap_or_default()
    }
}
