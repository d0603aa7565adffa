//! What a request for a robots.txt brought means, and when to ask again (RFC 9309 sections 2.3
//! and 2.4). Pure: the reply, what is remembered and the time are arguments.

use crate::failure::Failure;
use crate::time::Timestamp;
use std::time::Duration;

/// Redirects that are followed on the way to a robots.txt (RFC 9309 section 2.3.1.2).
pub const HOPS_MAX: u8 = 5;
/// The longest time rules are used without asking again (RFC 9309 section 2.4).
pub const AGE_MAX: Duration = Duration::from_secs(24 * 3_600);

/// How a request for a robots.txt ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A response came.
    Response {
        /// The HTTP status code.
        status: u16,
        /// Whether it names a URL to go to that may be crawled (http or https).
        location: bool,
        /// Whether the body broke off before its end (not: was cut at the size limit).
        broken: bool,
    },
    /// None came.
    Failed(Failure),
}

/// What a [`Reply`] means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The body is the robots.txt (section 2.3.1.1).
    Rules,
    /// It is elsewhere (section 2.3.1.2).
    Redirect,
    /// There is none: everything is allowed (section 2.3.1.3, "unavailable").
    Missing,
    /// Nothing is known: everything is disallowed, or the rules last known hold (section
    /// 2.3.1.4).
    Unreachable,
}

/// What a reply means after `hops` redirects.
///
/// - 2xx with its whole body: the rules. A body that broke off is half a rule book, and so
///   unreachable.
/// - 3xx with a location: a redirect, up to [`HOPS_MAX`] of them. More, or one that leads
///   nowhere, would let us take the file as missing (section 2.3.1.2: MAY); as unreachable is the
///   careful reading.
/// - 4xx: missing, also 401 and 403 (section 2.3.1.3), but not 429, which asks us to come later.
/// - 5xx, any other number, and no response at all: unreachable.
#[must_use]
pub const fn meaning(reply: Reply, hops: u8) -> Meaning {
    match reply {
        Reply::Response { status: 200..=299, broken: false, .. } => Meaning::Rules,
        Reply::Response { status: 300..=399, location: true, .. } if hops < HOPS_MAX => {
            Meaning::Redirect
        }
        Reply::Response { status: 400..=428 | 430..=499, .. } => Meaning::Missing,
        Reply::Response { .. } | Reply::Failed(_) => Meaning::Unreachable,
    }
}

/// What is remembered of an origin's robots.txt, but for the rules themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// When it was last asked for.
    pub asked: Timestamp,
    /// When the rules in force were fetched; `None` if it has never been reached.
    pub fetched: Option<Timestamp>,
    /// Since when it has been unreachable; `None` while it answers.
    pub unreachable_since: Option<Timestamp>,
    /// How often in a row it was unreachable.
    pub failures: u32,
}

impl Record {
    /// The record after a request that ended at `now`; `before` is what was remembered. A
    /// redirect on its own changes nothing: the last hop decides.
    #[must_use]
    pub fn after(before: Option<Self>, meaning: Meaning, now: Timestamp) -> Option<Self> {
        match meaning {
            Meaning::Redirect => before,
            Meaning::Rules | Meaning::Missing => {
                Some(Self { asked: now, fetched: Some(now), unreachable_since: None, failures: 0 })
            }
            Meaning::Unreachable => Some(Self {
                asked: now,
                fetched: before.and_then(|b| b.fetched),
                unreachable_since: Some(before.and_then(|b| b.unreachable_since).unwrap_or(now)),
                failures: before.map_or(0, |b| b.failures).saturating_add(1),
            }),
        }
    }
}

/// When a robots.txt is asked for again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// How long rules are trusted; more than [`AGE_MAX`] counts as that.
    pub age_max: Duration,
    /// The pause after the first failure; doubled with each further one.
    pub retry_first: Duration,
    /// The longest pause between two attempts.
    pub retry_max: Duration,
    /// A host whose robots.txt was never reached is given up after so many attempts in a row;
    /// 0 for never.
    pub failures_max: u32,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            age_max: AGE_MAX,
            retry_first: Duration::from_secs(60),
            retry_max: Duration::from_secs(3_600),
            failures_max: 8,
        }
    }
}

impl Policy {
    /// The pause after `failures` attempts in a row that failed: none, then `retry_first`
    /// doubling up to `retry_max`.
    #[must_use]
    pub fn pause(&self, failures: u32) -> Duration {
        let Some(doublings) = failures.checked_sub(1) else {
            return Duration::ZERO;
        };
        let factor = 1_u32.checked_shl(doublings).unwrap_or(u32::MAX);
        self.retry_first.saturating_mul(factor).min(self.retry_max)
    }
}

/// What may be done at an origin now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The rules in force may be used up to, and not at, this time.
    Fresh {
        /// Then the robots.txt has to be asked for again.
        until: Timestamp,
    },
    /// The robots.txt has to be asked for before anything else.
    Stale,
    /// Nothing may be fetched, and the robots.txt not be asked for before this time.
    WaitUntil(Timestamp),
    /// Nothing may be fetched, and asking again is not worth it.
    GiveUp,
}

/// Where an origin stands at `now`.
///
/// - Never asked, or older than `age_max` (section 2.4): [`Standing::Stale`].
/// - Unreachable, with rules from before: they hold between the attempts, for as long as it
///   takes (section 2.3.1.4 lets a crawler use a cached copy even after 30 days).
/// - Unreachable and never reached: everything is disallowed. Section 2.3.1.4 would let a crawler
///   take the file as missing after 30 days; we never do, and give up instead.
/// - A record from the future (a clock that was set back) is worth nothing.
#[must_use]
pub fn standing(record: Option<&Record>, now: Timestamp, policy: &Policy) -> Standing {
    let Some(record) = record.filter(|r| r.asked <= now) else {
        return Standing::Stale;
    };
    let next = match record.fetched {
        Some(fetched) if record.failures == 0 => fetched + policy.age_max.min(AGE_MAX),
        _ => record.asked + policy.pause(record.failures),
    };
    match record.fetched {
        None if policy.failures_max > 0 && record.failures >= policy.failures_max => {
            Standing::GiveUp
        }
        _ if next <= now => Standing::Stale,
        None => Standing::WaitUntil(next),
        Some(_) => Standing::Fresh { until: next },
    }
}

#[cfg(test)]
#[path = "tests/fetch.rs"]
mod tests;
