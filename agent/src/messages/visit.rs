//! From the workbench to the fetchers: a lease on a host.

use super::{Queued, VisitDeadline};
use crivello_common::hash::HostKey;
use crivello_common::politeness::WaitRule;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// A lease on one host, and so on its IP address: handed out by the workbench, returned as a
/// [`Verdict`](super::Verdict).
#[derive(Clone, Debug)]
pub struct Visit {
    /// The host.
    pub host: HostKey,
    /// Its name in normal form (IPv6 literals in brackets).
    pub name: Arc<str>,
    /// The only address that may be connected to.
    pub address: IpAddr,
    /// What is to be done there.
    pub task: VisitTask,
    /// No request begins once it has ended, and one in flight is cut off.
    pub deadline: VisitDeadline,
    /// What it waited for.
    pub handed_out: HandedOut,
}

/// When a visit began and what it had waited for, for those who follow a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HandedOut {
    /// When it was handed out.
    pub at: Timestamp,
    /// The rule that set [`Self::host_next`].
    pub rule: WaitRule,
    /// No request to the host was to begin before.
    pub host_next: Timestamp,
    /// The address.
    pub address: IpAddr,
    /// No request to the address was to begin before.
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

/// What a visit is for.
#[derive(Clone, Debug)]
pub enum VisitTask {
    /// Fetch one hop of a robots.txt: one request.
    Robots(RobotsRequest),
    /// Fetch pages of one origin, one after another on one connection: at most `burst` of them.
    Pages {
        /// The origin of all of them.
        origin: Origin,
        /// What its robots.txt says.
        rules: Arc<Rules>,
        /// In the order of fetching; never empty.
        urls: Vec<Queued>,
        /// How many may be requested; URLs that robots.txt disallows do not count.
        requests_max: u32,
    },
}

/// One hop on the way to an origin's robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsRequest {
    /// The host whose robots.txt is wanted; another than the visit's host after a redirect.
    pub for_host: HostKey,
    /// The name of that host.
    pub for_name: Arc<str>,
    /// The origin (on `for_host`) whose robots.txt is wanted.
    pub for_origin: Origin,
    /// What to request, on the visit's host.
    pub url: CrawlUrl,
    /// Redirects followed so far.
    pub hops: u8,
}
