//! The retry table: for each kind of failure, the attempts per URL, the rest of the host, and the
//! number of consecutive failures after which the host is given up.

use super::backoff::doubled;
use super::state::HostState;
use crate::config::Politeness;
use crate::failure::Failure;
use std::time::Duration;

/// Decision about a URL whose attempt failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// The URL returns to the frontier.
    Again,
    /// The URL is discarded ([`crate::discard::Discard::GaveUp`]).
    GiveUp,
}

/// A row of the table.
struct Row {
    /// Total number of attempts for a URL.
    attempts: u8,
    /// First rest of the host in percent of `backoff_first`, doubled with each consecutive failure.
    rest_percent: u32,
    /// Number of consecutive failures after which the host is given up.
    host_tries: u8,
}

const fn row(attempts: u8, rest_percent: u32, host_tries: u8) -> Row {
    Row { attempts, rest_percent, host_tries }
}

/// Returns the row of a kind of failure. A host rests after each failure to reach it, and is given
/// up after about 15 minutes of failures (with the default `backoff_first`). Failures of one page
/// hardly count against the host.
const fn table(kind: Failure) -> Row {
    match kind {
        // The answer is authoritative and cached, so a retry gets the same answer.
        Failure::DnsNoSuchName => row(1, 0, 1),
        Failure::DnsUnavailable => row(6, 50, 6),
        Failure::ConnectRefused | Failure::ConnectTimeout | Failure::Unreachable => row(5, 100, 5),
        Failure::Tls => row(3, 100, 5),
        Failure::FirstByteTimeout => row(3, 100, 6),
        Failure::TotalTimeout | Failure::TooSlow => row(2, 50, 10),
        Failure::Disconnected => row(3, 25, 10),
        Failure::BadResponse => row(2, 0, 25),
        Failure::HeadTooLarge | Failure::Unreadable => row(1, 0, 25),
        // The wait is `slow_down_wait`.
        Failure::SlowDown => row(6, 0, 8),
        // Not the host's fault: it waits until our connections to the old address are closed.
        Failure::AddressChanged => row(10, 0, 25),
    }
}

/// Longest rest, as a multiple of `backoff_first` (an hour by default).
const REST_FACTOR_MAX: u32 = 60;

/// Number of consecutive failures to fetch robots.txt after which an origin without older rules is
/// given up.
pub const ROBOTS_TRIES_MAX: u32 = 5;

/// Decides if a URL is tried again after `attempts` failed attempts, the last one of this kind.
#[must_use]
pub const fn retry(kind: Failure, attempts: u8) -> Retry {
    if attempts < table(kind).attempts { Retry::Again } else { Retry::GiveUp }
}

/// Returns the rest of a host after the `consecutive`-th consecutive failure of this kind (the
/// first is 1). Zero for kinds that concern only the URL, and for [`Failure::SlowDown`], whose wait
/// is [`super::slow_down_wait`].
#[must_use]
pub fn rest_after(kind: Failure, consecutive: u8, politeness: &Politeness) -> Duration {
    let first = politeness.backoff_first.saturating_mul(table(kind).rest_percent) / 100;
    capped(doubled(first, consecutive.saturating_sub(1).into()), politeness)
}

/// Returns the rest of a host without known rules after the `failures`-th consecutive failure to
/// fetch robots.txt: `backoff_first`, doubled each time, at most an hour by default.
#[must_use]
pub fn robots_rest(failures: u32, politeness: &Politeness) -> Duration {
    capped(doubled(politeness.backoff_first, failures.saturating_sub(1)), politeness)
}

fn capped(rest: Duration, politeness: &Politeness) -> Duration {
    let longest = politeness.backoff_first.saturating_mul(REST_FACTOR_MAX);
    rest.min(longest).min(politeness.backoff_max)
}

impl HostState {
    /// Returns true if there were too many consecutive failures. Each failure weighs the inverse of
    /// the number that the table allows for its kind.
    pub fn is_given_up(&self) -> bool {
        let weight = |kind: Failure| 100_u32.div_ceil(u32::from(table(kind).host_tries));
        self.failures.iter().map(|(kind, n)| weight(kind) * u32::from(n)).sum::<u32>() >= 100
    }
}
