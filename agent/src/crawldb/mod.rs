//! The ledger: sieve, frontier and host rows on disk, and the one commit that moves them.
//!
//! *Comes in*: groups of stored pages with their links, seeds and peers' batches ([`Group`]),
//! other agents' [`Fact`]s, custody's tags, and the workbench's notes
//! ([`DeskNote`]).
//! *Goes out*: hosts that fall due, with the head of their queues ([`LedgerNote`](crate::messages::LedgerNote)); the
//! facts of a group that changes hands.
//! *Remembers*: which URLs were ever seen, which are queued, what became of the others, and every
//! host's state; in memory only the hosts that are on the workbench or have pages on the way.
//! *Never knows*: the web, the clock, which thread it runs on, protobuf.
//! *Goes wrong*: [`DiskError`]; a commit that fails has not happened and can be tried again.
//!
//! Invariants on disk, at every commit: a URL is in `frontier` if and only if its `seen` row says
//! queued; a host has a row in `schedule` if and only if it has rows in `frontier` that wait to be
//! fetched and its group is open; the totals count exactly the rows.

mod admit;
mod blocking;
mod chores;
mod closing;
mod commit;
mod fates;
mod groups;
mod news;
mod recent;
mod refetch;
mod resident;
mod roles;
mod serve;
mod sieve;
mod tags;
mod totals;
mod transfer;
mod unsettled;

pub use commit::Group;
pub use fates::Sieved;
pub use recent::RecentKeys;
pub use refetch::archived;
pub use roles::{Roles, roles};
pub use serve::MayFetch;
pub use sieve::{BlockedBloom, Bloom, Body, Losses, Memory, Offer, Offline, Rocks, SieveCounts};
pub use tags::TagRows;
pub use totals::Totals;
pub use transfer::Cursor;
pub use unsettled::{BEHIND, Unsettled};

use crate::messages::{DeskNote, Fact, Queued};
use crate::storage::{Database, DiskError, Family, keys, values::RobotsRow};
use blocking::Blocking;
use chores::Chores;
use crivello_common::config::Settings;
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::metrics::Timer;
use crivello_common::view::AgentId;
use fates::Fates;
use hashbrown::HashMap;
use news::News;
use refetch::Refetch;
use resident::Resident;
use sieve::Sieve;
use std::collections::BTreeSet;
use std::sync::Arc;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// Name in `meta` of the [`Totals`].
pub const META_TOTALS: &[u8] = b"totals";
/// Name in `meta` of the archive's position.
pub const META_ARCHIVE: &[u8] = b"archive";

/// See the module.
#[derive(Debug)]
pub struct Ledger {
    disk: Arc<Database>,
    sieve: Sieve,
    totals: Totals,
    limits: HostLimits,
    /// Boxed: the map has up to twice as many places as hosts, and some more.
    hosts: Map<HostKey, Box<Resident>>,
    /// Pages promised to hosts of a domain with a limit, and not yet counted in its row.
    promised: Map<GroupHash, u64>,
    /// Hosts whose row in memory is ahead of the disk.
    dirty: Vec<HostKey>,
    /// Hosts that were brought into memory for one commit.
    visitors: Vec<HostKey>,
    /// Robots rows to go with the next commit.
    robots: Vec<(Vec<u8>, Vec<u8>)>,
    /// Hosts whose queue is to be set aside once their pages on the way have arrived.
    closing: Vec<HostKey>,
    /// Whether the workbench asked for something since it was last served.
    asked: bool,
    /// Hosts that the workbench has room for.
    wanted: u32,
    /// Hosts that asked for more of their queue.
    refills: Vec<HostKey>,
    /// Hosts that are wanted whatever their next time.
    calls: Vec<(HostKey, Arc<str>)>,
    /// URLs that the workbench set aside.
    refused: Vec<(HostKey, Vec<Queued>, Discard)>,
    /// No host on disk that is not on the workbench is scheduled before this key.
    cursor: [u8; keys::SCHEDULE],
    /// The first key of `schedule` that was passed because its group may not be fetched.
    passed: Option<[u8; keys::SCHEDULE]>,
    window_urls_max: u64,
    tags: TagRows,
    chores: Chores,
    /// What the batches since the last look changed.
    news: News,
    /// Pages that wait for their links, of the batches since the last look.
    unsettled: Vec<Unsettled>,
    /// The agent, where groups may change hands: then a row of `seen` says where its URL waits, or
    /// who has fetched it.
    me: Option<AgentId>,
    refetch: Refetch,
    fates: Fates,
    blocking: Blocking,
}

