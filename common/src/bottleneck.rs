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
            Self::FewHosts { delay } => {
                write!(f, "few hosts: all wait for their delay of {} s", delay.as_secs_f64())
            }
            other => f.write_str(Self::ALL[other.index()].2),
        }
    }
}

impl Bottleneck {
    /// All values with their names and texts, in the order of [`Self::index`]. The text of
    /// [`Self::FewHosts`] lacks the delay.
    pub const ALL: [(Self, &'static str, &'static str); 15] = [
        (Self::Starting, "starting", "starting"),
        (Self::FewHosts { delay: Duration::ZERO }, "few-hosts", "few hosts"),
        (Self::Dns, "dns", "DNS: most hosts wait for their address"),
        (Self::DnsSilent, "dns-silent", "DNS: the name servers do not reply"),
        (Self::Cpu, "cpu", "CPU: parsing and compressing"),
        (Self::Offline, "offline", "the network seems to be down: nothing can be reached"),
        (Self::DiskFull, "disk-full", "disk full: fetching waits for free space"),
        (Self::DiskSlow, "disk-slow", "disk: writing is slower than fetching"),
        (Self::SlowServers, "slow-servers", "slow servers: waiting for responses"),
        (Self::Resting, "resting", "all hosts rest (backoff or unreachable)"),
        (Self::NoneDue, "none-due", "no host is due"),
        (Self::Draining, "draining", "stopping: finishing visits in flight and saving"),
        (Self::Limit, "limit", "a limit is reached"),
        (Self::Seeds, "seeds", "waiting for seeds"),
        (Self::Paused, "hosts-paused", "all remaining hosts are paused (politeness.paused)"),
    ];

    /// Returns its index in [`Self::ALL`].
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
    fn each_value_is_at_its_index() {
        for (at, (one, ..)) in Bottleneck::ALL.iter().enumerate() {
            assert_eq!(one.index(), at, "{one:?}");
        }
    }

    #[test]
    fn few_hosts_names_the_delay() {
        let bottleneck = Bottleneck::FewHosts { delay: Duration::from_millis(2_500) };
        assert_eq!(bottleneck.to_string(), "few hosts: all wait for their delay of 2.5 s");
    }
}
