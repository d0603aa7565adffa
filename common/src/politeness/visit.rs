//! The state of a host after a visit.

use super::backoff::slow_down_wait;
use super::host_policy::HostPolicy;
use super::retry::rest_after;
use super::state::{HostState, WaitRule};
use crate::failure::Failure;
use crate::time::{Timestamp, micros};
use std::time::Duration;

/// The outcome of a visit, reduced to the data that politeness needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VisitSummary {
    /// Number of requests sent or connections attempted.
    pub requests: u32,
    /// End of the last request.
    pub ended: Timestamp,
    /// Total response time.
    pub served: Duration,
    /// Health of the host.
    pub signal: VisitSignal,
}

/// Health of a host, observed during a visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VisitSignal {
    /// The host responded, or no request was sent.
    Healthy,
    /// The host asked to slow down (429, 503), with its Retry-After if there was one.
    SlowDown(Option<Duration>),
    /// The host was unreachable, closed the connection, or its name was not resolved (`requests` is
    /// then 0).
    Failed(Failure),
}

/// Returns the state after a visit. `jitter` is any number that is constant for a host and visit.
/// It spreads the backoff of hosts that slow down together.
#[must_use]
pub fn after_visit(
    before: &HostState,
    visit: &VisitSummary,
    policy: &HostPolicy<'_>,
    jitter: u64,
) -> HostState {
    let mut state = before.clone();
    if visit.requests > 0 {
        let (wait, rule) = policy.wait(visit.served);
        state.last_ended = state.last_ended.max(visit.ended);
        state.requests += u64::from(visit.requests);
        state.served_us = state.served_us.saturating_add(micros(visit.served));
        state.hold_until(visit.ended + wait, rule);
    }
    if visit.ended >= state.slowed_until + policy.politeness.backoff_forgive {
        state.slow_level = 0;
    }
    match visit.signal {
        VisitSignal::Healthy if visit.requests > 0 => state.failures.clear(),
        VisitSignal::Healthy => {}
        VisitSignal::SlowDown(retry_after) => {
            let wait = slow_down_wait(state.slow_level, retry_after, policy.politeness, jitter);
            let has_header = retry_after.is_some();
            let rule = if has_header { WaitRule::RetryAfter } else { WaitRule::Backoff };
            state.failures.count(Failure::SlowDown);
            state.slow_level = state.slow_level.saturating_add(1);
            state.rest_until(visit.ended, visit.ended + wait, rule);
            state.slowed_until = state.slowed_until.max(visit.ended + wait);
        }
        VisitSignal::Failed(kind) => {
            state.failures.count(kind);
            let rest = rest_after(kind, state.failures.of(kind), policy.politeness);
            state.rest_until(visit.ended, visit.ended + rest, WaitRule::Failure(kind));
        }
    }
    state
}
