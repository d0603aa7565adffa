//! Placement of hosts between visits: a host waits, sleeps or leaves.

use super::Workbench;
use super::front::Front;
use super::heap::ABSENT;
use super::host_entry::{HostEntry, HostPhase};
use super::visit::{Choice, choose, visit_len, weight};
use crate::messages::ToFrontier;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::WaitRule;
use crivello_common::time::Timestamp;
use std::time::Duration;

/// Longest rest in memory: a host that rests longer leaves, and rests on disk.
const REST_MAX: Duration = Duration::from_secs(300);
/// With a full front, a host that waits longer than this (and than twice its delay) leaves.
const HORIZON_MIN: Duration = Duration::from_secs(30);
/// With an overfull front and no ready host that could leave instead, a host leaves if it waits
/// longer than this, or than half its delay: otherwise none would leave where delays are short.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// A name is resolved this long before the host's next time.
const RESOLVE_AHEAD: Duration = Duration::from_secs(5);

impl Workbench {
    /// Moves a loose host to its next phase: into a heap, to the resolver, dry, or out.
    pub(super) fn place_host(&mut self, id: u32, now: Timestamp) {
        if (self.closing || self.hosts[id].recalled) && !self.hosts[id].refilling {
            return self.leave(id, now);
        }
        if let Some((reason, forever)) = self.hosts[id].pending_drop {
            return self.drop_host(id, reason, forever, now);
        }
        if self.drop_blocked(id, now) {
            return;
        }
        if self.hosts[id].paused {
            return self.sleep(id, Timestamp::MAX);
        }
        if self.hosts[id].has_requests() {
            return self.queue_host(id, now);
        }
        if let Some(away) = self.hosts[id].away() {
            let deadline = self.extend_deadline(id, away, now);
            if deadline > now {
                return self.sleep(id, deadline);
            }
            self.expire_away(id, now);
        }
        if self.hosts[id].pages_left == 0 {
            return self.drop_host(id, Discard::HostLimit, true, now);
        }
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
                Choice::Empty if self.hosts[id].refilling => {
                    self.hosts[id].phase = HostPhase::Dry;
                    return;
                }
                Choice::Empty => return self.leave(id, now),
                Choice::BlockAndPauseList => self.discard_excess_origins(id, at),
                Choice::GivenUp => {
                    if !self.discard_given_up(id, at) {
                        return self.drop_host(id, Discard::RobotsUnreachable, false, now);
                    }
                }
            }
        }
    }

    /// Requests a refill if the window runs low, unless the windows hold the maximum of URLs.
    pub(super) fn refill_if_low(&mut self, id: u32) {
        let full = self.front.is_window_full(self.held());
        let host = &mut self.hosts[id];
        let visit = visit_len(&host.pace(&self.live.politeness));
        let low = (2 * visit).min(host.batch / 2) as usize;
        if host.more && host.pages_left > 0 && !host.refilling && !full && host.window.len() <= low
        {
            host.refilling = true;
            self.messages.push(ToFrontier::Refill { host: host.key });
        }
    }

    /// Moves a host that has a task to the phase that its next time requires.
    fn queue_host(&mut self, id: u32, now: Timestamp) {
        if self.should_evict(id, now) {
            return self.leave(id, now);
        }
        let (state, ip) = (&self.hosts[id].state, self.hosts[id].ip);
        let next = state.next;
        if ip != ABSENT {
            self.hosts[id].phase = HostPhase::Waiting;
            let node = self.node(next, id);
            self.ips[ip].hosts.push(node, &mut self.hosts);
            return self.requeue_ip(ip);
        }
        // The resolver caches a failure for about as long as the host rests, so an early query is
        // useless.
        let dns = matches!(state.rule, WaitRule::Failure(Failure::DnsUnavailable));
        let wake = if dns { next } else { next - RESOLVE_AHEAD };
        if wake > now {
            self.sleep(id, wake);
        } else {
            self.resolve(id);
        }
    }

    /// Returns true if a host must leave because its wait is so long that its place is better used
    /// by another host, or by none. If too many hosts are ready, one of those leaves instead.
    fn should_evict(&mut self, id: u32, now: Timestamp) -> bool {
        let host = &self.hosts[id];
        let (wait, held) = (host.state.wait(now), self.held());
        if host.refilling {
            return false;
        }
        if Front::has_too_many_rules(held) && host.rules_bytes() > 0 && !host.has_requests() {
            return wait > Duration::ZERO;
        }
        if wait > REST_MAX {
            return true;
        }
        if host.has_requests() {
            return false;
        }
        let horizon = self.horizon(host);
        let rests = wait > SHORT_WAIT.min(self.delay(host) / 2);
        if self.front.is_full(held) && wait > horizon {
            return true;
        }
        self.front.is_overfull(held) && !self.evict_ready(now) && rests
    }

    /// Evicts a host that could be visited now; returns false if there is none, or if the one found
    /// must stay. With too many hosts ready, those that rest for a moment are needed sooner.
    fn evict_ready(&mut self, now: Timestamp) -> bool {
        let entry = self.ready.any_due(now).and_then(|turn| self.ips[turn.id].hosts.first());
        let Some(id) = entry.map(|node| node.id) else { return false };
        if self.hosts[id].refilling || self.hosts[id].robots_state.is_some() {
            return false;
        }
        self.detach(id);
        self.leave(id, now);
        true
    }

    /// Returns the minimum rest of a host after a request.
    fn delay(&self, host: &HostEntry) -> Duration {
        host.pace(&self.live.politeness).wait(Duration::ZERO).0
    }

    fn horizon(&self, host: &HostEntry) -> Duration {
        self.delay(host).saturating_mul(2).max(HORIZON_MIN)
    }

    /// Evicts the hosts that rest beyond their horizon, to free memory.
    pub(super) fn evict_resting(&mut self, now: Timestamp) {
        for id in self.hosts.ids() {
            let host = &self.hosts[id];
            let idle = matches!(host.phase, HostPhase::Waiting | HostPhase::Asleep);
            if idle
                && host.robots_state.is_none()
                && !host.refilling
                && host.state.wait(now) > self.horizon(host)
            {
                self.detach(id);
                self.leave(id, now);
            }
        }
    }

    pub(super) fn resolve(&mut self, id: u32) {
        let host = &mut self.hosts[id];
        host.phase = HostPhase::Resolving;
        self.to_resolve.push((host.key, host.name.clone()));
    }

    pub(super) fn sleep(&mut self, id: u32, until: Timestamp) {
        self.hosts[id].phase = HostPhase::Asleep;
        let node = self.node(until, id);
        self.sleepers.push(node, &mut self.hosts);
    }

    /// Removes a host from the heap that holds it.
    pub(super) fn detach(&mut self, id: u32) {
        let (position, ip) = (self.hosts[id].position, self.hosts[id].ip);
        match std::mem::take(&mut self.hosts[id].phase) {
            HostPhase::Waiting => {
                self.ips[ip].hosts.remove(position, &mut self.hosts);
                self.requeue_ip(ip);
            }
            HostPhase::Asleep => {
                self.sleepers.remove(position, &mut self.hosts);
            }
            HostPhase::Loose | HostPhase::Resolving | HostPhase::InFlight | HostPhase::Dry => {}
        }
    }

    /// Returns a loose host to the crawl database.
    pub(super) fn leave(&mut self, id: u32, now: Timestamp) {
        let host = self.take_out(id, now);
        let unused = host.queue_keys();
        self.messages.push(ToFrontier::Leave { host: host.key, state: host.state, unused });
    }

    /// Drops a loose host: at once, or when its pending refill has arrived.
    pub(super) fn drop_host(&mut self, id: u32, reason: Discard, forever: bool, now: Timestamp) {
        if self.hosts[id].refilling {
            self.hosts[id].pending_drop = Some((reason, forever));
            self.hosts[id].phase = HostPhase::Dry;
            return;
        }
        let host = self.take_out(id, now);
        let unused = host.queue_keys();
        self.messages.push(ToFrontier::Drop {
            host: host.key,
            state: host.state,
            unused,
            reason,
            forever,
        });
    }

    fn take_out(&mut self, id: u32, now: Timestamp) -> HostEntry {
        self.forget_address(id, now);
        self.unplaced -= 1;
        self.window_urls -= weight(&self.hosts[id].window);
        self.rules_bytes -= self.hosts[id].rules_bytes();
        let mut host = self.hosts.remove(id);
        if let Some(turn) = host.robots_state.take() {
            if let Some(away) = turn.away {
                self.cancel(away.at, host.key);
            }
            self.abandoned.extend(turn.requests.into_iter().filter(|e| e.for_host != host.key));
        }
        host
    }
}
