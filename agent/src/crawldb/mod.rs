//! The crawl database: sieve, frontier and host rows on disk, and the one commit that changes them.
//!
//! - *In*: [`Commit`](crate::messages::Commit)s of stored pages with their links, seeds and URLs
//!   from other agents, or of other agents' [`Fact`](crate::messages::Fact)s; roles of groups; the
//!   workbench's messages ([`ToFrontier`]).
//! - *Out*: hosts that fall due, with the heads of their queues
//!   ([`ToWorkbench`](crate::messages::ToWorkbench)); the facts of a group that is handed off.
//! - *State*: all URLs ever seen, the queues, the outcomes of finished URLs, and every host's
//!   state. Only hosts that are on the workbench or have pages in flight are in memory.
//! - *Never knows*: the web, the clock, its thread, protobuf.
//! - *Errors*: [`DiskError`]. A commit that fails has not happened and can be retried.
//!
//! Invariants on disk, at every commit: a URL is in `frontier` if and only if its `seen` row is
//! queued; a host has a row in `schedule` if and only if it has rows in `frontier` that wait to be
//! fetched and its group is open; the totals count exactly the rows.

mod admit;
mod blocked_hosts;
mod changes;
mod commit;
mod domain_counters;
mod drop_queue;
mod group_jobs;
mod group_rows;
mod host_in_memory;
mod pending_page;
mod recent;
mod refetch;
mod roles;
mod serve;
mod sieve;
mod totals;
mod transfer;

pub use group_rows::GroupRows;
pub use recent::RecentKeys;
pub use refetch::archived;
pub use roles::{RoleCounts, count_roles};
pub use serve::MayFetch;
pub use sieve::{
    BlockedBloom, Bloom, Lookup, Losses, Memory, Offline, RocksSeen, SeenSet, SieveCounts,
};
pub use totals::Totals;
pub use transfer::ExportCursor;

use crate::messages::{Queued, ToFrontier};
use crate::storage::{Database, DiskError, Family, keys, values::RobotsRow};
use blocked_hosts::BlockedHosts;
use changes::ChangeLog;
use crivello_common::config::{Live, Settings};
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::metrics::Timer;
use crivello_common::view::AgentId;
use group_jobs::GroupJobs;
use hashbrown::HashMap;
use host_in_memory::HostInMemory;
use refetch::Refetch;
use sieve::Sieve;
use std::collections::BTreeSet;
use std::sync::Arc;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Key in `meta` of the [`Totals`].
pub const META_TOTALS: &[u8] = b"totals";
/// Key in `meta` of the archive's position.
pub const META_ARCHIVE: &[u8] = b"archive";

/// The crawl database of one agent.
#[derive(Debug)]
pub struct CrawlDb {
    disk: Arc<Database>,
    sieve: Sieve,
    totals: Totals,
    limits: HostLimits,
    /// Hosts in memory. Boxed, because the map has up to twice as many slots as hosts, and some
    /// more.
    hosts: Map<HostKey, Box<HostInMemory>>,
    /// Pages reserved for hosts, by group, and not yet counted in the group's row. Used only with a
    /// page limit per domain.
    reserved_pages: Map<GroupHash, u64>,
    /// Hosts whose row in memory is newer than the row on disk.
    dirty: Vec<HostKey>,
    /// Hosts loaded into memory for the current commit.
    loaded_for_commit: Vec<HostKey>,
    /// Robots rows to write with the next commit.
    robots: Vec<(Vec<u8>, Vec<u8>)>,
    /// Hosts whose queue is discarded once their pages in flight have arrived.
    dropping: Vec<HostKey>,
    /// True if the workbench requested something since [`Self::serve`] was last called.
    asked: bool,
    /// Number of hosts that the workbench has space for.
    wanted: u32,
    /// Hosts for which the workbench requested more URLs.
    refills: Vec<HostKey>,
    /// Hosts that were requested whatever their next time.
    requested_hosts: Vec<(HostKey, Arc<str>)>,
    /// URLs that the workbench discarded.
    refused: Vec<(HostKey, Vec<Queued>, Discard)>,
    /// Start of the next scan of `schedule`. Earlier hosts are on the workbench, or wait for an
    /// event that moves the cursor back.
    cursor: [u8; keys::SCHEDULE],
    /// First key of `schedule` that was skipped because its group may not be fetched.
    first_skipped: Option<[u8; keys::SCHEDULE]>,
    window_urls_max: u64,
    group_rows: GroupRows,
    group_jobs: GroupJobs,
    /// Changes of the current commit.
    changes: ChangeLog,
    /// Id of this agent if groups may change hands. A row of `seen` then records the place where
    /// its URL waits, or the agent that fetched it.
    me: Option<AgentId>,
    refetch: Refetch,
    blocked_hosts: BlockedHosts,
}

