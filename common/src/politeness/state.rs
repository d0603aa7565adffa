//! The state of a host between visits.

use crate::failure::Failure;
use crate::time::{Timestamp, micros};
use std::time::Duration;

/// The state of a host between visits, stored in the `hosts` column family.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct HostState {
    /// Earliest start of the next request.
    pub next: Timestamp,
    /// Rule that set [`Self::next`].
    pub rule: WaitRule,
    /// End of the last request; [`Timestamp::ZERO`] before the first.
    pub last_ended: Timestamp,
    /// Number of times the backoff was doubled. 0 if the host never asked to slow down, or after it
    /// was forgiven.
    pub slow_level: u8,
    /// End of the wait after the last slow-down. The time until forgiveness starts here.
    pub slowed_until: Timestamp,
    /// Consecutive failures, by kind.
    pub failures: FailureRun,
    /// Total number of requests.
    pub requests: u64,
    /// Total response time of these requests, in microseconds.
    pub served_us: u64,
    /// Total rest beyond the ordinary delay, in microseconds.
    pub rested_us: u64,
    /// Number of rests.
    pub rests: u32,
    /// Rule of the last rest; [`WaitRule::Nothing`] if there was none.
    pub rest_rule: WaitRule,
    /// True once the host has shown a certificate that is valid for its name.
    pub certified: bool,
}

impl HostState {
    /// Converts all timestamps to a clock that is `micros` ahead.
    pub fn convert_to_clock_ahead(&mut self, micros: i64) {
        for at in [&mut self.next, &mut self.last_ended, &mut self.slowed_until] {
            *at = at.on_clock_ahead(micros);
        }
    }

    /// Moves the next time to `at` if that is later.
    pub fn hold_until(&mut self, at: Timestamp, rule: WaitRule) {
        if at > self.next {
            self.next = at;
            self.rule = rule;
        }
    }

    /// Like [`Self::hold_until`], but also counts the time from `now` as rest.
    pub fn rest_until(&mut self, now: Timestamp, at: Timestamp, rule: WaitRule) {
        let rest = at.since(self.next.max(now));
        if !rest.is_zero() {
            self.rested_us = self.rested_us.saturating_add(micros(rest));
            self.rests = self.rests.saturating_add(1);
            self.rest_rule = rule;
            self.hold_until(at, rule);
        }
    }

    /// Returns the mean response time; zero before the first request.
    pub fn mean_served(&self) -> Duration {
        Duration::from_micros(self.served_us / self.requests.max(1))
    }

    /// Returns the time from the end of the last request to the earliest start of the next; zero before
    /// the first.
    pub fn last_wait(&self) -> Duration {
        match self.last_ended {
            Timestamp::ZERO => Duration::ZERO,
            last => self.next.since(last),
        }
    }

    /// Returns the remaining wait.
    pub const fn wait(&self, now: Timestamp) -> Duration {
        self.next.since(now)
    }
}

/// The rule that set a host's next time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum WaitRule {
    /// None: the host was never visited.
    #[default]
    Nothing,
    /// The delay of the settings or of the domain.
    Delay,
    /// The Crawl-delay of robots.txt.
    CrawlDelay,
    /// A multiple of the response time.
    Relative,
    /// Retry-After of a 429 or 503.
    RetryAfter,
    /// Backoff after a 429 or 503 without Retry-After.
    Backoff,
    /// The robots.txt is unreachable.
    RobotsUnreachable,
    /// The last run was killed, so the time of the last visit is unknown.
    StartUp,
    /// The address changed: connections to the old one must be closed first.
    AddressChange,
    /// The host was taken over from an agent whose last requests may not be recorded.
    TakeOver,
    /// A rest after a failure of this kind.
    Failure(Failure),
}

/// Codes below this one are rules; the others are failures.
const FAILURE_CODES: u8 = 64;

impl WaitRule {
    /// Rules other than failures, in the order of their numbers, and their names.
    const PLAIN: [(Self, &'static str); 10] = [
        (Self::Nothing, "nothing"),
        (Self::Delay, "delay"),
        (Self::CrawlDelay, "crawl-delay"),
        (Self::Relative, "relative"),
        (Self::RetryAfter, "retry-after"),
        (Self::Backoff, "backoff"),
        (Self::RobotsUnreachable, "robots-unreachable"),
        (Self::StartUp, "start-up"),
        (Self::AddressChange, "address-change"),
        (Self::TakeOver, "take-over"),
    ];

    /// Returns true if the rule is more than the ordinary delay between two visits.
    pub const fn is_rest(self) -> bool {
        matches!(
            self,
            Self::RetryAfter | Self::Backoff | Self::RobotsUnreachable | Self::Failure(_)
        )
    }

    /// Returns the name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Failure(kind) => kind.name(),
            plain => Self::PLAIN[usize::from(plain.code())].1,
        }
    }

    /// Returns the number stored on disk.
    pub fn code(self) -> u8 {
        match self {
            Self::Failure(kind) => FAILURE_CODES + kind.code(),
            plain => Self::PLAIN.iter().position(|&(rule, _)| rule == plain).unwrap_or(0) as u8,
        }
    }

    /// Returns the rule with this [`Self::code`].
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        match code.checked_sub(FAILURE_CODES) {
            Some(kind) => Failure::from_code(kind).map(Self::Failure),
            None => Self::PLAIN.get(usize::from(code)).map(|&(rule, _)| rule),
        }
    }
}

/// Consecutive failures, by kind. A response of the host resets them.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FailureRun([u8; Failure::ALL.len()]);

impl FailureRun {
    /// Adds one failure.
    pub fn count(&mut self, kind: Failure) {
        self.set(kind, self.of(kind).saturating_add(1));
    }

    /// Returns the count of `kind`, at most 255.
    pub fn of(&self, kind: Failure) -> u8 {
        self.0[usize::from(kind.code())]
    }

    /// Sets the count of one kind.
    pub fn set(&mut self, kind: Failure, n: u8) {
        self.0[usize::from(kind.code())] = n;
    }

    /// Resets all counts.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns the kinds with a count above zero, and their counts.
    pub fn iter(&self) -> impl Iterator<Item = (Failure, u8)> + '_ {
        Failure::ALL.into_iter().map(|kind| (kind, self.of(kind))).filter(|&(_, n)| n > 0)
    }
}
