//! How one host stands, for those who ask why it waits.

use super::Workbench;
use super::heap::ABSENT;
use super::host_entry::{HostEntry, Stand};
use super::visit::{Choice, choose};
use crate::messages::{BenchAddress, BenchStand, BenchTurn, OnBench};
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;

impl Workbench {
    /// How a host stands; `None` when it is not here. A thorough look also brings what is known of
    /// its robots.txt, looks through its window and through the hosts of its address.
    #[must_use]
    pub fn look_up(&self, key: &HostKey, thorough: bool, now: Timestamp) -> Option<OnBench> {
        let id = self.hosts.find(key)?;
        let host = &self.hosts[id];
        Some(OnBench {
            stand: self.stand_of(host),
            state: host.state.clone(),
            in_window: host.window.len() as u64,
            address: self.address_of(id, thorough, now),
            leaves: host.recalled || self.closing,
            asks_robots: if thorough { self.asks_robots(host, now) } else { None },
            robots: if thorough { host.robots.to_vec() } else { Vec::new() },
            flight: None,
        })
    }

    fn stand_of(&self, host: &HostEntry) -> BenchStand {
        match (host.stand, host.away()) {
            (Stand::Asleep, Some(away)) => BenchStand::Away {
                origin: away.origin,
                at: self.name_of(&away.at, &host.key),
                deadline: away.deadline,
            },
            (Stand::Resolving, _) => BenchStand::Resolving,
            (Stand::Asleep, None) => BenchStand::Asleep,
            // Loose is nobody between two calls.
            (Stand::Waiting | Stand::Loose, _) => BenchStand::Waiting,
            (Stand::InFlight, _) => BenchStand::InFlight,
            (Stand::Dry, _) => BenchStand::Dry,
        }
    }

    /// The name of the host that another one's robots.txt leads to.
    fn name_of(&self, key: &HostKey, waits: &HostKey) -> Option<Arc<str>> {
        if let Some(id) = self.hosts.find(key) {
            return Some(self.hosts[id].name.clone());
        }
        let called = self.calls.get(key)?;
        let errand = called.iter().find(|errand| errand.for_host == *waits)?;
        Some(errand.url.host().into())
    }

    fn address_of(&self, id: u32, thorough: bool, now: Timestamp) -> Option<BenchAddress> {
        let host = &self.hosts[id];
        if host.ip == ABSENT {
            return None;
        }
        let ip = &self.ips[host.ip];
        let turn = match &ip.hold {
            None => BenchTurn::NotNeeded,
            Some(hold) if hold.serves(now.max(hold.rested())) => BenchTurn::Here,
            Some(hold) => hold.asked().map_or(BenchTurn::NotAsked, BenchTurn::Asked),
        };
        let rested = ip.hold.as_ref().map_or(Timestamp::ZERO, |hold| hold.rested());
        let own = ip.hosts.at(host.position).filter(|_| host.stand == Stand::Waiting);
        let before = match own {
            Some(own) if thorough => ip.hosts.iter().filter(|other| other.before(own)).count(),
            _ => 0,
        };
        Some(BenchAddress {
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
        match choose(host, at, &self.settings.politeness) {
            Choice::Robots(origin) => Some(origin),
            _ => None,
        }
    }
}