/// The limits that the crawl database enforces.
#[derive(Clone, Copy, Debug)]
struct HostLimits {
    pages_per_host: Option<u64>,
    pages_per_domain: Option<u64>,
    hosts_per_domain: Option<u64>,
}

impl HostLimits {
    const fn of(settings: &Live) -> Self {
        Self {
            pages_per_host: settings.limits.pages_per_host_max,
            pages_per_domain: settings.limits.pages_per_domain_max,
            hosts_per_domain: settings.limits.hosts_per_domain_max,
        }
    }
}

impl CrawlDb {
    /// Opens the state as of the last commit. The time does not depend on the number of rows,
    /// except for a sieve in memory, which reads the keys of all URLs.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails or the totals are damaged.
    pub fn open(disk: Arc<Database>, settings: &Settings) -> Result<Self, DiskError> {
        let totals = match disk.get(Family::Meta, META_TOTALS)? {
            Some(value) => Totals::decode(&value)?,
            None => Totals::default(),
        };
        let refetch = Refetch::read(&disk)?;
        Ok(Self {
            group_rows: GroupRows::new(disk.clone()),
            group_jobs: GroupJobs::read(&disk)?,
            sieve: Sieve::open(disk.clone(), &settings.fixed.state)?,
            disk,
            totals,
            limits: HostLimits::of(&settings.live),
            blocked_hosts: BlockedHosts::of(&settings.live),
            hosts: Map::default(),
            reserved_pages: Map::default(),
            dirty: Vec::new(),
            loaded_for_commit: Vec::new(),
            robots: Vec::new(),
            dropping: Vec::new(),
            asked: false,
            wanted: 0,
            refills: Vec::new(),
            requested_hosts: Vec::new(),
            refused: Vec::new(),
            cursor: [0; keys::SCHEDULE],
            first_skipped: None,
            window_urls_max: settings.fixed.state.window_urls_max,
            changes: ChangeLog::default(),
            me: None,
            refetch,
        })
    }

    /// Enables sharing with other agents, from the first commit of the crawl on. Some 13 bytes more
    /// per queued URL let this agent merge other agents' facts, and some 70 more per page let other
    /// agents fetch it again.
    #[must_use]
    pub const fn sharing(mut self, me: AgentId) -> Self {
        self.me = Some(me);
        self.changes.enabled = true;
        self
    }

    /// Measures the sieve's look-ups.
    #[must_use]
    pub fn timed(mut self, look_ups: Timer) -> Self {
        self.sieve.time(look_ups);
        self
    }

    /// Returns the totals of the crawl, as of the last commit.
    #[must_use]
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Returns the sieve's counts since this process started.
    #[must_use]
    pub fn sieve_counts(&self) -> SieveCounts {
        self.sieve.counts()
    }

    /// Adds to the time spent crawling. The next commit stores it.
    pub fn add_elapsed(&mut self, elapsed: std::time::Duration) {
        self.totals.elapsed += elapsed;
    }

