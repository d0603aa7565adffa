//! Robots requests at other hosts: redirects, answers for all hosts that wait, and the end of
//! requests whose target host leaves.

use super::Workbench;
use super::hosts::HostPhase;
use super::robots::{PendingRedirect, learn, next_hop, request_of_agent, tdm_request};
use crate::messages::{RobotsAnswer, RobotsOutcome, RobotsRequest, ToFrontier};
use crivello_common::hash::HostKey;
use crivello_common::robots::{follows_redirect, is_robots_in_scope};
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin, Scheme};
use std::iter;
use std::sync::Arc;
use std::time::Duration;

/// A robots.txt that waits longer than this for visits to other hosts counts as unreachable.
const AWAY_MAX: Duration = Duration::from_secs(600);

impl Workbench {
    /// Handles the answer of another agent.
    pub fn on_remote_robots(&mut self, url: &CrawlUrl, found: &RobotsOutcome, now: Timestamp) {
        let Some(requests) = self.pending_robots.end_remote(url, found, &self.lists) else {
            return;
        };
        // The other agent does not report its connection.
        let verified = false;
        self.robots_cache.keep(url, found, verified, now);
        for request in requests {
            if self.awaits(&request) {
                self.follow(&request, found, verified, now);
            }
        }
        self.fail_abandoned(now);
    }

    /// Requests a robots.txt for another agent, from a host that this agent visits. The answer is
    /// returned by [`Self::take_peer_replies`], and serves all agents that request it until then. Only
    /// `/robots.txt`, or where it redirects on its own host, is requested: another agent must not
    /// choose what this one fetches.
    pub fn request_for_peer(&mut self, url: CrawlUrl, now: Timestamp) {
        if let Some((found, _)) = self.robots_cache.get(&url, now) {
            return self.pending_robots.replies.push((url, found));
        }
        let (links, blocked) = (&self.live.links, &self.lists.blocked);
        let is_allowed = is_robots_in_scope(&url, links, blocked, &self.ports)
            || self.robots_cache.redirects_to(&url, now);
        if !is_allowed {
            self.messages.push(ToFrontier::RobotsRedirectRefused);
        }
        if self.closing || !is_allowed {
            return self.pending_robots.replies.push((url, RobotsOutcome::Unreachable));
        }
        let target = self.pending_robots.host_of(&url);
        self.send_request(target, request_of_agent(url), now);
        self.fail_abandoned(now);
    }

    /// Handles the answer to a request at host `at`, for all requests there for the same URL.
    pub(super) fn on_robots_answer(&mut self, at: u32, answer: RobotsAnswer, now: Timestamp) {
        let RobotsAnswer { request, found, verified } = answer;
        let key = self.hosts[at].key;
        let queue = self.hosts[at].robots_queue.as_mut();
        let others = queue.map_or(Vec::new(), |queue| queue.take_requests_like(&request));
        // Another agent that is redirected may ask for the target next.
        let serves_others = others.iter().any(|other| other.for_host != key);
        let is_robots_txt = request.found.is_none();
        if is_robots_txt && (serves_others || request.for_host != key || request.hops > 0) {
            self.robots_cache.keep(&request.url, &found, verified, now);
        }
        for request in iter::once(request).chain(others) {
            if !self.pending_robots.reply_to(&request, &found)
                && (request.for_host == key || self.awaits(&request))
            {
                self.follow(&request, &found, verified, now);
            }
        }
    }

    /// Handles the answer to a request of a host in memory. `verified` is true if it came over a
    /// connection with a valid certificate.
    fn follow(
        &mut self,
        request: &RobotsRequest,
        found: &RobotsOutcome,
        verified: bool,
        now: Timestamp,
    ) {
        match found {
            RobotsOutcome::Redirect(url) if request.found.is_none() => {
                self.redirect(request, url, verified, now);
            }
            _ => self.finish_request(request, found, verified, now),
        }
    }

    /// Follows the redirect of a request to `url`, if it may be followed.
    fn redirect(
        &mut self,
        request: &RobotsRequest,
        url: &CrawlUrl,
        verified: bool,
        now: Timestamp,
    ) {
        let (links, blocked) = (&self.live.links, &self.lists.blocked);
        if !follows_redirect(&request.url, url, links, blocked, &self.ports) {
            self.messages.push(ToFrontier::RobotsRedirectRefused);
            return self.finish_request(request, &RobotsOutcome::Unreachable, verified, now);
        }
        let Some(request) = next_hop(request, url.clone(), verified) else {
            return self.finish_request(request, &RobotsOutcome::Missing, verified, now);
        };
        let Some(id) = self.hosts.find(&request.for_host) else {
            return;
        };
        let target = self.pending_robots.host_of(url);
        if let Some((found, verified)) = self.robots_cache.get(url, now) {
            return self.follow(&request, &found, verified, now);
        }
        let queue = self.hosts[id].robots_queue.get_or_insert_default();
        if target == request.for_host {
            queue.away = None;
            queue.requests.push_front(request);
            return self.wake_host(id, now);
        }
        let deadline = queue.away.map_or(now + AWAY_MAX, |away| away.deadline);
        queue.away = Some(PendingRedirect { origin: request.for_origin, at: target, deadline });
        self.send_request(target, request, now);
    }

