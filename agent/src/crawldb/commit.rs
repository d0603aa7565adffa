//! Application of a commit: all that follows from its pages, in one write batch.

use super::domain_counters::DomainCounters;
use super::{CrawlDb, META_ARCHIVE, META_TOTALS};
use crate::messages::{
    Commit, CommitKind, Found, PRIORITY_PENDING, Page, PageEnd, PendingPage, QueueKey, Queued,
};
use crate::storage::crawl_dir::META_SEEDED;
use crate::storage::values::{ArchivedPage, ContentRow, UrlOutcome};
use crate::storage::{Batch, DiskError, Family, keys};
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey, UrlHash, UrlKey};
use crivello_common::politeness::{Retry, retry};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::sync::Arc;

/// Priority of every URL; smaller ones are fetched first.
pub const PRIORITY_DEFAULT: u8 = 128;

impl CrawlDb {
    /// Applies a commit: fills its batch with the row changes, and its changes, pending pages and
    /// sieve results. Changes in memory take effect at once. They are durable once
    /// [`Database::commit`](crate::storage::Database::commit) has written the batch. All earlier
    /// batches must have been written.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. The crawl database must then not be used any more.
    pub fn apply(&mut self, commit: &mut Commit, now: Timestamp) -> Result<(), DiskError> {
        match commit.kind {
            CommitKind::Pages => self.apply_pages(commit, now)?,
            CommitKind::Facts => commit.batch = self.apply_facts(&commit.facts, now)?,
            CommitKind::Scan => {}
        }
        commit.changes = self.changes.take();
        Ok(())
    }

    fn apply_pages(&mut self, commit: &mut Commit, now: Timestamp) -> Result<(), DiskError> {
        let Commit { pages, found, routing, batch, results, pending, .. } = commit;
        let mut counters = DomainCounters::default();
        // This comes first, because it reads the disk, which does not contain this batch yet.
        self.drop_queues(batch, &mut counters)?;
        for (host, urls, reason) in std::mem::take(&mut self.refused) {
            self.load(&[host])?;
            for url in urls.iter().filter(|url| self.waits(host, url.queue_key)).collect::<Vec<_>>()
            {
                let outcome = UrlOutcome::Discarded(reason);
                self.finish_url(batch, host, url.queue_key, url.hash, &outcome);
                self.totals.discards.count(reason);
            }
        }
        self.release_acked(batch, &routing.released)?;
        let links = pages.iter().flat_map(|(page, _)| &page.links);
        let all: Vec<&Found> = links.chain(&*found).collect();
        let fresh = self.dedup(&all, all.len() - found.len())?;
        let mut unread = fresh.as_slice();
        for (i, (page, record)) in pages.iter().enumerate() {
            let (own, rest) = unread.split_at(page.links.len());
            unread = rest;
            let sent = routing.sent_links.get(i).copied().unwrap_or(false);
            let waits = sent || (routing.replicated && own.contains(&true));
            pending.extend(self.record(batch, &mut counters, (page, *record), waits)?);
        }
        let new = all.iter().zip(&fresh).filter(|&(_, &fresh)| fresh).map(|(&found, _)| found);
        self.enqueue_new(batch, &mut counters, results, new)?;
        results.set_fresh(fresh);
        self.totals.discards.merge(&commit.refused);
        self.totals.links += routing.n_sent;
        self.finish(batch, &counters, now)?;
        if commit.seeds_end {
            self.disk.put(batch, Family::Meta, META_SEEDED, &[]);
        }
        if let Some(position) = &commit.archive_position {
            self.disk.put(batch, Family::Meta, META_ARCHIVE, position);
        }
        Ok(())
    }

