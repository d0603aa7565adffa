//! Effects of a verdict: on the politeness of host and address, on the page budget, on the window.

use super::Workbench;
use super::host_entry::HostPhase;
use super::robots_state::set_record;
use super::visit::weight;
use crate::messages::{RobotsOutcome, Signal, ToFrontier, Verdict};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::{ROBOTS_TRIES_MAX, VisitSignal, VisitSummary, after_visit};
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;

impl Workbench {
    /// Ends a visit and applies its verdict.
    pub fn release(&mut self, mut verdict: Verdict, now: Timestamp) {
        let id = self.hosts.find(&verdict.host);
        let Some(id) = id.filter(|&id| self.hosts[id].phase == HostPhase::InFlight) else {
            self.unknown_host_replies += 1;
            return;
        };
        self.in_flight -= 1;
        self.learn_politeness(id, &verdict);
        self.learn_budget(id, &mut verdict);
        self.free_address(id, &verdict, now);
        let unreachable = verdict.robots.as_ref().and_then(|answer| {
            let own = answer.request.for_host == verdict.host;
            let failed = matches!(answer.found, RobotsOutcome::Unreachable);
            (own && failed).then_some(answer.request.for_origin)
        });
        let doing = self.hosts[id].robots_state.as_mut().and_then(|turn| turn.doing.take());
        match (verdict.robots.take(), doing) {
            (Some(answer), _) => self.on_robots_answer(id, answer, now),
            // The visit was cut off: the request goes first on the next one.
            (None, Some(request)) => {
                self.hosts[id].robots_state.get_or_insert_default().requests.push_front(request);
            }
            (None, None) => {}
        }
        self.hosts[id].tidy();
        self.hosts[id].phase = HostPhase::Loose;
        if self.is_given_up(id, verdict.signal, unreachable) {
            self.drop_host(id, Discard::GaveUp, false, now);
        } else {
            self.place_host(id, now);
        }
        if let Some(id) = self.hosts.find(&verdict.host) {
            let state = self.hosts[id].state.clone();
            self.messages.push(ToFrontier::HostState { host: verdict.host, state });
        }
        self.fail_abandoned(now);
    }

    fn learn_politeness(&mut self, id: u32, verdict: &Verdict) {
        let summary = VisitSummary {
            requests: verdict.requests,
            ended: verdict.ended,
            served: verdict.served,
            signal: verdict.signal.into(),
        };
        let pace = self.hosts[id].pace(&self.live.politeness);
        let host = &mut self.hosts[id];
        let jitter = host.key.host.0 ^ host.state.requests;
        host.state = after_visit(&host.state, &summary, &pace, jitter);
        let closed = self.connections_closed(id);
        let host = &mut self.hosts[id];
        match verdict.signal {
            Signal::Failed(Failure::AddressChanged) => {
                host.expire_address();
                host.hold_for_address(closed);
            }
            Signal::Failed(
                Failure::ConnectRefused | Failure::ConnectTimeout | Failure::Unreachable,
            ) => host.expire_address(),
            _ => {}
        }
    }

    fn learn_budget(&mut self, id: u32, verdict: &mut Verdict) {
        let host = &mut self.hosts[id];
        let reserved = std::mem::take(&mut host.reserved);
        host.pages_left =
            host.pages_left.saturating_add(u64::from(reserved.saturating_sub(verdict.pages)));
        self.window_urls += weight(&verdict.returned);
        for url in std::mem::take(&mut verdict.returned).into_iter().rev() {
            host.window.push_front(url);
        }
    }

    fn free_address(&mut self, id: u32, verdict: &Verdict, now: Timestamp) {
        let ip = self.hosts[id].ip;
        let entry = &mut self.ips[ip];
        entry.busy = false;
        let visited = entry.visited.take();
        if verdict.requests > 0 {
            entry.last = visited;
            entry.ended = entry.ended.max(verdict.ended);
            entry.next = entry.next.max(verdict.ended + self.live.politeness.ip_delay);
        }
        self.yield_lease(ip, now);
        self.requeue_ip(ip);
    }

    /// Returns true if the host failed too often. If the failure is the robots.txt of an origin
    /// without rules, and another origin has rules, only the former origin is given up.
    fn is_given_up(&mut self, id: u32, signal: Signal, unreachable: Option<Origin>) -> bool {
        let host = &mut self.hosts[id];
        if signal == Signal::Well || !host.state.is_given_up() {
            return false;
        }
        let Some(origin) = unreachable.filter(|_| host.answers_robots()) else {
            return true;
        };
        let Some(mut record) = host.record(origin).filter(|r| r.rules.is_none()).cloned() else {
            return true;
        };
        record.failures = record.failures.max(ROBOTS_TRIES_MAX);
        set_record(&mut host.robots, origin, record.clone());
        host.state.failures.clear();
        self.messages.push(ToFrontier::Robots { host: host.key, origin, record });
        false
    }
}

impl super::HostEntry {
    /// Frees the robots state once it is empty.
    fn tidy(&mut self) {
        if self
            .robots_state
            .as_ref()
            .is_some_and(|t| t.requests.is_empty() && t.away.is_none() && !t.lent)
        {
            self.robots_state = None;
        }
    }
}

impl From<Signal> for VisitSignal {
    fn from(signal: Signal) -> Self {
        match signal {
            Signal::Well => Self::Healthy,
            Signal::SlowDown(wait) => Self::SlowDown(wait),
            Signal::Failed(kind) => Self::Failed(kind),
        }
    }
}
