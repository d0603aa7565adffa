//! The accountant thread: the only one that writes, to the archive and to the ledger.
//!
//! It gathers results into groups. For a group it appends the records to the archive and syncs
//! that, then commits everything that follows from the group in one write batch, the archive's
//! position with it. The system may bring the batch to the disk from then on, whenever it likes:
//! what it speaks of is there already. When the disk is full it is_in_sync still and tries again:
//! nothing is dropped, and the fetchers stop by themselves because the pipeline fills.

use crate::cluster::ReplicationEngine;
use crate::crawldb::{CommitBatch, CrawlDb, GroupRows};
use crate::duplicates::Duplicates;
use crate::limits::SEED_BATCHES_MAX;
use crate::messages::{PageEnd, SchedulerQueues, ToWorkbench, WriterMsg};
use crate::report::Ended;
use crate::shared::Shared;
use crate::storage::{Database, DiskError};
use crate::url_tracing::{self, CommitTrace};
use crivello_archive::{ArchiveError, ArchiveWriter};
use crivello_common::time::Timestamp;
use crossbeam::channel::{Receiver, RecvTimeoutError};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

/// A group with this many bytes of archive records and links is committed at once.
const GROUP_BYTES_MAX: usize = 8 << 20;
/// So is one with so many URLs from outside.
const FOUND_MAX: usize = 32_000;
/// The accountant looks up at least this often.
const NAP_MAX: Duration = Duration::from_millis(100);

/// Why the accountant cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum WriterError {
    /// The state.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The disk stayed full until the crawl was stopped.
    #[error("the disk is full; what was not committed will be fetched again: {0}")]
    StillFull(String),
}

/// What the accountant keeps: everything that lies on the disk.
pub struct Stores {
    /// The state.
    pub disk: Arc<Database>,
    /// Its ledger.
    pub ledger: CrawlDb,
    /// The archive.
    pub archive: ArchiveWriter,
    /// The directory of both.
    pub dir: PathBuf,
    /// Payload digests on their way to the commit.
    pub duplicates: Arc<Duplicates>,
}

/// See the module.
pub struct Writer {
    shared: Shared,
    desk: Arc<SchedulerQueues>,
    inbox: Receiver<WriterMsg>,
    books: Stores,
    /// What the others of a cluster want; `None` for an agent that is alone.
    member: Option<Box<ReplicationEngine>>,
    group: CommitBatch,
    group_bytes: usize,
    group_seeds: usize,
    group_since: Timestamp,
    replies: VecDeque<ToWorkbench>,
    next_due: Timestamp,
    counted_at: Timestamp,
    synced_at: Timestamp,
    disk_looked_at: Timestamp,
    seeds_ended: bool,
    /// What came of what is blocked is told up to this change.
    blocks_told: Option<u64>,
    /// It was said that the sieve loses much.
    losses_told: bool,
    quiet: Option<Ended>,
}

impl Writer {
    /// An accountant with an empty group.
    #[must_use]
    pub fn new(
        shared: Shared,
        desk: Arc<SchedulerQueues>,
        inbox: Receiver<WriterMsg>,
        books: Stores,
    ) -> Self {
        let now = shared.clock.now();
        Self {
            shared,
            desk,
            inbox,
            books,
            member: None,
            group: CommitBatch::default(),
            group_bytes: 0,
            group_seeds: 0,
            group_since: now,
            replies: VecDeque::new(),
            next_due: now,
            counted_at: now,
            synced_at: now,
            disk_looked_at: Timestamp::ZERO,
            seeds_ended: false,
            blocks_told: None,
            losses_told: false,
            quiet: None,
        }
    }

    /// The accountant of a member of a cluster.
    #[must_use]
    pub fn in_cluster(mut self, member: ReplicationEngine) -> Self {
        self.member = Some(Box::new(member));
        self
    }

    /// Works until the crawl is over, then closes the archive and the state.
    pub fn run(mut self) {
        self.tell_totals();
        let end = self.work().and_then(|how| {
            let saves = !self.shared.lifecycle.abandoned.load(Relaxed);
            if saves { self.close().map(|()| how) } else { Ok(how) }
        });
        self.books.disk.close();
        match end {
            Ok(how) => self.shared.lifecycle.end(how, None),
            Err(error) => self.shared.lifecycle.end(Ended::Failed, Some(error.to_string())),
        }
        self.desk.wake();
    }

    fn work(&mut self) -> Result<Ended, WriterError> {
        loop {
            self.gather();
            if self.shared.lifecycle.is_over() {
                return Ok(Ended::Failed); // Somebody else cannot go on.
            }
            let now = self.shared.clock.now();
            self.look_at_disk(now);
            self.take_part(now)?;
            self.keep_up(now)?;
            if self.is_due(now) {
                self.commit()?;
            }
            self.pump()?;
            self.serve(now)?;
            self.sync(now)?;
            if let Some(how) = self.ended()? {
                return Ok(how);
            }
        }
    }

