//! The writer thread: the only one that writes, to the archive and to the crawl database.
//!
//! It gathers results into a [`Commit`]. It appends the records to the archive and syncs it, then
//! writes everything that follows from the commit in one batch, with the position of the archive.
//! From then on the system may write the batch to disk at any time, because the archive is already
//! there. While the disk is full the writer retries: nothing is dropped, and no visit begins.

pub use archive::{check_archive, open_archive};
pub use kept_archive::KeptArchive;
use sieve_warning::SieveReports;

use crate::cluster::Replication;
use crate::crawldb::{CrawlDb, GroupRows};
use crate::limits::SEED_BATCHES_MAX;
use crate::messages::{Commit, Page, PageEnd, SchedulerQueues, ToWorkbench, WriterMsg};
use crate::process::duplicates::Duplicates;
use crate::process::near::NearIndex;
use crate::process::payloads::OwnPayloads;
use crate::report::Ended;
use crate::shared::Shared;
use crate::storage::{Database, DiskError};
use crate::url_tracing::CommitTrace;
use crivello_archive::ArchiveError;
use crivello_common::hash::ContentDigest;
use crivello_common::time::Timestamp;
use crivello_recrawl::demand::DemandReport;
use crossbeam::channel::{Receiver, RecvTimeoutError};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Duration;

/// A commit with this many bytes of archive records and links is due at once.
const COMMIT_BYTES_MAX: usize = 8 << 20;
/// A commit with this many URLs from outside is due at once.
const FOUND_MAX: usize = 32_000;
/// Minimum time between two syncs of the state that other agents wait for: whatever is committed in
/// between shares one.
const SYNC_EVERY: Duration = Duration::from_millis(20);
/// Pause after such a sync, as a multiple of its duration: a slow disk has time for other work.
const SYNC_PAUSE_FACTOR: u32 = 4;
/// Longest wait for a message.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Error that stops the writer, or with which it cannot start.
#[derive(Debug, thiserror::Error)]
pub enum WriterError {
    /// The crawl database failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The archive failed.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The disk stayed full until the crawl was stopped.
    #[error("the disk is full; uncommitted pages will be fetched again: {0}")]
    StillFull(String),
}

impl WriterError {
    /// Returns true if more space on the disk would solve the problem.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Disk(error) => error.is_full(),
            Self::Archive(error) => error.is_full(),
            Self::StillFull(_) => false,
        }
    }
}

/// The stores that the writer writes to.
pub struct Stores {
    /// The RocksDB database.
    pub disk: Arc<Database>,
    /// The crawl database in it.
    pub crawldb: CrawlDb,
    /// The archive.
    pub archive: KeptArchive,
    /// Directory of both.
    pub dir: PathBuf,
    /// Payload digests of pages that are not committed yet.
    pub duplicates: Arc<Duplicates>,
    /// Fingerprints of pages that are not committed yet.
    pub near: Arc<NearIndex>,
    /// Payloads to which other agents may refer; `None` if they may not.
    pub payloads: Option<Arc<OwnPayloads>>,
    /// Serial numbers of the archive files that are stored elsewhere, too, in order.
    pub uploaded: Vec<u32>,
}

/// State of the writer thread.
pub struct Writer {
    shared: Shared,
    queues: Arc<SchedulerQueues>,
    inbox: Receiver<WriterMsg>,
    stores: Stores,
    replication: Replication,
    /// The open commit of pages.
    open: Commit,
    /// Bytes of the open commit's pages.
    open_bytes: usize,
    /// Number of local seed batches in the open commit.
    open_seeds: usize,
    /// Time of the open commit's first message.
    open_since: Timestamp,
    /// Open commit of other agents' facts.
    facts: Commit,
    /// Messages for which the workbench's queue has no room.
    replies: VecDeque<ToWorkbench>,
    /// Time when the next hosts that the workbench wants fall due.
    serve_at: Timestamp,
    counted_at: Timestamp,
    synced_at: Timestamp,
    /// Duration of the last sync of the state.
    sync_took: Duration,
    disk_checked_at: Timestamp,
    archive_checked_at: Timestamp,
    seeds_ended: bool,
    /// Counter of block changes as of the last report.
    blocks_reported: Option<u64>,
    /// Reports of the sieve that were logged.
    sieve_reports: SieveReports,
    /// Last report of the demand, if the agent is alone.
    own_demand: Option<DemandReport>,
    /// Reason why the scheduler starts no more visits.
    idle: Option<Ended>,
}

