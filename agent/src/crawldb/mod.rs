//! The crawl database: sieve, frontier and host rows on disk, and the one commit that changes them.
//!
//! - *Input:* [`Commit`]s of stored pages with their links, seeds and URLs from other agents, or of other
//!   agents' [`Fact`](crate::messages::Fact)s; roles of groups; the workbench's messages ([`ToFrontier`]).
//! - *Output:* hosts that fall due, with the heads of their queues ([`ToWorkbench`]); the facts of a
//!   group that is handed off.
//! - *State:* all URLs ever seen, the queues, the outcomes of finished URLs, and every host's
//!   state. Only hosts that are on the workbench or have pages in flight are in memory.
//! - *Does not know:* the web, the clock, its thread, protobuf.
//! - *Errors:* [`DiskError`]. A commit that fails has not happened and can be retried.
//!
//! Invariants on disk, at every commit: a URL is in `frontier` if and only if its `seen` row is
//! queued; a host has a row in `schedule` if and only if it has rows in `frontier` that wait to be
//! fetched and its group is open; the totals, and the rows of hosts and groups, count exactly the
//! rows.

mod admit;
mod blocked_hosts;
mod changes;
mod commit;
mod cross_submission;
mod drop_queue;
mod due;
mod forget;
mod frontier;
mod group_jobs;
mod group_rows;
mod group_table;
mod host_in_memory;
mod host_requests;
mod hosts;
mod inlinks;
mod join;
mod overdue;
mod pending_page;
mod recent;
mod recrawl;
mod refetch;
mod reorder;
mod replica_store;
mod roles;
mod schedule_scan;
mod serve;
mod shares;
mod sieve;
mod signals;
mod totals;
mod transfer;

pub use blocked_hosts::BlockedHosts;
pub use forget::{ForgetCounts, ForgetJob};
pub use group_rows::GroupRows;
pub use inlinks::InlinkCounts;
pub use recent::RecentKeys;
pub use recrawl::{OwnInterval, RecrawlState, own_interval};
pub use refetch::archived;
pub use roles::{RoleCounts, count_roles};
pub use schedule_scan::MayFetch;
pub use shares::refuse;
pub use sieve::{
    BlockedBloom, Bloom, Fingerprinter, Lookup, Losses, Memory, Overflow, QuotientSeen, RocksSeen,
    SeenSet, SieveCounts,
};
pub use totals::Totals;

use crate::messages::{Commit, CommitKind, Queued, ReplicaStore, ToFrontier, ToWorkbench};
use crate::storage::{Batch, Database, DiskError, Family, keys};
use changes::ChangeLog;
use crivello_common::config::{Live, Settings};
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::identity::KeyedHasher;
use crivello_common::metrics::Timer;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_proto::v1::RecrawlProgress;
use crivello_ranks::RanksInForce;
use crivello_recrawl::demand::DemandReport;
use cross_submission::CrossSubmission;
use due::DueScan;
use frontier::{DueCursor, Frontier};
use group_jobs::GroupJobs;
use group_table::GroupTable;
use host_requests::HostRequests;
use hosts::HostTable;
use inlinks::Inlinks;
use overdue::Overdue;
use recrawl::RevisitCounts;
use refetch::Refetch;
use reorder::Reorder;
use serve::Server;
use sieve::Sieve;
use std::sync::Arc;

/// Key in `meta` of the [`Totals`].
pub const META_TOTALS: &[u8] = b"totals";
/// Key in `meta` of the archive's position.
pub const META_ARCHIVE: &[u8] = b"archive";
/// Key in `meta`: the periods of the archive, if pages are not kept for ever.
pub const META_ARCHIVE_PERIODS: &[u8] = b"archive-periods";

/// The crawl database of one agent: it coordinates its parts, and commits.
#[derive(Debug)]
pub struct CrawlDb {
    frontier: Frontier,
    sieve: Sieve,
    server: Server,
    /// URLs that the workbench discarded.
    refused: Vec<(HostKey, Vec<Queued>, Discard)>,
    group_rows: GroupRows,
    group_jobs: GroupJobs,
    refetch: Refetch,
    blocked_hosts: BlockedHosts,
    cross_submission: CrossSubmission,
    reorder: Reorder,
    inlinks: Inlinks,
    ranks: RanksInForce,
    recrawl: RecrawlState,
    due: DueScan,
    host_requests: HostRequests,
}

