//! What a crawl looks like at one moment: plain numbers that a panel or a log line can show, and
//! what sets the pace just now.

use std::fmt;
use std::time::Duration;

/// The state of a crawl at one moment. Counters cover the whole crawl, earlier runs included;
/// gauges are those of the moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Since this run began.
    pub elapsed: Duration,
    /// Responses that count as pages.
    pub pages: u64,
    /// Bytes of their bodies, as received.
    pub bytes: u64,
    /// Pages by the first digit of their status: `[1xx, 2xx, 3xx, 4xx, 5xx]`.
    pub by_class: [u64; 5],
    /// Pages whose content was seen before.
    pub duplicates: u64,
    /// Responses to requests for robots.txt.
    pub robots_fetched: u64,
    /// Requests that brought no usable response; a repeated one counts each time.
    pub errors: u64,
    /// URLs and pages set aside, for whatever reason.
    pub discards: u64,
    /// URLs let through by the sieve and not yet fetched.
    pub urls_queued: u64,
    /// URLs that the sieve has let through.
    pub urls_seen: u64,
    /// Where the hosts stand.
    pub hosts: HostGauges,
    /// Visits in flight.
    pub visits: u64,
    /// Pages between the fetchers and the last commit.
    pub pipeline_pages: u64,
    /// Pages until the page limit; `None` without one.
    pub pages_left: Option<u64>,
    /// What sets the pace.
    pub pace: Pace,
}

/// Hosts with something to fetch, by what they wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostGauges {
    /// May be visited now.
    pub ready: u64,
    /// Wait for the delay of their own or of their IP address.
    pub waiting: u64,
    /// Rest for longer: backoff, Retry-After, unreachable.
    pub resting: u64,
    /// Wait for their address.
    pub resolving: u64,
}

/// What sets the pace of the crawl just now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// Nothing has come yet.
    #[default]
    Starting,
    /// All hosts there are wait for their delay.
    FewHosts {
        /// The delay of the configuration, from one request of a host to the next.
        delay: Duration,
    },
    /// Most hosts wait for their address.
    Dns,
    /// The name servers do not answer.
    DnsSilent,
    /// Parsing and compressing.
    Cpu,
    /// No host can be reached and no name looked up.
    Offline,
    /// The disk has less room than `state.disk-free-min`: fetching stands still.
    DiskFull,
    /// The disk is slower than the pages come.
    DiskSlow,
    /// As many visits in flight as allowed, or no host left that is not being visited.
    SlowServers,
    /// All hosts rest: backoff, Retry-After, unreachable.
    Resting,
    /// None of the hosts that have something queued falls due just now.
    NoneDue,
    /// Stopping: visits in flight are being ended and saved.
    Draining,
    /// A limit is reached.
    Limit,
    /// Nothing is queued, and more seeds may come.
    Seeds,
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("starting"),
            Self::FewHosts { delay } => {
                write!(f, "the delay of few hosts ({} s between requests)", delay.as_secs_f64())
            }
            Self::Dns => f.write_str("DNS: most hosts wait for their address"),
            Self::DnsSilent => f.write_str("DNS: the name servers do not answer"),
            Self::Cpu => f.write_str("CPU: parsing and compressing"),
            Self::Offline => f.write_str("the network seems to be down: nothing can be reached"),
            Self::DiskFull => f.write_str("disk full: fetching waits until there is room"),
            Self::DiskSlow => f.write_str("disk: writing is slower than fetching"),
            Self::SlowServers => f.write_str("slow servers: waiting for answers"),
            Self::Resting => f.write_str("all hosts rest (backoff or unreachable)"),
            Self::NoneDue => f.write_str("no host falls due just now"),
            Self::Draining => f.write_str("stopping: ending visits in flight and saving"),
            Self::Limit => f.write_str("a limit is reached"),
            Self::Seeds => f.write_str("waiting for seeds"),
        }
    }
}

/// A look-up that takes longer than the first seconds of a run is slow.
const STARTING_SECS: u64 = 3;

/// What [`Pace::of`] judges by.
#[derive(Clone, Copy, Debug, Default)]
pub struct Evidence {
    /// Since this run began.
    pub elapsed: Duration,
    /// A stop was asked for.
    pub stopping: bool,
    /// A limit is reached.
    pub limit_reached: bool,
    /// The disk valve is closed.
    pub disk_full: bool,
    /// Nothing can be reached.
    pub offline: bool,
    /// The name servers do not answer.
    pub dns_silent: bool,
    /// Pages (robots.txt included) that have come in this run.
    pub pages_run: u64,
    /// URLs in the frontier.
    pub urls_queued: u64,
    /// Visits in flight.
    pub visits: u64,
    /// [`Fetch::visits_max`](crivello_common::config::Fetch::visits_max).
    pub visits_max: u64,
    /// Pages between the fetchers and the parsers.
    pub unparsed_pages: u64,
    /// Pages parsed and not yet committed.
    pub uncommitted_pages: u64,
    /// Pages in the pipeline at which fetchers stop.
    pub pipeline_pages_max: u64,
    /// Where the hosts stand.
    pub hosts: HostGauges,
    /// [`Politeness::delay`](crivello_common::config::Politeness::delay).
    pub delay: Duration,
}

impl Pace {
    /// In a word each.
    pub const NAMES: [&str; 14] = [
        "starting",
        "few-hosts",
        "dns",
        "dns-silent",
        "cpu",
        "offline",
        "disk-full",
        "disk-slow",
        "slow-servers",
        "resting",
        "none-due",
        "draining",
        "limit",
        "seeds",
    ];