impl Writer {
    /// Creates a writer with nothing to commit.
    #[must_use]
    pub fn new(
        shared: Shared,
        queues: Arc<SchedulerQueues>,
        inbox: Receiver<WriterMsg>,
        stores: Stores,
        replication: Replication,
    ) -> Self {
        let now = shared.clock.now();
        Self {
            shared,
            queues,
            inbox,
            stores,
            replication,
            open: Commit::default(),
            open_bytes: 0,
            open_seeds: 0,
            open_since: now,
            facts: Commit::of_facts(),
            replies: VecDeque::new(),
            serve_at: now,
            counted_at: now,
            synced_at: now,
            sync_took: Duration::ZERO,
            disk_checked_at: Timestamp::ZERO,
            archive_checked_at: Timestamp::ZERO,
            seeds_ended: false,
            blocks_reported: None,
            sieve_reports: SieveReports::default(),
            own_demand: None,
            idle: None,
        }
    }

    /// Runs until the crawl is over, then closes the archive and the database.
    pub fn run(mut self) {
        self.report_totals();
        self.publish_missing_files();
        self.publish_oldest_original(&self.shared.live.latest().live.archive);
        let begun = self.seal_uploaded_file().and_then(|()| self.sync_archive_end());
        let end = begun.and_then(|()| self.work()).and_then(|how| {
            let saves = !self.shared.lifecycle.abandoned.load(Relaxed);
            if saves { self.close().map(|()| how) } else { Ok(how) }
        });
        self.stores.disk.close();
        match end {
            Ok(how) => self.shared.lifecycle.end(how, None),
            Err(error) => self.shared.lifecycle.end(Ended::Failed, Some(error.to_string())),
        }
        self.queues.wake();
    }

    fn work(&mut self) -> Result<Ended, WriterError> {
        loop {
            self.shared.status.writer_rounds.fetch_add(1, Relaxed);
            self.gather();
            if self.shared.lifecycle.is_over() {
                return Ok(Ended::Failed); // Another thread has failed.
            }
            let now = self.shared.clock.now();
            self.check_disk_space(now);
            self.poll_cluster(now)?;
            self.apply_settings(now)?;
            self.queue_due(now)?;
            self.keep_archive(now)?;
            if self.is_due(now) {
                self.commit()?;
            }
            self.sync(now)?;
            self.replication.send(&self.stores.crawldb)?;
            self.serve(now)?;
            if let Some(how) = self.ended()? {
                return Ok(how);
            }
        }
    }

    /// Adds messages to the open commit; waits for the first one if needed.
    fn gather(&mut self) {
        let most = self.shared.settings.state.commit_pages_max as usize;
        let wait = if self.replies.is_empty() { WAIT_MAX } else { Duration::from_millis(1) };
        let wait = self.serve_at.since(self.shared.clock.now()).clamp(Duration::ZERO, wait);
        let wait = if self.open.is_empty() { wait } else { wait.min(Duration::from_millis(2)) };
        let has_jobs = !self.replication.is_solo() && self.stores.crawldb.has_jobs();
        let is_scanning = self.stores.crawldb.is_scanning_due(self.shared.clock.now());
        let has_more = has_jobs || is_scanning || self.replication.has_more();
        let wait = if has_more { Duration::ZERO } else { wait };
        let wait = if self.replication.wants_sync() {
            wait.min(self.next_sync().since(self.shared.clock.now()))
        } else {
            wait
        };
        match self.next_message(wait) {
            Ok(entry) => self.add(entry),
            Err(RecvTimeoutError::Timeout) => return,
            Err(RecvTimeoutError::Disconnected) => {
                self.idle.get_or_insert(Ended::Stopped);
                return;
            }
        }
        while self.open.pages.len() < most
            && 2 * self.open_seeds < SEED_BATCHES_MAX
            && self.open_bytes < COMMIT_BYTES_MAX
            && let Ok(entry) = self.inbox.try_recv()
        {
            self.add(entry);
        }
    }

