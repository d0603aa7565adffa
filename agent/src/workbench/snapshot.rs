//! Snapshot of one host, for the explanation of what it waits for.

use super::Workbench;
use super::choice::{Choice, choose};
use super::heap::ABSENT;
use super::hosts::{HostEntry, HostPhase};
use crate::messages::{AddressSnapshot, HostSnapshot, IpLeaseState, SnapshotPhase};
use crivello_common::hash::HostKey;
use crivello_common::politeness::address_in;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;

impl Workbench {
    /// Returns a snapshot of a host; `None` if it is not in memory. A `thorough` one also contains
    /// its robots.txt records, and scans its window and the hosts of its address.
    pub fn snapshot(&self, key: &HostKey, thorough: bool, now: Timestamp) -> Option<HostSnapshot> {
        let host = &self.hosts[self.hosts.find(key)?];
        Some(HostSnapshot {
            phase: self.phase_of(host),
            state: host.state.clone(),
            in_window: host.window.urls().len() as u64,
            address: self.address_of(host, thorough, now),
            leaves: host.recalled || self.closing,
            asks_robots: if thorough { self.asks_robots(host, now) } else { None },
            robots: if thorough { host.robots().to_vec() } else { Vec::new() },
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

    /// Returns the name of host `at`, to which the robots.txt of host `key` redirects, if known.
    fn name_of(&self, at: &HostKey, key: &HostKey) -> Option<Arc<str>> {
        match self.hosts.find(at) {
            Some(id) => Some(Arc::clone(&self.hosts[id].name)),
            None => self.pending_robots.name_of(at, key),
        }
    }

    fn address_of(
        &self,
        host: &HostEntry,
        thorough: bool,
        now: Timestamp,
    ) -> Option<AddressSnapshot> {
        if host.ip() == ABSENT {
            return None;
        }
        let ip = &self.ips[host.ip()];
        let interface = self.hosts.find(&host.key).map_or(0, |id| self.hosts.interface(id));
        let lease = match &ip.lease {
            None => IpLeaseState::NotNeeded,
            Some(lease) if lease.serves(now.max(lease.rested())) => IpLeaseState::Here,
            Some(lease) => lease.requested_at().map_or(IpLeaseState::NotAsked, IpLeaseState::Asked),
        };
        let rested = ip.lease.as_ref().map_or(Timestamp::ZERO, |lease| lease.rested());
        let is_counted = thorough && host.phase == HostPhase::Waiting;
        let turns = is_counted.then_some(&ip.turns);
        let before = turns.map_or(0, |turns| turns.before(host.key.group, host.position));
        Some(AddressSnapshot {
            address: address_in(ip.address, interface),
            next: ip.next.max(rested),
            last: ip.last.clone(),
            visited: ip.visited.clone(),
            before,
            lease,
        })
    }

    fn asks_robots(&self, host: &HostEntry, now: Timestamp) -> Option<Origin> {
        match choose(host, host.state.next.max(now), &self.live.politeness) {
            Choice::Robots(origin) => Some(origin),
            _ => None,
        }
    }
}