    /// The place of its name among [`Self::NAMES`].
    #[must_use]
    pub const fn place(&self) -> usize {
        match self {
            Self::Starting => 0,
            Self::FewHosts { .. } => 1,
            Self::Dns => 2,
            Self::DnsSilent => 3,
            Self::Cpu => 4,
            Self::Offline => 5,
            Self::DiskFull => 6,
            Self::DiskSlow => 7,
            Self::SlowServers => 8,
            Self::Resting => 9,
            Self::NoneDue => 10,
            Self::Draining => 11,
            Self::Limit => 12,
            Self::Seeds => 13,
        }
    }

    /// Names what sets the pace: the first that holds, from what stops everything to what merely
    /// slows.
    #[must_use]
    pub const fn of(e: &Evidence) -> Self {
        let h = e.hosts;
        if e.stopping {
            Self::Draining
        } else if e.limit_reached {
            Self::Limit
        } else if e.disk_full {
            Self::DiskFull
        } else if e.offline {
            Self::Offline
        } else if nearly(e.unparsed_pages + e.uncommitted_pages, e.pipeline_pages_max) {
            if e.uncommitted_pages > e.unparsed_pages { Self::DiskSlow } else { Self::Cpu }
        } else if nearly(e.visits, e.visits_max) {
            Self::SlowServers
        } else if h.resolving > 0 && h.resolving > e.visits + h.ready && h.resolving > h.waiting {
            if e.dns_silent {
                Self::DnsSilent
            } else if e.pages_run == 0 && e.elapsed.as_secs() < STARTING_SECS {
                Self::Starting
            } else {
                Self::Dns
            }
        } else if h.ready > e.visits {
            Self::Cpu
        } else if h.waiting > 0 && h.waiting >= e.visits {
            Self::FewHosts { delay: e.delay }
        } else if e.visits > 0 {
            Self::SlowServers
        } else if h.resting > 0 {
            if e.dns_silent { Self::DnsSilent } else { Self::Resting }
        } else if e.pages_run == 0 {
            Self::Starting
        } else if e.urls_queued > 0 {
            // On the disk, or between it and the workbench.
            Self::NoneDue
        } else {
            Self::Seeds
        }
    }
}

/// Nine tenths of `max` or more.
const fn nearly(n: u64, max: u64) -> bool {
    max > 0 && n.saturating_mul(10) >= max.saturating_mul(9)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_secs(10);

    fn running() -> Evidence {
        Evidence {
            pages_run: 100,
            visits_max: 1_000,
            pipeline_pages_max: 4_000,
            delay: DELAY,
            ..Evidence::default()
        }
    }

    fn hosts(ready: u64, waiting: u64, resting: u64, resolving: u64) -> HostGauges {
        HostGauges { ready, waiting, resting, resolving }
    }

    #[test]
    fn each_pace_is_named_by_what_causes_it() {
        let e = running();
        let cases = [
            (Evidence { stopping: true, disk_full: true, ..e }, Pace::Draining),
            (Evidence { limit_reached: true, disk_full: true, ..e }, Pace::Limit),
            (Evidence { disk_full: true, visits: 1_000, ..e }, Pace::DiskFull),
            (Evidence { offline: true, hosts: hosts(9, 9, 9, 9), ..e }, Pace::Offline),
            (Evidence { unparsed_pages: 3_900, ..e }, Pace::Cpu),
            (Evidence { uncommitted_pages: 3_000, unparsed_pages: 900, ..e }, Pace::DiskSlow),
            (Evidence { visits: 950, hosts: hosts(5_000, 0, 0, 0), ..e }, Pace::SlowServers),
            (Evidence { hosts: hosts(0, 2, 0, 50), ..e }, Pace::Dns),
            (Evidence { pages_run: 0, hosts: hosts(0, 0, 0, 5), ..e }, Pace::Starting),
            (Evidence { pages_run: 0, elapsed: DELAY, hosts: hosts(0, 0, 0, 5), ..e }, Pace::Dns),
            (
                Evidence { pages_run: 0, dns_silent: true, hosts: hosts(0, 0, 0, 5), ..e },
                Pace::DnsSilent,
            ),
            (Evidence { dns_silent: true, hosts: hosts(0, 0, 4, 0), ..e }, Pace::DnsSilent),
            (
                Evidence { dns_silent: true, hosts: hosts(0, 3, 4, 0), ..e },
                Pace::FewHosts { delay: DELAY },
            ),
            (Evidence { visits: 10, hosts: hosts(500, 900, 0, 0), ..e }, Pace::Cpu),
            (
                Evidence { visits: 3, hosts: hosts(0, 30, 9, 0), ..e },
                Pace::FewHosts { delay: DELAY },
            ),
            (Evidence { visits: 30, hosts: hosts(0, 3, 0, 0), ..e }, Pace::SlowServers),
            (Evidence { hosts: hosts(0, 0, 4, 0), ..e }, Pace::Resting),
            (Evidence { pages_run: 0, urls_queued: 1, ..e }, Pace::Starting),
            (Evidence { urls_queued: 1, ..e }, Pace::NoneDue),
            (e, Pace::Seeds),
        ];
        for (evidence, pace) in cases {
            assert_eq!(Pace::of(&evidence), pace, "{evidence:?}");
            assert!(pace.place() < Pace::NAMES.len(), "{pace:?} has no name");
        }
    }

    #[test]
    fn a_pace_says_the_delay_it_waits_for() {
        let pace = Pace::FewHosts { delay: Duration::from_millis(2_500) };
        assert_eq!(pace.to_string(), "the delay of few hosts (2.5 s between requests)");
    }
}
