//! The workbench: the hosts that can be visited, ordered by time.
//!
//! Two levels, as in BUbiNG (Boldi, Marino, Santini, Vigna, 2018): a heap of IP entries by the
//! time one of their hosts may be visited, and for each of them a heap of its hosts. A visit has
//! its host and its IP address exclusively until its verdict arrives.
//!
//! - *Input:* [`ToWorkbench`] (hosts that fall due, more of their URLs),
//!   [`Resolution`](crate::messages::Resolution), [`Verdict`](crate::messages::Verdict), the
//!   scheduler's queries, and in a cluster [`LeaseNotice`](crate::messages::LeaseNotice).
//! - *Output:* [`Visit`], [`ToFrontier`] ([`Workbench::take_messages`]), names to resolve
//!   ([`Workbench::take_to_resolve`]), requests for and returns of IP leases
//!   ([`Workbench::take_lease_requests`]).
//! - *State:* the hosts in memory with the head of their queues and their robots.txt records; the
//!   addresses visited recently. All of it can be rebuilt from the crawl database.
//! - *Does not know:* the content of pages, whether a URL is new, the clock: `now` is an argument
//!   and never decreases. It has no threads, no locks and no I/O.
//! - *Errors:* none that stops it. A host leaves the workbench with [`ToFrontier::Leave`] (it
//!   continues later) or [`ToFrontier::Drop`] (it was given up). Replies for hosts that have left
//!   are ignored and counted ([`Census::unknown_host_replies`]).
//!
//! # Phases of a host
//! ```text
//!  DueHost ─► Asleep ─► Resolving ─► Waiting ─► InFlight ─► (settle) ─► Waiting │ Asleep │ Dry │ gone
//!            └──────────┴── name servers fail: rests ──┘   Dry: window empty, refill pending
//! ```
//! A paused host sleeps until it is resumed. A blocked host is dropped in any phase.
//!
//! # Bounds
//! At most `state.hosts_max` hosts; the target of a robots.txt redirect may exceed this, because
//! another host waits for it. No URLs are requested beyond `state.window_urls_max`. With
//! [`RULES_BYTES_MAX`](crate::limits::RULES_BYTES_MAX) of compiled rules no host is requested;
//! with a quarter more, hosts with rules leave whenever they must wait. Per host, the rules of at
//! most [`ORIGINS_A_HOST_MAX`](crate::limits::ORIGINS_A_HOST_MAX) origins are held.
//!
//! # Caution
//! After a run that was killed, its last requests are unknown: no host is visited before the start
//! plus its longest ordinary delay, and no address before the start plus `ip_delay`.
//! A robots.txt that redirects to another host waits for a visit to that host. A host that is not
//! in memory is requested from the crawl database ([`ToFrontier::RequestHost`]), with its
//! politeness state. If it belongs to another agent, the robots.txt is requested from that agent
//! ([`Workbench::take_remote_requests`]).

mod addresses;
mod front;
mod heap;
mod host_entry;
mod ip_entry;
mod ip_lease;
mod ip_leases;
mod recent_addresses;
mod reconfigure;
mod remote_robots;
mod robots_cache;
mod robots_requests;
mod robots_state;
mod settle;
mod shrink_windows;
mod slab;
mod snapshot;
mod stats;
mod verdict;
mod visit;

#[cfg(test)]
pub(crate) mod tests;

pub use robots_state::asked_again;
pub use stats::Census;

use crate::messages::{DueHost, Lists, Queued, RobotsRequest, ToFrontier, ToWorkbench, Visit};
use crivello_common::config::{Fixed, Live, Settings};
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::politeness::WaitRule;
use crivello_common::time::Timestamp;
use foldhash::HashMap;
use front::{Front, Held};
use heap::{Node, TimeHeap};
use host_entry::{HostEntry, HostPhase, Hosts};
use ip_entry::Ips;
use ip_leases::IpLeases;
use recent_addresses::RecentAddresses;
use remote_robots::RemoteRobots;
use robots_cache::RobotsCache;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use visit::weight;

/// Interval between two attempts to free memory: resting hosts leave and long windows are cut.
const SWEEP: Duration = Duration::from_secs(5);