/// The limits that the ledger sees to.
#[derive(Clone, Copy, Debug)]
struct HostLimits {
    pages_per_host: Option<u64>,
    pages_per_domain: Option<u64>,
    hosts_per_domain: Option<u64>,
}

impl HostLimits {
    const fn of(settings: &Settings) -> Self {
        Self {
            pages_per_host: settings.limits.pages_per_host_max,
            pages_per_domain: settings.limits.pages_per_domain_max,
            hosts_per_domain: settings.limits.hosts_per_domain_max,
        }
    }
}

impl Ledger {
    /// Takes up where the last commit ended; takes the same time whatever the number of rows, but
    /// for a sieve in memory, which reads the keys of all URLs.
    ///
    /// # Errors
    /// When the disk fails or the totals are damaged.
    pub fn open(disk: Arc<Database>, settings: &Settings) -> Result<Self, DiskError> {
        let totals = match disk.get(Family::Meta, META_TOTALS)? {
            Some(value) => Totals::decode(&value)?,
            None => Totals::default(),
        };
        let refetch = Refetch::read(&disk)?;
        Ok(Self {
            tags: TagRows::new(disk.clone()),
            chores: Chores::read(&disk)?,
            sieve: Sieve::open(disk.clone(), &settings.state)?,
            disk,
            totals,
            limits: HostLimits::of(settings),
            blocking: Blocking::of(settings),
            hosts: Map::default(),
            promised: Map::default(),
            dirty: Vec::new(),
            visitors: Vec::new(),
            robots: Vec::new(),
            closing: Vec::new(),
            asked: false,
            wanted: 0,
            refills: Vec::new(),
            calls: Vec::new(),
            refused: Vec::new(),
            cursor: [0; keys::SCHEDULE],
            passed: None,
            window_urls_max: settings.state.window_urls_max,
            news: News::default(),
            unsettled: Vec::new(),
            me: None,
            refetch,
            fates: Fates::default(),
        })
    }

    /// The ledger of an agent that is not alone, from the first commit of its crawl on: some 13
    /// bytes more a queued URL let it take in what others know of it, and some 70 more a page let
    /// others fetch it again.
    #[must_use]
    pub const fn sharing(mut self, me: AgentId) -> Self {
        self.me = Some(me);
        self.news.are_told = true;
        self
    }

    /// The same, which has the look-ups of its sieve measured.
    #[must_use]
    pub fn timed(mut self, look_ups: Timer) -> Self {
        self.sieve.time(look_ups);
        self
    }

    /// What the batches since the last call changed, as others may be told of it. Nothing while
    /// the agent is alone.
    pub fn take_news(&mut self) -> Vec<Fact> {
        self.news.take()
    }

    /// The pages of the batches since the last call that wait for their links.
    pub fn take_unsettled(&mut self) -> Vec<Unsettled> {
        std::mem::take(&mut self.unsettled)
    }