impl CrawlDb {
    /// Opens the state as of the last commit. The time does not depend on the number of rows,
    /// except for an exact sieve in memory or a Bloom filter, which read the keys of all URLs.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails or the totals are damaged.
    pub fn open(
        disk: Arc<Database>,
        settings: &Settings,
        hasher: KeyedHasher,
    ) -> Result<Self, DiskError> {
        let totals = match disk.get(Family::Meta, META_TOTALS)? {
            Some(value) => Totals::decode(&value)?,
            None => Totals::default(),
        };
        let frontier = Frontier {
            hosts: HostTable::new(disk.clone()),
            groups: GroupTable::new(disk.clone()),
            totals,
            limits: settings.live.limits.clone(),
            changes: ChangeLog::default(),
            me: None,
            robots: Vec::new(),
            dropping: Vec::new(),
            due: DueCursor::default(),
            overdue: Overdue::default(),
            only_again: false,
            disk: disk.clone(),
        };
        let reorder = Reorder::read(&disk, &settings.live.links.priority)?;
        let mut inlinks = Inlinks::new(settings.fixed.state.inlinks_memory);
        inlinks.enable(reorder.counts_inlinks());
        Ok(Self {
            frontier,
            server: Server::new(
                settings.fixed.state.window_urls_max,
                settings.live.politeness.clone(),
            ),
            refused: Vec::new(),
            group_rows: GroupRows::new(disk.clone()),
            group_jobs: GroupJobs::read(&disk)?,
            refetch: Refetch::read(&disk, hasher)?,
            blocked_hosts: BlockedHosts::of(&settings.live),
            cross_submission: CrossSubmission::of(&settings.live),
            reorder,
            inlinks,
            ranks: RanksInForce::default(),
            recrawl: RecrawlState::read(&disk, &settings.live.recrawl)?,
            due: DueScan::default(),
            host_requests: HostRequests::read(&disk)?,
            sieve: Sieve::open(disk, &settings.fixed.state)?,
        })
    }

    /// Enables sharing with other agents, from the first commit of the crawl on. Some 13 bytes more
    /// per queued URL let this agent merge other agents' facts, and some 70 more per page let other
    /// agents fetch it again.
    #[must_use]
    pub const fn sharing(mut self, me: AgentId) -> Self {
        self.frontier.me = Some(me);
        self.frontier.changes.enabled = true;
        self
    }

    /// Orders hosts, and their URLs, by these ranks, too.
    #[must_use]
    pub fn ranked(mut self, ranks: RanksInForce) -> Self {
        self.ranks = ranks;
        self
    }

    /// Measures the sieve's look-ups.
    #[must_use]
    pub fn timed(mut self, look_ups: Timer) -> Self {
        self.sieve.look_ups = Some(look_ups);
        self
    }

    /// Returns the totals of the crawl, as of the last commit.
    pub const fn totals(&self) -> &Totals {
        &self.frontier.totals
    }

    /// Returns the sieve's counts since this process started.
    pub fn sieve_counts(&self) -> SieveCounts {
        self.sieve.counts()
    }

    /// Returns the state of the counts of links.
    pub fn inlink_counts(&self) -> InlinkCounts {
        self.inlinks.state()
    }

    /// Adds to the time spent crawling. The next commit stores it.
    pub fn add_elapsed(&mut self, elapsed: std::time::Duration) {
        self.frontier.totals.elapsed += elapsed;
    }

    /// Returns true if changes wait for a commit even without pages: a message of the workbench, a
    /// queue to discard, a job on a group.
    pub fn has_changes(&self) -> bool {
        let Frontier { dropping, robots, hosts, .. } = &self.frontier;
        let waiting = !dropping.is_empty() || !self.refused.is_empty();
        let changed = !robots.is_empty() || hosts.n_dirty() > 0;
        waiting || changed || self.group_rows.has_changes() || self.has_jobs()
    }