/// The hosts in memory and the schedule of their visits.
#[derive(Debug)]
pub struct Workbench {
    fixed: Fixed,
    live: Live,
    /// Blocked and paused hosts, by the settings.
    lists: Lists,
    started: Timestamp,
    unclean: bool,
    closing: bool,
    hosts: Hosts,
    ips: Ips,
    /// IP entries with a waiting host, no visit in flight and no lease request pending.
    ready: TimeHeap,
    /// Hosts in [`HostPhase::Asleep`].
    sleepers: TimeHeap,
    /// IP entries that lost their last host, kept until their delay has passed.
    lingering: VecDeque<u32>,
    /// Robots requests for hosts that were requested from the crawl database, by host.
    calls: HashMap<HostKey, Vec<RobotsRequest>>,
    /// Robots requests whose target host has left.
    abandoned: Vec<RobotsRequest>,
    robots_cache: RobotsCache,
    remote_robots: RemoteRobots,
    recent_addresses: RecentAddresses,
    front: Front,
    /// Requests for IP leases; `None` outside a cluster.
    ip_leases: Option<IpLeases>,
    messages: Vec<ToFrontier>,
    to_resolve: Vec<(HostKey, Arc<str>)>,
    window_urls: usize,
    rules_bytes: usize,
    ips_held: usize,
    /// Number of hosts without an address.
    unplaced: usize,
    in_flight: usize,
    seq: u32,
    unknown_host_replies: u64,
    sweep_at: Timestamp,
}

impl Workbench {
    /// Creates an empty workbench. `unclean` is true if the last run may have sent requests that
    /// are not recorded: it was killed.
    #[must_use]
    pub fn new(settings: &Settings, now: Timestamp, unclean: bool) -> Self {
        Self {
            fixed: settings.fixed.clone(),
            live: settings.live.clone(),
            lists: Lists::of(&settings.live),
            started: now,
            unclean,
            closing: false,
            hosts: Hosts::default(),
            ips: Ips::default(),
            ready: TimeHeap::default(),
            sleepers: TimeHeap::default(),
            lingering: VecDeque::new(),
            calls: HashMap::default(),
            abandoned: Vec::new(),
            robots_cache: RobotsCache::default(),
            remote_robots: RemoteRobots::default(),
            recent_addresses: RecentAddresses::default(),
            front: Front::new(settings, now),
            ip_leases: None,
            messages: Vec::new(),
            to_resolve: Vec::new(),
            window_urls: 0,
            rules_bytes: 0,
            ips_held: 0,
            unplaced: 0,
            in_flight: 0,
            seq: 0,
            unknown_host_replies: 0,
            sweep_at: now,
        }
    }

    /// Handles a message of the crawl database.
    pub fn on_frontier(&mut self, message: ToWorkbench, now: Timestamp) {
        match message {
            ToWorkbench::Due(due) => self.admit(*due, now),
            ToWorkbench::MoreUrls { host, urls, more } => self.refilled(host, urls, more, now),
            ToWorkbench::NotOwned { host } => {
                for request in self.calls.remove(&host).unwrap_or_default() {
                    self.request_from_owner(request);
                }
            }
            ToWorkbench::Recall { groups } => self.recall(&groups, now),
        }
        self.fail_abandoned(now);
    }

    /// Returns a visit that may begin now: a host, its address and the task. The visit ends with
    /// [`Self::release`].
    pub fn acquire(&mut self, now: Timestamp) -> Option<Visit> {
        self.wake(now);
        if self.closing {
            return None;
        }
        while self.ready.first().is_some_and(|turn| turn.at <= now) {
            let turn = self.ready.pop(&mut self.ips)?;
            if !self.has_lease(turn.id, now) {
                continue;
            }
            let host = self.ips[turn.id].hosts.pop(&mut self.hosts)?;
            self.hosts[host.id].phase = HostPhase::Loose;
            let visit = self.dispatch(host.id, now);
            if let Some(mut visit) = visit {
                self.begin_lease_visit(turn.id, &mut visit, now);
                self.in_flight += 1;
                return Some(visit);
            }
            self.requeue_ip(turn.id);
            self.fail_abandoned(now);
        }
        None
    }

