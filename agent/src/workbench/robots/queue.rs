//! Robots requests of one host: those to send on its visits, and its own at another host.

use crate::limits::ROBOTS_HOPS_MAX;
use crate::messages::{RobotsOutcome, RobotsRequest};
use crivello_common::hash::HostKey;
use crivello_common::robots::{Rules, TDM_FILE};
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin};
use std::collections::VecDeque;
use std::sync::Arc;

/// The robots requests to send to a host, and its own request that waits at another host.
#[derive(Debug, Default)]
pub struct RobotsQueue {
    /// Requests to send on visits to this host, its own first.
    pub requests: VecDeque<RobotsRequest>,
    /// The request of another host that the visit in flight serves.
    in_flight: Option<RobotsRequest>,
    /// True if the last visit was for another host; then the host's own task is next.
    own_next: bool,
    /// Its own request that waits for a visit to another host.
    pub away: Option<PendingRedirect>,
}

/// A host's own request, at another host.
#[derive(Clone, Copy, Debug)]
pub struct PendingRedirect {
    /// The origin whose robots.txt is wanted.
    pub origin: Origin,
    /// The host whose visit it waits for.
    pub at: HostKey,
    /// The robots.txt counts as unreachable after this.
    pub deadline: Timestamp,
}

impl RobotsQueue {
    /// Returns a queue of requests that waited for the host to arrive; `None` if there are none.
    pub fn of(requests: Vec<RobotsRequest>) -> Option<Box<Self>> {
        let is_needed = !requests.is_empty();
        is_needed.then(|| Box::new(Self { requests: requests.into(), ..Self::default() }))
    }

    /// Returns the robots request for the next visit to host `key`: its own goes first; those of
    /// other hosts alternate with its own task, if it has one.
    pub fn next_request(&mut self, key: HostKey, has_task: bool) -> Option<RobotsRequest> {
        let is_own = self.requests.front()?.for_host == key;
        if !is_own && has_task && self.own_next {
            self.own_next = false;
            return None;
        }
        self.own_next = !is_own;
        let request = self.requests.pop_front();
        self.in_flight = request.clone().filter(|_| !is_own);
        request
    }

    /// Removes and returns the requests for the file of `answered`: a robots.txt, or the TDM file after it.
    pub fn take_requests_like(&mut self, answered: &RobotsRequest) -> Vec<RobotsRequest> {
        let (taken, kept): (Vec<_>, Vec<_>) = self.requests.drain(..).partition(|request| {
            request.url == answered.url && request.found.is_some() == answered.found.is_some()
        });
        self.requests = kept.into();
        taken
    }

    /// Ends a visit. Without an answer, the visit was cut off: the request of another host goes
    /// first on the next one.
    pub fn end_visit(&mut self, is_answered: bool) {
        if let Some(request) = self.in_flight.take().filter(|_| !is_answered) {
            self.requests.push_front(request);
        }
    }

    /// Returns true if it can be freed.
    pub fn is_unused(&self) -> bool {
        self.requests.is_empty() && self.away.is_none() && !self.own_next
    }
}

/// Returns the request for the first hop to an origin's robots.txt.
pub fn first_hop(host: HostKey, name: &Arc<str>, origin: Origin) -> RobotsRequest {
    RobotsRequest {
        for_host: host,
        for_name: Arc::clone(name),
        for_origin: origin,
        url: CrawlUrl::from_parts(origin, name, "/robots.txt"),
        hops: 0,
        verified: true,
        found: None,
    }
}

/// Returns the request for the TDM file of an origin, once its robots.txt is found, if that allows it.
/// `verified` is true if the last response came over a connection with a valid certificate.
pub fn tdm_request(
    request: &RobotsRequest,
    found: &RobotsOutcome,
    verified: bool,
) -> Option<RobotsRequest> {
    let rules = match found {
        RobotsOutcome::Rules(rules) => Arc::clone(rules),
        RobotsOutcome::Missing => Rules::allow_all().shared(),
        RobotsOutcome::Unreachable | RobotsOutcome::Redirect(_) => return None,
    };
    let is_wanted = request.found.is_none() && rules.allows(TDM_FILE);
    let url = CrawlUrl::from_parts(request.for_origin, &request.for_name, TDM_FILE);
    let verified = request.verified && verified;
    is_wanted.then(|| RobotsRequest { url, verified, found: Some(rules), ..request.clone() })
}

/// Returns the request for the hop after a redirect to `url`, which came over a connection with a
/// valid certificate if `verified`; `None` after too many redirects: then robots.txt counts as
/// missing (RFC 9309 section 2.3.1.2).
pub fn next_hop(request: &RobotsRequest, url: CrawlUrl, verified: bool) -> Option<RobotsRequest> {
    let (hops, verified) = (request.hops + 1, request.verified && verified);
    (hops <= ROBOTS_HOPS_MAX).then(|| RobotsRequest { url, hops, verified, ..request.clone() })
}
