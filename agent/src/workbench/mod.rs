//! The workbench: the hosts that can be visited, ordered by time.
//!
//! Two levels, as in BUbiNG (Boldi, Marino, Santini, Vigna, 2018): a heap of IP entries by the
//! time one of their hosts may be visited, and for each of them its hosts, whose groups take turns. A visit has
//! its host and its IP address exclusively until its verdict arrives.
//!
//! - *Input:* [`ToWorkbench`] (hosts that fall due, more of their URLs),
//!   [`Resolution`](crate::messages::Resolution), [`Verdict`](crate::messages::Verdict), the
//!   scheduler's queries, and in a cluster [`LeaseNotice`].
//! - *Output:* [`Visit`](crate::messages::Visit), [`ToFrontier`]
//!   ([`Workbench::take_messages`]), names to resolve ([`Workbench::take_to_resolve`]), requests for
//!   and returns of IP leases ([`Workbench::take_lease_requests`]).
//! - *State:* the hosts in memory with the head of their queues and their robots.txt records; the
//!   addresses visited recently. All of it can be rebuilt from the crawl database.
//! - *Does not know:* the content of pages, whether a URL is new, the clock: `now` is an argument
//!   and never decreases. It has no threads, no locks and no I/O.
//! - *Errors:* none that stops it. A host leaves the workbench with [`ToFrontier::Leave`] (it
//!   continues later) or [`ToFrontier::Drop`] (it was given up). Replies for hosts that have left
//!   are ignored and counted ([`WorkbenchStats::unknown_host_replies`]).
//!
//! # Parts
//! Components have private state and take what they need as arguments: `hosts` (hosts and the sums
//! of what they occupy), `ips` (addresses, leases on them, recent addresses), `robots` (records,
//! cache, requests at hosts that are not in memory), `front`. Decisions are functions: `choice` (a
//! host's next task), `eviction` (who leaves). [`Workbench`] coordinates them in this file and in
//! `placement`, `visits`, `addresses`, `robots_requests` and `reconfigure`; in `snapshot` and `stats`
//! it only reads them.
//!
//! # Phases of a host
//! ```text
//!  DueHost ─► Asleep ─► Resolving ─► Waiting ─► InFlight ─► (placed) ─► Waiting │ Asleep │ Dry │ gone
//!            └──────────┴── name servers fail: rests ──┘   Dry: window empty, refill pending
//! ```
//! A paused host sleeps until it is resumed. A blocked host is dropped in any phase.
//!
//! # Bounds
//! At most `state.hosts_max` hosts; the target of a robots.txt redirect may exceed this, because
//! another host waits for it. No URLs are requested beyond `state.window_urls_max`. With
//! [`RULES_BYTES_MAX`](crate::limits::RULES_BYTES_MAX) of compiled rules no host is requested;
//! with a quarter more, hosts with rules leave whenever they must wait. Per host, the rules of at
//! most [`ORIGINS_A_HOST_MAX`](crate::limits::ORIGINS_A_HOST_MAX) origins are kept.
//!
//! # Caution
//! After a run that was killed, its last requests are unknown: no host is visited before the start
//! plus its longest ordinary delay, and no address before the start plus `ip_delay`. A host that was
//! taken over from a dead agent rests as long; the crawl database sees to that.
//! A robots.txt that redirects to another host waits for a visit to that host. A host that is not
//! in memory is requested from the crawl database ([`ToFrontier::RequestHost`]), with its
//! politeness state. If it belongs to another agent, the robots.txt is requested from that agent
//! ([`Workbench::take_remote_requests`]).

mod addresses;
mod choice;
mod eviction;
mod front;
mod heap;
mod hosts;
mod ips;
mod placement;
mod reconfigure;
mod robots;
mod robots_requests;
mod slab;
mod snapshot;
mod stats;
mod visits;

#[cfg(test)]
pub(crate) mod tests;

pub use robots::asked_again;
pub use stats::WorkbenchStats;

use crate::messages::{
    DueHost, LeaseInUse, LeaseNotice, LeaseRequest, Lists, NameRequest, Queued, RobotsOutcome,
    ToFrontier, ToWorkbench,
};
use crivello_common::config::{Fixed, Live, Settings};
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::WaitRule;
use crivello_common::ports::PortPolicy;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use front::{Front, Usage};
use hosts::{HostEntry, HostPhase, Hosts};
use ips::{Ips, RecentAddresses};
use robots::{PendingRobots, RobotsCache, RobotsQueue};
use std::time::Duration;

