//! Robots requests between agents. A robots.txt that redirects to a host of another agent is
//! requested from that agent, which fetches it on a visit to that host. Each such request is one
//! hop; further redirects are followed by the agent that needs the file.

use super::queue::first_hop;
use crate::limits::REMOTE_ROBOTS_MAX;
use crate::messages::{Lists, RobotsOutcome, RobotsRequest};
use crivello_common::hash::{GroupHash, HostHash, HostKey};
use crivello_common::url::CrawlUrl;
use foldhash::{HashMap, HashSet};

/// Placeholder for the host of a request that another agent has sent.
const OTHER_AGENT: HostKey = HostKey { group: GroupHash(0), host: HostHash(0) };

/// Returns a request that another agent has sent.
pub fn request_of_agent(url: CrawlUrl) -> RobotsRequest {
    let first = first_hop(OTHER_AGENT, &url.host().into(), url.origin());
    RobotsRequest { url, ..first }
}

/// The robots requests that are exchanged with other agents.
#[derive(Debug, Default)]
pub struct RemoteRobots {
    /// Own requests, by the URL that is requested from another agent.
    waiting: HashMap<CrawlUrl, Vec<RobotsRequest>>,
    /// URLs of `waiting` that are not requested from any agent: their hosts are paused.
    paused: HashSet<CrawlUrl>,
    /// URLs to request from other agents.
    pub unsent: Vec<CrawlUrl>,
    /// Answers for other agents.
    pub replies: Vec<(CrawlUrl, RobotsOutcome)>,
}

impl RemoteRobots {
    /// Adds a request for the owner of its host. Returns it if another agent sent it, or if too many
    /// already wait.
    pub fn request(&mut self, request: RobotsRequest, lists: &Lists) -> Result<(), RobotsRequest> {
        if request.for_host == OTHER_AGENT {
            return Err(request);
        }
        if !self.waiting.contains_key(&request.url) {
            if self.waiting.len() >= REMOTE_ROBOTS_MAX {
                return Err(request);
            }
            if lists.is_paused(request.url.host()) {
                self.paused.insert(request.url.clone());
            } else {
                self.unsent.push(request.url.clone());
            }
        }
        self.waiting.entry(request.url.clone()).or_default().push(request);
        Ok(())
    }

    /// Removes and returns the own requests that an answer of another agent ends. `None` if that
    /// agent cannot visit the host, which is paused: the request is repeated when it is resumed.
    pub fn end(
        &mut self,
        url: &CrawlUrl,
        found: &RobotsOutcome,
        lists: &Lists,
    ) -> Option<Vec<RobotsRequest>> {
        let is_unreachable = matches!(found, RobotsOutcome::Unreachable);
        if is_unreachable && lists.is_paused(url.host()) && self.waiting.contains_key(url) {
            self.paused.insert(url.clone());
            return None;
        }
        Some(self.waiting.remove(url).unwrap_or_default())
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

    /// Cancels the requests of `for_host` for the URLs that satisfy `is_at`.
    pub fn cancel(&mut self, is_at: impl Fn(&CrawlUrl) -> bool, for_host: HostKey) {
        for (_, requests) in self.waiting.iter_mut().filter(|(url, _)| is_at(url)) {
            requests.retain(|request| request.for_host != for_host);
        }
        self.waiting.retain(|_, requests| !requests.is_empty());
        self.paused.retain(|url| self.waiting.contains_key(url));
    }

    /// Returns true if `for_host` waits for a URL that satisfies `is_at`.
    pub fn waits(&self, is_at: impl Fn(&CrawlUrl) -> bool, for_host: HostKey) -> bool {
        let mut there = self.waiting.iter().filter(|(url, _)| is_at(url));
        there.any(|(_, requests)| requests.iter().any(|request| request.for_host == for_host))
    }

    /// Cancels all own requests.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.paused.clear();
        self.unsent.clear();
    }
}