    /// Takes what has come, or waits a little for it.
    fn gather(&mut self) {
        let most = self.shared.settings.state.commit_pages_max as usize;
        let nap = if self.replies.is_empty() { NAP_MAX } else { Duration::from_millis(1) };
        let nap = self.next_due.since(self.shared.clock.now()).clamp(Duration::ZERO, nap);
        let nap = if self.group.is_empty() { nap } else { nap.min(Duration::from_millis(2)) };
        let works = self.member.is_some() && self.books.ledger.has_jobs();
        let nap = if works { Duration::ZERO } else { nap };
        match self.next_entry(nap) {
            Ok(entry) => self.enter(entry),
            Err(RecvTimeoutError::Timeout) => return,
            Err(RecvTimeoutError::Disconnected) => {
                self.quiet.get_or_insert(Ended::Stopped);
                return;
            }
        }
        while self.group.pages.len() < most
            && 2 * self.group_seeds < SEED_BATCHES_MAX
            && self.group_bytes < GROUP_BYTES_MAX
            && let Ok(entry) = self.inbox.try_recv()
        {
            self.enter(entry);
        }
    }

    fn enter(&mut self, entry: WriterMsg) {
        if self.group.is_empty() && !self.books.ledger.has_changes() {
            self.group_since = self.shared.clock.now();
        }
        match entry {
            WriterMsg::Page(page) => {
                self.group_bytes += page.held_bytes();
                self.group.pages.push((*page, None));
            }
            WriterMsg::Found(found, refused) => {
                self.group_seeds += 1;
                self.group.found.extend(found);
                self.group.refused.merge(&refused);
            }
            WriterMsg::Notes(notes) => {
                notes.into_iter().for_each(|note| self.books.ledger.on_workbench(note));
            }
            WriterMsg::SeedsEnd { any } => {
                self.seeds_ended = true;
                self.group.seeds_end = any;
            }
            WriterMsg::Idle(how) => self.quiet = how,
        }
    }

    /// Whether the open group is to be committed now: it is full, or old enough, or nobody has
    /// anything to do before it is.
    fn is_due(&self, now: Timestamp) -> bool {
        let state = &self.shared.settings.state;
        let age = now.since(self.group_since);
        if self.group.is_empty() {
            let told = self.member.as_ref().is_some_and(|member| member.has_news());
            return (told || self.books.ledger.has_changes()) && age >= state.commit_interval;
        }
        self.group.pages.len() >= state.commit_pages_max as usize
            || self.group_bytes >= GROUP_BYTES_MAX
            || 2 * self.group_seeds >= SEED_BATCHES_MAX
            || self.group.found.len() >= FOUND_MAX
            || age >= state.commit_interval
            || (self.inbox.is_empty() && self.nothing_else_moves())
    }

    fn nothing_else_moves(&self) -> bool {
        let (unparsed, uncommitted) = self.shared.pipeline.pages();
        let idle = self.shared.status.visits.load(Relaxed) == 0;
        idle && unparsed == 0 && uncommitted == self.group.pages.len()
    }

    fn commit(&mut self) -> Result<(), WriterError> {
        let begun = self.shared.clock.now();
        self.append()?;
        let now = self.shared.clock.now();
        let disk = self.books.disk.clone();
        let ledger = &mut self.books.ledger;
        let mut outbound = match &mut self.member {
            Some(member) => Some(member.route_links(ledger, &mut self.group, &disk, now)?),
            None => None,
        };
        self.books.ledger.add_elapsed(now.since(self.counted_at));
        self.counted_at = now;
        let synced_from = self.shared.clock.now();
        let position = self.books.archive.sync()?.to_bytes();
        let stored = now.since(begun) + self.shared.clock.now().since(synced_from);
        let mut batch = self.books.ledger.prepare(&self.group, Some(&position), now)?;
        if let (Some(member), Some(outbound)) = (&mut self.member, &mut outbound) {
            member.prepared(&mut self.books.ledger, outbound, &mut batch, &disk)?;
        }
        self.insist(|_| disk.commit(&batch).map_err(WriterError::from))?;
        self.trace(begun);
        if let (Some(member), Some(outbound)) = (&mut self.member, outbound) {
            member.committed(outbound, self.group.pages.len());
        }
        for (page, _) in &self.group.pages {
            if let PageEnd::Response { digest: Some(digest), duplicate: false, .. } = &page.end {
                self.books.duplicates.settle(digest);
            }
        }
        self.measure(begun, stored);
        // First: who finds the pipeline empty finds its pages counted.
        self.tell_totals();
        self.shared.pipeline.leave(self.group.pages.len(), self.group_bytes, self.group_seeds);
        self.group = CommitBatch::default();
        self.group_bytes = 0;
        self.group_seeds = 0;
        self.group_since = now;
        self.next_due = now;
        self.desk.wake();
        Ok(())
    }

