//! Snapshot of one host, for the explanation of what it waits for.

use super::Workbench;
use super::heap::ABSENT;
use super::host_entry::{HostEntry, HostPhase};
use super::visit::{Choice, choose};
use crate::messages::{AddressSnapshot, HostSnapshot, IpLeaseState, SnapshotPhase};
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;

impl Workbench {
    /// Returns a snapshot of a host; `None` if it is not in memory. A `thorough` one also contains
    /// its robots.txt records, and scans its window and the hosts of its address.
    #[must_use]
    pub fn snapshot(&self, key: &HostKey, thorough: bool, now: Timestamp) -> Option<HostSnapshot> {
        let id = self.hosts.find(key)?;
        let host = &self.hosts[id];
        Some(HostSnapshot {
            phase: self.phase_of(host),
            state: host.state.clone(),
            in_window: host.window.len() as u64,
            address: self.address_of(id, thorough, now),
            leaves: host.recalled || self.closing,
            asks_robots: if thorough { self.asks_robots(host, now) } else { None },
            robots: if thorough { host.robots.to_vec() } else { Vec::new() },
            flight: None,
        })
    }

    fn phase_of(&self, host: &HostEntry) -> SnapshotPhase {
        match (host.phase, host.away()) {
            (HostPhase::Asleep, Some(away)) => SnapshotPhase::Away {
                origin: away.origin,
                at: self.name_of(&away.at, &host.key),
                deadline: away.deadline,
            },
            (HostPhase::Resolving, _) => SnapshotPhase::Resolving,
            (HostPhase::Asleep, None) => SnapshotPhase::Asleep,
            // No host is loose between two calls.
            (HostPhase::Waiting | HostPhase::Loose, _) => SnapshotPhase::Waiting,
            (HostPhase::InFlight, _) => SnapshotPhase::InFlight,
            (HostPhase::Dry, _) => SnapshotPhase::Dry,
        }
    }

    /// Returns the name of host `key`, to which the robots.txt of host `waits` redirects, if known.
    fn name_of(&self, key: &HostKey, waits: &HostKey) -> Option<Arc<str>> {
        if let Some(id) = self.hosts.find(key) {
            return Some(self.hosts[id].name.clone());
        }
        let called = self.calls.get(key)?;
        let request = called.iter().find(|request| request.for_host == *waits)?;
        Some(request.url.host().into())
    }

    fn address_of(&self, id: u32, thorough: bool, now: Timestamp) -> Option<AddressSnapshot> {
        let host = &self.hosts[id];
        if host.ip == ABSENT {
            return None;
        }
        let ip = &self.ips[host.ip];
        let turn = match &ip.lease {
            None => IpLeaseState::NotNeeded,
            Some(lease) if lease.serves(now.max(lease.rested())) => IpLeaseState::Here,
            Some(lease) => lease.requested_at().map_or(IpLeaseState::NotAsked, IpLeaseState::Asked),
        };
        let rested = ip.lease.as_ref().map_or(Timestamp::ZERO, |lease| lease.rested());
        let own = ip.hosts.at(host.position).filter(|_| host.phase == HostPhase::Waiting);
        let before = match own {
            Some(own) if thorough => ip.hosts.iter().filter(|other| other.before(own)).count(),
            _ => 0,
        };
        Some(AddressSnapshot {
            address: ip.address,
            next: ip.next.max(rested),
            last: ip.last.clone(),
            visited: ip.visited.clone(),
            before,
            turn,
        })
    }

    fn asks_robots(&self, host: &HostEntry, now: Timestamp) -> Option<Origin> {
        let at = host.state.next.max(now);
        match choose(host, at, &self.live.politeness) {
            Choice::Robots(origin) => Some(origin),
            _ => None,
        }
    }
}
