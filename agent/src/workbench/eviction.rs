//! Eviction: which hosts leave because their place is better used by others, or by none.

use super::front::{Front, Usage};
use super::hosts::{HostEntry, HostPhase};
use crivello_common::config::Politeness;
use crivello_common::time::Timestamp;
use std::time::Duration;

/// Longest rest in memory: a host that rests longer leaves, and rests on disk.
const REST_MAX: Duration = Duration::from_secs(300);
/// With a full front, a host that waits longer than this (and than twice its delay) leaves.
const HORIZON_MIN: Duration = Duration::from_secs(30);
/// With an overfull front and no ready host that could leave instead, a host leaves if it waits
/// longer than this, or than half its delay: otherwise none would leave where delays are short.
const SHORT_WAIT: Duration = Duration::from_secs(1);

/// The decision about a host that has a task.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Eviction {
    /// It stays.
    Stay,
    /// It leaves.
    Leave,
    /// A ready host leaves instead: those that rest for a moment are needed sooner. If there is
    /// none that may leave, this one leaves if it `rests`.
    Ready { rests: bool },
}

/// Decides whether a host must leave because of its wait.
pub(super) fn eviction(
    host: &HostEntry,
    front: &Front,
    usage: Usage,
    politeness: &Politeness,
    now: Timestamp,
) -> Eviction {
    let wait = host.state.wait(now);
    let leave_if = |leaves| if leaves { Eviction::Leave } else { Eviction::Stay };
    if host.window.is_refilling() {
        return Eviction::Stay;
    }
    if Front::has_too_many_rules(usage) && host.rules_bytes() > 0 && !host.has_requests() {
        return leave_if(wait > Duration::ZERO);
    }
    if wait > REST_MAX || host.has_requests() {
        return leave_if(wait > REST_MAX);
    }
    if front.is_full(usage) && wait > horizon(host, politeness) {
        return Eviction::Leave;
    }
    if front.is_overfull(usage) {
        return Eviction::Ready { rests: wait > SHORT_WAIT.min(delay(host, politeness) / 2) };
    }
    Eviction::Stay
}

/// Returns true if nothing prevents a host that is not on a visit from leaving.
pub(super) fn may_leave(host: &HostEntry) -> bool {
    host.robots_queue.is_none() && !host.window.is_refilling()
}

/// Returns true if a host should leave to free memory.
pub(super) fn is_resting(host: &HostEntry, politeness: &Politeness, now: Timestamp) -> bool {
    matches!(host.phase, HostPhase::Waiting | HostPhase::Asleep)
        && may_leave(host)
        && host.state.wait(now) > horizon(host, politeness)
}

/// Returns the minimum rest of a host after a request.
fn delay(host: &HostEntry, politeness: &Politeness) -> Duration {
    host.pace(politeness).wait(Duration::ZERO).0
}

fn horizon(host: &HostEntry, politeness: &Politeness) -> Duration {
    delay(host, politeness).saturating_mul(2).max(HORIZON_MIN)
}
