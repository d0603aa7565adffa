//! Robots requests between agents. A robots.txt that redirects to a host of another agent is
//! requested from that agent, which fetches it on a visit to that host. Each such request is one
//! hop; further redirects are followed by the agent that needs the file.

use super::pending::PendingRobots;
use super::queue::first_hop;
use crate::limits::REMOTE_ROBOTS_MAX;
use crate::messages::{Lists, RobotsOutcome, RobotsRequest};
use crivello_common::hash::{GroupHash, HostHash, HostKey};
use crivello_common::url::CrawlUrl;

/// Placeholder for the host of a request that another agent has sent.
const OTHER_AGENT: HostKey = HostKey { group: GroupHash(0), host: HostHash(0) };

/// Returns a request that another agent has sent.
pub fn request_of_agent(url: CrawlUrl) -> RobotsRequest {
    let first = first_hop(OTHER_AGENT, &url.host().into(), url.origin());
    RobotsRequest { url, ..first }
}

impl PendingRobots {
    /// Sends the requests at a host that is not visited here to its owner. A request fails if
    /// another agent sent it, if there are no other agents, or if too many already wait.
    pub fn send_to_owner(&mut self, host: &HostKey, in_cluster: bool, lists: &Lists) {
        for request in self.take(host) {
            let is_new = !self.by_url.contains_key(&request.url);
            let is_full = is_new && self.by_url.len() >= REMOTE_ROBOTS_MAX;
            if !in_cluster || request.for_host == OTHER_AGENT || is_full {
                self.abandoned.push(request);
                continue;
            }
            let url = request.url.clone();
            self.by_url.entry(url.clone()).or_default().push(request);
            if is_new && lists.is_paused(url.host()) {
                self.paused.insert(url);
            } else if is_new {
                self.unsent.push(url);
            }
        }
    }

    /// Removes and returns the own requests that an answer of another agent ends. `None` if that
    /// agent cannot visit the host, which is paused: the request is repeated when it is resumed.
    pub fn end_remote(
        &mut self,
        url: &CrawlUrl,
        found: &RobotsOutcome,
        lists: &Lists,
    ) -> Option<Vec<RobotsRequest>> {
        let is_unreachable = matches!(found, RobotsOutcome::Unreachable);
        if is_unreachable && lists.is_paused(url.host()) && self.by_url.contains_key(url) {
            self.paused.insert(url.clone());
            return None;
        }
        Some(self.by_url.remove(url).unwrap_or_default())
    }

    /// Answers a request that another agent has sent; returns false for any other request.
    pub fn reply_to(&mut self, request: &RobotsRequest, found: &RobotsOutcome) -> bool {
        let is_of_agent = request.for_host == OTHER_AGENT;
        if is_of_agent {
            self.replies.push((request.url.clone(), found.clone()));
        }
        is_of_agent
    }

    /// Sends the requests that waited because of paused hosts, if these are resumed.
    pub fn resume(&mut self, lists: &Lists) {
        let resumed = self.paused.extract_if(|url| !lists.is_paused(url.host()));
        self.unsent.extend(resumed);
    }

    /// Cancels the requests of `for_host` at host `at`, which belongs to another agent.
    pub(super) fn cancel_remote(&mut self, at: HostKey, for_host: HostKey) {
        let hasher = self.hasher;
        for (url, requests) in &mut self.by_url {
            if hasher.host_key(url.host()) == at {
                requests.retain(|request| request.for_host != for_host);
            }
        }
        self.by_url.retain(|_, requests| !requests.is_empty());
        self.paused.retain(|url| self.by_url.contains_key(url));
    }

    /// Returns true if `for_host` waits for host `at`, which belongs to another agent and is paused.
    pub fn waits_for_paused(&self, at: HostKey, for_host: HostKey, lists: &Lists) -> bool {
        let is_there = |url: &CrawlUrl| self.host_of(url) == at && lists.is_paused(url.host());
        let mut there = self.by_url.iter().filter(|(url, _)| is_there(url));
        there.any(|(_, requests)| requests.iter().any(|request| request.for_host == for_host))
    }
}
