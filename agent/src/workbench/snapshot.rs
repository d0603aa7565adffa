//! Snapshot of one host, for the explanation of what it waits for.

use super::choice::{Choice, choose};
use super::heap::ABSENT;
use super::hosts::{HostEntry, HostPhase, Hosts};
use super::ips::Ips;
use super::robots::PendingRobots;
use crate::messages::{AddressSnapshot, HostSnapshot, IpLeaseState, SnapshotPhase};
use crivello_common::config::Politeness;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;

/// The parts of the workbench that a snapshot reads.
pub(super) struct Source<'a> {
    pub hosts: &'a Hosts,
    pub ips: &'a Ips,
    pub pending: &'a PendingRobots,
    pub politeness: &'a Politeness,
    /// True if every host must leave.
    pub closing: bool,
    pub now: Timestamp,
}

impl Source<'_> {
    /// Returns a snapshot of a host; `None` if it is not in memory. A `thorough` one also contains
    /// its robots.txt records, and scans its window and the hosts of its address.
    pub fn snapshot(&self, key: &HostKey, thorough: bool) -> Option<HostSnapshot> {
        let host = &self.hosts[self.hosts.find(key)?];
        Some(HostSnapshot {
            phase: self.phase(host),
            state: host.state.clone(),
            in_window: host.window.urls().len() as u64,
            address: self.address(host, thorough),
            leaves: host.recalled || self.closing,
            asks_robots: if thorough { self.asks_robots(host) } else { None },
            robots: if thorough { host.robots().to_vec() } else { Vec::new() },
            flight: None,
        })
    }

    fn phase(&self, host: &HostEntry) -> SnapshotPhase {
        match (host.phase, host.away()) {
            (HostPhase::Asleep, Some(away)) => SnapshotPhase::Away {
                origin: away.origin,
                at: self.name(&away.at, &host.key),
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
    fn name(&self, at: &HostKey, key: &HostKey) -> Option<Arc<str>> {
        match self.hosts.find(at) {
            Some(id) => Some(Arc::clone(&self.hosts[id].name)),
            None => self.pending.name_of(at, key),
        }
    }

    fn address(&self, host: &HostEntry, thorough: bool) -> Option<AddressSnapshot> {
        if host.ip() == ABSENT {
            return None;
        }
        let ip = &self.ips[host.ip()];
        let lease = match &ip.lease {
            None => IpLeaseState::NotNeeded,
            Some(lease) if lease.serves(self.now.max(lease.rested())) => IpLeaseState::Here,
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
            lease,
        })
    }

    fn asks_robots(&self, host: &HostEntry) -> Option<Origin> {
        match choose(host, host.state.next.max(self.now), self.politeness) {
            Choice::Robots(origin) => Some(origin),
            _ => None,
        }
    }
}
