//! Joins of values; each is commutative, associative and idempotent.

use crate::messages::{Queued, RobotsRecord};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::HostState;

/// Joins host states: the later times, the heavier backoff, and the larger counters.
pub fn join_states(ours: &mut HostState, theirs: &HostState) {
    if (theirs.next, theirs.rule.code()) > (ours.next, ours.rule.code()) {
        (ours.next, ours.rule) = (theirs.next, theirs.rule);
    }
    if (theirs.rests, theirs.rest_rule.code()) > (ours.rests, ours.rest_rule.code()) {
        (ours.rests, ours.rest_rule) = (theirs.rests, theirs.rest_rule);
    }
    ours.last_ended = ours.last_ended.max(theirs.last_ended);
    ours.certified |= theirs.certified;
    ours.slow_level = ours.slow_level.max(theirs.slow_level);
    ours.slowed_until = ours.slowed_until.max(theirs.slowed_until);
    for kind in Failure::ALL {
        ours.failures.set(kind, ours.failures.of(kind).max(theirs.failures.of(kind)));
    }
    ours.requests = ours.requests.max(theirs.requests);
    ours.served_us = ours.served_us.max(theirs.served_us);
    ours.rested_us = ours.rested_us.max(theirs.rested_us);
}

/// Joins closings: closed wins over open, and of two reasons `Forgotten`, else the one with the smaller code.
pub fn join_closed(ours: Option<Discard>, theirs: Option<Discard>) -> Option<Discard> {
    let rank = |reason: &Discard| (*reason != Discard::Forgotten, reason.code());
    ours.into_iter().chain(theirs).min_by_key(rank)
}

/// Joins queued URLs: the smaller depth with the fewer redirects, the larger number of failed attempts, the better finder, and
/// the better priority unless `ours` is a pending page, and the data of earlier fetches with the larger
/// encoding. Both wait for the same fetch. Returns true if `ours` changed.
pub fn join_queued(ours: &mut Queued, theirs: &Queued) -> bool {
    let state = |url: &Queued| {
        let distance = (url.depth, url.redirects);
        (distance, url.attempts, url.kind, url.finder, url.queue_key.priority)
    };
    let before = state(ours);
    let is_other = join_revisits(ours, theirs);
    (ours.depth, ours.redirects) =
        (ours.depth, ours.redirects).min((theirs.depth, theirs.redirects));
    ours.attempts = ours.attempts.max(theirs.attempts);
    if theirs.kind as u8 > ours.kind as u8 {
        ours.kind = theirs.kind;
    }
    ours.finder = ours.finder.min(theirs.finder);
    if !ours.queue_key.is_pending() {
        ours.queue_key.priority = ours.queue_key.priority.min(theirs.queue_key.priority);
    }
    is_other || before != state(ours)
}

/// Joins the data of earlier fetches. Returns true if `ours` changed.
fn join_revisits(ours: &mut Queued, theirs: &Queued) -> bool {
    let sent = |url: &Queued| url.revisit.as_ref().map(|revisit| revisit.elsewhere().encode());
    let takes = theirs.revisit.is_some() && sent(theirs) > sent(ours);
    if takes {
        ours.revisit.clone_from(&theirs.revisit);
    }
    takes
}

/// Returns true if `theirs` replaces `ours`: the later request, or between equal times the larger
/// encoding.
pub fn is_newer(theirs: &RobotsRecord, ours: &RobotsRecord) -> bool {
    let times = |r: &RobotsRecord| (r.asked, r.fetched);
    let bytes = RobotsRecord::encode;
    times(theirs).cmp(&times(ours)).then_with(|| bytes(theirs).cmp(&bytes(ours))).is_gt()
}
