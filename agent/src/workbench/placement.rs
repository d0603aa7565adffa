//! Placement of hosts between visits: a host waits, sleeps or leaves.

use super::Workbench;
use super::choice::{Choice, choose, freshness_of, visit_len};
use super::eviction::{Eviction, eviction, is_resting, may_leave};
use super::heap::ABSENT;
use super::hosts::HostPhase;
use super::robots::Freshness;
use crate::messages::{NameRequest, QueueKey, Queued, ToFrontier};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::hash::HostKey;
use crivello_common::politeness::{HostState, WaitRule};
use crivello_common::time::Timestamp;
use std::time::Duration;

/// A name is resolved this long before the host's next time.
const RESOLVE_AHEAD: Duration = Duration::from_secs(5);

impl Workbench {
    /// Moves a loose host to its next phase: into a heap, to the resolver, dry, or out.
    pub(super) fn place_host(&mut self, id: u32, now: Timestamp) {
        if (self.closing || self.hosts[id].recalled) && !self.hosts[id].window.is_refilling() {
            return self.leave(id, now);
        }
        if let Some((reason, forever)) = self.hosts[id].pending_drop {
            return self.drop_host(id, reason, forever, now);
        }
        if self.drop_blocked(id, now) {
            return;
        }
        if self.hosts[id].paused {
            return self.hosts.sleep(id, Timestamp::MAX);
        }
        if self.hosts[id].has_requests() {
            return self.queue_host(id, now);
        }
        if let Some(away) = self.hosts[id].away() {
            let deadline = self.extend_deadline(id, away, now);
            if deadline > now {
                return self.hosts.sleep(id, deadline);
            }
            self.expire_away(id, now);
        }
        if self.hosts[id].pages_left == 0 {
            return self.drop_host(id, Discard::HostLimit, true, now);
        }
        self.return_new(id);
        loop {
            self.refill_if_low(id);
            let at = self.hosts[id].state.next.max(now);
            match choose(&self.hosts[id], at, &self.live.politeness) {
                Choice::Pages { .. } | Choice::Robots(_) => return self.queue_host(id, now),
                Choice::Wait(until) => {
                    let state = &mut self.hosts[id].state;
                    state.rest_until(now, until, WaitRule::RobotsUnreachable);
                    return self.queue_host(id, now);
                }
                Choice::Empty if self.hosts[id].window.is_refilling() => {
                    self.hosts[id].phase = HostPhase::Dry;
                    return;
                }
                Choice::Empty => return self.leave(id, now),
                Choice::TooManyOrigins => self.discard_excess_origins(id, at),
                Choice::GivenUp => {
                    if !self.discard_given_up(id, at) {
                        return self.drop_host(id, Discard::RobotsUnreachable, false, now);
                    }
                }
            }
        }
    }

    /// Sets whether only URLs are visited that were answered before, because the limit of pages is reached.
    pub const fn set_only_again(&mut self, only_again: bool) {
        self.only_again = only_again;
    }

    /// Returns true if only URLs are visited that were answered before.
    pub const fn is_only_again(&self) -> bool {
        self.only_again
    }

    /// Gives the crawl database back the URLs of a host that were never answered, if they may not be
    /// visited.
    pub(super) fn return_new(&mut self, id: u32) {
        if !self.only_again {
            return;
        }
        let host = self.hosts[id].key;
        let new = self.hosts.take_urls(id, |_, url| !url.was_answered());
        let unused: Vec<QueueKey> = new.iter().map(|url| url.queue_key).collect();
        if !unused.is_empty() {
            self.messages.push(ToFrontier::ReturnUrls { host, unused });
        }
    }

    /// Requests a refill if the window runs low, unless the windows contain the maximum of URLs.
    pub(super) fn refill_if_low(&mut self, id: u32) {
        let full = self.front.is_window_full(self.usage());
        let host = &mut self.hosts[id];
        let visit_len = visit_len(&host.pace(&self.live.politeness));
        if !full && host.pages_left > 0 && host.window.is_low(visit_len) {
            host.window.begin_refill();
            self.messages.push(ToFrontier::Refill { host: host.key });
        }
    }

    /// Moves a host that has a task to the phase that its next time requires.
    fn queue_host(&mut self, id: u32, now: Timestamp) {
        let usage = self.usage();
        match eviction(&self.hosts[id], &self.front, usage, &self.live.politeness, now) {
            Eviction::Stay => {}
            Eviction::Leave => return self.leave(id, now),
            Eviction::Ready { rests } => {
                if !self.evict_ready(now) && rests {
                    return self.leave(id, now);
                }
            }
        }
        let host = &mut self.hosts[id];
        let (state, ip) = (&host.state, host.ip());
        let next = state.next;
        if ip != ABSENT {
            host.phase = HostPhase::Waiting;
            let member = (host.key.group, id);
            return self.ips.push_host(ip, next, member, &mut self.hosts);
        }
        // The resolver caches a failure for about as long as the host rests, so an early query is
        // useless.
        let dns = matches!(state.rule, WaitRule::Failure(Failure::DnsUnavailable));
        let wake = if dns { next } else { next - RESOLVE_AHEAD };
        if wake > now {
            self.hosts.sleep(id, wake);
        } else {
            self.resolve(id);
        }
    }

