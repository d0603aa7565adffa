//! What is remembered of a host between visits.

use crate::failure::Failure;
use crate::time::Timestamp;
use std::time::Duration;

/// What is remembered of a host between visits; kept in the `hosts` column family.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HostState {
    /// No request may start before this.
    pub next: Timestamp,
    /// The rule that set [`Self::next`].
    pub rule: WaitRule,
    /// When the last request was over; [`Timestamp::ZERO`] before the first.
    pub last_ended: Timestamp,
    /// How often the backoff has been doubled; 0 when the host never asked to slow down, or that
    /// is forgiven.
    pub slow_level: u8,
    /// When the wait of the last slow-down was (or will be) over: its quiet time begins here.
    pub slowed_until: Timestamp,
    /// Failures in a row, by kind.
    pub failures: FailureRun,
    /// Requests in all.
    pub requests: u64,
    /// The time the site took for them, in microseconds.
    pub served_us: u64,
    /// The time the host was rested beyond its ordinary delay, in microseconds.
    pub rested_us: u64,
    /// How often it was rested.
    pub rests: u32,
    /// Why it was last rested; [`WaitRule::Nothing`] when it never was.
    pub rest_rule: WaitRule,
}

impl HostState {
    /// The same by a clock that shows so many microseconds more.
    pub fn by_clock_ahead(&mut self, micros: i64) {
        for at in [&mut self.next, &mut self.last_ended, &mut self.slowed_until] {
            *at = at.by_clock_ahead(micros);
        }
    }

    /// Puts the next time off to `at`, if that is later than what another rule has set.
    pub fn hold_until(&mut self, at: Timestamp, rule: WaitRule) {
        if at > self.next {
            self.next = at;
            self.rule = rule;
        }
    }

    /// As [`Self::hold_until`], counting the time from `now` as rest.
    pub fn rest_until(&mut self, now: Timestamp, at: Timestamp, rule: WaitRule) {
        let rest = at.since(self.next.max(now));
        if !rest.is_zero() {
            self.rested_us = self.rested_us.saturating_add(micros(rest));
            self.rests = self.rests.saturating_add(1);
            self.rest_rule = rule;
            self.hold_until(at, rule);
        }
    }

    /// How long it must still wait.
    #[must_use]
    pub const fn wait(&self, now: Timestamp) -> Duration {
        self.next.since(now)
    }
}

/// The whole microseconds of a duration, at most `u64::MAX`.
pub(super) fn micros(d: Duration) -> u64 {
    u64::try_from(d.as_micros()).unwrap_or(u64::MAX)
}

/// The rule that set a host's next time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WaitRule {
    /// None yet: it was never visited.
    #[default]
    Nothing,
    /// The delay of the settings, or the domain's own.
    Delay,
    /// Crawl-delay of its robots.txt.
    CrawlDelay,
    /// A multiple of the time it took.
    Relative,
    /// Retry-After of a 429 or 503.
    RetryAfter,
    /// Backoff after a 429 or 503 without Retry-After.
    Backoff,
    /// Its robots.txt is unreachable.
    RobotsUnreachable,
    /// The last run was killed: nobody knows how lately it was visited.
    StartUp,
    /// Its address changed: connections to the old one must be closed first.
    AddressChange,
    /// A rest after a failure of this kind.
    Failure(Failure),
}

/// Codes below this are rules, codes from here on are failures.
const FAILURE_CODES: u8 = 64;

impl WaitRule {
    const PLAIN: [Self; 9] = [
        Self::Nothing,
        Self::Delay,
        Self::CrawlDelay,
        Self::Relative,
        Self::RetryAfter,
        Self::Backoff,
        Self::RobotsUnreachable,
        Self::StartUp,
        Self::AddressChange,
    ];

    /// Whether it is more than the ordinary distance between two visits.
    #[must_use]
    pub const fn is_rest(self) -> bool {
        matches!(
            self,
            Self::RetryAfter | Self::Backoff | Self::RobotsUnreachable | Self::Failure(_)
        )
    }

    /// The name used in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Delay => "delay",
            Self::CrawlDelay => "crawl-delay",
            Self::Relative => "relative",
            Self::RetryAfter => "retry-after",
            Self::Backoff => "backoff",
            Self::RobotsUnreachable => "robots-unreachable",
            Self::StartUp => "start-up",
            Self::AddressChange => "address-change",
            Self::Failure(kind) => kind.name(),
        }
    }

    /// The number stored on disk.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Failure(kind) => FAILURE_CODES + kind.code(),
            plain => Self::PLAIN.iter().position(|&r| r == plain).unwrap_or(0) as u8,
        }
    }

    /// The inverse of [`Self::code`].
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        match code.checked_sub(FAILURE_CODES) {
            Some(kind) => Failure::from_code(kind).map(Self::Failure),
            None => Self::PLAIN.get(usize::from(code)).copied(),
        }
    }
}

/// Failures in a row, by kind: an answer of the host begins it anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FailureRun([u8; Failure::ALL.len()]);

impl FailureRun {
    /// Counts one.
    pub fn count(&mut self, kind: Failure) {
        self.set(kind, self.of(kind).saturating_add(1));
    }

    /// How many of `kind`, at most 255.
    #[must_use]
    pub fn of(&self, kind: Failure) -> u8 {
        self.0[usize::from(kind.code())]
    }

    /// Sets the count of one kind.
    pub fn set(&mut self, kind: Failure, n: u8) {
        self.0[usize::from(kind.code())] = n;
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// The kinds that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Failure, u8)> + '_ {
        Failure::ALL.into_iter().map(|kind| (kind, self.of(kind))).filter(|&(_, n)| n > 0)
    }
}
