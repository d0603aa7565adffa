//! Errands between agents. A robots.txt that leads to a host of another agent is asked for by that
//! agent, in that host's turn; each such request is one hop, and what it brings is followed further
//! by the agent that needs it.

use super::Workbench;
use super::robots_state::first_hop;
use crate::limits::GUESTS_MAX;
use crate::messages::{RobotsOutcome, RobotsRequest};
use crivello_common::hash::{GroupHash, HostHash, HostKey};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use foldhash::{HashMap, HashSet};

/// Stands for a host of another agent that an request is for.
const FOR_PEER: HostKey = HostKey { group: GroupHash(0), host: HostHash(0) };

/// See the module.
#[derive(Debug, Default)]
pub(super) struct RemoteRobots {
    /// Own requests, by what another agent was asked for.
    waiting: HashMap<CrawlUrl, Vec<RobotsRequest>>,
    /// Those of `waiting` that nobody was asked for: their hosts are paused.
    held: HashSet<CrawlUrl>,
    to_ask: Vec<CrawlUrl>,
    /// For other agents.
    answers: Vec<(CrawlUrl, RobotsOutcome)>,
}

impl RemoteRobots {
    /// The requests of `for_host` that wait for an answer of host `at` are needed no more.
    pub fn cancel(&mut self, is_at: impl Fn(&CrawlUrl) -> bool, for_host: HostKey) {
        for (_, requests) in self.waiting.iter_mut().filter(|(url, _)| is_at(url)) {
            requests.retain(|request| request.for_host != for_host);
        }
        self.waiting.retain(|_, requests| !requests.is_empty());
        self.held.retain(|url| self.waiting.contains_key(url));
    }

    /// Whether `for_host` waits for what a host says that `is_at` there.
    fn waits(&self, is_at: impl Fn(&CrawlUrl) -> bool, for_host: HostKey) -> bool {
        let mut there = self.waiting.iter().filter(|(url, _)| is_at(url));
        there.any(|(_, requests)| requests.iter().any(|request| request.for_host == for_host))
    }

    /// Nobody waits any more.
    pub fn clear(&mut self) {
        self.waiting.clear();
        self.held.clear();
        self.to_ask.clear();
    }
}

impl Workbench {
    /// What other agents must be asked for, each answered by [`Self::on_remote_robots`].
    #[must_use]
    pub fn take_remote_requests(&mut self) -> Vec<CrawlUrl> {
        std::mem::take(&mut self.remote_robots.to_ask)
    }

    /// What another agent has found there.
    pub fn on_remote_robots(&mut self, url: &CrawlUrl, found: &RobotsOutcome, now: Timestamp) {
        // Its agent cannot visit a host that is paused: it is asked again once that is over.
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

    /// Another agent wants this robots.txt, of a host that is visited here; answered by
    /// [`Self::take_peer_replies`], once for all who ask until then.
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

    /// What was found for other agents.
    #[must_use]
    pub fn take_peer_replies(&mut self) -> Vec<(CrawlUrl, RobotsOutcome)> {
        std::mem::take(&mut self.remote_robots.answers)
    }

    /// The request's host is not visited here: another agent is asked, unless it was another agent
    /// that sent it, or there is none, or too many wait already.
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

    /// Other hosts may be paused now, and some no more: what was held because of that is asked for.
    pub(super) fn resume_remote_robots(&mut self) {
        let lists = &self.lists;
        let resumed = self.remote_robots.held.extract_if(|url| !lists.is_paused(url.host()));
        self.remote_robots.to_ask.extend(resumed);
    }

    /// Whether the host waits for a host of another agent, at `at`, that is paused.
    pub(super) fn waits_for_paused(&self, id: u32, at: HostKey) -> bool {
        let assign_by = self.fixed.identity.assign_by;
        let is_there =
            |url: &CrawlUrl| url.host_key(assign_by) == at && self.lists.is_paused(url.host());
        self.remote_robots.waits(is_there, self.hosts[id].key)
    }

    /// Whether this was for another agent, which then has its answer.
    pub(super) fn answer_peer(&mut self, request: &RobotsRequest, found: &RobotsOutcome) -> bool {
        let guest = request.for_host == FOR_PEER;
        if guest {
            self.remote_robots.answers.push((request.url.clone(), found.clone()));
        }
        guest
    }
}