    /// Returns the next time at which [`Self::acquire`] may return a visit or a name must be
    /// resolved; `None` while only an external message can change anything.
    #[must_use]
    pub fn next_time(&self) -> Option<Timestamp> {
        let turn = if self.closing { None } else { self.ready.first() };
        [turn, self.sleepers.first()].into_iter().flatten().map(|node| node.at).min()
    }

    /// Reports that a fetcher is free and [`Self::acquire`] returned `None`. The front grows if it
    /// is used up. If memory is full, resting hosts leave and long windows are cut.
    pub fn starving(&mut self, now: Timestamp) {
        let held = self.held();
        self.front.starve(held);
        if self.front.is_memory_full(held) && now >= self.sweep_at {
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
            if self.hosts[id].phase != HostPhase::InFlight && !self.hosts[id].refilling {
                self.detach(id);
                self.leave(id, now);
            }
        }
        self.calls.clear();
        self.remote_robots.clear();
        self.abandoned.clear();
    }

    /// Removes and returns the messages to the crawl database, in order.
    #[must_use]
    pub fn take_messages(&mut self) -> Vec<ToFrontier> {
        if let Some(hosts) = self.front.order(self.held(), self.closing) {
            self.messages.push(ToFrontier::WantHosts { hosts });
        }
        std::mem::take(&mut self.messages)
    }

    /// Removes and returns the names to resolve; each is answered by [`Self::resolved`].
    #[must_use]
    pub fn take_to_resolve(&mut self) -> Vec<(HostKey, Arc<str>)> {
        std::mem::take(&mut self.to_resolve)
    }

    fn admit(&mut self, due: DueHost, now: Timestamp) {
        self.front.delivered(due.counts_as());
        if self.hosts.find(&due.host).is_some() {
            self.refilled(due.host, due.urls, due.more, now);
            return;
        }
        let called = self.calls.remove(&due.host).unwrap_or_default();
        if called.is_empty() && (self.closing || self.front.is_memory_full(self.held())) {
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
        host.set_waiting_requests(called);
        self.window_urls += weight(&host.window);
        self.rules_bytes += host.rules_bytes();
        self.unplaced += 1;
        let id = self.hosts.insert(host);
        self.place_host(id, now);
    }

    fn refilled(&mut self, host: HostKey, urls: Vec<Queued>, more: bool, now: Timestamp) {
        let Some(id) = self.hosts.find(&host) else {
            self.unknown_host_replies += 1;
            return;
        };
        let host = &mut self.hosts[id];
        host.refilling = false;
        host.more = more && !urls.is_empty();
        host.batch = urls.len() as u32;
        self.window_urls += weight(&urls);
        host.window.reserve_exact(urls.len());
        host.window.extend(urls);
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
            if !groups.contains(&host.key.group) {
                continue;
            }
            host.recalled = true;
            if host.phase != HostPhase::InFlight && !host.refilling {
                self.detach(id);
                self.leave(id, now);
            }
        }
    }

    /// Handles what is due at `now`: idle IP entries, sleeping hosts, the review of the front.
    fn wake(&mut self, now: Timestamp) {
        self.forget_addresses(now);
        while self.sleepers.first().is_some_and(|node| node.at <= now) {
            if let Some(node) = self.sleepers.pop(&mut self.hosts) {
                self.hosts[node.id].phase = HostPhase::Loose;
                self.place_host(node.id, now);
            }
            self.fail_abandoned(now);
        }
        if self.front.is_review_due(now) {
            let (ready, held) = (self.ready.count_due(now), self.held());
            self.front.review(ready, held, now);
        }
    }

    fn held(&self) -> Held {
        Held {
            hosts: self.hosts.len(),
            entries: self.ips_held + self.unplaced,
            window_urls: self.window_urls,
            rules_bytes: self.rules_bytes,
        }
    }

    fn node(&mut self, at: Timestamp, id: u32) -> Node {
        self.seq = self.seq.wrapping_add(1);
        Node { at, seq: self.seq, id }
    }
}
