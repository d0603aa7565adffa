//! The bottleneck that limits the speed of a crawl, from its numbers at one moment.

use crivello_proto::v1::Bottleneck;
use std::time::Duration;

/// Number of hosts with something to fetch, by what they wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostGauges {
    /// Hosts that may be visited now.
    pub ready: u64,
    /// Hosts that wait for their own delay or that of their IP address.
    pub waiting: u64,
    /// Hosts that wait for longer: backoff, Retry-After, unreachable.
    pub resting: u64,
    /// Hosts whose name is being resolved.
    pub resolving: u64,
    /// Hosts that are paused until people resume them.
    pub paused: u64,
}

/// Seconds after the start of a run from which on pending name look-ups count as slow.
const STARTING_SECS: u64 = 3;

/// Numbers from which the bottleneck is determined: see [`Evidence::pace`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Time since this run began.
    pub elapsed: Duration,
    /// True if a stop was requested.
    pub stopping: bool,
    /// True if the page limit is reached.
    pub limit_reached: bool,
    /// True if the disk has too little free space.
    pub disk_full: bool,
    /// True if no host can be reached.
    pub offline: bool,
    /// True if the name servers do not answer.
    pub dns_silent: bool,
    /// Number of results in this run, robots.txt included.
    pub pages_run: u64,
    /// Number of URLs in the frontier.
    pub urls_queued: u64,
    /// Number of visits in flight.
    pub visits: u64,
    /// [`Fetch::visits_max`](crivello_common::config::Fetch::visits_max).
    pub visits_max: u64,
    /// Number of pages between the fetchers and the parsers.
    pub unparsed_pages: u64,
    /// Number of pages parsed and not yet committed.
    pub uncommitted_pages: u64,
    /// Number of pages in the pipeline at which fetchers stop.
    pub pipeline_pages_max: u64,
    /// Hosts by what they wait for.
    pub hosts: HostGauges,
}

impl Evidence {
    /// Returns the bottleneck: the first that holds, from what stops everything to what merely
    /// slows the crawl.
    pub const fn pace(&self) -> Bottleneck {
        let (e, h) = (self, self.hosts);
        if e.stopping {
            Bottleneck::Draining
        } else if e.limit_reached {
            Bottleneck::Limit
        } else if e.disk_full {
            Bottleneck::DiskFull
        } else if e.offline {
            Bottleneck::Offline
        } else if nearly(e.unparsed_pages + e.uncommitted_pages, e.pipeline_pages_max) {
            if e.uncommitted_pages > e.unparsed_pages {
                Bottleneck::DiskSlow
            } else {
                Bottleneck::Cpu
            }
        } else if nearly(e.visits, e.visits_max) {
            Bottleneck::SlowServers
        } else if h.resolving > 0 && h.resolving > e.visits + h.ready && h.resolving > h.waiting {
            if e.dns_silent {
                Bottleneck::DnsSilent
            } else if e.pages_run == 0 && e.elapsed.as_secs() < STARTING_SECS {
                Bottleneck::Starting
            } else {
                Bottleneck::Dns
            }
        } else if h.ready > e.visits {
            Bottleneck::Cpu
        } else if h.waiting > 0 && h.waiting >= e.visits {
            Bottleneck::FewHosts
        } else if e.visits > 0 {
            Bottleneck::SlowServers
        } else if h.resting > 0 {
            if e.dns_silent { Bottleneck::DnsSilent } else { Bottleneck::Resting }
        } else if h.paused > 0 {
            Bottleneck::Paused
        } else if e.pages_run == 0 {
            Bottleneck::Starting
        } else if e.urls_queued > 0 {
            // The hosts are on disk, or on their way from there to the workbench.
            Bottleneck::NoneDue
        } else {
            Bottleneck::Seeds
        }
    }
}

/// Returns true if `n` is nine tenths of `max` or more.
const fn nearly(n: u64, max: u64) -> bool {
    max > 0 && n.saturating_mul(10) >= max.saturating_mul(9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(10);

    fn running() -> Evidence {
        Evidence {
            pages_run: 100,
            visits_max: 1_000,
            pipeline_pages_max: 4_000,
            ..Evidence::default()
        }
    }

    fn hosts(ready: u64, waiting: u64, resting: u64, resolving: u64) -> HostGauges {
        HostGauges { ready, waiting, resting, resolving, paused: 0 }
    }

    #[test]
    fn each_pace_is_named_by_what_causes_it() {
        let e = running();
        let paused = |resting| HostGauges { paused: 3, ..hosts(0, 0, resting, 0) };
        let cases = [
            (Evidence { stopping: true, disk_full: true, ..e }, Bottleneck::Draining),
            (Evidence { limit_reached: true, disk_full: true, ..e }, Bottleneck::Limit),
            (Evidence { disk_full: true, visits: 1_000, ..e }, Bottleneck::DiskFull),
            (Evidence { offline: true, hosts: hosts(9, 9, 9, 9), ..e }, Bottleneck::Offline),
            (Evidence { unparsed_pages: 3_900, ..e }, Bottleneck::Cpu),
            (Evidence { uncommitted_pages: 3_000, unparsed_pages: 900, ..e }, Bottleneck::DiskSlow),
            (Evidence { visits: 950, hosts: hosts(5_000, 0, 0, 0), ..e }, Bottleneck::SlowServers),
            (Evidence { hosts: hosts(0, 2, 0, 50), ..e }, Bottleneck::Dns),
            (Evidence { pages_run: 0, hosts: hosts(0, 0, 0, 5), ..e }, Bottleneck::Starting),
            (
                Evidence { pages_run: 0, elapsed: LONG, hosts: hosts(0, 0, 0, 5), ..e },
                Bottleneck::Dns,
            ),
            (
                Evidence { pages_run: 0, dns_silent: true, hosts: hosts(0, 0, 0, 5), ..e },
                Bottleneck::DnsSilent,
            ),
            (Evidence { dns_silent: true, hosts: hosts(0, 0, 4, 0), ..e }, Bottleneck::DnsSilent),
            (Evidence { dns_silent: true, hosts: hosts(0, 3, 4, 0), ..e }, Bottleneck::FewHosts),
            (Evidence { visits: 10, hosts: hosts(500, 900, 0, 0), ..e }, Bottleneck::Cpu),
            (Evidence { visits: 3, hosts: hosts(0, 30, 9, 0), ..e }, Bottleneck::FewHosts),
            (Evidence { visits: 30, hosts: hosts(0, 3, 0, 0), ..e }, Bottleneck::SlowServers),
            (Evidence { hosts: hosts(0, 0, 4, 0), ..e }, Bottleneck::Resting),
            (Evidence { urls_queued: 9, hosts: paused(0), ..e }, Bottleneck::Paused),
            (Evidence { pages_run: 0, hosts: paused(0), ..e }, Bottleneck::Paused),
            (Evidence { hosts: paused(1), ..e }, Bottleneck::Resting),
            (Evidence { visits: 1, hosts: paused(0), ..e }, Bottleneck::SlowServers),
            (Evidence { pages_run: 0, urls_queued: 1, ..e }, Bottleneck::Starting),
            (Evidence { urls_queued: 1, ..e }, Bottleneck::NoneDue),
            (e, Bottleneck::Seeds),
        ];
        for (evidence, pace) in cases {
            assert_eq!(evidence.pace(), pace, "{evidence:?}");
        }
    }
}
