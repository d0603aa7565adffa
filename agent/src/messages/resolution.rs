//! From the resolver to the workbench: the answer to a name.

use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use std::net::IpAddr;

/// The answer to a host's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The host.
    pub host: HostKey,
    /// The address to be visited and how long that holds, or why there is none.
    pub answer: Result<Resolved, ResolveError>,
}

/// See [`Resolution::answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The address: already checked against the networks that may be visited.
    pub address: IpAddr,
    /// Until when this holds.
    pub until: Timestamp,
}

/// Why a name has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// The name does not exist, or has no address we can use.
    NoSuchName,
    /// The name servers did not answer.
    Unavailable,
    /// All its addresses are in networks that may not be visited.
    Denied,
    /// The address that it would be visited at is blocked (`links.blocked`).
    Blocked(IpAddr),
}

impl ResolveError {
    /// In a word.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoSuchName => "no-such-name",
            Self::Unavailable => "unavailable",
            Self::Denied => "denied",
            Self::Blocked(_) => "blocked",
        }
    }
}
