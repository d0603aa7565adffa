//! What is on the workbench just now, for the panel, the metrics and the report.

use super::Workbench;
use super::host_entry::HostPhase;
use crivello_common::time::Timestamp;
use std::time::Duration;

/// A host that waits longer than this is resting.
const RESTING: Duration = Duration::from_secs(60);

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Census {
    /// Hosts in memory.
    pub hosts: usize,
    /// IP entries in memory, those without hosts included.
    pub ips: usize,
    /// IP entries that could be visited now.
    pub ips_ready: usize,
    /// Hosts that wait for their next time or for their address's.
    pub waiting: usize,
    /// Hosts whose next time is more than a minute away, or that back off.
    pub resting: usize,
    /// Hosts whose names are being resolved.
    pub resolving: usize,
    /// Hosts that wait until they are resumed.
    pub paused: usize,
    /// Hosts that wait for URLs from the crawl database.
    pub dry: usize,
    /// Hosts whose robots.txt waits for another host's turn.
    pub away: usize,
    /// Visits in flight.
    pub in_flight: usize,
    /// URLs in windows.
    pub window_urls: usize,
    /// Bytes of compiled rules.
    pub rules_bytes: usize,
    /// How many IP entries are wanted.
    pub front_wanted: usize,
    /// How many are held: those with hosts, and hosts whose address is not known yet.
    pub front_held: usize,
    /// Addresses whose turn is here, among other agents.
    pub ip_leases_held: usize,
    /// RobotsCache that came for hosts no longer here, since the start.
    pub unknown_host_replies: u64,
}

impl Workbench {
    /// Counts; touches every host, so not for every visit.
    #[must_use]
    pub fn stats(&self, now: Timestamp) -> Census {
        let held = self.held();
        let mut stats = Census {
            hosts: held.hosts,
            ips: self.ips.len(),
            ips_ready: self.ready.iter().filter(|turn| turn.at <= now).count(),
            in_flight: self.in_flight,
            window_urls: held.window_urls,
            rules_bytes: held.rules_bytes,
            front_wanted: self.front.wanted(),
            front_held: held.entries,
            unknown_host_replies: self.unknown_host_replies,
            ip_leases_held: self.ips.iter().filter(|ip| ip.has_lease()).count(),
            ..Census::default()
        };
        for host in self.hosts.iter() {
            let wait = host.state.wait(now);
            let rests = wait > RESTING || (!wait.is_zero() && host.state.rule.is_rest());
            match host.phase {
                HostPhase::Resolving => stats.resolving += 1,
                HostPhase::Dry => stats.dry += 1,
                HostPhase::Asleep if host.paused => stats.paused += 1,
                HostPhase::Asleep if host.away().is_some() => stats.away += 1,
                HostPhase::Waiting | HostPhase::Asleep if rests => stats.resting += 1,
                HostPhase::Waiting | HostPhase::Asleep => stats.waiting += 1,
                HostPhase::InFlight | HostPhase::Loose => {}
            }
        }
        stats
    }
}