/// Interval between two attempts to free memory: resting hosts leave and long windows are cut.
const SWEEP: Duration = Duration::from_secs(5);

/// The hosts in memory and the schedule of their visits.
#[derive(Debug)]
pub struct Workbench {
    fixed: Fixed,
    live: Live,
    /// Blocked and paused hosts, by the settings.
    lists: Lists,
    ports: PortPolicy,
    started: Timestamp,
    unclean: bool,
    /// True for an agent in a cluster: no address is visited without a lease.
    in_cluster: bool,
    closing: bool,
    /// True if only URLs are visited that were answered before.
    only_again: bool,
    hosts: Hosts,
    ips: Ips,
    recent_addresses: RecentAddresses,
    pending_robots: PendingRobots,
    robots_cache: RobotsCache,
    front: Front,
    messages: Vec<ToFrontier>,
    to_resolve: Vec<NameRequest>,
    in_flight: usize,
    unknown_host_replies: u64,
    sweep_at: Timestamp,
}

impl Workbench {
    /// Creates an empty workbench. `unclean` is true if the last run may have sent requests that
    /// are not recorded: it was killed.
    #[must_use]
    pub fn new(settings: &Settings, hasher: KeyedHasher, now: Timestamp, unclean: bool) -> Self {
        Self {
            fixed: settings.fixed.clone(),
            live: settings.live.clone(),
            lists: Lists::of(&settings.live),
            ports: PortPolicy::new(&settings.fixed.fetch.ports_allowed),
            started: now,
            unclean,
            in_cluster: false,
            closing: false,
            only_again: false,
            hosts: Hosts::default(),
            ips: Ips::default(),
            recent_addresses: RecentAddresses::default(),
            pending_robots: PendingRobots::new(hasher),
            robots_cache: RobotsCache::default(),
            front: Front::new(settings, now),
            messages: Vec::new(),
            to_resolve: Vec::new(),
            in_flight: 0,
            unknown_host_replies: 0,
            sweep_at: now,
        }
    }

    /// Requires IP leases, for an agent in a cluster: no address is visited without one.
    #[must_use]
    pub fn with_ip_leases(mut self) -> Self {
        self.in_cluster = true;
        self
    }

    /// Handles a message of the crawl database.
    pub fn on_frontier(&mut self, message: ToWorkbench, now: Timestamp) {
        match message {
            ToWorkbench::Due(due) => self.admit(*due, now),
            ToWorkbench::MoreUrls { host, urls, more } => self.refilled(host, urls, more, now),
            ToWorkbench::NotOwned { host } => {
                self.pending_robots.send_to_owner(&host, self.in_cluster, &self.lists);
            }
            ToWorkbench::Recall { groups } => self.recall(&groups, now),
        }
        self.fail_abandoned(now);
    }

    /// Handles a message from the lessor of an address.
    pub fn on_lease_notice(&mut self, notice: &LeaseNotice, now: Timestamp) {
        self.ips.on_notice(notice, self.ip_rests_until(), now);
    }

    /// Begins an epoch, in which any address may have another lessor. Returns the leases in use; no
    /// other lease that was granted before will be used.
    pub fn begin_lease_epoch(&mut self, now: Timestamp) -> Vec<LeaseInUse> {
        self.ips.begin_epoch(now)
    }

    /// Returns the next time at which [`Self::acquire`] may return a visit or a name must be
    /// resolved; `None` while only an external message can change anything.
    pub fn next_time(&self) -> Option<Timestamp> {
        let visit = if self.closing { None } else { self.ips.next_time() };
        [visit, self.hosts.next_wake()].into_iter().flatten().min()
    }

    /// Reports that a fetcher is free and [`Self::acquire`] returned `None`. The front grows if it
    /// is used up. If memory is full, resting hosts leave and long windows are cut.
    pub fn starving(&mut self, now: Timestamp) {
        let usage = self.usage();
        self.front.starve(usage);
        if self.front.is_memory_full(usage) && now >= self.sweep_at {
            self.sweep_at = now + SWEEP;
            self.evict_resting(now);
            self.shrink_windows();
        }
        self.fail_abandoned(now);
    }

