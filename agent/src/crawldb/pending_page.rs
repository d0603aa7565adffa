//! Pages that are archived, and whose links are not yet safe with those who own them.
//!
//! Here such a page is not fetched again; to others it is as if it were still queued. So its row
//! stays in `frontier`, at a place behind all that wait ([`PRIORITY_PENDING`]), and costs no memory. Should
//! this agent be lost, another fetches the page again and finds its links again.

use super::CrawlDb;
use super::commit::PRIORITY_DEFAULT;
use crate::messages::{QueueKey, Queued};
use crate::storage::values::{Seen, UrlOutcome};
use crate::storage::{Batch, DiskError, Family, RowReader, RowWriter, keys};
use crivello_common::hash::{GroupHash, HostHash, HostKey, UrlHash, UrlKey};

/// The priority of rows that are not to be fetched any more.
pub const PRIORITY_PENDING: u8 = u8::MAX;
const _: () = assert!(PRIORITY_DEFAULT < PRIORITY_PENDING);

/// The end of what waits in a host's queue.
pub const END_OF_QUEUE: QueueKey = QueueKey { priority: PRIORITY_PENDING, seq: 0 };

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingPage {
    /// The page's host.
    pub host: HostKey,
    /// Where its row is now.
    pub queue_key: QueueKey,
    /// Its URL.
    pub hash: UrlHash,
    /// What is to be remembered of it.
    pub outcome: UrlOutcome,
}

impl PendingPage {
    /// Appends it to a row.
    pub fn write(&self, w: &mut RowWriter) {
        w.rest(&self.host.group.to_bytes()).rest(&self.host.host.to_bytes());
        w.rest(&self.hash.to_bytes()).number(self.queue_key.seq).bytes(&self.outcome.encode());
    }

    /// The inverse of [`Self::write`].
    #[must_use]
    pub fn read(r: &mut RowReader<'_>) -> Option<Self> {
        let group = GroupHash::from_bytes(r.array()?);
        let host = HostKey { group, host: HostHash::from_bytes(r.array()?) };
        let hash = UrlHash::from_bytes(r.array()?);
        let queue_key = QueueKey { priority: PRIORITY_PENDING, seq: r.number()? };
        Some(Self { host, queue_key, hash, outcome: UrlOutcome::read(r.bytes()?)? })
    }

    fn key(&self) -> UrlKey {
        UrlKey { group: self.host.group, url: self.hash }
    }
}

impl CrawlDb {
    /// Puts a page behind the queue of its host until its links are safe.
    pub(super) fn hold_until_acked(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        row: &Queued,
        outcome: UrlOutcome,
    ) {
        let queue_key = QueueKey { priority: PRIORITY_PENDING, ..self.next_queue_key() };
        let behind = Queued { queue_key, ..row.clone() };
        self.disk.delete(batch, Family::Frontier, &keys::frontier(host, row.queue_key));
        self.write_queued(batch, host, &behind);
        self.totals.queued -= 1;
        self.change(host, |entry| {
            entry.take_back(row.queue_key);
            entry.row.queued -= 1;
        });
        self.pending_pages.push(PendingPage { host, queue_key, hash: row.hash, outcome });
    }

    /// The links of these pages are safe: they are done with, unless others were quicker.
    pub(super) fn release_acked(
        &mut self,
        batch: &mut Batch,
        pages: &[PendingPage],
    ) -> Result<(), DiskError> {
        let mut pages: Vec<&PendingPage> = pages.iter().collect();
        pages.sort_unstable_by_key(|page| page.key());
        pages.dedup_by_key(|page| page.key());
        let rows: Vec<_> = pages.iter().map(|page| keys::seen(page.key())).collect();
        let mut waiting = Vec::new();
        self.disk.get_sorted(Family::Seen, &rows, |i, value| {
            if let Some(Seen::Queued(Some(at))) = value.map(Seen::decode).transpose()?
                && at == (pages[i].host.host, pages[i].queue_key)
            {
                waiting.push(pages[i]);
            }
            Ok(())
        })?;
        for page in waiting {
            self.finish_url(batch, page.host, page.queue_key, page.hash, &page.outcome);
        }
        Ok(())
    }
}