    /// Adds the parts of every commit: rows changed in memory, and the totals.
    pub(super) fn finish(
        &mut self,
        batch: &mut Batch,
        counters: &DomainCounters,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        for (key, value) in self.robots.drain(..) {
            self.disk.put(batch, Family::Robots, &key, &value);
            if let (Some(host), Some(origin)) = (keys::read_host(&key), keys::read_origin(&key))
                && let Some(entry) = self.hosts.get(&host)
            {
                self.changes.robots(host, &entry.row.name, origin, &value);
            }
        }
        self.settle(batch, now)?;
        counters.write(&self.disk, batch);
        self.group_rows.settle(batch);
        self.group_jobs.settle(&self.disk, batch);
        self.disk.put(batch, Family::Meta, META_TOTALS, &self.totals.encode());
        Ok(())
    }

    /// Records the outcome of one request. Returns the page if it must wait until its links are
    /// acknowledged.
    fn record(
        &mut self,
        batch: &mut Batch,
        counters: &mut DomainCounters,
        (page, record): (&Page, Option<(u32, u64)>),
        waits_for_links: bool,
    ) -> Result<Option<PendingPage>, DiskError> {
        self.totals.discards.merge(&page.discards);
        self.totals.links += page.links.len() as u64;
        if let PageEnd::Failed(kind) = page.end {
            self.totals.failures[kind as usize] += 1;
        }
        let Some(row) = &page.row else {
            self.totals.robots += u64::from(matches!(page.end, PageEnd::Response { .. }));
            return Ok(None);
        };
        self.load(&[page.host])?;
        // False if another agent has finished the URL in the meantime, and its fact was merged.
        let waits = self.waits(page.host, row.queue_key);
        if let PageEnd::Failed(kind) = page.end
            && retry(kind, row.attempts.saturating_add(1)) == Retry::Again
        {
            if waits {
                self.requeue(batch, page.host, row);
            }
            return Ok(None);
        }
        let outcome = self.outcome(batch, page, row, record);
        let mut pending = None;
        if waits && waits_for_links {
            pending = Some(self.hold_until_acked(batch, page.host, row, outcome));
        } else if waits {
            self.finish_url(batch, page.host, row.queue_key, row.hash, &outcome);
        }
        let bytes = match page.end {
            PageEnd::Response { bytes, .. } => Some(bytes),
            _ => None,
        };
        self.change(page.host, |entry| {
            entry.row.pages += u64::from(bytes.is_some());
            entry.row.bytes += bytes.unwrap_or(0);
        });
        if bytes.is_some() && self.limits.pages_per_domain.is_some() {
            counters.row(&self.disk, page.host.group)?.pages += 1;
            self.count_reserved_page(page.host);
        }
        Ok(pending)
    }

    /// Counts the outcome of a URL, and returns it for `seen`.
    fn outcome(
        &mut self,
        batch: &mut Batch,
        page: &Page,
        row: &Queued,
        record: Option<(u32, u64)>,
    ) -> UrlOutcome {
        match page.end {
            PageEnd::Response { status, bytes, digest, duplicate, truncated } => {
                self.totals.pages += 1;
                self.totals.bytes += bytes;
                self.totals.duplicates += u64::from(duplicate);
                self.totals.truncated += u64::from(truncated);
                *self.totals.by_status.entry(status).or_default() += 1;
                if let (Some(digest), false) = (digest, duplicate) {
                    let url = CrawlUrl::from_parts(row.origin, &page.name, &row.path);
                    let first = ContentRow { at: page.at, url: url.as_str().into() };
                    self.disk.put(batch, Family::Content, &digest, &first.encode());
                }
                let kept = |by| ArchivedPage { by, name: page.name.clone(), url: row.clone() };
                let page_of = self.me.map(|by| Arc::new(kept(by)));
                UrlOutcome::Fetched { at: page.at, status, record, page: page_of }
            }
            PageEnd::Failed(kind) => {
                self.totals.discards.count(Discard::GaveUp);
                UrlOutcome::Failed(kind)
            }
            PageEnd::Discarded(reason) => {
                self.totals.discards.count(reason);
                UrlOutcome::Discarded(reason)
            }
        }
    }