    /// Queues a request at host `target`, which is fetched from the crawl database if it is not in
    /// memory.
    fn send_request(&mut self, target: HostKey, request: RobotsRequest, now: Timestamp) {
        if let Some(other) = self.hosts.find(&target) {
            self.hosts[other].robots_queue.get_or_insert_default().requests.push_back(request);
            return self.wake_host(other, now);
        }
        if let Some(name) = self.pending_robots.push(target, request) {
            self.messages.push(ToFrontier::RequestHost { host: target, name });
        }
    }

    /// Ends a request: records the final answer for the host that it was for, or sends the request for its
    /// TDM file first.
    fn finish_request(
        &mut self,
        request: &RobotsRequest,
        found: &RobotsOutcome,
        verified: bool,
        now: Timestamp,
    ) {
        let Some(id) = self.hosts.find(&request.for_host) else {
            return;
        };
        if let Some(queue) = self.hosts[id].robots_queue.as_mut() {
            queue.away = queue.away.filter(|away| away.origin != request.for_origin);
        }
        let host = &mut self.hosts[id];
        if self.fixed.fetch.tdmrep
            && let Some(next) = tdm_request(request, found, verified)
        {
            host.robots_queue.get_or_insert_default().requests.push_front(next);
            return self.wake_host(id, now);
        }
        match (&request.found, found) {
            (None, _) => {
                let verified = request.verified && verified;
                self.record_robots(id, request.for_origin, found, verified, now);
            }
            // Only a file that was read changes the rules.
            (Some(_), RobotsOutcome::Rules(_)) => {
                self.record_robots(id, request.for_origin, found, request.verified, now);
            }
            (Some(before), _) => {
                let found = RobotsOutcome::Rules(Arc::clone(before));
                self.record_robots(id, request.for_origin, &found, request.verified, now);
            }
        }
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
        let is_paused = match self.hosts.find(&away.at) {
            Some(at) => self.hosts[at].paused,
            None => self.pending_robots.waits_for_paused(away.at, self.hosts[id].key, &self.lists),
        };
        if is_paused {
            away.deadline = now + AWAY_MAX;
            self.hosts[id].robots_queue.get_or_insert_default().away = Some(away);
        }
        away.deadline
    }

    /// Gives up the host's request at another host, whose deadline has passed.
    pub(super) fn expire_away(&mut self, id: u32, now: Timestamp) {
        let host = &mut self.hosts[id];
        let key = host.key;
        if let Some(away) = host.robots_queue.as_mut().and_then(|queue| queue.away.take()) {
            self.cancel(away.at, key);
            self.record_robots(id, away.origin, &RobotsOutcome::Unreachable, false, now);
        }
    }

    /// Records the final answer for an origin. `verified` is true if it came over connections with
    /// valid certificates: once a host has shown one, another answer lifts nothing.
    fn record_robots(
        &mut self,
        id: u32,
        origin: Origin,
        found: &RobotsOutcome,
        verified: bool,
        now: Timestamp,
    ) {
        let host = &self.hosts[id];
        let may_lift = verified || !host.state.certified || origin.scheme == Scheme::Http;
        let (key, record) = (host.key, learn(host.record(origin), found, may_lift, now));
        self.hosts.set_record(id, origin, record.clone());
        self.messages.push(ToFrontier::Robots { host: key, origin, record });
    }

    /// Places a host again that sleeps or is dry: it may have a task now.
    fn wake_host(&mut self, id: u32, now: Timestamp) {
        if matches!(self.hosts[id].phase, HostPhase::Asleep | HostPhase::Dry) {
            self.detach(id);
            self.place_host(id, now);
        }
    }

    /// Returns true if the host of a request at another host still waits for the answer.
    fn awaits(&self, request: &RobotsRequest) -> bool {
        let away = self.hosts.find(&request.for_host).and_then(|id| self.hosts[id].away());
        away.is_some_and(|away| away.origin == request.for_origin)
    }

    /// Cancels the requests of `for_host` at host `at`.
    pub(super) fn cancel(&mut self, at: HostKey, for_host: HostKey) {
        match self.hosts.find(&at) {
            Some(id) => {
                if let Some(queue) = self.hosts[id].robots_queue.as_mut() {
                    queue.requests.retain(|request| request.for_host != for_host);
                }
            }
            None => self.pending_robots.cancel(at, for_host),
        }
    }

    /// Fails the requests whose target host has left: their robots.txt counts as unreachable. One
    /// by one, because a host that is given up for it may abandon further requests.
    pub(super) fn fail_abandoned(&mut self, now: Timestamp) {
        while let Some(request) = self.pending_robots.abandoned.pop() {
            let found = RobotsOutcome::Unreachable;
            if !self.pending_robots.reply_to(&request, &found) && self.awaits(&request) {
                self.finish_request(&request, &found, false, now);
            }
        }
    }
}
