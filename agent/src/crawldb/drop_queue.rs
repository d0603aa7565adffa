//! Discarding of a host's queue: its limit is reached, its address may not be visited, its name
//! does not exist, or it is blocked.

use super::domain_counters::DomainCounters;
use super::pending_page::END_OF_QUEUE;
use super::{CrawlDb, mark};
use crate::messages::QueueKey;
use crate::storage::values::{UrlOutcome, decode_queued};
use crate::storage::{Batch, DiskError, Family, keys};
use crivello_common::discard::Discard;
use crivello_common::hash::{HostKey, UrlKey};

/// Maximum number of rows discarded per commit; small in tests, so that some wait for the next one.
const ROWS_AT_ONCE: usize = if cfg!(test) { 40 } else { 10_000 };

impl CrawlDb {
    /// Discards the queues of hosts whose pages in flight have all arrived.
    pub(super) fn drop_queues(
        &mut self,
        batch: &mut Batch,
        counters: &mut DomainCounters,
    ) -> Result<(), DiskError> {
        let mut room = ROWS_AT_ONCE;
        for host in std::mem::take(&mut self.dropping) {
            let Some(entry) = self.hosts.get(&host) else { continue };
            let Some((reason, forever)) = entry.dropping else { continue };
            if !entry.checked_out.is_empty() || room == 0 {
                self.dropping.push(host);
                continue;
            }
            let Some(reason) = self.reached(counters, host, reason)? else {
                self.reopen(host);
                continue;
            };
            let before = room;
            let done = self.drop_rows(batch, host, reason, &mut room)?;
            self.count_blocked(host, reason, (before - room) as u64, done);
            let Some(entry) = self.hosts.get_mut(&host) else { continue };
            if done {
                entry.dropping = None;
                // While it was being dropped, `serve` may have passed its key in `schedule`.
                entry.reschedule = true;
                entry.row.closed = forever.then_some(reason).or(entry.row.closed);
            } else {
                self.dropping.push(host);
            }
            mark(&mut self.dirty, host, entry);
        }
        Ok(())
    }

    /// Returns the reason that applies now that all pages in flight are counted, if any. The
    /// workbench knows only how many pages it was given, so another limit may be reached, or none.
    /// A host that is not blocked any more is not dropped further.
    fn reached(
        &self,
        counters: &mut DomainCounters,
        host: HostKey,
        reason: Discard,
    ) -> Result<Option<Discard>, DiskError> {
        if reason == Discard::Blocked {
            let name = self.hosts.get(&host).map_or("", |entry| &*entry.row.name);
            return Ok(self.blocked_hosts.still_has(host, name).then_some(reason));
        }
        if !matches!(reason, Discard::HostLimit | Discard::DomainLimit) {
            return Ok(Some(reason));
        }
        if self.hosts.get(&host).is_some_and(|entry| entry.row.closed == Some(reason)) {
            return Ok(Some(reason)); // Another agent closed it.
        }
        let pages = self.hosts.get(&host).map_or(0, |entry| entry.row.pages);
        if self.limits.pages_per_host.is_some_and(|max| pages >= max) {
            return Ok(Some(Discard::HostLimit));
        }
        if let Some(max) = self.limits.pages_per_domain
            && counters.row(&self.disk, host.group)?.pages >= max
        {
            return Ok(Some(Discard::DomainLimit));
        }
        Ok(None)
    }

    fn reopen(&mut self, host: HostKey) {
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        if matches!(entry.dropping, Some((Discard::Blocked, _))) {
            self.blocked_hosts.spare(host);
        }
        entry.dropping = None;
        entry.reschedule = true;
        mark(&mut self.dirty, host, entry);
    }

    /// Moves rows of a host from `frontier` to `seen` with their reason. Returns true if none is
    /// left.
    fn drop_rows(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        reason: Discard,
        room: &mut usize,
    ) -> Result<bool, DiskError> {
        let from = keys::frontier(host, QueueKey::default());
        let last = keys::frontier(host, END_OF_QUEUE);
        let outcome = UrlOutcome::Discarded(reason);
        let (mut rows, mut done) = (Vec::new(), true);
        self.disk.walk(Family::Frontier, &from, &last, |key, value| {
            done = rows.len() < *room;
            if done {
                let queue_key = keys::read_queue_key(key).unwrap_or_default();
                rows.push((queue_key, decode_queued(queue_key, value)?.hash));
            }
            Ok(done)
        })?;
        *room -= rows.len();
        for &(queue_key, hash) in &rows {
            self.disk.delete(batch, Family::Frontier, &keys::frontier(host, queue_key));
            let url = UrlKey { group: host.group, url: hash };
            self.disk.put(batch, Family::Seen, &keys::seen(url), &outcome.encode());
            self.changes.done(url, &outcome);
        }
        let n = rows.len() as u64;
        self.totals.queued -= n;
        self.totals.discards.add(reason, n);
        if let Some(entry) = self.hosts.get_mut(&host) {
            entry.row.queued -= n;
        }
        Ok(done)
    }
}
