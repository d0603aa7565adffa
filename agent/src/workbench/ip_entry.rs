//! The hosts that resolve to one IP address: one delay and one visit at a time for all of them.

use super::heap::{ABSENT, Positions, TimeHeap};
use super::ip_lease::IpLease;
use super::slab::{Keyed, Slab};
use crivello_common::time::Timestamp;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

/// A turn is asked for so long before it is needed.
const ASK_AHEAD: Duration = Duration::from_secs(1);

/// All addresses.
pub(super) type Ips = Slab<IpEntry>;

/// See the module. Kept small: there may be as many as hosts.
#[derive(Debug)]
pub(super) struct IpEntry {
    pub address: IpAddr,
    /// No visit may start before this.
    pub next: Timestamp,
    /// When the last request to it was over, as far as this agent knows; zero before the first.
    pub ended: Timestamp,
    /// The hosts that wait for a visit, by their next time.
    pub hosts: TimeHeap,
    /// How many hosts resolve to it, in whatever state.
    pub members: u32,
    /// Where it stands among the addresses that have a host waiting.
    pub position: u32,
    /// Whether a visit is out.
    pub busy: bool,
    /// The host that it is to,
    pub visited: Option<Arc<str>>,
    /// and the last one that was sent a request in this run.
    pub last: Option<Arc<str>>,
    /// Whether it stands in the queue of addresses without hosts.
    pub lingers: bool,
    /// Among other agents: this one's turn.
    pub lease: Option<Box<IpLease>>,
}

const _: () = assert!(size_of::<IpEntry>() <= 120);

impl IpEntry {
    pub fn new(address: IpAddr, next: Timestamp) -> Self {
        Self { address, next, ..Self::default() }
    }

    /// When one of its hosts may be visited, were the turn here.
    pub fn due(&self) -> Option<Timestamp> {
        if self.busy { None } else { self.hosts.first().map(|host| host.at.max(self.next)) }
    }

    /// Whether it was lent to this agent, among others.
    pub fn has_lease(&self) -> bool {
        self.lease.as_ref().is_some_and(|lease| lease.is_held())
    }

    /// When something is to be done about it: a visit, or asking for the turn. Who has asked waits
    /// for the answer.
    pub fn calls(&self) -> Option<Timestamp> {
        let due = self.due()?;
        match &self.lease {
            None => Some(due),
            Some(lease) if lease.is_asking() => None,
            Some(lease) if lease.serves(due.max(lease.rested())) => Some(due.max(lease.rested())),
            Some(_) => Some(due - ASK_AHEAD),
        }
    }
}

impl Default for IpEntry {
    fn default() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            next: Timestamp::ZERO,
            ended: Timestamp::ZERO,
            hosts: TimeHeap::default(),
            members: 0,
            position: ABSENT,
            busy: false,
            visited: None,
            last: None,
            lingers: false,
            lease: None,
        }
    }
}

impl Keyed for IpEntry {
    type Key = IpAddr;
    fn key(&self) -> &IpAddr {
        &self.address
    }
}

impl Positions for Ips {
    fn set_position(&mut self, id: u32, position: u32) {
        self[id].position = position;
    }
}
