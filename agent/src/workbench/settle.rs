//! Where a host goes that has nothing to do just now: to wait, to sleep, or out.

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

/// A host that rests longer than this does so on disk.
const REST_MAX: Duration = Duration::from_secs(300);
/// With the front full, a host that waits longer than this (and than twice its delay) leaves.
const HORIZON_MIN: Duration = Duration::from_secs(30);
/// With the front overfull, and no host ready that could go instead, one that waits longer than this
/// leaves, or than half its delay: else none would leave where delays are short.
const SHORT_WAIT: Duration = Duration::from_secs(1);
/// A name is resolved so long before the host's next time.
const RESOLVE_AHEAD: Duration = Duration::from_secs(5);

impl Workbench {
    /// Finds the stand of a loose host: it ends in a heap, with the resolver, dry, or gone.
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

    /// Asks for more when the window runs low; not beyond what all windows may hold.
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

    /// Puts a host that has something to do where its next time says.
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
        // A failed answer is cached by the resolver for about as long as the host rests.
        let dns = matches!(state.rule, WaitRule::Failure(Failure::DnsUnavailable));
        let wake = if dns { next } else { next - RESOLVE_AHEAD };
        if wake > now {
            self.sleep(id, wake);
        } else {
            self.resolve(id);
        }
    }

    /// Whether a host leaves because its wait is so long that its place is better used by another, or
    /// by none. Where too many are ready, one of those is sent out instead, and it stays.
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

    /// Sends out a host that could be visited now; `false` when the one that was found must stay.
    /// Where too many are ready, those that rest for a moment will be needed sooner.
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

    /// What a host rests after a request, at least.
    fn delay(&self, host: &HostEntry) -> Duration {
        host.pace(&self.live.politeness).wait(Duration::ZERO).0
    }

    fn horizon(&self, host: &HostEntry) -> Duration {
        self.delay(host).saturating_mul(2).max(HORIZON_MIN)
    }

    /// Sends out the hosts that rest beyond the horizon, to make room.
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

    /// Takes a host out of the heap it is in.
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

    /// A loose host goes back to the crawl database.
    pub(super) fn leave(&mut self, id: u32, now: Timestamp) {
        let host = self.take_out(id, now);
        let unused = host.queue_keys();
        self.messages.push(ToFrontier::Leave { host: host.key, state: host.state, unused });
    }

    /// A loose host is given up, at once or when the URLs that it asked for have come.
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
