//! The retry table: for each kind of failure how often a URL is tried, how long the host rests,
//! and how many in a row give the host up.

use super::backoff::doubled;
use super::state::HostState;
use crate::config::Politeness;
use crate::failure::Failure;
use std::time::Duration;

/// Whether a URL whose attempt failed is tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Retry {
    /// It goes back into the frontier.
    Again,
    /// It is set aside ([`crate::discard::Discard::GaveUp`]).
    GiveUp,
}

/// One line of the table.
struct Row {
    /// Attempts a URL gets in all.
    attempts: u8,
    /// The host's first rest, in percent of `backoff_first`; doubled with each failure in a row.
    rest_percent: u32,
    /// Failures in a row that give the host up.
    host_tries: u8,
}

const fn row(attempts: u8, rest_percent: u32, host_tries: u8) -> Row {
    Row { attempts, rest_percent, host_tries }
}

/// Failures to reach the host rest it, and it is given up after about a quarter of an hour of
/// them (with the default `backoff_first`); failures of one page hardly count against the host.
const fn table(kind: Failure) -> Row {
    match kind {
        // An authoritative answer, and cached: asking again brings the same.
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
        // Our own doing: the host is held back until our connections are closed.
        Failure::AddressChanged => row(10, 0, 25),
    }
}

/// No rest is longer than this many times `backoff_first` (an hour by default).
const REST_FACTOR_MAX: u32 = 60;

/// After so many answers in a row that robots.txt is unreachable, and without older rules, an
/// origin is given up.
pub const ROBOTS_TRIES_MAX: u32 = 5;

/// Whether a URL is tried again after `attempts` failed attempts, the last of this kind.
#[must_use]
pub const fn retry(kind: Failure, attempts: u8) -> Retry {
    if attempts < table(kind).attempts { Retry::Again } else { Retry::GiveUp }
}

/// How long a host rests after the `consecutive`-th failure of this kind in a row (1 is the
/// first). Zero for kinds that only concern the URL, and for [`Failure::SlowDown`], whose wait is
/// [`super::slow_down_wait`].
#[must_use]
pub fn rest_after(kind: Failure, consecutive: u8, politeness: &Politeness) -> Duration {
    let first = politeness.backoff_first.saturating_mul(table(kind).rest_percent) / 100;
    capped(doubled(first, consecutive.saturating_sub(1)), politeness)
}

/// How long a host without any known rules rests after robots.txt was unreachable for the
/// `failures`-th time in a row: `backoff_first` doubling, an hour at most by default.
#[must_use]
pub fn robots_rest(failures: u32, politeness: &Politeness) -> Duration {
    let times = u8::try_from(failures.saturating_sub(1)).unwrap_or(u8::MAX);
    capped(doubled(politeness.backoff_first, times), politeness)
}

fn capped(rest: Duration, politeness: &Politeness) -> Duration {
    let longest = politeness.backoff_first.saturating_mul(REST_FACTOR_MAX);
    rest.min(longest).min(politeness.backoff_max)
}

impl HostState {
    /// Whether its failures in a row are too many: each kind weighs by the inverse of how many
    /// of it the table allows.
    #[must_use]
    pub fn is_given_up(&self) -> bool {
        let weight = |kind: Failure| 100_u32.div_ceil(u32::from(table(kind).host_tries));
        self.failures.iter().map(|(kind, n)| weight(kind) * u32::from(n)).sum::<u32>() >= 100
    }
}
