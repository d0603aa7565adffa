//! From the state before a visit to the state after it.

use super::backoff::slow_down_wait;
use super::pace::Pace;
use super::retry::rest_after;
use super::state::{HostState, WaitRule, micros};
use crate::failure::Failure;
use crate::time::Timestamp;
use std::time::Duration;

/// What politeness needs to know of a visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VisitSummary {
    /// Requests sent, or connections attempted.
    pub requests: u32,
    /// When the last of them was over.
    pub ended: Timestamp,
    /// How long the site took for them, together.
    pub served: Duration,
    /// What it says about the host's health.
    pub signal: VisitSignal,
}

/// See [`VisitSummary::signal`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VisitSignal {
    /// It answered, or was not asked.
    Well,
    /// It asks to slow down (429, 503), for this long if it said so.
    SlowDown(Option<Duration>),
    /// It could not be reached, or broke off. Also a name that was not resolved (`requests` is 0).
    Failed(Failure),
}

/// The state after a visit. `jitter` is any number that is steady for the same host and visit: it
/// spreads the backoff of hosts that slow down together.
#[must_use]
pub fn after_visit(
    before: &HostState,
    visit: &VisitSummary,
    pace: &Pace<'_>,
    jitter: u64,
) -> HostState {
    let mut state = before.clone();
    if visit.requests > 0 {
        let (wait, rule) = pace.wait(visit.served);
        state.last_ended = state.last_ended.max(visit.ended);
        state.requests += u64::from(visit.requests);
        state.served_us = state.served_us.saturating_add(micros(visit.served));
        state.hold_until(visit.ended + wait, rule);
    }
    if visit.ended >= state.slowed_until + pace.politeness.backoff_forgive {
        state.slow_level = 0;
    }
    match visit.signal {
        VisitSignal::Well if visit.requests > 0 => state.failures.clear(),
        VisitSignal::Well => {}
        VisitSignal::SlowDown(retry_after) => {
            slow_down(&mut state, visit, retry_after, pace, jitter);
        }
        VisitSignal::Failed(kind) => {
            state.failures.count(kind);
            let rest = rest_after(kind, state.failures.of(kind), pace.politeness);
            state.rest_until(visit.ended, visit.ended + rest, WaitRule::Failure(kind));
        }
    }
    state
}

fn slow_down(
    state: &mut HostState,
    visit: &VisitSummary,
    retry_after: Option<Duration>,
    pace: &Pace<'_>,
    jitter: u64,
) {
    let wait = slow_down_wait(state.slow_level, retry_after, pace.politeness, jitter);
    let rule = if retry_after.is_some() { WaitRule::RetryAfter } else { WaitRule::Backoff };
    state.failures.count(Failure::SlowDown);
    state.slow_level = state.slow_level.saturating_add(1);
    state.rest_until(visit.ended, visit.ended + wait, rule);
    state.slowed_until = state.slowed_until.max(visit.ended + wait);
}