    /// Starts no more visits and makes every host leave: a host on a visit when that ends, a host
    /// that waits for URLs from the crawl database when these have arrived.
    pub fn close(&mut self, now: Timestamp) {
        self.closing = true;
        for id in self.hosts.ids() {
            self.leave_if_free(id, now);
        }
        self.pending_robots.clear();
    }

    /// Removes and returns the messages to the crawl database, in order.
    #[must_use]
    pub fn take_messages(&mut self) -> Vec<ToFrontier> {
        if let Some(hosts) = self.front.order(self.usage(), self.closing) {
            self.messages.push(ToFrontier::WantHosts { hosts });
        }
        std::mem::take(&mut self.messages)
    }

    /// Removes and returns the names to resolve; each is answered by [`Self::resolved`].
    #[must_use]
    pub fn take_to_resolve(&mut self) -> Vec<NameRequest> {
        std::mem::take(&mut self.to_resolve)
    }

    /// Removes and returns the messages about leases to send.
    #[must_use]
    pub fn take_lease_requests(&mut self, now: Timestamp) -> Vec<LeaseRequest> {
        self.ips.take_lease_requests(now)
    }

    /// Removes and returns the URLs to request from other agents, each answered by
    /// [`Self::on_remote_robots`].
    #[must_use]
    pub fn take_remote_requests(&mut self) -> Vec<CrawlUrl> {
        std::mem::take(&mut self.pending_robots.unsent)
    }

    /// Removes and returns the answers for other agents.
    #[must_use]
    pub fn take_peer_replies(&mut self) -> Vec<(CrawlUrl, RobotsOutcome)> {
        std::mem::take(&mut self.pending_robots.replies)
    }

    fn admit(&mut self, due: DueHost, now: Timestamp) {
        self.front.delivered(due.counts_as());
        if self.hosts.find(&due.host).is_some() {
            self.refilled(due.host, due.urls, due.more, now);
            return;
        }
        let requests = self.pending_robots.take(&due.host);
        if requests.is_empty() && (self.closing || self.front.is_memory_full(self.usage())) {
            let unused = due.urls.iter().map(|url| url.queue_key).collect();
            self.messages.push(ToFrontier::Leave { host: due.host, state: due.state, unused });
            return;
        }
        let mut host = HostEntry::new(due, &self.live.politeness);
        // The settings may have changed since the state was stored.
        let pace = host.pace(&self.live.politeness);
        host.state.reapply_policy(&pace);
        host.paused = self.lists.is_paused(&host.name);
        if self.unclean {
            let wait = host.pace(&self.live.politeness).wait_max();
            host.state.hold_until(self.started + wait, WaitRule::StartUp);
        }
        host.robots_queue = RobotsQueue::of(requests);
        let id = self.hosts.insert(host);
        self.place_host(id, now);
    }

    fn refilled(&mut self, host: HostKey, urls: Vec<Queued>, more: bool, now: Timestamp) {
        let Some(id) = self.hosts.find(&host) else {
            self.unknown_host_replies += 1;
            return;
        };
        self.hosts.refill(id, urls, more);
        let host = &self.hosts[id];
        let leaves = self.closing || host.recalled;
        if host.phase == HostPhase::Dry || (leaves && host.phase != HostPhase::InFlight) {
            self.detach(id);
            self.place_host(id, now);
        }
    }

    /// Makes the hosts of these groups leave: at once, or when their visit or refill has ended.
    fn recall(&mut self, groups: &[GroupHash], now: Timestamp) {
        for id in self.hosts.ids() {
            let host = &mut self.hosts[id];
            if groups.contains(&host.key.group) {
                host.recalled = true;
                self.leave_if_free(id, now);
            }
        }
    }

    /// Handles what is due at `now`: idle IP entries, sleeping hosts, the review of the front.
    fn wake(&mut self, now: Timestamp) {
        self.ips.remove_vacant(now);
        while let Some(id) = self.hosts.pop_awake(now) {
            self.place_host(id, now);
            self.fail_abandoned(now);
        }
        if self.front.is_review_due(now) {
            self.front.review(self.ips.count_ready(now), self.usage(), now);
        }
    }

    fn usage(&self) -> Usage {
        self.hosts.usage(self.ips.occupied())
    }
}
