//! Robots requests: redirects to other hosts, answers for all hosts that wait, and the end of
//! requests whose target host leaves.

use super::Workbench;
use super::host_entry::{HostEntry, HostPhase};
use super::robots_state::{PendingRedirect, RobotsState, learn, next_hop, set_record};
use crate::messages::{RobotsAnswer, RobotsOutcome, RobotsRequest, ToFrontier};
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin};
use std::sync::Arc;
use std::time::Duration;

/// A robots.txt that waits longer than this for visits to other hosts counts as unreachable.
const AWAY_MAX: Duration = Duration::from_secs(600);

impl Workbench {
    /// Handles the answer to a request at host `at`, for all requests there for the same URL.
    pub(super) fn on_robots_answer(&mut self, at: u32, answer: RobotsAnswer, now: Timestamp) {
        let RobotsAnswer { request, found } = answer;
        let key = self.hosts[at].key;
        if request.for_host != key {
            self.robots_cache.keep(&request.url, &found, now);
        }
        let mut served = self.hosts[at].take_requests_to(&request.url);
        served.insert(0, request);
        for request in served {
            if self.answer_peer(&request, &found)
                || (request.for_host != key && !self.awaits(&request))
            {
                continue;
            }
            match &found {
                RobotsOutcome::Redirect(url) => self.redirect(&request, url, now),
                _ => self.finish_request(&request, &found, now),
            }
        }
    }

    /// Follows the redirect of a request to `url`.
    pub(super) fn redirect(&mut self, request: &RobotsRequest, url: &CrawlUrl, now: Timestamp) {
        let Some(request) = next_hop(request, url.clone()) else {
            return self.finish_request(request, &RobotsOutcome::Missing, now);
        };
        let Some(id) = self.hosts.find(&request.for_host) else {
            return;
        };
        let target = url.host_key(self.fixed.identity.assign_by);
        let turn = self.hosts[id].robots_state.get_or_insert_default();
        if target == request.for_host {
            turn.away = None;
            turn.requests.push_front(request);
            return self.wake_host(id, now);
        }
        let deadline = turn.away.map_or(now + AWAY_MAX, |away| away.deadline);
        turn.away = Some(PendingRedirect { origin: request.for_origin, at: target, deadline });
        if let Some(found) = self.robots_cache.get(url, now) {
            return self.finish_request(&request, &found, now);
        }
        self.send_request(target, request, now);
    }

    /// Queues a request at host `target`, which is fetched from the crawl database if it is not in
    /// memory.
    pub(super) fn send_request(&mut self, target: HostKey, request: RobotsRequest, now: Timestamp) {
        if let Some(other) = self.hosts.find(&target) {
            self.hosts[other].robots_state.get_or_insert_default().requests.push_back(request);
            return self.wake_host(other, now);
        }
        let name = Arc::from(request.url.host());
        let waiting = self.calls.entry(target).or_default();
        if waiting.is_empty() {
            self.messages.push(ToFrontier::RequestHost { host: target, name });
        }
        waiting.push(request);
    }

    /// Ends a request: records the final answer for the host that it was for.
    pub(super) fn finish_request(
        &mut self,
        request: &RobotsRequest,
        found: &RobotsOutcome,
        now: Timestamp,
    ) {
        let Some(id) = self.hosts.find(&request.for_host) else {
            return;
        };
        if let Some(turn) = self.hosts[id].robots_state.as_mut() {
            turn.away = turn.away.filter(|away| away.origin != request.for_origin);
        }
        self.record_robots(id, request.for_origin, found, now);
        self.wake_host(id, now);
    }

