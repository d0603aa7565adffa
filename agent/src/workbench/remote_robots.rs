//! Robots requests between agents. A robots.txt that redirects to a host of another agent is
//! requested from that agent, which fetches it on a visit to that host. Each such request is one
//! hop; further redirects are followed by the agent that needs the file.

use super::Workbench;
use super::robots_state::first_hop;
use crate::limits::GUESTS_MAX;
use crate::messages::{RobotsOutcome, RobotsRequest};
use crivello_common::hash::{GroupHash, HostHash, HostKey};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use foldhash::{HashMap, HashSet};

/// Placeholder for the host of a request that another agent has sent.
const FOR_PEER: HostKey = HostKey { group: GroupHash(0), host: HostHash(0) };

/// The robots requests that are exchanged with other agents.
#[derive(Debug, Default)]
pub(super) struct RemoteRobots {
    /// Own requests, by the URL that is requested from another agent.
    waiting: HashMap<CrawlUrl, Vec<RobotsRequest>>,
    /// URLs of `waiting` that are not requested from any agent: their hosts are paused.
    held: HashSet<CrawlUrl>,
    to_ask: Vec<CrawlUrl>,
    /// Answers for other agents.
    answers: Vec<(CrawlUrl, RobotsOutcome)>,
}

impl RemoteRobots {
    /// Cancels the requests of `for_host` for the URLs that satisfy `is_at`.
    pub fn cancel(&mut self, is_at: impl Fn(&CrawlUrl) -> bool, for_host: HostKey) {
        for (_, requests) in self.waiting.iter_mut().filter(|(url, _)| is_at(url)) {
            requests.retain(|request| request.for_host != for_host);
        }
        self.waiting.retain(|_, requests| !requests.is_empty());
        self.held.retain(|url| self.waiting.contains_key(url));
    }

    /// Returns true if `for_host` waits for a URL that satisfies `is_at`.
    fn waits(&self, is_at: impl Fn(&CrawlUrl) -> bool, for_host: HostKey) -> bool {
        let mut there = self.waiting.iter().filter(|(url, _)| is_at(url));
        there.any(|(_, requests)| requests.iter().any(|request| request.for_host == for_host))
    }

    /// Cancels all own requests.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.held.clear();
        self.to_ask.clear();
    }
}

impl Workbench {
    /// Removes and returns the URLs to request from other agents, each answered by
    /// [`Self::on_remote_robots`].
    #[must_use]
    pub fn take_remote_requests(&mut self) -> Vec<CrawlUrl> {
        std::mem::take(&mut self.remote_robots.to_ask)
    }

    /// Handles the answer of another agent.
    pub fn on_remote_robots(&mut self, url: &CrawlUrl, found: &RobotsOutcome, now: Timestamp) {
        // Its agent cannot visit a paused host: the request is repeated when the pause is over.
        let in_vain = matches!(found, RobotsOutcome::Unreachable);
        if in_vain
            && self.lists.is_paused(url.host())
            && self.remote_robots.waiting.contains_key(url)
        {
            self.remote_robots.held.insert(url.clone());
            return;
        }
        self.robots_cache.keep(url, found, now);
        for request in self.remote_robots.waiting.remove(url).unwrap_or_default() {
            if !self.awaits(&request) {
                continue;
            }
            match found {
                RobotsOutcome::Redirect(target) => self.redirect(&request, target, now),
                _ => self.finish_request(&request, found, now),
            }
        }
        self.fail_abandoned(now);
    }

    /// Requests a robots.txt for another agent, from a host that this agent visits. The answer is
    /// returned by [`Self::take_peer_replies`], and serves all agents that request it until then.
    pub fn request_for_peer(&mut self, url: CrawlUrl, now: Timestamp) {
        if self.closing {
            return self.remote_robots.answers.push((url, RobotsOutcome::Unreachable));
        }
        if let Some(found) = self.robots_cache.get(&url, now) {
            return self.remote_robots.answers.push((url, found));
        }
        let host = url.host_key(self.fixed.identity.assign_by);
        let first = first_hop(FOR_PEER, &url.host().into(), url.origin());
        self.send_request(host, RobotsRequest { url, ..first }, now);
        self.fail_abandoned(now);
    }

    /// Removes and returns the answers for other agents.
    #[must_use]
    pub fn take_peer_replies(&mut self) -> Vec<(CrawlUrl, RobotsOutcome)> {
        std::mem::take(&mut self.remote_robots.answers)
    }

    /// Sends a request, whose target host is not visited here, to the host's owner. The request
    /// fails if another agent sent it, if there are no other agents, or if too many already wait.
    pub(super) fn request_from_owner(&mut self, request: RobotsRequest) {
        let waiting = &mut self.remote_robots.waiting;
        let known = waiting.contains_key(&request.url);
        if request.for_host == FOR_PEER || self.ip_leases.is_none() {
            return self.abandoned.push(request);
        }
        if !known && waiting.len() >= GUESTS_MAX {
            return self.abandoned.push(request);
        }
        if !known && self.lists.is_paused(request.url.host()) {
            self.remote_robots.held.insert(request.url.clone());
        } else if !known {
            self.remote_robots.to_ask.push(request.url.clone());
        }
        waiting.entry(request.url.clone()).or_default().push(request);
    }

    /// Sends the requests that were held because of paused hosts, if these are resumed.
    pub(super) fn resume_remote_robots(&mut self) {
        let lists = &self.lists;
        let resumed = self.remote_robots.held.extract_if(|url| !lists.is_paused(url.host()));
        self.remote_robots.to_ask.extend(resumed);
    }

    /// Returns true if the host waits for host `at`, which belongs to another agent and is paused.
    pub(super) fn waits_for_paused(&self, id: u32, at: HostKey) -> bool {
        let assign_by = self.fixed.identity.assign_by;
        let is_there =
            |url: &CrawlUrl| url.host_key(assign_by) == at && self.lists.is_paused(url.host());
        self.remote_robots.waits(is_there, self.hosts[id].key)
    }

    /// Answers a request that another agent has sent; returns false for any other request.
    pub(super) fn answer_peer(&mut self, request: &RobotsRequest, found: &RobotsOutcome) -> bool {
        let guest = request.for_host == FOR_PEER;
        if guest {
            self.remote_robots.answers.push((request.url.clone(), found.clone()));
        }
        guest
    }
}
