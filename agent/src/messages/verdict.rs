//! Results of visits, from the fetchers back to the workbench.

use super::{Queued, RobotsRequest};
use crivello_common::hash::HostKey;
use crivello_common::politeness::VisitSignal;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Result of a visit: the only message that flows back.
#[derive(Debug)]
pub struct Verdict {
    /// The host visited.
    pub host: HostKey,
    /// The address that was visited.
    pub address: IpAddr,
    /// Number of requests sent (or connections attempted).
    pub requests: u32,
    /// Time when the last request ended; the time the visit began if there was none.
    pub ended: Timestamp,
    /// Total time that the site took for the requests.
    pub served: Duration,
    /// Health of the host, for its politeness.
    pub signal: VisitSignal,
    /// URLs of the visit that were not tried.
    pub returned: Vec<Queued>,
    /// Number of URLs whose response counts as a page.
    pub pages: u32,
    /// True if one of these responses was a success (2xx).
    pub answered: bool,
    /// Answer to a [`RobotsRequest`].
    pub robots: Option<RobotsAnswer>,
    /// True if the host showed a certificate that is valid for its name.
    pub certified: bool,
}

/// Answer to a [`RobotsRequest`].
#[derive(Clone, Debug)]
pub struct RobotsAnswer {
    /// The request.
    pub request: RobotsRequest,
    /// The result.
    pub found: RobotsOutcome,
    /// True if it came over a connection with a valid certificate.
    pub verified: bool,
}

/// Result of a request for a robots.txt (RFC 9309 section 2.3.1).
#[derive(Clone, Debug)]
pub enum RobotsOutcome {
    /// 2xx: the compiled rules for our agent.
    Rules(Arc<Rules>),
    /// 4xx except 429, or too many redirects: no rules, all is allowed.
    Missing,
    /// 5xx, 429, a redirect to nowhere, an unreadable body, or no answer: all is disallowed for
    /// now, or last-known-good applies.
    Unreachable,
    /// 3xx with this target.
    Redirect(CrawlUrl),
}