    /// Returns true if anything waits for a commit.
    fn must_commit(&self) -> bool {
        !self.open.is_empty()
            || self.open.is_awaited()
            || self.stores.crawldb.has_changes()
            || self.stores.archive.periods.has_changes()
            || self.replication.has_changes()
    }

    fn add(&mut self, entry: WriterMsg) {
        if self.open.is_empty() && !self.stores.crawldb.has_changes() {
            self.open_since = self.shared.clock.now();
        }
        match entry {
            WriterMsg::Page(page) => {
                self.open_bytes += page.held_bytes();
                self.open.pages.push((*page, None));
            }
            WriterMsg::Found(found, refused) => {
                self.open_seeds += 1;
                self.open.found.extend(found);
                self.open.refused.merge(&refused);
            }
            WriterMsg::ToFrontier(notes) => {
                notes.into_iter().for_each(|note| self.stores.crawldb.on_workbench(note));
            }
            WriterMsg::SeedsEnd { any } => {
                self.seeds_ended = true;
                self.open.seeds_end = any;
            }
            WriterMsg::Idle(how) => self.idle = how,
        }
    }

    /// Returns true if the open commit is due: it is full or old enough, or all other threads wait
    /// for it.
    fn is_due(&self, now: Timestamp) -> bool {
        let state = &self.shared.settings.state;
        let age = now.since(self.open_since);
        if self.open.is_empty() {
            return self.must_commit() && age >= state.commit_interval;
        }
        self.open.pages.len() >= state.commit_pages_max as usize
            || self.open_bytes >= COMMIT_BYTES_MAX
            || 2 * self.open_seeds >= SEED_BATCHES_MAX
            || self.open.found.len() >= FOUND_MAX
            || age >= state.commit_interval
            || (self.inbox.is_empty() && self.nothing_else_moves())
    }

    fn nothing_else_moves(&self) -> bool {
        let (unparsed, uncommitted) = self.shared.pipeline.pages();
        let idle = self.shared.status.visits.load(Relaxed) == 0;
        idle && unparsed == 0 && uncommitted == self.open.pages.len()
    }

    /// Commits the open commit of pages.
    fn commit(&mut self) -> Result<(), WriterError> {
        let begun = self.shared.clock.now();
        let mut commit = std::mem::take(&mut self.open);
        self.append(&mut commit)?;
        let now = self.shared.clock.now();
        self.stores.crawldb.add_elapsed(now.since(self.counted_at));
        self.counted_at = now;
        self.replication.route(&mut commit, &mut self.stores.crawldb, now)?;
        let synced_from = self.shared.clock.now();
        commit.archive_periods = self.stores.archive.periods.take_changed();
        let archive_end = self.stores.archive.writer.sync()?;
        commit.archive_position = Some(archive_end.to_bytes());
        let stored = now.since(begun) + self.shared.clock.now().since(synced_from);
        self.stores.crawldb.apply(&mut commit, now)?;
        if let Some(payloads) = &self.stores.payloads {
            payloads
                .on_commit(commit.pages.iter().filter_map(|(page, _)| first_with(page).copied()));
        }
        let commit = self.write(commit, begun)?;
        self.stores.archive.on_committed(archive_end);
        for (page, record) in &commit.pages {
            if let Some(digest) = first_with(page) {
                self.stores.duplicates.settle(digest);
            }
            if let Some(fingerprint) = &page.fingerprint {
                self.stores.near.settle(fingerprint, *record);
            }
        }
        self.measure(&commit, begun, stored);
        self.shared.pipeline.leave(commit.pages.len(), self.open_bytes, self.open_seeds);
        self.open_bytes = 0;
        self.open_seeds = 0;
        self.open_since = now;
        self.queues.wake();
        Ok(())
    }

