//! The current limit on the speed of a crawl.

use std::fmt;
use std::time::Duration;

/// The current limit on the speed of the crawl.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bottleneck {
    /// Nothing has been fetched yet.
    #[default]
    Starting,
    /// All hosts in memory wait for their delay.
    FewHosts {
        /// `politeness.delay`.
        delay: Duration,
    },
    /// Most hosts wait for DNS.
    Dns,
    /// The name servers do not reply.
    DnsSilent,
    /// Parsing and compressing.
    Cpu,
    /// No host can be reached and no name resolved.
    Offline,
    /// Less than `state.disk-free-min` is free on the disk: fetching is suspended.
    DiskFull,
    /// Pages arrive faster than the disk can write them.
    DiskSlow,
    /// All allowed visits are in flight, or all hosts are being visited.
    SlowServers,
    /// All hosts rest: backoff, Retry-After, unreachable.
    Resting,
    /// All remaining hosts are paused.
    Paused,
    /// No host with queued URLs is due.
    NoneDue,
    /// The crawl is stopping: visits in flight are finished and saved.
    Draining,
    /// A limit is reached.
    Limit,
    /// Nothing is queued, and more seeds may arrive.
    Seeds,
}

impl fmt::Display for Bottleneck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Starting => f.write_str("starting"),
            Self::FewHosts { delay } => {
                write!(f, "few hosts: all wait for their delay of {} s", delay.as_secs_f64())
            }
            Self::Dns => f.write_str("DNS: most hosts wait for their address"),
            Self::DnsSilent => f.write_str("DNS: the name servers do not reply"),
            Self::Cpu => f.write_str("CPU: parsing and compressing"),
            Self::Offline => f.write_str("the network seems to be down: nothing can be reached"),
            Self::DiskFull => f.write_str("disk full: fetching waits for free space"),
            Self::DiskSlow => f.write_str("disk: writing is slower than fetching"),
            Self::SlowServers => f.write_str("slow servers: waiting for responses"),
            Self::Resting => f.write_str("all hosts rest (backoff or unreachable)"),
            Self::Paused => f.write_str("all remaining hosts are paused (politeness.paused)"),
            Self::NoneDue => f.write_str("no host is due"),
            Self::Draining => f.write_str("stopping: finishing visits in flight and saving"),
            Self::Limit => f.write_str("a limit is reached"),
            Self::Seeds => f.write_str("waiting for seeds"),
        }
    }
}

impl Bottleneck {
    /// Names, indexed by [`Self::index`].
    pub const NAMES: [&str; 15] = [
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
        "hosts-paused",
    ];

    /// Returns the index of its name in [`Self::NAMES`].
    #[must_use]
    pub const fn index(&self) -> usize {
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
            Self::Paused => 14,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_hosts_names_the_delay() {
        let bottleneck = Bottleneck::FewHosts { delay: Duration::from_millis(2_500) };
        assert_eq!(bottleneck.to_string(), "few hosts: all wait for their delay of 2.5 s");
    }
}
