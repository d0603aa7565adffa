//! IP entry: the hosts that resolve to one IP address, or to addresses of one IPv6 /64. They share
//! one delay, and one visit at a time.

use super::ip_lease::IpLease;
use super::turns::Turns;
use crate::workbench::heap::ABSENT;
use crate::workbench::slab::Keyed;
use crivello_common::time::Timestamp;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// A lease is requested this long before it is needed.
const REQUEST_AHEAD: Duration = Duration::from_secs(1);

/// An IP address and its hosts. Kept small: there may be as many as hosts.
#[derive(Debug)]
pub struct IpEntry {
    /// The address; of IPv6 the first of the /64.
    pub address: IpAddr,
    /// No visit may start before this.
    pub next: Timestamp,
    /// End of the last request to it, as far as this agent knows; zero before the first.
    pub ended: Timestamp,
    /// The hosts there, and the order of their visits.
    pub turns: Turns,
    /// Number of hosts that resolve to it, in any phase.
    pub members: u32,
    /// Position in the heap of entries, or [`ABSENT`].
    pub position: u32,
    /// True while a visit is in flight.
    pub busy: bool,
    /// The host of the visit in flight.
    pub visited: Option<Arc<str>>,
    /// The host that was last sent a request in this run.
    pub last: Option<Arc<str>>,
    /// True while it is in the queue of entries without hosts.
    pub lingers: bool,
    /// This agent's lease on it; `None` outside a cluster.
    pub lease: Option<Box<IpLease>>,
}

const _: () = assert!(size_of::<IpEntry>() <= 168);

impl IpEntry {
    pub fn new(address: IpAddr, next: Timestamp, lease: Option<Box<IpLease>>) -> Self {
        Self {
            address,
            next,
            ended: Timestamp::ZERO,
            turns: Turns::default(),
            members: 0,
            position: ABSENT,
            busy: false,
            visited: None,
            last: None,
            lingers: false,
            lease,
        }
    }

    /// Returns the time at which one of its hosts may be visited, given the lease.
    pub fn due(&self) -> Option<Timestamp> {
        if self.busy { None } else { self.turns.next_time().map(|at| at.max(self.next)) }
    }

    /// Returns the time of its next action: a visit, or a request for the lease. `None` while such
    /// a request is pending.
    pub fn next_action(&self) -> Option<Timestamp> {
        let due = self.due()?;
        match &self.lease {
            None => Some(due),
            Some(lease) if lease.is_requested() => None,
            Some(lease) if lease.serves(due.max(lease.rested())) => Some(due.max(lease.rested())),
            Some(_) => Some(due - REQUEST_AHEAD),
        }
    }

    /// Returns true if it has no hosts and is not being visited.
    pub const fn is_vacant(&self) -> bool {
        self.members == 0 && !self.busy
    }
}

impl Keyed for IpEntry {
    type Key = IpAddr;
    fn key(&self) -> &IpAddr {
        &self.address
    }
}
