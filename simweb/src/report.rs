//! Results of the judge.

use std::collections::BTreeMap;
use std::fmt;
use std::net::Ipv4Addr;

/// Number of violations of one kind that are kept in full; the rest are only counted.
const KEPT_PER_KIND: u64 = 200;
/// Number of violations that are shown.
const SHOWN: usize = 40;

/// A violation by the visitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// An allowed and reachable URL was never fetched.
    Missing(String),
    /// A fetched URL is not reachable by an allowed path, or not part of this web.
    Unexpected(String),
    /// A URL was fetched more than once.
    Repeated {
        /// The URL.
        url: String,
        /// Number of complete responses.
        n_times: u64,
    },
    /// Two requests to a host were closer than the delay.
    HostGap(RequestPair),
    /// Two requests to a host overlapped.
    HostOverlap(RequestPair),
    /// Two requests to an address were closer than its delay.
    IpGap(RequestPair),
    /// Two requests to an address overlapped.
    IpOverlap(RequestPair),
    /// A request came before the time of a Retry-After with 429 or 503, or before the backoff
    /// ended.
    TooEarly {
        /// The URL.
        url: String,
        /// Time by which it was early, in microseconds.
        early_us: u64,
    },
    /// robots.txt disallows a fetched URL.
    Disallowed(String),
    /// A URL was requested before the origin's robots.txt was answered.
    BeforeRobots(String),
    /// A host was contacted at an address that is not its own, or must not be contacted at all.
    WrongAddress {
        /// The URL.
        url: String,
        /// The contacted address.
        ip: Ipv4Addr,
    },
    /// More pages were fetched than a limit admits.
    OverLimit(Excess),
}

/// Two requests to the same host or address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPair {
    /// The host or the address.
    pub at: String,
    /// The earlier URL.
    pub first: String,
    /// The later URL.
    pub second: String,
    /// Time between them, in microseconds; negative if they overlap.
    pub gap_us: i64,
    /// Required time, in microseconds.
    pub wanted_us: u64,
    /// Sender and times of both.
    pub senders: String,
}

/// A limit that a set of pages exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Excess {
    /// The host or domain, or "the crawl".
    pub what: String,
    /// Number of pages.
    pub n_pages: u64,
    /// The limit.
    pub max: u64,
}

impl Violation {
    /// Returns the name of its kind.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Missing(_) => "missing",
            Self::Unexpected(_) => "unexpected",
            Self::Repeated { .. } => "repeated",
            Self::HostGap(_) => "host-gap",
            Self::HostOverlap(_) => "host-overlap",
            Self::IpGap(_) => "ip-gap",
            Self::IpOverlap(_) => "ip-overlap",
            Self::TooEarly { .. } => "too-early",
            Self::Disallowed(_) => "disallowed",
            Self::BeforeRobots(_) => "before-robots",
            Self::WrongAddress { .. } => "wrong-address",
            Self::OverLimit(_) => "over-limit",
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.kind())?;
        match self {
            Self::Missing(url)
            | Self::Unexpected(url)
            | Self::Disallowed(url)
            | Self::BeforeRobots(url) => f.write_str(url),
            Self::Repeated { url, n_times } => write!(f, "{url}, {n_times} times"),
            Self::HostGap(pair) | Self::IpGap(pair) => {
                let RequestPair { at, first, second, gap_us, wanted_us, senders } = pair;
                write!(
                    f,
                    "{at}: {gap_us} us instead of {wanted_us} us between {first} and {second} \
                     ({senders})"
                )
            }
            Self::HostOverlap(pair) | Self::IpOverlap(pair) => {
                let RequestPair { at, first, second, gap_us, .. } = pair;
                write!(f, "{at}: {first} and {second} overlap by {} us", -gap_us)
            }
            Self::TooEarly { url, early_us } => write!(f, "{url}, {early_us} us too early"),
            Self::WrongAddress { url, ip } => write!(f, "{url} at {ip}"),
            Self::OverLimit(Excess { what, n_pages, max }) => {
                write!(f, "{what}: {n_pages} pages, limit {max}")
            }
        }
    }
}

/// The judgment of a crawl.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgment {
    /// Number of requests in the log.
    pub n_requests: u64,
    /// Number of requests for robots.txt, including redirects on the way to it.
    pub n_robots: u64,
    /// Number of URLs with a complete response.
    pub n_pages: u64,
    /// Number of URLs that must be fetched.
    pub n_expected: u64,
    /// Number of complete responses beyond the first.
    pub n_repeats: u64,
    /// Shortest time between two requests to a host, except within bursts, in microseconds.
    pub host_gap_min_us: Option<i64>,
    /// Shortest time between two requests to an address, in microseconds.
    pub ip_gap_min_us: Option<i64>,
    /// Number of violations of each kind.
    pub counts: BTreeMap<String, u64>,
    /// The first violations of each kind, in full.
    pub violations: Vec<Violation>,
}

impl Judgment {
    /// Returns whether there are no violations.
    pub fn is_clean(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns the number of violations of a kind, by [`Violation::kind`].
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
