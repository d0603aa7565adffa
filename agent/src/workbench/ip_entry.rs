//! The hosts that resolve to one IP address: one delay and one visit at a time for all of them.

use super::heap::{ABSENT, Positions, TimeHeap};
use super::slab::{Keyed, Slab};
use crivello_common::time::Timestamp;
use std::net::{IpAddr, Ipv4Addr};

/// All addresses.
pub(super) type Ips = Slab<IpEntry>;

/// See the module.
#[derive(Debug)]
pub(super) struct IpEntry {
    pub address: IpAddr,
    /// No visit may start before this.
    pub next: Timestamp,
    /// The hosts that wait for a visit, by their next time.
    pub hosts: TimeHeap,
    /// How many hosts resolve to it, in whatever state.
    pub members: u32,
    /// Where it stands among the addresses that have a host waiting.
    pub position: u32,
    /// Whether a visit is out.
    pub busy: bool,
    /// Whether it stands in the queue of addresses without hosts.
    pub lingers: bool,
}

impl IpEntry {
    pub fn new(address: IpAddr, next: Timestamp) -> Self {
        Self { address, next, ..Self::default() }
    }

    /// When a visit to one of its hosts may start.
    pub fn due(&self) -> Option<Timestamp> {
        if self.busy { None } else { self.hosts.first().map(|host| host.at.max(self.next)) }
    }
}

impl Default for IpEntry {
    fn default() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            next: Timestamp::ZERO,
            hosts: TimeHeap::default(),
            members: 0,
            position: ABSENT,
            busy: false,
            lingers: false,
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
    fn stands(&mut self, id: u32, position: u32) {
        self[id].position = position;
    }
}
