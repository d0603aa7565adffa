//! What sets the pace of a crawl, and the words for it, which are the same wherever it is shown.

use std::fmt;
use std::time::Duration;

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
    /// All hosts that are left are paused.
    Paused,
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
            Self::Paused => {
                f.write_str("paused: so are all hosts that are left (politeness.paused)")
            }
            Self::NoneDue => f.write_str("no host falls due just now"),
            Self::Draining => f.write_str("stopping: ending visits in flight and saving"),
            Self::Limit => f.write_str("a limit is reached"),
            Self::Seeds => f.write_str("waiting for seeds"),
        }
    }
}

impl Pace {
    /// In a word each.
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
            Self::Paused => 14,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_says_the_delay_it_waits_for() {
        let pace = Pace::FewHosts { delay: Duration::from_millis(2_500) };
        assert_eq!(pace.to_string(), "the delay of few hosts (2.5 s between requests)");
    }
}