    /// The open group's commit began then and is over; its archiving took so long.
    fn measure(&self, begun: Timestamp, stored: Duration) {
        let (gauges, now) = (&self.shared.measured, self.shared.clock.now());
        gauges.store.observe(stored);
        gauges.commit.observe(now.since(begun).saturating_sub(stored));
        if !self.group.is_empty() {
            gauges.commit_wait.observe(begun.since(self.group_since));
        }
    }

    /// As of the last commit.
    fn tell_totals(&mut self) {
        let sieve = self.books.ledger.sieve_counts();
        *self.shared.status.totals.lock() = (self.books.ledger.totals().clone(), sieve);
        self.tell_losses(sieve.losses.rate);
    }

    /// Appends the group's records to the archive, and notes where each page is.
    fn append(&mut self) -> Result<(), WriterError> {
        let mut pages = std::mem::take(&mut self.group.pages);
        let mut locations = Vec::with_capacity(pages.len());
        let now = self.shared.clock.now();
        let result = self.insist(|this| {
            let rest = pages[locations.len()..].iter().map(|(page, _)| page.records.as_slice());
            Ok(this.books.archive.append(rest, now, &mut locations)?)
        });
        for ((page, record), location) in pages.iter_mut().zip(locations) {
            page.records = Vec::new();
            *record = location.map(|at| (at.file, at.offset));
        }
        self.group.pages = pages;
        result
    }

    /// Records the spans of the commit that began at `began`.
    fn trace(&self, began: Timestamp) {
        let tracer = &self.shared.tracer;
        if !tracer.is_on() && !self.group.pages.iter().any(|(page, _)| page.traced.is_some()) {
            return;
        }
        let ended = self.shared.clock.now();
        let commit = CommitTrace { tracer, began, ended, is_alone: self.member.is_none() };
        let mut results = self.books.ledger.sieve_results();
        for (page, record) in &self.group.pages {
            for link in &page.links {
                commit.link(page, link, results.next());
            }
            let record = record.filter(|_| page.traced.is_some());
            commit.stored(
                page,
                record.map(|(file, offset)| {
                    (self.books.archive.file_name(file).unwrap_or_default(), offset)
                }),
            );
        }
        for url in &self.group.found {
            let arrived = self.member.as_ref().and_then(|m| m.arrived(&url_tracing::key(url)));
            commit.received(url, arrived, results.next());
        }
    }

    /// Hands the workbench what it asked for.
    fn serve(&mut self, now: Timestamp) -> Result<(), WriterError> {
        if self.replies.is_empty() && (now >= self.next_due || self.books.ledger.is_asked()) {
            let mut notes = Vec::new();
            let member = &mut self.member;
            let mut may_fetch =
                |group, rows: &mut GroupRows| Self::may_fetch(member, group, rows, now);
            let next = self.books.ledger.serve(now, &mut may_fetch, &mut notes)?;
            self.next_due = next.unwrap_or(now + NAP_MAX).min(now + NAP_MAX);
            self.replies.extend(notes);
        }
        let had_some = !self.replies.is_empty();
        while let Some(note) = self.replies.pop_front() {
            if let Err(note) = self.desk.from_writer.push(note) {
                self.replies.push_front(note);
                break;
            }
        }
        if had_some {
            self.desk.wake();
        }
        Ok(())
    }

    fn sync(&mut self, now: Timestamp) -> Result<(), WriterError> {
        if now.since(self.synced_at) >= self.shared.settings.state.sync_interval {
            self.insist(|this| Ok(this.books.disk.sync()?))?;
            self.synced_at = self.shared.clock.now();
            self.shared.measured.state_sync.observe(self.synced_at.since(now));
        }
        Ok(())
    }

    /// How the run ended, once it has.
    fn ended(&mut self) -> Result<Option<Ended>, WriterError> {
        // First: whatever the scheduler had to say of its visits is in the inbox by then.
        let idle = self.shared.status.visits.load(Acquire) == 0;
        let settled =
            self.group.is_empty() && self.inbox.is_empty() && self.shared.pipeline.is_empty();
        if self.member.is_some() {
            return self.member_ended(settled);
        }
        if !settled {
            return Ok(None);
        }
        let exhausted = idle && self.seeds_ended && self.books.ledger.totals().queued == 0;
        Ok(if exhausted { Some(Ended::Exhausted) } else { self.quiet })
    }

    fn close(&mut self) -> Result<(), WriterError> {
        self.commit()?;
        self.books.archive.close()?;
        Ok(self.books.disk.sync()?)
    }
}

mod losses;
mod membership;
mod room;
mod settings;
#[cfg(test)]
mod tests;