    /// Returns true if the workbench requested something since [`Self::serve`] was last called.
    pub const fn is_requested(&self) -> bool {
        self.server.is_requested()
    }

    /// Handles a message of the workbench. The next commit stores the changes.
    pub fn on_workbench(&mut self, message: ToFrontier) {
        let frontier = &mut self.frontier;
        match message {
            ToFrontier::WantHosts { hosts } => self.server.want_hosts(hosts),
            ToFrontier::Refill { host } => self.server.refill(host),
            ToFrontier::RequestHost { host, name } => self.server.request_host(host, name),
            ToFrontier::DiscardUrls { host, urls, reason } => {
                self.refused.push((host, urls, reason));
            }
            ToFrontier::RobotsRedirectRefused => {
                frontier.totals.discards.count(Discard::RobotsRedirect);
            }
            ToFrontier::NameResolved { host } => {
                frontier.hosts.change(host, |entry| entry.row.resolved = true);
            }
            ToFrontier::NameFailed { kind } => frontier.totals.failures[kind as usize] += 1,
            ToFrontier::HostState { host, state } => {
                frontier.hosts.change(host, |entry| entry.learn(state));
            }
            ToFrontier::Robots { host, origin, record } => {
                frontier.set_robots(host, origin, record);
            }
            ToFrontier::ReturnUrls { host, unused } => {
                if let Some(entry) = frontier.hosts.get_mut(host) {
                    entry.take_back_all(&unused);
                    entry.checked_out.shrink_to_fit();
                }
            }
            ToFrontier::Leave { host, state, unused } => {
                frontier.hosts.change(host, |entry| entry.leave(state, &unused));
            }
            ToFrontier::BlockedBy { host, by } => self.blocked_hosts.is_by(host, by),
            ToFrontier::Drop { host, state, unused, reason, forever } => {
                frontier.hosts.change(host, |entry| entry.leave(state, &unused));
                frontier.drop_host(host, reason, forever);
            }
        }
    }

    /// Answers the workbench's requests, as far as hosts are due and `may_fetch` allows it. Returns
    /// the time when the next host falls due, if it is known.
    ///
    /// A closed group costs nothing here. A host of an open group that may not be fetched is
    /// skipped once, until [`ReplicaStore::rescan_schedule`].
    ///
    /// # Errors
    /// [`DiskError`] if the disk or `may_fetch` fails.
    pub fn serve(
        &mut self,
        now: Timestamp,
        may_fetch: MayFetch<'_>,
        out: &mut Vec<ToWorkbench>,
    ) -> Result<Option<Timestamp>, DiskError> {
        let parts = (&mut self.group_rows, &self.blocked_hosts, &self.group_jobs);
        self.server.serve(&mut self.frontier, parts, now, may_fetch, out)
    }

    /// Sets whether only URLs are handed out that were answered before, because the limit of pages is
    /// reached.
    pub fn set_only_again(&mut self, only_again: bool) {
        self.server.set_only_again(&mut self.frontier, only_again);
    }

    /// Returns true while rows of a group remain to be deleted.
    pub fn is_deleting(&self, group: GroupHash) -> bool {
        self.group_jobs.is_deleting(group)
    }

    /// Returns true if [`Self::step_job`] has something to do.
    pub fn has_jobs(&self) -> bool {
        self.group_jobs.count() > 0
    }

    /// Performs the next step of the jobs on groups. Returns its commit, which is applied already,
    /// or `None` if there is no job. All earlier batches must have been written.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. The crawl database must then not be used any more.
    pub fn step_job(&mut self, now: Timestamp) -> Result<Option<Commit>, DiskError> {
        if !self.has_jobs() {
            return Ok(None);
        }
        let mut batch = Batch::default();
        let (frontier, group_rows) = (&mut self.frontier, &mut self.group_rows);
        let politeness = self.blocked_hosts.politeness();
        let step = self.group_jobs.step(frontier, group_rows, politeness, &mut batch)?;
        for &group in &step.deleted {
            self.sieve.forget_group(group);
        }
        if step.is_gone {
            self.sieve.forget();
        }
        self.finish(&mut batch, now)?;
        if !step.rescheduled.is_empty() {
            // Hosts of groups that were skipped until now.
            self.rescan_schedule();
        }
        self.frontier.changes.forget(&step.deleted);
        self.frontier.changes.forget_hosts(&step.rescheduled);
        Ok(Some(self.scan_commit(batch)))
    }