    /// Returns the deadline of the host's request at another host. While that host is paused, a
    /// deadline that has passed is extended.
    pub(super) fn extend_deadline(
        &mut self,
        id: u32,
        mut away: PendingRedirect,
        now: Timestamp,
    ) -> Timestamp {
        if away.deadline > now {
            return away.deadline;
        }
        let here = self.hosts.find(&away.at).map(|at| self.hosts[at].paused);
        if here.unwrap_or_else(|| self.waits_for_paused(id, away.at)) {
            away.deadline = now + AWAY_MAX;
            self.hosts[id].robots_state.get_or_insert_default().away = Some(away);
        }
        away.deadline
    }

    /// Gives up the host's request at another host, whose deadline has passed.
    pub(super) fn expire_away(&mut self, id: u32, now: Timestamp) {
        let key = self.hosts[id].key;
        if let Some(away) = self.hosts[id].robots_state.as_mut().and_then(|turn| turn.away.take()) {
            self.cancel(away.at, key);
            self.record_robots(id, away.origin, &RobotsOutcome::Unreachable, now);
        }
    }

    fn record_robots(&mut self, id: u32, origin: Origin, found: &RobotsOutcome, now: Timestamp) {
        let host = &mut self.hosts[id];
        let record = learn(host.record(origin), found, now);
        self.rules_bytes -= host.rules_bytes();
        set_record(&mut host.robots, origin, record.clone());
        self.rules_bytes += host.rules_bytes();
        self.messages.push(ToFrontier::Robots { host: host.key, origin, record });
    }

    /// Places a host again that sleeps or is dry: it may have a task now.
    fn wake_host(&mut self, id: u32, now: Timestamp) {
        if matches!(self.hosts[id].phase, HostPhase::Asleep | HostPhase::Dry) {
            self.detach(id);
            self.place_host(id, now);
        }
    }

    pub(super) fn awaits(&self, request: &RobotsRequest) -> bool {
        let away = self.hosts.find(&request.for_host).and_then(|id| self.hosts[id].away());
        away.is_some_and(|away| away.origin == request.for_origin)
    }

    /// Cancels the requests of `for_host` at host `at`.
    pub(super) fn cancel(&mut self, at: HostKey, for_host: HostKey) {
        if let Some(id) = self.hosts.find(&at) {
            if let Some(turn) = self.hosts[id].robots_state.as_mut() {
                turn.requests.retain(|request| request.for_host != for_host);
            }
        } else if let Some(waiting) = self.calls.get_mut(&at) {
            waiting.retain(|request| request.for_host != for_host);
            if waiting.is_empty() {
                self.calls.remove(&at);
            }
        } else {
            let assign_by = self.fixed.identity.assign_by;
            self.remote_robots.cancel(|url| url.host_key(assign_by) == at, for_host);
        }
    }

    /// Fails the requests whose target host has left: their robots.txt counts as unreachable. One
    /// by one, because a host that is given up for it may abandon further requests.
    pub(super) fn fail_abandoned(&mut self, now: Timestamp) {
        while let Some(request) = self.abandoned.pop() {
            let found = RobotsOutcome::Unreachable;
            if !self.answer_peer(&request, &found) && self.awaits(&request) {
                self.finish_request(&request, &found, now);
            }
        }
    }
}

impl HostEntry {
    /// Returns its own request that waits at another host.
    pub(super) fn away(&self) -> Option<PendingRedirect> {
        self.robots_state.as_ref().and_then(|turn| turn.away)
    }

    /// Adds the requests that waited for this host to arrive.
    pub(super) fn set_waiting_requests(&mut self, requests: Vec<RobotsRequest>) {
        if !requests.is_empty() {
            self.robots_state =
                Some(Box::new(RobotsState { requests: requests.into(), ..RobotsState::default() }));
        }
    }

    fn take_requests_to(&mut self, url: &CrawlUrl) -> Vec<RobotsRequest> {
        let Some(turn) = self.robots_state.as_mut() else {
            return Vec::new();
        };
        let (taken, kept): (Vec<_>, Vec<_>) =
            turn.requests.drain(..).partition(|request| request.url == *url);
        turn.requests = kept.into();
        taken
    }
}
