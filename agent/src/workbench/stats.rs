//! Statistics of the workbench, for the panel, the metrics and the report.

use super::Workbench;
use super::hosts::HostPhase;
use crivello_common::time::Timestamp;
use std::time::Duration;

/// A host that waits longer than this counts as resting.
const RESTING: Duration = Duration::from_secs(60);

/// The contents of the workbench at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct WorkbenchStats {
    /// Hosts in memory.
    pub hosts: usize,
    /// IP entries in memory, those without hosts included.
    pub ips: usize,
    /// IP entries that could be visited now.
    pub ips_ready: usize,
    /// Hosts that wait for their next time or for that of their address.
    pub waiting: usize,
    /// Hosts whose next time is more than a minute ahead, or that wait for more than the ordinary
    /// delay.
    pub resting: usize,
    /// Hosts whose names are being resolved.
    pub resolving: usize,
    /// Paused hosts, which wait until they are resumed.
    pub paused: usize,
    /// Hosts that wait for URLs from the crawl database.
    pub dry: usize,
    /// Hosts whose robots.txt waits for a visit to another host.
    pub away: usize,
    /// Visits in flight.
    pub in_flight: usize,
    /// URLs in windows.
    pub window_urls: usize,
    /// Bytes of compiled rules.
    pub rules_bytes: usize,
    /// Number of IP entries that the front wants.
    pub front_wanted: usize,
    /// Number of IP entries with hosts, plus hosts without an address.
    pub front_held: usize,
    /// IP leases that this agent holds.
    pub ip_leases_held: usize,
    /// Replies for hosts that had left, since the start.
    pub unknown_host_replies: u64,
}

impl Workbench {
    /// Counts the contents. It visits every host, so it is too slow to call for each visit.
    pub fn stats(&self, now: Timestamp) -> WorkbenchStats {
        let usage = self.usage();
        let leases = self.ips.iter().filter_map(|ip| ip.lease.as_ref());
        let mut stats = WorkbenchStats {
            hosts: usage.hosts,
            ips: self.ips.iter().count(),
            ips_ready: self.ips.count_ready(now),
            in_flight: self.in_flight,
            window_urls: usage.window_urls,
            rules_bytes: usage.rules_bytes,
            front_wanted: self.front.wanted(),
            front_held: usage.entries,
            ip_leases_held: leases.filter(|lease| lease.is_held()).count(),
            unknown_host_replies: self.unknown_host_replies,
            ..WorkbenchStats::default()
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