    /// Scans some rows for pages of lost archives. Returns a commit of its own, which is applied
    /// already, or `None` when all rows are scanned. All earlier batches must have been written.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. The crawl database must then not be used any more.
    pub fn step_refetch(&mut self, now: Timestamp) -> Result<Option<Commit>, DiskError> {
        let is_deleting = |group| self.group_jobs.is_deleting(group);
        let Some(facts) = self.refetch.step(&self.frontier.disk, is_deleting)? else {
            return Ok(None);
        };
        let mut batch = self.apply_facts(&facts, now)?;
        if !self.refetch.is_running() {
            self.frontier.changes.refetching = false;
            self.refetch.finish(&mut batch);
        }
        Ok(Some(self.scan_commit(batch)))
    }

    fn scan_commit(&mut self, batch: Batch) -> Commit {
        let changes = self.frontier.changes.take();
        Commit { kind: CommitKind::Scan, batch, changes, ..Commit::default() }
    }

    /// Returns true while queued URLs remain to be brought to the order of `links.priority`.
    pub const fn is_reordering(&self) -> bool {
        self.reorder.is_running()
    }

    /// Brings some queued URLs to the order of `links.priority`, also when links to them were counted or hosts have other
    /// ranks. Returns a
    /// commit of its own, which is applied already, or `None` if all are in order. All earlier batches must have been
    /// written, and no group may be being exported, because an export would miss rows that move to its front.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. The crawl database must then not be used any more.
    pub fn step_reorder(&mut self, now: Timestamp) -> Result<Option<Commit>, DiskError> {
        let ranks = self.ranks.get();
        self.reorder.follow_ranks(ranks.as_deref());
        self.reorder.follow_counts(&mut self.inlinks, now);
        if !self.is_reordering() {
            return Ok(None);
        }
        let mut batch = Batch::default();
        let parts = (&self.group_jobs, &self.inlinks, ranks.as_deref());
        self.reorder.step(&mut self.frontier, parts, now, &mut batch)?;
        self.finish(&mut batch, now)?;
        Ok(Some(self.scan_commit(batch)))
    }

    /// Returns true if [`Self::step_due`] has something to do.
    pub fn has_due(&self, now: Timestamp) -> bool {
        self.recrawl.is_on() && self.frontier.due.next <= now
    }

    /// Returns true if steps of [`Self::step_due`] or [`Self::step_due_pass`] follow at once.
    pub fn is_scanning_due(&self, now: Timestamp) -> bool {
        self.has_due(now) || (self.recrawl.is_adaptive() && self.due.is_passing())
    }

