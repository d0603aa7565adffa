//! State of a host on the workbench at one moment, for queries.

use super::RobotsRecord;
use crivello_common::hash::UrlHash;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use smallvec::SmallVec;
use std::net::IpAddr;
use std::sync::Arc;

/// State of a host on the workbench.
#[derive(Clone, Debug)]
pub struct HostSnapshot {
    /// Phase of the host.
    pub phase: SnapshotPhase,
    /// Politeness state.
    pub state: HostState,
    /// Number of its queued URLs that are in memory.
    pub in_window: u64,
    /// Its IP address, once it is known.
    pub address: Option<AddressSnapshot>,
    /// True if the host must leave: its group changes hands, or the workbench closes.
    pub leaves: bool,
    /// Origin whose robots.txt is requested next; only in a thorough snapshot.
    pub asks_robots: Option<Origin>,
    /// Known robots.txt of the host; only in a thorough snapshot.
    pub robots: Vec<(Origin, RobotsRecord)>,
    /// Visit in flight.
    pub flight: Option<VisitInFlight>,
}

/// Phase of a host on the workbench.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SnapshotPhase {
    /// The name of the host is being resolved.
    Resolving,
    /// The host has no address yet; its name is resolved shortly before its next time.
    Asleep,
    /// The host waits for a robots.txt that redirects to another host.
    Away {
        /// Origin whose robots.txt is wanted.
        origin: Origin,
        /// Name of the other host, if it is known.
        at: Option<Arc<str>>,
        /// Time after which the robots.txt counts as unreachable.
        deadline: Timestamp,
    },
    /// The host waits for its next time, and for that of its address.
    Waiting,
    /// A visit is in flight.
    InFlight,
    /// The host waits for more URLs from the disk.
    Dry,
}

/// State of the IP address of a host on the workbench.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressSnapshot {
    /// IP address.
    pub address: IpAddr,
    /// Time before which no visit to it begins.
    pub next: Timestamp,
    /// Host that was visited there last, in this run.
    pub last: Option<Arc<str>>,
    /// Host that is being visited there.
    pub visited: Option<Arc<str>>,
    /// Number of other hosts there that are visited before this one; only in a thorough snapshot.
    pub before: usize,
    /// State of the address's IP lease.
    pub lease: IpLeaseState,
}

/// State of an IP lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IpLeaseState {
    /// The agent is alone and needs no lease.
    NotNeeded,
    /// This agent has the lease.
    Here,
    /// The lease was requested at this time, and is not granted yet.
    Asked(Timestamp),
    /// The lease is not requested; it will be when it is needed.
    NotAsked,
}

/// Visit in flight.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VisitInFlight {
    /// Time when it was handed out.
    pub since: Timestamp,
    /// URLs to fetch; empty for a request of a robots.txt.
    pub urls: SmallVec<[UrlHash; 1]>,
    /// Pages of the page limit that are reserved for it.
    pub taken: u64,
}
