//! From the fetchers back to the workbench: how a visit ended.

use super::{Queued, RobotsRequest};
use crivello_common::failure::Failure;
use crivello_common::hash::HostKey;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// How a visit ended: the only arrow that runs back.
#[derive(Debug)]
pub struct Verdict {
    /// The host visited.
    pub host: HostKey,
    /// The address the lease was on.
    pub address: IpAddr,
    /// How many requests were sent (or connections attempted).
    pub requests: u32,
    /// When the last of them was over; the time the lease began, if there was none.
    pub ended: Timestamp,
    /// How long the site took for them, together.
    pub served: Duration,
    /// What the host's politeness must learn from it.
    pub signal: Signal,
    /// URLs of the visit that were not tried.
    pub returned: Vec<Queued>,
    /// How many URLs got a response that counts as a page.
    pub pages: u32,
    /// The answer to a [`RobotsRequest`].
    pub robots: Option<RobotsAnswer>,
}

/// What a visit says about the host's health.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// It answered, or was not asked.
    Well,
    /// It asks to slow down (429, 503), for this long if it said so.
    SlowDown(Option<Duration>),
    /// It could not be reached, or broke off.
    Failed(Failure),
}

/// The answer to a [`RobotsRequest`].
#[derive(Clone, Debug)]
pub struct RobotsAnswer {
    /// What was asked.
    pub request: RobotsRequest,
    /// What came.
    pub found: RobotsOutcome,
}

/// What a request for robots.txt brought (RFC 9309 section 2.3.1).
#[derive(Clone, Debug)]
pub enum RobotsOutcome {
    /// 2xx: the compiled rules for our agent.
    Rules(Arc<Rules>),
    /// 4xx but 429, or too many redirects: no rules, all is allowed.
    Missing,
    /// 5xx, 429, a redirect to nowhere, a body that cannot be read, or no answer: all is disallowed
    /// for now, or last-known-good holds.
    Unreachable,
    /// 3xx to this URL.
    Redirect(CrawlUrl),
}
