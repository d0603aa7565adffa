//! Visits: their beginning, and the effects of their verdicts on the politeness of host and address,
//! on the page budget and on the window.

use super::Workbench;
use super::choice::{Choice, choose, visit_len};
use super::hosts::HostPhase;
use super::robots::first_hop;
use crate::messages::{
    HandedOut, RobotsOutcome, ToFrontier, Verdict, Visit, VisitDeadline, VisitTask,
};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::{
    ROBOTS_TRIES_MAX, VisitSignal, VisitSummary, address_in, after_visit,
};
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;

impl Workbench {
    /// Returns a visit that may begin now: a host, its address and the task. The visit ends with
    /// [`Self::release`].
    pub fn acquire(&mut self, now: Timestamp) -> Option<Visit> {
        self.wake(now);
        if self.closing {
            return None;
        }
        while let Some(ip) = self.ips.pop_ready(now) {
            if !self.ips.may_visit(ip, now) {
                continue;
            }
            let id = self.ips.pop_host(ip, now, &mut self.hosts)?;
            self.hosts[id].phase = HostPhase::Loose;
            if let Some(mut visit) = self.dispatch(id, now) {
                let weight = self.live.politeness.ip_answered_weight;
                let host = (visit.host.group, &visit.name);
                if let Some(deadline) = self.ips.begin_visit(ip, host, weight, now) {
                    visit.deadline = deadline;
                }
                self.in_flight += 1;
                return Some(visit);
            }
            self.ips.requeue(ip);
            self.fail_abandoned(now);
        }
        None
    }

    /// Makes a visit of a loose host that is due, or moves the host to another phase.
    fn dispatch(&mut self, id: u32, now: Timestamp) -> Option<Visit> {
        if now >= self.hosts[id].until {
            self.resolve(id);
            return None;
        }
        self.return_new(id);
        let host = &mut self.hosts[id];
        let choice = choose(host, now, &self.live.politeness);
        let has_task = host.away().is_none()
            && host.pages_left > 0
            && matches!(choice, Choice::Pages { .. } | Choice::Robots(_));
        let key = host.key;
        let queue = host.robots_queue.as_mut();
        if let Some(request) = queue.and_then(|queue| queue.next_request(key, has_task)) {
            return Some(self.visit(id, VisitTask::Robots(request), now));
        }
        match choice {
            Choice::Pages { start, rules } if has_task => {
                Some(self.visit_pages(id, start, rules, now))
            }
            Choice::Robots(origin) if has_task => {
                let request = first_hop(key, &host.name, origin);
                Some(self.visit(id, VisitTask::Robots(request), now))
            }
            _ => {
                self.place_host(id, now);
                None
            }
        }
    }

    fn visit_pages(&mut self, id: u32, start: usize, rules: Arc<Rules>, now: Timestamp) -> Visit {
        let host = &self.hosts[id];
        let len_max = u64::from(visit_len(&host.pace(&self.live.politeness)));
        let len_max = len_max.min(host.pages_left) as usize;
        let (origin, urls) = self.hosts.begin_pages(id, start, len_max);
        let requests_max = urls.len() as u32;
        self.refill_if_low(id);
        self.visit(id, VisitTask::Pages { origin, rules, urls, requests_max }, now)
    }

    fn visit(&mut self, id: u32, task: VisitTask, now: Timestamp) -> Visit {
        let interface = self.hosts.interface(id);
        let host = &mut self.hosts[id];
        host.phase = HostPhase::InFlight;
        let ip = &self.ips[host.ip()];
        let address = address_in(ip.address, interface);
        let deadline = VisitDeadline::default();
        let (rule, host_next, address_next) = (host.state.rule, host.state.next, ip.next);
        let handed_out = HandedOut { at: now, rule, host_next, address, address_next };
        Visit { host: host.key, name: Arc::clone(&host.name), address, task, deadline, handed_out }
    }

    /// Ends a visit and applies its verdict.
    pub fn release(&mut self, mut verdict: Verdict, now: Timestamp) {
        let id = self.hosts.find(&verdict.host);
        let Some(id) = id.filter(|&id| self.hosts[id].phase == HostPhase::InFlight) else {
            self.unknown_host_replies += 1;
            return;
        };
        self.in_flight -= 1;
        self.apply_politeness(id, &verdict);
        if verdict.requests == 0 && verdict.returned.is_empty() {
            self.hosts[id].set_rules_used();
        }
        self.hosts.end_pages(id, verdict.pages, std::mem::take(&mut verdict.returned));
        if verdict.answered && !std::mem::replace(&mut self.hosts[id].answered, true) {
            self.ips.set_answered(self.hosts[id].ip(), verdict.host.group);
        }
        let ended = (verdict.requests > 0).then_some(verdict.ended);
        self.ips.end_visit(self.hosts[id].ip(), ended, self.live.politeness.ip_delay, now);
        let answer = verdict.robots.take();
        let unreachable = answer.as_ref().and_then(|answer| {
            let own = answer.request.for_host == verdict.host;
            let failed = matches!(answer.found, RobotsOutcome::Unreachable);
            (own && failed).then_some(answer.request.for_origin)
        });
        if let Some(queue) = self.hosts[id].robots_queue.as_mut() {
            queue.end_visit(answer.is_some());
        }
        if let Some(answer) = answer {
            self.on_robots_answer(id, answer, now);
        }
        let host = &mut self.hosts[id];
        host.robots_queue.take_if(|queue| queue.is_unused());
        host.phase = HostPhase::Loose;
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

    fn apply_politeness(&mut self, id: u32, verdict: &Verdict) {
        let &Verdict { requests, ended, served, signal, .. } = verdict;
        let summary = VisitSummary { requests, ended, served, signal };
        let host = &mut self.hosts[id];
        let pace = host.pace(&self.live.politeness);
        let jitter = host.key.host.0 ^ host.state.requests;
        host.state = after_visit(&host.state, &summary, &pace, jitter);
        host.state.certified |= verdict.certified;
        let closed = self.connections_closed(id);
        let host = &mut self.hosts[id];
        match signal {
            VisitSignal::Failed(Failure::AddressChanged) => {
                host.expire_address();
                host.delay_until_closed(closed);
            }
            VisitSignal::Failed(
                Failure::ConnectRefused | Failure::ConnectTimeout | Failure::Unreachable,
            ) => host.expire_address(),
            _ => {}
        }
    }

    /// Returns true if the host failed too often. If the failure is the robots.txt of an origin
    /// without rules, and another origin has rules, only the former origin is given up.
    fn is_given_up(&mut self, id: u32, signal: VisitSignal, unreachable: Option<Origin>) -> bool {
        let host = &mut self.hosts[id];
        if signal == VisitSignal::Healthy || !host.state.is_given_up() {
            return false;
        }
        let Some(origin) = unreachable.filter(|_| host.answers_robots()) else {
            return true;
        };
        let Some(mut record) = host.record(origin).filter(|r| r.rules.is_none()).cloned() else {
            return true;
        };
        record.failures = record.failures.max(ROBOTS_TRIES_MAX);
        host.state.failures.clear();
        let host = host.key;
        self.hosts.set_record(id, origin, record.clone());
        self.messages.push(ToFrontier::Robots { host, origin, record });
        false
    }
}
