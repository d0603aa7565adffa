//! A page that is archived, and whose links are not acknowledged by their owners yet.

use super::QueueKey;
use crate::storage::values::UrlOutcome;
use crate::storage::{RowReader, RowWriter};
use crivello_common::hash::{GroupHash, HostHash, HostKey, UrlHash, UrlKey};

/// Archived page whose links are not acknowledged yet.
#[derive(Clone, Debug, PartialEq)]
pub struct PendingPage {
    /// The page's host.
    pub host: HostKey,
    /// Key of its frontier row.
    pub queue_key: QueueKey,
    /// Hash of its URL.
    pub hash: UrlHash,
    /// Outcome to store once its links are acknowledged.
    pub outcome: UrlOutcome,
}

impl PendingPage {
    /// Appends it to a row.
    pub fn write(&self, w: &mut RowWriter) {
        w.rest(&self.host.group.to_bytes()).rest(&self.host.host.to_bytes());
        w.rest(&self.hash.to_bytes()).number(self.queue_key.seq).bytes(&self.outcome.encode());
    }

    /// Reads what [`Self::write`] wrote.
    #[must_use]
    pub fn read(r: &mut RowReader<'_>) -> Option<Self> {
        let group = GroupHash::from_bytes(r.array()?);
        let host = HostKey { group, host: HostHash::from_bytes(r.array()?) };
        let hash = UrlHash::from_bytes(r.array()?);
        let queue_key = QueueKey::pending(r.number()?);
        Some(Self { host, queue_key, hash, outcome: UrlOutcome::read(r.bytes()?)? })
    }

    /// Returns the page's key.
    pub const fn key(&self) -> UrlKey {
        UrlKey { group: self.host.group, url: self.hash }
    }
}
