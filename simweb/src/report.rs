//! What the judge found.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

/// So many violations of one kind are kept in full; the rest is counted.
const KEPT_PER_KIND: u64 = 200;
/// So many are shown.
const SHOWN: usize = 40;

/// One thing the visitor did wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Violation {
    /// Allowed and reachable, and never fetched.
    Missing {
        /// The URL.
        url: String,
    },
    /// Not reachable by any allowed path, or no URL of this web.
    Unexpected {
        /// The URL.
        url: String,
    },
    /// Fetched more often than once.
    Repeated {
        /// The URL.
        url: String,
        /// Complete responses.
        n_times: u64,
    },
    /// Two requests to a host closer than the delay.
    HostGap {
        /// The host.
        host: String,
        /// The earlier.
        first: String,
        /// The later.
        second: String,
        /// Between them, in microseconds.
        gap_us: i64,
        /// What should have been.
        wanted_us: u64,
    },
    /// Two requests to a host at once.
    HostOverlap {
        /// The host.
        host: String,
        /// The earlier.
        first: String,
        /// The later.
        second: String,
        /// For how long, in microseconds.
        overlap_us: i64,
    },
    /// Two requests to an address closer than its delay.
    IpGap {
        /// The address.
        ip: Ipv4Addr,
        /// The earlier.
        first: String,
        /// The later.
        second: String,
        /// Between them, in microseconds.
        gap_us: i64,
        /// What should have been.
        wanted_us: u64,
    },
    /// Two requests to an address at once.
    IpOverlap {
        /// The address.
        ip: Ipv4Addr,
        /// The earlier.
        first: String,
        /// The later.
        second: String,
        /// For how long, in microseconds.
        overlap_us: i64,
    },
    /// A request before the time that 429 or 503 named in Retry-After.
    TooEarly {
        /// The URL.
        url: String,
        /// By how much, in microseconds.
        early_us: u64,
    },
    /// robots.txt disallows it.
    Disallowed {
        /// The URL.
        url: String,
    },
    /// Requested before the origin's robots.txt was answered.
    BeforeRobots {
        /// The URL.
        url: String,
    },
    /// The host was contacted at an address that is not its own, or must not be contacted at all.
    WrongAddress {
        /// The URL.
        url: String,
        /// The address contacted.
        ip: Ipv4Addr,
    },
    /// More pages than the limit.
    OverLimit {
        /// Of this host or domain, or of the crawl.
        what: String,
        /// Pages.
        n_pages: u64,
        /// The limit.
        max: u64,
    },
}

impl Violation {
    /// The name of its kind.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "missing",
            Self::Unexpected { .. } => "unexpected",
            Self::Repeated { .. } => "repeated",
            Self::HostGap { .. } => "host-gap",
            Self::HostOverlap { .. } => "host-overlap",
            Self::IpGap { .. } => "ip-gap",
            Self::IpOverlap { .. } => "ip-overlap",
            Self::TooEarly { .. } => "too-early",
            Self::Disallowed { .. } => "disallowed",
            Self::BeforeRobots { .. } => "before-robots",
            Self::WrongAddress { .. } => "wrong-address",
            Self::OverLimit { .. } => "over-limit",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kind())?;
        match self {
            Self::Missing { url }
            | Self::Unexpected { url }
            | Self::Disallowed { url }
            | Self::BeforeRobots { url } => f.write_str(url),
            Self::Repeated { url, n_times } => write!(f, "{url}, {n_times} times"),
            Self::HostGap { host, first, second, gap_us, wanted_us } => {
                write!(f, "{host}: {gap_us} us of {wanted_us} us between {first} and {second}")
            }
            Self::IpGap { ip, first, second, gap_us, wanted_us } => {
                write!(f, "{ip}: {gap_us} us of {wanted_us} us between {first} and {second}")
            }
            Self::HostOverlap { host, first, second, overlap_us } => {
                write!(f, "{host}: {overlap_us} us of {first} and {second} together")
            }
            Self::IpOverlap { ip, first, second, overlap_us } => {
                write!(f, "{ip}: {overlap_us} us of {first} and {second} together")
            }
            Self::TooEarly { url, early_us } => write!(f, "{url}, by {early_us} us"),
            Self::WrongAddress { url, ip } => write!(f, "{url} at {ip}"),
            Self::OverLimit { what, n_pages, max } => write!(f, "{what}: {n_pages} of {max}"),
        }
    }
}

/// What the judge found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judgment {
    /// Requests in the log.
    pub n_requests: u64,
    /// Those for robots.txt, redirects on the way to one included.
    pub n_robots: u64,
    /// URLs with a complete response.
    pub n_pages: u64,
    /// URLs that must have one.
    pub n_expected: u64,
    /// Complete responses beyond the first.
    pub n_repeats: u64,
    /// The shortest time between two requests to a host, bursts aside, in microseconds.
    pub host_gap_min_us: Option<i64>,
    /// The same for an address.
    pub ip_gap_min_us: Option<i64>,
    /// How many violations of each kind.
    pub counts: BTreeMap<String, u64>,
    /// The first of each kind in full.
    pub violations: Vec<Violation>,
}

impl Judgment {
    /// Whether the visitor did nothing wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.counts.is_empty()
    }

    /// How many violations of a kind, by [`Violation::kind`].
    #[must_use]
    pub fn count(&self, kind: &str) -> u64 {
        self.counts.get(kind).copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, violation: Violation) {
        let n = self.counts.entry(violation.kind().to_owned()).or_default();
        *n += 1;
        if *n <= KEPT_PER_KIND {
            self.violations.push(violation);
        }
    }

    pub(crate) fn host_gap(&mut self, gap_us: i64) {
        self.host_gap_min_us = Some(self.host_gap_min_us.map_or(gap_us, |min| min.min(gap_us)));
    }

    pub(crate) fn ip_gap(&mut self, gap_us: i64) {
        self.ip_gap_min_us = Some(self.ip_gap_min_us.map_or(gap_us, |min| min.min(gap_us)));
    }
}

impl fmt::Display for Judgment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} requests, {} of them for robots.txt", self.n_requests, self.n_robots)?;
        writeln!(
            f,
            "{} URLs answered, {} repeats; a complete crawl gets at least {} URLs",
            self.n_pages, self.n_repeats, self.n_expected
        )?;
        let seconds = |gap: Option<i64>| {
            gap.map_or("none".to_owned(), |us| format!("{:.3} s", us as f64 / 1e6))
        };
        let (host, ip) = (seconds(self.host_gap_min_us), seconds(self.ip_gap_min_us));
        writeln!(f, "shortest gap on a host {host}, on an address {ip}")?;
        if self.is_clean() {
            return f.write_str("no violations");
        }
        for (kind, n) in &self.counts {
            writeln!(f, "{n} x {kind}")?;
        }
        for violation in self.violations.iter().take(SHOWN) {
            writeln!(f, "  {violation}")?;
        }
        let n_hidden = self.violations.len().saturating_sub(SHOWN);
        if n_hidden > 0 { write!(f, "  and {n_hidden} more") } else { Ok(()) }
    }
}