    /// Writes an applied commit, which began at `begun`: the only place where a batch is written.
    fn write(&mut self, mut commit: Commit, begun: Timestamp) -> Result<Commit, WriterError> {
        self.replication.enqueue(&mut commit, &mut self.stores.crawldb)?;
        self.stores.near.store.add_merged(&mut commit.batch);
        let disk = self.stores.disk.clone();
        self.retry_until_space(|_| disk.commit(&commit.batch).map_err(WriterError::from))?;
        self.stores.near.store.on_committed();
        self.shared.status.writer_rounds.fetch_add(1, Relaxed);
        self.trace(&commit, begun);
        self.replication.on_committed(&mut commit);
        // Before the pages leave the pipeline: a reader that finds it empty finds the pages
        // counted.
        self.report_totals();
        self.serve_at = begun;
        Ok(commit)
    }

    /// Measures a commit that began at `begun`; archiving it took `stored`.
    fn measure(&self, commit: &Commit, begun: Timestamp, stored: Duration) {
        let (gauges, now) = (&self.shared.measured, self.shared.clock.now());
        gauges.store.observe(stored);
        gauges.commit.observe(now.since(begun).saturating_sub(stored));
        if !commit.is_empty() {
            gauges.commit_wait.observe(begun.since(self.open_since));
        }
    }

    /// Reports the totals as of the last commit.
    fn report_totals(&mut self) {
        let sieve = self.stores.crawldb.sieve_counts();
        *self.shared.status.totals.lock() = (self.stores.crawldb.totals().clone(), sieve);
        let inlinks = self.stores.crawldb.inlink_counts();
        *self.shared.status.inlinks.lock() = inlinks;
        *self.shared.status.recrawl.lock() = self.stores.crawldb.recrawl_progress();
        self.sieve_reports.check(&sieve, &inlinks, &self.shared.settings.state);
    }

    /// Appends the records of a commit to the archive, and stores each page's location.
    fn append(&mut self, commit: &mut Commit) -> Result<(), WriterError> {
        let pages = &mut commit.pages;
        let mut locations = Vec::with_capacity(pages.len());
        let now = self.shared.clock.now();
        self.retry_until_space(|this| {
            let rest = pages[locations.len()..].iter().map(|(page, _)| page.records.as_slice());
            Ok(this.stores.archive.writer.append(rest, now, &mut locations)?)
        })?;
        for ((page, record), location) in pages.iter_mut().zip(locations) {
            page.records = Vec::new();
            self.stores.archive.periods.note_capture(page.at, page.original);
            *record = location.map(|at| (at.file, at.offset));
        }
        Ok(())
    }

    /// Records the spans of a commit that began at `began`.
    fn trace(&self, commit: &Commit, began: Timestamp) {
        let tracer = &self.shared.tracer;
        if !tracer.is_on() && !commit.pages.iter().any(|(page, _)| page.traced.is_some()) {
            return;
        }
        let ended = self.shared.clock.now();
        let spans = CommitTrace { tracer, began, ended, is_alone: self.replication.is_solo() };
        let mut results = commit.results.iter().copied();
        for (page, record) in &commit.pages {
            for link in &page.links {
                spans.link(page, link, results.next());
            }
            let record = record.filter(|_| page.traced.is_some());
            spans.stored(
                page,
                record.map(|(file, offset)| {
                    (self.stores.archive.writer.file_name(file).unwrap_or_default(), offset)
                }),
            );
        }
        for url in &commit.found {
            let arrived = self.replication.arrived(&url.key());
            spans.received(url, arrived, results.next());
        }
    }

    /// Sends the workbench the hosts and URLs that it requested.
    fn serve(&mut self, now: Timestamp) -> Result<(), WriterError> {
        if self.replies.is_empty() && (now >= self.serve_at || self.stores.crawldb.is_requested()) {
            let only_again = self.shared.status.only_again.load(Acquire);
            self.stores.crawldb.set_only_again(only_again);
            let mut notes = Vec::new();
            let replication = &mut self.replication;
            let mut may_fetch =
                |group, rows: &mut GroupRows| replication.may_fetch(group, rows, now);
            let next = self.stores.crawldb.serve(now, &mut may_fetch, &mut notes)?;
            self.serve_at = next.unwrap_or(now + WAIT_MAX).min(now + WAIT_MAX);
            self.replies.extend(notes);
        }
        let had_some = !self.replies.is_empty();
        while let Some(note) = self.replies.pop_front() {
            if let Err(note) = self.queues.from_writer.push(note) {
                self.replies.push_front(note);
                break;
            }
        }
        if had_some {
            self.queues.wake();
        }
        Ok(())
    }

