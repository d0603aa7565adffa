//! Pending robots requests: those whose target host is not in memory. It is being requested from
//! the crawl database, belongs to another agent, or has left.

use super::remote::RemoteRobots;
use crate::messages::{Lists, RobotsRequest};
use crivello_common::config::AssignBy;
use crivello_common::hash::HostKey;
use crivello_common::url::CrawlUrl;
use foldhash::HashMap;
use std::sync::Arc;

/// The robots requests at hosts that are not in memory.
#[derive(Debug)]
pub struct PendingRobots {
    assign_by: AssignBy,
    /// Requests at hosts that were requested from the crawl database, by host.
    by_host: HashMap<HostKey, Vec<RobotsRequest>>,
    /// Requests at hosts of other agents, and requests of other agents.
    pub remote: RemoteRobots,
    /// Requests whose target host has left.
    abandoned: Vec<RobotsRequest>,
}

impl PendingRobots {
    pub fn new(assign_by: AssignBy) -> Self {
        Self {
            assign_by,
            by_host: HashMap::default(),
            remote: RemoteRobots::default(),
            abandoned: Vec::new(),
        }
    }

    /// Returns the host of a URL.
    pub fn host_of(&self, url: &CrawlUrl) -> HostKey {
        url.host_key(self.assign_by)
    }

    /// Adds a request at host `target`. Returns the name of the host if it must be requested from
    /// the crawl database.
    pub fn push(&mut self, target: HostKey, request: RobotsRequest) -> Option<Arc<str>> {
        let waiting = self.by_host.entry(target).or_default();
        let name = waiting.is_empty().then(|| Arc::from(request.url.host()));
        waiting.push(request);
        name
    }

    /// Removes and returns the requests at a host that has arrived.
    pub fn take(&mut self, host: &HostKey) -> Vec<RobotsRequest> {
        self.by_host.remove(host).unwrap_or_default()
    }

    /// Sends the requests at a host that is not visited here to its owner. A request fails if
    /// another agent sent it, if there are no other agents, or if too many already wait.
    pub fn send_to_owner(&mut self, host: &HostKey, in_cluster: bool, lists: &Lists) {
        for request in self.take(host) {
            let sent = if in_cluster { self.remote.request(request, lists) } else { Err(request) };
            self.abandoned.extend(sent.err());
        }
    }

    /// Returns true if `for_host` waits for host `at`, which belongs to another agent and is paused.
    pub fn waits_for_paused(&self, at: HostKey, for_host: HostKey, lists: &Lists) -> bool {
        let is_there = |url: &CrawlUrl| self.host_of(url) == at && lists.is_paused(url.host());
        self.remote.waits(is_there, for_host)
    }

    /// Returns the name of host `at`, at which a request of `for_host` waits, if known.
    pub fn name_of(&self, at: &HostKey, for_host: &HostKey) -> Option<Arc<str>> {
        let requests = self.by_host.get(at)?;
        let request = requests.iter().find(|request| request.for_host == *for_host)?;
        Some(request.url.host().into())
    }

    /// Cancels the requests of `for_host` at host `at`.
    pub fn cancel(&mut self, at: HostKey, for_host: HostKey) {
        if let Some(waiting) = self.by_host.get_mut(&at) {
            waiting.retain(|request| request.for_host != for_host);
            if waiting.is_empty() {
                self.by_host.remove(&at);
            }
        } else {
            let assign_by = self.assign_by;
            self.remote.cancel(|url| url.host_key(assign_by) == at, for_host);
        }
    }

    /// Adds requests whose target host has left.
    pub fn abandon(&mut self, requests: impl IntoIterator<Item = RobotsRequest>) {
        self.abandoned.extend(requests);
    }

    /// Removes and returns a request whose target host has left.
    pub fn pop_abandoned(&mut self) -> Option<RobotsRequest> {
        self.abandoned.pop()
    }

    /// Cancels all own requests.
    pub fn clear(&mut self) {
        self.by_host.clear();
        self.remote.clear();
        self.abandoned.clear();
    }
}
