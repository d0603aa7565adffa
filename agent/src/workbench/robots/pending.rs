//! Pending robots requests: those whose target host is not in memory. It is being requested from
//! the crawl database, belongs to another agent, or has left.

use crate::messages::{RobotsOutcome, RobotsRequest};
use crivello_common::hash::HostKey;
use crivello_common::identity::KeyedHasher;
use crivello_common::url::CrawlUrl;
use foldhash::{HashMap, HashSet};
use std::sync::Arc;

/// The robots requests at hosts that are not in memory. `remote.rs` has the exchange with other
/// agents.
#[derive(Debug)]
pub struct PendingRobots {
    pub(super) hasher: KeyedHasher,
    /// Requests at hosts that were requested from the crawl database, by host.
    by_host: HashMap<HostKey, Vec<RobotsRequest>>,
    /// Own requests at hosts of other agents, by the URL that is requested from the agent.
    pub(super) by_url: HashMap<CrawlUrl, Vec<RobotsRequest>>,
    /// URLs of `by_url` that are not requested from any agent: their hosts are paused.
    pub(super) paused: HashSet<CrawlUrl>,
    /// URLs to request from other agents.
    pub unsent: Vec<CrawlUrl>,
    /// Answers for other agents.
    pub replies: Vec<(CrawlUrl, RobotsOutcome)>,
    /// Requests whose target host has left.
    pub abandoned: Vec<RobotsRequest>,
}

impl PendingRobots {
    pub fn new(hasher: KeyedHasher) -> Self {
        Self {
            hasher,
            by_host: HashMap::default(),
            by_url: HashMap::default(),
            paused: HashSet::default(),
            unsent: Vec::new(),
            replies: Vec::new(),
            abandoned: Vec::new(),
        }
    }

    /// Returns the host of a URL.
    pub fn host_of(&self, url: &CrawlUrl) -> HostKey {
        self.hasher.host_key(url.host())
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
            self.cancel_remote(at, for_host);
        }
    }

    /// Cancels all own requests.
    pub fn clear(&mut self) {
        self.by_host.clear();
        self.by_url.clear();
        self.paused.clear();
        self.unsent.clear();
        self.abandoned.clear();
    }
}