    /// Syncs the state if other agents wait for it, but not too often, and else from time to time.
    fn sync(&mut self, now: Timestamp) -> Result<(), WriterError> {
        let is_due = now.since(self.synced_at) >= self.shared.settings.state.sync_interval;
        if is_due || (now >= self.next_sync() && self.replication.wants_sync()) {
            let begun = self.shared.clock.now();
            self.retry_until_space(|this| Ok(this.stores.disk.sync()?))?;
            self.synced_at = self.shared.clock.now();
            self.sync_took = self.synced_at.since(begun);
            self.shared.measured.state_sync.observe(self.sync_took);
            self.publish_archive_end();
            self.stores.near.store.on_synced();
            self.replication.on_synced();
        }
        Ok(())
    }

    /// Publishes the end of the archive that the last commit covers, which is synced.
    fn publish_archive_end(&mut self) {
        let end = self.stores.archive.on_synced();
        if let Some(payloads) = &self.stores.payloads {
            payloads.on_synced();
        }
        self.shared.archive_end.send_if_modified(|published| {
            let is_new = published.as_ref() != Some(end);
            if is_new {
                *published = Some(end.clone());
            }
            is_new
        });
    }

    /// Returns the earliest time of the next sync that other agents wait for.
    fn next_sync(&self) -> Timestamp {
        self.synced_at + SYNC_EVERY.max(SYNC_PAUSE_FACTOR * self.sync_took)
    }

    /// Returns the way the run ended, once it has.
    fn ended(&mut self) -> Result<Option<Ended>, WriterError> {
        // Read first: when no visit is in flight, everything that the scheduler sent about visits
        // is in the inbox.
        let idle = self.shared.status.visits.load(Acquire) == 0;
        let settled =
            self.open.is_empty() && self.inbox.is_empty() && self.shared.pipeline.is_empty();
        if !self.replication.is_solo() {
            return self.member_ended(settled);
        }
        if !settled {
            return Ok(None);
        }
        let crawldb = &self.stores.crawldb;
        let (totals, comes_back) = (crawldb.totals(), crawldb.recrawl().is_on());
        let has_more = totals.queued > 0 || (comes_back && totals.scheduled > 0);
        let has_ended = idle && self.seeds_ended;
        Ok(match self.idle {
            _ if has_ended && !has_more => Some(Ended::Exhausted),
            None if has_ended && self.has_nothing_again() => Some(Ended::Limit),
            how => how,
        })
    }

    /// Returns true if the page limit is reached, and no page will be fetched again.
    fn has_nothing_again(&self) -> bool {
        let totals = self.stores.crawldb.totals();
        let only_again = self.shared.status.only_again.load(Acquire);
        only_again && totals.queued_again == 0 && totals.scheduled == 0
    }

    fn close(&mut self) -> Result<(), WriterError> {
        self.commit()?;
        match self.retry_until_space(|this| Ok(this.stores.archive.writer.close()?)) {
            Ok(_) => {}
            Err(WriterError::StillFull(error)) => tracing::warn!(
                error,
                "the index of the last archive file is not sorted; the next start sorts it"
            ),
            Err(error) => return Err(error),
        }
        self.sync_archive_end()
    }

    /// Syncs the state, and publishes the end of the archive that it covers.
    fn sync_archive_end(&mut self) -> Result<(), WriterError> {
        self.retry_until_space(|this| Ok(this.stores.disk.sync()?))?;
        self.publish_archive_end();
        Ok(())
    }
}

/// Returns the digest of a page's payload, if the page is the first with it.
const fn first_with(page: &Page) -> Option<&ContentDigest> {
    match &page.end {
        PageEnd::Response { digest: Some(digest), duplicate: false, .. } => Some(digest),
        _ => None,
    }
}

mod archive;
mod archive_periods;
mod cluster;
mod disk_space;
mod keep;
mod kept_archive;
mod recrawl;
mod settings;
mod sieve_warning;
#[cfg(test)]
mod tests;
