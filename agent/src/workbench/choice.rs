//! Choice of a host's next task.

use super::hosts::HostEntry;
use super::robots::{Freshness, freshness};
use crate::limits::{NO_DELAY_VISIT_URLS, ORIGINS_A_HOST_MAX};
use crivello_common::config::Politeness;
use crivello_common::politeness::HostPolicy;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;

/// Returns the number of URLs that one visit may request.
pub(super) fn visit_len(pace: &HostPolicy<'_>) -> u32 {
    let unhurried = pace.politeness.ip_delay.is_zero() && pace.wait_max().is_zero();
    if unhurried { pace.burst().max(NO_DELAY_VISIT_URLS) } else { pace.burst() }
}

/// The next task of a host, or the reason why there is none.
#[derive(Debug)]
pub(super) enum Choice {
    /// Pages, from index `start` of the window on.
    Pages { start: usize, rules: Arc<Rules> },
    /// The robots.txt of this origin.
    Robots(Origin),
    /// Nothing before this time: the robots.txt of every origin in the window is unreachable.
    Wait(Timestamp),
    /// URLs to set aside, because their robots.txt was never reached.
    GivenUp,
    /// URLs to set aside, because their host has more origins than allowed.
    TooManyOrigins,
    /// Its window is empty.
    Empty,
}

/// Chooses the task at `now`. The head of the window goes first, unless its origin does not answer
/// and another origin of the host might.
pub(super) fn choose(host: &HostEntry, now: Timestamp, politeness: &Politeness) -> Choice {
    if host.exempt && !host.window.urls().is_empty() {
        return Choice::Pages { start: 0, rules: Rules::allow_all().shared() };
    }
    let (mut given_up, mut failing, mut again) = (false, None, Timestamp::MAX);
    let mut last = None;
    for (start, url) in host.window.urls().iter().enumerate() {
        if last == Some(url.origin) {
            continue;
        }
        last = Some(url.origin);
        match freshness_of(host, url.origin, now, politeness) {
            Freshness::Open(rules) => return Choice::Pages { start, rules },
            Freshness::Request { failing: false } => return Choice::Robots(url.origin),
            Freshness::Request { failing: true } => failing = failing.or(last),
            Freshness::Wait(until) => again = again.min(until),
            Freshness::GivenUp => given_up = true,
            Freshness::TooManyOrigins => return Choice::TooManyOrigins,
        }
    }
    match failing {
        _ if given_up => Choice::GivenUp,
        Some(origin) => Choice::Robots(origin),
        None if host.window.urls().is_empty() => Choice::Empty,
        None => Choice::Wait(again),
    }
}

/// Returns the state of the robots.txt of an origin of the host.
pub(super) fn freshness_of(
    host: &HostEntry,
    origin: Origin,
    now: Timestamp,
    politeness: &Politeness,
) -> Freshness {
    let record = host.record(origin);
    if record.is_none() && host.robots().len() >= ORIGINS_A_HOST_MAX {
        return Freshness::TooManyOrigins;
    }
    freshness(record, now, host.state.last_ended, politeness)
}