    /// Queues some URLs whose next fetch is due. Returns a commit of its own, which is applied already,
    /// or `None` if none is due. All earlier batches must have been written. `clock` measures the time that
    /// this takes, which is bounded.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. The crawl database must then not be used any more.
    pub fn step_due(
        &mut self,
        now: Timestamp,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Option<Commit>, DiskError> {
        if !self.has_due(now) {
            return Ok(None);
        }
        let mut batch = Batch::default();
        let parts = (&self.group_rows, &self.group_jobs, &self.refetch);
        self.due.step(&mut self.frontier, parts, (now, clock), &mut batch)?;
        if batch.is_empty() {
            return Ok(None);
        }
        self.finish(&mut batch, now)?;
        Ok(Some(self.scan_commit(batch)))
    }

    /// Performs a step of a pass over all URLs that are to be fetched again, if there is one. Returns a
    /// commit of its own, as [`Self::step_due`], and at the end of the pass the report for the other
    /// agents. `clock` measures the time that this takes, which is bounded.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. The crawl database must then not be used any more.
    pub fn step_due_pass(
        &mut self,
        now: Timestamp,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<Option<(Commit, Option<DemandReport>)>, DiskError> {
        if !self.recrawl.is_adaptive() || !self.due.has_pass(&self.frontier, &self.recrawl, now) {
            return Ok(None);
        }
        let mut batch = Batch::default();
        let (parts, recrawl) = ((&self.group_rows, &self.group_jobs), &mut self.recrawl);
        let (frontier, time) = (&mut self.frontier, (now, clock));
        let report = self.due.step_pass(frontier, parts, recrawl, time, &mut batch)?;
        self.finish(&mut batch, now)?;
        Ok(Some((self.scan_commit(batch), report)))
    }

    /// Returns true while hosts remain to be scanned that people asked for.
    pub const fn has_host_requests(&self) -> bool {
        self.host_requests.is_running()
    }

    /// Returns the policy of fetching pages again, and what was learned.
    pub const fn recrawl(&self) -> &RecrawlState {
        &self.recrawl
    }

    /// Returns the state of fetching pages again; `None` if it is off.
    pub fn recrawl_progress(&self) -> Option<RecrawlProgress> {
        let (totals, recrawl, stats) = (self.totals(), &self.recrawl, self.recrawl.stats());
        let RevisitCounts { new, changed, unchanged, not_modified, failed } = stats.counts;
        recrawl.is_on().then(|| RecrawlProgress {
            scheduled: totals.scheduled,
            queued: totals.queued_again,
            changed,
            unchanged,
            not_modified,
            failed,
            freshness: stats.freshness(),
            threshold: recrawl.is_adaptive().then(|| recrawl.threshold()),
            new,
            lateness: stats.lateness(),
            overdue: self.frontier.overdue.count(),
        })
    }

    /// Counts the URLs that are overdue. Returns true if [`Self::recrawl_progress`] may have changed.
    pub fn count_overdue(&mut self, now: Timestamp) -> bool {
        let Frontier { overdue, totals, .. } = &mut self.frontier;
        self.recrawl.is_on() && overdue.pass(totals.queued_again, now)
    }

    /// Sets the threshold of the policy `adaptive` that all agents agreed on.
    pub fn set_recrawl_threshold(&mut self, threshold: f64, now: Timestamp) {
        self.recrawl.set_threshold(threshold, now);
    }

    /// Applies new settings: limits for hosts and domains, delays, blocked hosts, and the order of
    /// queued URLs.
    pub fn reconfigure(&mut self, settings: &Live) {
        self.frontier.limits = settings.limits.clone();
        self.server.reconfigure(&settings.politeness);
        self.blocked_hosts.reconfigure(settings);
        self.cross_submission = CrossSubmission::of(settings);
        self.reorder.reconfigure(&settings.links.priority);
        self.inlinks.enable(self.reorder.counts_inlinks());
        self.recrawl.reconfigure(&settings.recrawl);
    }

    /// Performs one step of the scan for blocked hosts. The next commits drop the queues that it
    /// finds.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn step_block_scan(&mut self, now: Timestamp) -> Result<(), DiskError> {
        self.blocked_hosts.step(&mut self.frontier, now)
    }

    /// Returns the blocked hosts, and the progress of dropping them.
    pub const fn blocked_hosts(&self) -> &BlockedHosts {
        &self.blocked_hosts
    }

    /// Returns true if a URL waits that this agent may fetch, as of the last commit.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn has_queue(&self) -> Result<bool, DiskError> {
        let mut any = false;
        self.frontier.disk.walk(Family::Schedule, &[], &[0xff; keys::SCHEDULE + 1], |_, _| {
            any = true;
            Ok(false)
        })?;
        Ok(any)
    }

    /// Returns the roles and states of groups. The next commit writes their changes.
    pub const fn group_rows(&mut self) -> &mut GroupRows {
        &mut self.group_rows
    }
}

#[cfg(test)]
mod tests;
