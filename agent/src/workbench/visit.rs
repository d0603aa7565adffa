//! Choice of a host's next task, and the visit that is made of it.

use super::Workbench;
use super::host_entry::{HostEntry, HostPhase};
use super::robots_state::{Freshness, first_hop, freshness};
use crate::limits::{NO_DELAY_VISIT_URLS, ORIGINS_A_HOST_MAX};
use crate::messages::{
    HandedOut, Queued, RobotsRecord, RobotsRequest, ToFrontier, Visit, VisitDeadline, VisitTask,
};
use crivello_common::config::Politeness;
use crivello_common::discard::Discard;
use crivello_common::politeness::HostPolicy;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;

/// Returns the number of URLs that one visit may request.
pub(super) fn visit_len(pace: &HostPolicy<'_>) -> u32 {
    let unhurried = pace.politeness.ip_delay.is_zero() && !pace.has_wait();
    if unhurried { pace.burst().max(NO_DELAY_VISIT_URLS) } else { pace.burst() }
}

/// Returns the weight of URLs in memory.
pub(super) fn weight<'a>(urls: impl IntoIterator<Item = &'a Queued>) -> usize {
    urls.into_iter().map(Queued::weight).sum()
}

/// The next task of a host, or the reason why there is none.
#[derive(Debug)]
pub(super) enum Choice {
    /// Pages, from index `start` of the window on.
    Pages { start: usize, rules: Arc<Rules> },
    /// The robots.txt of this origin.
    Robots(Origin),
    /// Nothing before this time: the robots.txt of every origin in the window is unreachable.
    Wait(Timestamp),
    /// URLs to set aside, because their robots.txt was never reached.
    GivenUp,
    /// URLs to set aside, because their host has more origins than allowed.
    BlockAndPauseList,
    /// Its window is empty.
    Empty,
}

/// Chooses the task at `now`. The head of the window goes first, unless its origin does not answer
/// and another origin of the host might.
pub(super) fn choose(host: &HostEntry, now: Timestamp, politeness: &Politeness) -> Choice {
    if host.exempt && !host.window.is_empty() {
        return Choice::Pages { start: 0, rules: Rules::allow_all().shared() };
    }
    let (mut given_up, mut failing, mut again) = (false, None, Timestamp::MAX);
    let mut last = None;
    for (start, url) in host.window.iter().enumerate() {
        if last == Some(url.origin) {
            continue;
        }
        last = Some(url.origin);
        match host.freshness(url.origin, now, politeness) {
            Freshness::Open(rules) => return Choice::Pages { start, rules },
            Freshness::Ask { failing: false } => return Choice::Robots(url.origin),
            Freshness::Ask { failing: true } => failing = failing.or(last),
            Freshness::Wait(until) => again = again.min(until),
            Freshness::GivenUp => given_up = true,
            Freshness::BlockAndPauseList => return Choice::BlockAndPauseList,
        }
    }
    match failing {
        _ if given_up => Choice::GivenUp,
        Some(origin) => Choice::Robots(origin),
        None if host.window.is_empty() => Choice::Empty,
        None => Choice::Wait(again),
    }
}

impl Workbench {
    /// Makes a visit of a loose host that is due, or moves the host to another phase.
    pub(super) fn dispatch(&mut self, id: u32, now: Timestamp) -> Option<Visit> {
        if now >= self.hosts[id].until {
            self.resolve(id);
            return None;
        }
        let host = &self.hosts[id];
        let choice = choose(host, now, &self.live.politeness);
        let has_own = host.away().is_none()
            && host.pages_left > 0
            && matches!(choice, Choice::Pages { .. } | Choice::Robots(_));
        if let Some(request) = self.hosts[id].next_request(has_own) {
            return Some(self.visit(id, VisitTask::Robots(request), now));
        }
        match choice {
            Choice::Pages { start, rules } if has_own => {
                Some(self.visit_pages(id, start, rules, now))
            }
            Choice::Robots(origin) if has_own => {
                let host = &self.hosts[id];
                let request = first_hop(host.key, &host.name, origin);
                Some(self.visit(id, VisitTask::Robots(request), now))
            }
            _ => {
                self.place_host(id, now);
                None
            }
        }
    }

