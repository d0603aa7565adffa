//! Visits, from the workbench to the fetchers.

use super::{Queued, VisitDeadline};
use crivello_common::hash::HostKey;
use crivello_common::politeness::WaitRule;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Visit to one host, and so to its IP address: handed out by the workbench, and returned as a
/// [`Verdict`](super::Verdict).
#[derive(Clone, Debug)]
pub struct Visit {
    /// The host.
    pub host: HostKey,
    /// Its name in normal form (IPv6 literals in brackets).
    pub name: Arc<str>,
    /// The only address that may be connected to.
    pub address: IpAddr,
    /// Task of the visit.
    pub task: VisitTask,
    /// Deadline: no request begins after it, and one in flight is cut off.
    pub deadline: VisitDeadline,
    /// Scheduling data of the visit, for URL tracing.
    pub handed_out: HandedOut,
}

/// Time when a visit began and the times that it had to wait for, for URL tracing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedOut {
    /// Time when it was handed out.
    pub at: Timestamp,
    /// Rule that set [`Self::host_next`].
    pub rule: WaitRule,
    /// Time before which no request to the host may begin.
    pub host_next: Timestamp,
    /// The IP address.
    pub address: IpAddr,
    /// Time before which no request to the address may begin.
    pub address_next: Timestamp,
}

impl Default for HandedOut {
    fn default() -> Self {
        Self {
            at: Timestamp::ZERO,
            rule: WaitRule::Nothing,
            host_next: Timestamp::ZERO,
            address: Ipv4Addr::UNSPECIFIED.into(),
            address_next: Timestamp::ZERO,
        }
    }
}

/// Task of a visit.
#[derive(Clone, Debug)]
pub enum VisitTask {
    /// Fetch one hop of a robots.txt: one request.
    Robots(RobotsRequest),
    /// Fetch pages of one origin, one after another on one connection: at most `burst` of them.
    Pages {
        /// The origin of all of them.
        origin: Origin,
        /// Rules of its robots.txt.
        rules: Arc<Rules>,
        /// URLs in the order of fetching; never empty.
        urls: Vec<Queued>,
        /// Maximum number of requests; URLs that robots.txt disallows do not count.
        requests_max: u32,
    },
}

/// One hop on the way to an origin's robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsRequest {
    /// Host whose robots.txt is wanted; differs from the visit's host after a redirect.
    pub for_host: HostKey,
    /// Name of that host.
    pub for_name: Arc<str>,
    /// Origin (on `for_host`) whose robots.txt is wanted.
    pub for_origin: Origin,
    /// URL to request, on the visit's host.
    pub url: CrawlUrl,
    /// Number of redirects followed so far.
    pub hops: u8,
    /// True if all these redirects came over connections with valid certificates.
    pub verified: bool,
    /// The rules that were found, if the request is the one after it: for the origin's file of TDM rights,
    /// whose rules are added to them.
    pub found: Option<Arc<Rules>>,
}