    /// What became of the URLs of the group that was prepared last: of its pages' links and of those
    /// found elsewhere, in their order.
    #[must_use]
    pub fn sieved(&self) -> Sieved<'_> {
        self.fates.iter()
    }

    /// What the crawl has done so far, as of the last commit.
    #[must_use]
    pub const fn totals(&self) -> &Totals {
        &self.totals
    }

    /// What was asked of the sieve by this process.
    #[must_use]
    pub fn sieve_counts(&self) -> SieveCounts {
        self.sieve.counts()
    }

    /// Adds to the time spent crawling; kept with the next commit.
    pub fn add_elapsed(&mut self, elapsed: std::time::Duration) {
        self.totals.elapsed += elapsed;
    }

    /// Whether a note or a closing host waits for a commit although no page does.
    #[must_use]
    pub fn has_news(&self) -> bool {
        let waiting = !self.closing.is_empty() || !self.refused.is_empty();
        let changed = !self.robots.is_empty() || !self.dirty.is_empty();
        waiting || changed || self.tags.has_news() || self.chores.are_left()
    }

    /// Whether the workbench asked for something since [`Self::serve`] was last called.
    #[must_use]
    pub const fn is_asked(&self) -> bool {
        self.asked
    }

    /// Hears the workbench. What it says of a host is kept with the next commit.
    pub fn note(&mut self, note: DeskNote) {
        match note {
            DeskNote::Want { hosts } => {
                self.wanted = hosts;
                self.asked = true;
            }
            DeskNote::Refill { host } => {
                self.refills.push(host);
                self.asked = true;
            }
            DeskNote::Call { host, name } => {
                self.calls.push((host, name));
                self.asked = true;
            }
            DeskNote::Refuse { host, urls, reason } => self.refused.push((host, urls, reason)),
            DeskNote::Unresolved { kind } => self.totals.failures[kind as usize] += 1,
            DeskNote::State { host, state } => {
                self.change(host, |resident| resident.learn(state));
            }
            DeskNote::Robots { host, origin, record } => {
                let value = RobotsRow::encode(&record);
                self.robots.push((keys::robots(host, origin).to_vec(), value));
                self.change(host, |resident| resident.row.robots = true);
            }
            DeskNote::Return { host, unused } => {
                if let Some(resident) = self.hosts.get_mut(&host) {
                    resident.take_back_all(&unused);
                    resident.handed.shrink_to_fit();
                }
            }
            DeskNote::Leave { host, state, unused } => {
                self.change(host, |resident| resident.leave(state, &unused));
            }
            DeskNote::Blocked { host, by } => self.blocking.is_by(host, by),
            DeskNote::Drop { host, state, unused, reason, forever } => {
                self.change(host, |resident| {
                    resident.leave(state, &unused);
                    resident.closing = Some((reason, forever));
                });
                self.closing.push(host);
            }
        }
    }

    /// Those of `groups` of which hosts are on the workbench, or pages on the way.
    #[must_use]
    pub fn busy(&self, groups: &BTreeSet<GroupHash>) -> BTreeSet<GroupHash> {
        let busy = self.hosts.iter().filter(|(_, resident)| resident.is_busy());
        busy.map(|(host, _)| host.group).filter(|group| groups.contains(group)).collect()
    }

    /// Whether any URL waits that this agent may fetch, as of the last commit.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn has_queue(&self) -> Result<bool, DiskError> {
        let mut any = false;
        self.disk.walk(Family::Schedule, &[], &[0xff; keys::SCHEDULE + 1], |_, _| {
            any = true;
            Ok(false)
        })?;
        Ok(any)
    }

    /// What custody remembers of the groups; what is written goes with the next commit.
    pub const fn tags(&mut self) -> &mut TagRows {
        &mut self.tags
    }

    /// Changes a host in memory; its row follows with the next commit.
    fn change(&mut self, host: HostKey, f: impl FnOnce(&mut Resident)) {
        if let Some(resident) = self.hosts.get_mut(&host) {
            f(resident);
            mark(&mut self.dirty, host, resident);
        }
    }
}

/// Notes that a host's row in memory is ahead of the disk.
fn mark(dirty: &mut Vec<HostKey>, host: HostKey, resident: &mut Resident) {
    if !std::mem::replace(&mut resident.dirty, true) {
        dirty.push(host);
    }
}

#[cfg(test)]
mod tests;