    fn visit_pages(&mut self, id: u32, start: usize, rules: Arc<Rules>, now: Timestamp) -> Visit {
        let host = &mut self.hosts[id];
        let most = u64::from(visit_len(&host.pace(&self.live.politeness)));
        let most = most.min(host.pages_left) as usize;
        let origin = host.window[start].origin;
        let run = host.window.iter().skip(start).take(most).take_while(|u| u.origin == origin);
        let end = start + run.count();
        let urls: Vec<Queued> = host.window.drain(start..end).collect();
        let requests_max = urls.len() as u32;
        host.reserved = requests_max;
        host.pages_left -= u64::from(requests_max);
        self.window_urls -= weight(&urls);
        self.refill_if_low(id);
        self.visit(id, VisitTask::Pages { origin, rules, urls, requests_max }, now)
    }

    fn visit(&mut self, id: u32, task: VisitTask, now: Timestamp) -> Visit {
        let host = &mut self.hosts[id];
        host.phase = HostPhase::InFlight;
        let ip = &self.ips[host.ip];
        let (address, deadline) = (ip.address, VisitDeadline::default());
        let handed_out = HandedOut {
            at: now,
            rule: host.state.rule,
            host_next: host.state.next,
            address,
            address_next: ip.next,
        };
        Visit { host: host.key, name: Arc::clone(&host.name), address, task, deadline, handed_out }
    }

    /// Sets aside the URLs whose robots.txt was never reached. Returns false, and keeps them, if
    /// the host has nothing else.
    pub(super) fn discard_given_up(&mut self, id: u32, now: Timestamp) -> bool {
        let urls = self.take_urls(id, now, &Freshness::GivenUp);
        let host = &mut self.hosts[id];
        if host.window.is_empty() && !host.answers_robots() {
            host.window = urls.into();
            return false;
        }
        self.discard(id, urls, Discard::RobotsUnreachable);
        true
    }

    /// Sets aside the URLs of origins beyond the maximum of a host.
    pub(super) fn discard_excess_origins(&mut self, id: u32, now: Timestamp) {
        let urls = self.take_urls(id, now, &Freshness::BlockAndPauseList);
        self.discard(id, urls, Discard::TooManyOrigins);
    }

    /// Removes and returns the URLs of the window whose origin has this `freshness`.
    fn take_urls(&mut self, id: u32, now: Timestamp, freshness: &Freshness) -> Vec<Queued> {
        let politeness = &self.live.politeness;
        let host = &mut self.hosts[id];
        let window = std::mem::take(&mut host.window);
        let (picked, kept): (Vec<Queued>, Vec<Queued>) = window
            .into_iter()
            .partition(|url| host.freshness(url.origin, now, politeness) == *freshness);
        host.window = kept.into();
        picked
    }

    fn discard(&mut self, id: u32, urls: Vec<Queued>, reason: Discard) {
        self.window_urls -= weight(&urls);
        self.messages.push(ToFrontier::DiscardUrls { host: self.hosts[id].key, urls, reason });
    }
}

impl HostEntry {
    /// Returns the robots.txt record of an origin.
    pub(super) fn record(&self, origin: Origin) -> Option<&RobotsRecord> {
        self.robots.iter().find(|(o, _)| *o == origin).map(|(_, record)| record)
    }

    fn freshness(&self, origin: Origin, now: Timestamp, politeness: &Politeness) -> Freshness {
        let record = self.record(origin);
        if record.is_none() && self.robots.len() >= ORIGINS_A_HOST_MAX {
            return Freshness::BlockAndPauseList;
        }
        freshness(record, now, self.state.last_ended, politeness)
    }

    /// Returns true if the robots.txt of any of its origins was ever reached.
    pub(super) fn answers_robots(&self) -> bool {
        self.robots.iter().any(|(_, record)| record.rules.is_some())
    }

    /// Returns the robots request for the next visit: its own goes first; those of other hosts
    /// alternate with its own task, if it has one.
    fn next_request(&mut self, has_own: bool) -> Option<RobotsRequest> {
        let key = self.key;
        let turn = self.robots_state.as_mut()?;
        let own = turn.requests.front()?.for_host == key;
        if !own && has_own && turn.lent {
            turn.lent = false;
            return None;
        }
        turn.lent = !own;
        let request = turn.requests.pop_front();
        turn.doing = request.clone().filter(|_| !own);
        request
    }
}