    /// Returns true if changes wait for a commit even without pages: a message of the workbench, a
    /// queue to discard, a job on a group.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        let waiting = !self.dropping.is_empty() || !self.refused.is_empty();
        let changed = !self.robots.is_empty() || !self.dirty.is_empty();
        waiting || changed || self.group_rows.has_changes() || self.group_jobs.are_left()
    }

    /// Returns true if the workbench requested something since [`Self::serve`] was last called.
    #[must_use]
    pub const fn is_asked(&self) -> bool {
        self.asked
    }

    /// Handles a message of the workbench. The next commit stores the changes.
    pub fn on_workbench(&mut self, message: ToFrontier) {
        match message {
            ToFrontier::WantHosts { hosts } => {
                self.wanted = hosts;
                self.asked = true;
            }
            ToFrontier::Refill { host } => {
                self.refills.push(host);
                self.asked = true;
            }
            ToFrontier::RequestHost { host, name } => {
                self.requested_hosts.push((host, name));
                self.asked = true;
            }
            ToFrontier::DiscardUrls { host, urls, reason } => {
                self.refused.push((host, urls, reason));
            }
            ToFrontier::NameFailed { kind } => self.totals.failures[kind as usize] += 1,
            ToFrontier::HostState { host, state } => {
                self.change(host, |entry| entry.learn(state));
            }
            ToFrontier::Robots { host, origin, record } => {
                let value = RobotsRow::encode(&record);
                self.robots.push((keys::robots(host, origin).to_vec(), value));
                self.change(host, |entry| entry.row.robots = true);
            }
            ToFrontier::ReturnUrls { host, unused } => {
                if let Some(entry) = self.hosts.get_mut(&host) {
                    entry.take_back_all(&unused);
                    entry.checked_out.shrink_to_fit();
                }
            }
            ToFrontier::Leave { host, state, unused } => {
                self.change(host, |entry| entry.leave(state, &unused));
            }
            ToFrontier::BlockedBy { host, by } => self.blocked_hosts.is_by(host, by),
            ToFrontier::Drop { host, state, unused, reason, forever } => {
                self.change(host, |entry| {
                    entry.leave(state, &unused);
                    entry.dropping = Some((reason, forever));
                });
                self.dropping.push(host);
            }
        }
    }

    /// Returns those of `groups` with hosts that are on the workbench, have pages in flight, or are
    /// being dropped.
    #[must_use]
    pub fn busy(&self, groups: &BTreeSet<GroupHash>) -> BTreeSet<GroupHash> {
        let busy = self.hosts.iter().filter(|(_, entry)| entry.is_busy());
        busy.map(|(host, _)| host.group).filter(|group| groups.contains(group)).collect()
    }

    /// Returns true if a URL waits that this agent may fetch, as of the last commit.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn has_queue(&self) -> Result<bool, DiskError> {
        let mut any = false;
        self.disk.walk(Family::Schedule, &[], &[0xff; keys::SCHEDULE + 1], |_, _| {
            any = true;
            Ok(false)
        })?;
        Ok(any)
    }

    /// Returns the database, which the replication engine's outbox shares.
    #[must_use]
    pub fn disk(&self) -> &Database {
        &self.disk
    }

    /// Returns the roles and states of groups. The next commit writes their changes.
    pub const fn group_rows(&mut self) -> &mut GroupRows {
        &mut self.group_rows
    }

    /// Changes a host in memory. The next commit writes its row.
    fn change(&mut self, host: HostKey, f: impl FnOnce(&mut HostInMemory)) {
        if let Some(entry) = self.hosts.get_mut(&host) {
            f(entry);
            mark(&mut self.dirty, host, entry);
        }
    }
}

/// Marks a host's row in memory as newer than the row on disk.
fn mark(dirty: &mut Vec<HostKey>, host: HostKey, entry: &mut HostInMemory) {
    if !std::mem::replace(&mut entry.dirty, true) {
        dirty.push(host);
    }
}

#[cfg(test)]
mod tests;
