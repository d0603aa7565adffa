//! Name look-ups: requests of the workbench, and results of the resolver.

use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use std::net::IpAddr;
use std::sync::Arc;

/// Request for a name look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameRequest {
    /// The host.
    pub host: HostKey,
    /// Its name.
    pub name: Arc<str>,
    /// True if the name had an address at some time.
    pub resolved: bool,
}

/// Result of a name look-up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The host.
    pub host: HostKey,
    /// Address to visit with its lifetime, or the reason why there is none.
    pub answer: Result<Resolved, ResolveError>,
}

/// Address of a resolved name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// IP address, already checked against the networks that may be visited.
    pub address: IpAddr,
    /// Time until which the result may be used.
    pub until: Timestamp,
}

/// Reason why a name has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// The name does not exist, or has no usable address.
    NoSuchName,
    /// The name servers did not answer.
    Unavailable,
    /// All its addresses are in networks that may not be visited.
    Denied,
    /// The address that would be visited is blocked (`links.blocked`).
    Blocked(IpAddr),
}

impl ResolveError {
    /// Returns the name of the reason.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoSuchName => "no-such-name",
            Self::Unavailable => "unavailable",
            Self::Denied => "denied",
            Self::Blocked(_) => "blocked",
        }
    }
}