    /// Makes a host that could be visited now leave; returns false if there is none, or if the one
    /// found must stay.
    fn evict_ready(&mut self, now: Timestamp) -> bool {
        let id = self.ips.any_ready_host(now).filter(|&id| may_leave(&self.hosts[id]));
        if let Some(id) = id {
            self.detach(id);
            self.leave(id, now);
        }
        id.is_some()
    }

    /// Makes the hosts that rest for long leave, to free memory.
    pub(super) fn evict_resting(&mut self, now: Timestamp) {
        for id in self.hosts.ids() {
            if is_resting(&self.hosts[id], &self.live.politeness, now) {
                self.detach(id);
                self.leave(id, now);
            }
        }
    }

    /// Cuts every window to its share, if nothing but URLs keeps out hosts that are wanted: while
    /// few hosts are in memory, each has a long window. The URLs cut off return to the crawl
    /// database, which hands them out again in order.
    pub(super) fn shrink_windows(&mut self) {
        let usage = self.usage();
        if !self.front.is_crowded_out(usage) {
            return;
        }
        let share = self.front.window_share(usage);
        for id in self.hosts.ids() {
            // A pending refill continues from the end of the window at the time of the request.
            if !self.hosts[id].window.is_refilling() {
                let (host, unused) = (self.hosts[id].key, self.hosts.cut_window(id, share));
                if !unused.is_empty() {
                    self.messages.push(ToFrontier::ReturnUrls { host, unused });
                }
            }
        }
    }

    /// Sets aside the URLs whose robots.txt was never reached. Returns false, and keeps them, if
    /// the host has nothing else.
    fn discard_given_up(&mut self, id: u32, now: Timestamp) -> bool {
        let urls = self.take_urls(id, now, &Freshness::GivenUp);
        let host = &self.hosts[id];
        if host.window.urls().is_empty() && !host.answers_robots() {
            self.hosts.put_back(id, urls);
            return false;
        }
        self.discard(id, urls, Discard::RobotsUnreachable);
        true
    }

    /// Sets aside the URLs of origins beyond the maximum of a host.
    fn discard_excess_origins(&mut self, id: u32, now: Timestamp) {
        let urls = self.take_urls(id, now, &Freshness::TooManyOrigins);
        self.discard(id, urls, Discard::TooManyOrigins);
    }

    /// Removes and returns the URLs of the window whose origin has this `freshness`.
    fn take_urls(&mut self, id: u32, now: Timestamp, freshness: &Freshness) -> Vec<Queued> {
        let politeness = &self.live.politeness;
        self.hosts.take_urls(id, |host, url| {
            freshness_of(host, url.origin, now, politeness) == *freshness
        })
    }

    fn discard(&mut self, id: u32, urls: Vec<Queued>, reason: Discard) {
        self.messages.push(ToFrontier::DiscardUrls { host: self.hosts[id].key, urls, reason });
    }

    pub(super) fn resolve(&mut self, id: u32) {
        let host = &mut self.hosts[id];
        host.phase = HostPhase::Resolving;
        let (key, name, resolved) = (host.key, host.name.clone(), host.resolved);
        self.to_resolve.push(NameRequest { host: key, name, resolved });
    }

    /// Removes a host from the heap that contains it.
    pub(super) fn detach(&mut self, id: u32) {
        let host = &mut self.hosts[id];
        let (place, ip) = ((host.key.group, host.position), host.ip());
        match std::mem::take(&mut host.phase) {
            HostPhase::Waiting => self.ips.remove_host(ip, place, &mut self.hosts),
            HostPhase::Asleep => self.hosts.wake(id),
            HostPhase::Loose | HostPhase::Resolving | HostPhase::InFlight | HostPhase::Dry => {}
        }
    }

    /// Makes a host leave, unless it is on a visit or a refill is pending.
    pub(super) fn leave_if_free(&mut self, id: u32, now: Timestamp) {
        let host = &self.hosts[id];
        if host.phase != HostPhase::InFlight && !host.window.is_refilling() {
            self.detach(id);
            self.leave(id, now);
        }
    }

    /// Returns a loose host to the crawl database.
    pub(super) fn leave(&mut self, id: u32, now: Timestamp) {
        let (host, state, unused) = self.take_out(id, now);
        self.messages.push(ToFrontier::Leave { host, state, unused });
    }

    /// Drops a loose host: at once, or when its pending refill has arrived.
    pub(super) fn drop_host(&mut self, id: u32, reason: Discard, forever: bool, now: Timestamp) {
        if self.hosts[id].window.is_refilling() {
            self.hosts[id].pending_drop = Some((reason, forever));
            self.hosts[id].phase = HostPhase::Dry;
            return;
        }
        let (host, state, unused) = self.take_out(id, now);
        self.messages.push(ToFrontier::Drop { host, state, unused, reason, forever });
    }

    /// Removes a loose host. Returns its key, its state and the keys of its URLs in memory.
    fn take_out(&mut self, id: u32, now: Timestamp) -> (HostKey, HostState, Vec<QueueKey>) {
        self.forget_address(id, now);
        let mut host = self.hosts.remove(id);
        if let Some(queue) = host.robots_queue.take() {
            if let Some(away) = queue.away {
                self.cancel(away.at, host.key);
            }
            let others = queue.requests.into_iter().filter(|r| r.for_host != host.key);
            self.pending_robots.abandoned.extend(others);
        }
        (host.key, host.state, host.window.queue_keys())
    }
}
