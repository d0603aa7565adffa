//! Application of a commit: all that follows from its pages, in one write batch.

use super::drop_queue::drop_queues;
use super::frontier::Frontier;
use super::pending_page::{hold_until_acked, release_acked};
use super::{CrawlDb, META_ARCHIVE, META_ARCHIVE_PERIODS, META_TOTALS};
use crate::messages::{
    Commit, CommitKind, Found, Page, PageEnd, PendingPage, Queued, RecordPlace, Revisit,
};
use crate::storage::crawl_dir::META_SEEDED;
use crate::storage::near;
use crate::storage::values::{ContentRow, FinishedUrl, UrlOutcome};
use crate::storage::{Batch, DiskError, Family, keys};
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, UrlKey};
use crivello_common::politeness::{Retry, retry};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::sync::Arc;

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
        commit.changes = self.frontier.changes.take();
        Ok(())
    }

    fn apply_pages(&mut self, commit: &mut Commit, now: Timestamp) -> Result<(), DiskError> {
        let Commit { pages, found, signals, host_requests, .. } = commit;
        let Commit { routing, batch, results, pending, .. } = commit;
        // This comes first, because it reads the disk, which does not contain this batch yet.
        drop_queues(&mut self.frontier, (&mut self.blocked_hosts, &self.recrawl), now, batch)?;
        for (host, urls, reason) in std::mem::take(&mut self.refused) {
            self.frontier.hosts.load(&[host])?;
            let entry = self.frontier.hosts.get(host);
            let name = entry.map(|entry| entry.row.name.clone()).unwrap_or_default();
            let me = self.frontier.me.unwrap_or_default();
            for url in urls {
                if self.frontier.is_checked_out(host, url.queue_key) {
                    let outcome = self.recrawl.discarded(&url, (&name, me), reason, now);
                    self.frontier.finish_url(batch, host, &url, &outcome)?;
                    self.frontier.totals.discards.count(reason);
                }
            }
        }
        release_acked(&mut self.frontier, batch, &routing.released)?;
        let links = pages.iter().flat_map(|(page, _)| &page.links);
        let all: Vec<&Found> = links.chain(&*found).collect();
        let urls: Vec<UrlKey> = all.iter().map(|found| found.key()).collect();
        let fresh = self.sieve.dedup(&urls, all.len() - found.len())?;
        if self.inlinks.is_on() {
            let known = urls.iter().zip(&fresh).filter(|(_, is_new)| !**is_new);
            self.inlinks.add(known.map(|(url, _)| *url));
        }
        self.frontier.groups.load(pages.iter().map(|(page, _)| page.host.group))?;
        let mut unread = fresh.as_slice();
        for (i, (page, record)) in pages.iter().enumerate() {
            let (own, rest) = unread.split_at(page.links.len());
            unread = rest;
            let sent = routing.sent_links.get(i).copied().unwrap_or(false);
            let waits = sent || (routing.replicated && own.contains(&true));
            pending.extend(self.record(batch, (page, *record), waits)?);
        }
        host_requests.iter().for_each(|request| self.host_requests.add(request));
        *results = self.enqueue_new(batch, &all, &fresh)?;
        let signals = pages.iter().flat_map(|(page, _)| &page.signals).chain(&*signals);
        self.apply_signals(batch, signals.copied().collect(), pages, now)?;
        self.frontier.totals.discards.merge(&commit.refused);
        self.frontier.totals.links += routing.n_sent;
        self.finish(batch, now)?;
        if commit.seeds_end {
            batch.put(Family::Meta, META_SEEDED, &[]);
        }
        if let Some(position) = &commit.archive_position {
            batch.put(Family::Meta, META_ARCHIVE, position);
        }
        if let Some(periods) = &commit.archive_periods {
            batch.put(Family::Meta, META_ARCHIVE_PERIODS, periods);
        }
        Ok(())
    }

    /// Adds the parts of every commit: rows changed in memory, and the totals.
    pub(super) fn finish(&mut self, batch: &mut Batch, now: Timestamp) -> Result<(), DiskError> {
        for (host, origin, record) in self.frontier.robots.drain(..) {
            batch.put(Family::Robots, &keys::robots(host, origin), &record.encode());
            if let Some(entry) = self.frontier.hosts.get(host) {
                self.frontier.changes.robots(host, &entry.row.name, origin, record);
            }
        }
        self.settle(batch, now)?;
        self.frontier.groups.write(batch);
        self.group_rows.settle(batch);
        self.group_jobs.settle(batch);
        batch.put(Family::Meta, META_TOTALS, &self.frontier.totals.encode());
        self.recrawl.write(batch);
        self.host_requests.write(batch);
        Ok(())
    }

    /// Records the outcome of one request. Returns the page if it must wait until its links are
    /// acknowledged.
    fn record(
        &mut self,
        batch: &mut Batch,
        (page, record): (&Page, Option<(u32, u64)>),
        waits_for_links: bool,
    ) -> Result<Option<PendingPage>, DiskError> {
        self.frontier.totals.discards.merge(&page.discards);
        self.frontier.totals.links += page.links.len() as u64;
        if let PageEnd::Failed(kind) = page.end {
            self.frontier.totals.failures[kind as usize] += 1;
        }
        let Some(row) = &page.row else {
            self.frontier.totals.robots += u64::from(matches!(page.end, PageEnd::Response { .. }));
            return Ok(None);
        };
        self.frontier.hosts.load(&[page.host])?;
        // False if another agent has finished the URL in the meantime, and its fact was merged.
        let waits = self.frontier.is_checked_out(page.host, row.queue_key);
        if let PageEnd::Failed(kind) = page.end
            && retry(kind, row.attempts.saturating_add(1)) == Retry::Again
        {
            if waits {
                self.frontier.requeue(batch, page.host, row);
            }
            return Ok(None);
        }
        let outcome = self.outcome(batch, page, row, record);
        // The archive of the page was lost since it was queued: a 304 refers to nothing.
        let is_not_modified = page.revisit_data.as_ref().is_some_and(|data| data.is_not_modified);
        if waits
            && is_not_modified
            && let Some(lost) = self.refetch.lost(&outcome)
        {
            self.frontier.requeue(batch, page.host, &lost.url.without_capture());
            return Ok(None);
        }
        let mut pending = None;
        if waits && waits_for_links {
            pending = Some(hold_until_acked(&mut self.frontier, batch, page.host, row, outcome)?);
        } else if waits {
            self.frontier.finish_url(batch, page.host, row, &outcome)?;
        }
        let bytes = match page.end {
            PageEnd::Response { bytes, .. } => Some(bytes),
            _ => None,
        };
        let answered = page.end.is_success();
        // Only successes count towards the limits, because anyone can link to URLs that do not exist, and each
        // page once.
        let counts = answered && !row.is_counted();
        let useful = is_useful(page, row);
        self.frontier.hosts.change(page.host, |entry| {
            entry.row.score =
                useful.map_or(entry.row.score, |useful| entry.row.score.after(useful));
            entry.row.pages += u64::from(counts);
            entry.row.bytes += bytes.unwrap_or(0);
            entry.row.answered |= answered;
        });
        if bytes.is_some() && self.frontier.limits.pages_per_domain_max.is_some() {
            if counts {
                self.frontier.groups.change(page.host.group, |group| group.pages += 1)?;
            }
            self.frontier.hosts.count_reserved_page(page.host);
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
        let me = self.frontier.me.unwrap_or_default();
        let recrawl = &mut self.recrawl;
        let revisit = match recrawl.is_on() {
            // Without a look-up of the host.
            false => recrawl.after_visit(page, row, record, me, &mut None),
            true => self
                .frontier
                .hosts
                .change(page.host, |entry| {
                    recrawl.after_visit(page, row, record, me, &mut entry.row.evidence)
                })
                .flatten(),
        };
        let revisit = revisit.map(|mut revisit| {
            revisit.is_counted |= page.end.is_success();
            revisit
        });
        let finished = |by, revisit: Option<Box<Revisit>>| {
            let url = Queued { revisit, ..row.clone() };
            Some(Arc::new(FinishedUrl { by, name: page.name.clone(), url }))
        };
        match page.end {
            PageEnd::Response { status, bytes, digest, duplicate, truncated } => {
                // Limits are for pages, not for fetches.
                self.frontier.totals.pages += u64::from(!row.was_answered());
                self.frontier.totals.bytes += bytes;
                self.frontier.totals.duplicates += u64::from(duplicate);
                self.frontier.totals.truncated += u64::from(truncated);
                *self.frontier.totals.by_status.entry(status).or_default() += 1;
                if let (Some(digest), false) = (digest, duplicate) {
                    let url = CrawlUrl::from_parts(row.origin, &page.name, &row.path);
                    let first = ContentRow { at: page.at, url: url.as_str().into() };
                    batch.put(Family::Content, &digest, &first.encode());
                }
                self.add_fingerprint(batch, page, record);
                // A page that is not modified stays where it was archived.
                let capture = revisit.as_ref().and_then(|revisit| revisit.capture);
                let is_kept = page.revisit_data.as_ref().is_some_and(|data| data.is_not_modified);
                let capture = capture.filter(|_| is_kept);
                let status = capture.map_or(status, |capture| capture.status);
                let record = record.map(RecordPlace::here);
                let record = capture.map_or(record, |capture| capture.record);
                let by = capture.map_or(me, |capture| capture.by);
                let is_wanted = self.frontier.me.is_some() || revisit.is_some();
                let page_of = is_wanted.then(|| finished(by, revisit)).flatten();
                UrlOutcome::Fetched { at: page.at, status, record, page: page_of }
            }
            PageEnd::Failed(kind) => {
                self.frontier.totals.discards.count(Discard::GaveUp);
                UrlOutcome::Failed(kind, revisit.and_then(|revisit| finished(me, Some(revisit))))
            }
            PageEnd::Discarded(reason) => {
                self.frontier.totals.discards.count(reason);
                let page_of = revisit.and_then(|revisit| finished(me, Some(revisit)));
                UrlOutcome::Discarded(reason, page_of)
            }
        }
    }

    /// Adds an archived page to the index of near-duplicates.
    fn add_fingerprint(&mut self, batch: &mut Batch, page: &Page, record: Option<(u32, u64)>) {
        let Some(fingerprint) = &page.fingerprint else { return };
        self.frontier.totals.near_duplicates += u64::from(fingerprint.is_near_duplicate);
        if let Some(entry) = fingerprint.entry(record) {
            near::add_row(batch, fingerprint.bits, entry);
        }
    }

    /// Writes the rows of all changed hosts, with their keys in `schedule`, and removes idle hosts
    /// from memory.
    fn settle(&mut self, batch: &mut Batch, now: Timestamp) -> Result<(), DiskError> {
        let dirty = self.frontier.hosts.take_dirty();
        for &host in &dirty {
            self.frontier.recount_host(host)?;
        }
        let Frontier { hosts, totals, changes, .. } = &mut self.frontier;
        let mut groups: Vec<GroupHash> = dirty.iter().map(|host| host.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let shut = self.group_rows.shut(&groups)?;
        let is_shut = |group| shut.contains(&group) || self.group_jobs.is_deleting(group);
        let ranks = self.ranks.get();
        let mut written = Vec::with_capacity(dirty.len());
        for host in dirty {
            let Some(entry) = hosts.get_mut(host) else { continue };
            entry.dirty = false;
            if entry.parked && entry.available() > 0 {
                entry.parked = false;
                entry.reschedule = true;
            }
            let place = entry.place(now, ranks.as_deref()).filter(|_| !is_shut(host.group));
            let comes_back = entry.reschedule && !entry.on_workbench;
            entry.reschedule &= entry.on_workbench;
            entry.reclassify = false;
            let old = std::mem::replace(&mut entry.row.scheduled, place);
            let counted = if place.is_some() { entry.row.queued } else { 0 };
            totals.own_queued += counted;
            totals.own_queued -= std::mem::replace(&mut entry.counted, counted);
            if old != place {
                if let Some(old) = old {
                    batch.delete(Family::Schedule, &keys::schedule(old, host));
                }
                if let Some(place) = place {
                    batch.put(Family::Schedule, &keys::schedule(place, host), &[]);
                }
            }
            // Also for a host that returns before it is due: `serve` has passed the key that it
            // keeps.
            if let Some(place) = place.filter(|_| comes_back || old != place) {
                self.server.include(place, host);
            }
            batch.put(Family::Hosts, &keys::host(host), &entry.row.encode());
            changes.host(host, &entry.row);
            written.push(host);
        }
        hosts.forget_idle(&written);
        Ok(())
    }
}

/// Returns whether a fetch brought an archived page with content that no other page had; `None` if it says
/// nothing about the host: a redirect, a page that was fetched before, or one that was not requested.
fn is_useful(page: &Page, row: &Queued) -> Option<bool> {
    match page.end {
        _ if row.generation() > 0 => None,
        PageEnd::Response { status, .. } if (300..400).contains(&status) => None,
        PageEnd::Response { duplicate, .. } => {
            let is_kept = page.discards.get(Discard::NotArchived) == 0;
            Some(page.end.is_success() && !duplicate && is_kept)
        }
        PageEnd::Failed(_) => Some(false),
        PageEnd::Discarded(_) => None,
    }
}