    /// Removes a URL from its host's queue, or from behind it, and records its outcome.
    pub(super) fn finish_url(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        queue_key: QueueKey,
        url: UrlHash,
        outcome: &UrlOutcome,
    ) {
        self.disk.delete(batch, Family::Frontier, &keys::frontier(host, queue_key));
        let key = keys::seen(UrlKey { group: host.group, url });
        self.disk.put(batch, Family::Seen, &key, &outcome.encode());
        self.changes.done(UrlKey { group: host.group, url }, outcome);
        if queue_key.priority == PRIORITY_PENDING {
            return; // A pending page does not count as queued.
        }
        self.totals.queued -= 1;
        self.change(host, |entry| {
            entry.take_back(queue_key);
            entry.row.queued -= 1;
        });
    }

    /// Returns true if a URL is handed out and has no outcome yet.
    fn waits(&self, host: HostKey, queue_key: QueueKey) -> bool {
        self.hosts.get(&host).is_some_and(|entry| entry.is_checked_out(queue_key))
    }

    /// Moves a URL whose attempt failed to the end of its host's queue.
    fn requeue(&mut self, batch: &mut Batch, host: HostKey, url: &Queued) {
        self.totals.retries += 1;
        let again = Queued {
            queue_key: self.next_queue_key(),
            attempts: url.attempts.saturating_add(1),
            ..url.clone()
        };
        self.disk.delete(batch, Family::Frontier, &keys::frontier(host, url.queue_key));
        self.write_queued(batch, host, &again);
        self.change(host, |entry| entry.take_back(url.queue_key));
    }

    /// Returns the next queue key in the order of first appearance.
    pub(super) fn next_queue_key(&mut self) -> QueueKey {
        let seq = self.totals.next_seq;
        self.totals.next_seq += 1;
        QueueKey { priority: PRIORITY_DEFAULT, seq }
    }

    /// Writes the rows of all changed hosts, with their keys in `schedule`, and removes idle hosts
    /// from memory.
    fn settle(&mut self, batch: &mut Batch, now: Timestamp) -> Result<(), DiskError> {
        let dirty = std::mem::take(&mut self.dirty);
        let mut groups: Vec<GroupHash> = dirty.iter().map(|host| host.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let shut = self.group_rows.shut(&groups)?;
        let is_shut = |group| shut.contains(&group) || self.group_jobs.is_deleting(group);
        let mut settled = Vec::new();
        for host in dirty {
            let Some(entry) = self.hosts.get_mut(&host) else { continue };
            entry.dirty = false;
            if entry.parked && entry.available() > 0 {
                entry.parked = false;
                entry.reschedule = true;
            }
            let due = entry.due(now).filter(|_| !is_shut(host.group));
            let comes_back = entry.reschedule && !entry.on_workbench;
            entry.reschedule &= entry.on_workbench;
            let old = std::mem::replace(&mut entry.row.scheduled, due);
            let counted = if due.is_some() { entry.row.queued } else { 0 };
            self.totals.own_queued += counted;
            self.totals.own_queued -= std::mem::replace(&mut entry.counted, counted);
            if old != due {
                if let Some(at) = old {
                    self.disk.delete(batch, Family::Schedule, &keys::schedule(at, host));
                }
                if let Some(at) = due {
                    let key = keys::schedule(at, host);
                    self.disk.put(batch, Family::Schedule, &key, &[]);
                }
            }
            // Also for a host that returns before it is due: `serve` has passed the key that it
            // keeps.
            if let Some(at) = due.filter(|_| comes_back || old != due) {
                self.cursor = keys::schedule(at, host).min(self.cursor);
            }
            self.disk.put(batch, Family::Hosts, &keys::host(host), &entry.row.encode());
            self.changes.host(host, &entry.row);
            self.loaded_for_commit.push(host);
            settled.push(host);
        }
        for host in settled {
            self.trim_reservation(host);
        }
        for host in std::mem::take(&mut self.loaded_for_commit) {
            if self.hosts.get(&host).is_some_and(|entry| entry.is_idle()) {
                self.forget(host);
            }
        }
        Ok(())
    }
}
