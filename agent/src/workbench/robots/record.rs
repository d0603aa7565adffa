//! State of a robots.txt: what a record means at a given time, and its update by an answer (RFC 9309
//! section 2.3.1).

use crate::messages::{RobotsOutcome, RobotsRecord};
use crivello_common::config::Politeness;
use crivello_common::politeness::{ROBOTS_TRIES_MAX, robots_rest};
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;
use std::time::Duration;

/// Maximum age of a record before a new request (RFC 9309 section 2.4): a day.
const AGE_MAX: Duration = Duration::from_secs(24 * 3600);

/// The state of an origin's robots.txt at a given time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Freshness {
    /// These rules are in force.
    Open(Arc<Rules>),
    /// The robots.txt must be requested before anything else of this origin.
    Request {
        /// True if the last request failed, and no older rules are known.
        failing: bool,
    },
    /// The last request failed; the next one is due at this time.
    Wait(Timestamp),
    /// Requests failed so often that the origin's URLs are set aside.
    GivenUp,
    /// The host has the maximum number of other origins: the URLs of this one are set aside.
    TooManyOrigins,
}

/// Returns the state of `record` at `now`. However short `robots_age_max` is, rules serve for one
/// visit: until `last_ended`, of the host's last request or of a visit whose URLs are all disallowed, is later than
/// the request for robots.txt.
pub fn freshness(
    record: Option<&RobotsRecord>,
    now: Timestamp,
    last_ended: Timestamp,
    politeness: &Politeness,
) -> Freshness {
    let Some(record) = record else {
        return Freshness::Request { failing: false };
    };
    let again = asked_again(record, last_ended, politeness);
    match &record.rules {
        _ if now >= again => Freshness::Request {
            failing: record.unreachable_since.is_some() && record.rules.is_none(),
        },
        Some(rules) => Freshness::Open(Arc::clone(rules)),
        None if record.failures >= ROBOTS_TRIES_MAX => Freshness::GivenUp,
        None => Freshness::Wait(again),
    }
}

/// Returns the time of the next request for an origin's robots.txt; `record` is valid until then.
#[must_use]
pub fn asked_again(
    record: &RobotsRecord,
    last_ended: Timestamp,
    politeness: &Politeness,
) -> Timestamp {
    let age_max = politeness.robots_age_max.min(AGE_MAX);
    match record.unreachable_since {
        None if last_ended <= record.asked => record.asked + AGE_MAX,
        None => record.asked + age_max,
        Some(_) if record.rules.is_none() && record.failures >= ROBOTS_TRIES_MAX => {
            record.asked + age_max
        }
        Some(_) => record.asked + robots_rest(record.failures, politeness).min(age_max),
    }
}

/// Returns the record after an answer that is no redirect. If it may not lift what the rules in
/// force disallow, its own rules apply in addition to them.
pub fn learn(
    before: Option<&RobotsRecord>,
    found: &RobotsOutcome,
    may_lift: bool,
    now: Timestamp,
) -> RobotsRecord {
    let in_force = before.and_then(|before| before.rules.as_ref()).filter(|_| !may_lift);
    let reached = |rules: Arc<Rules>| RobotsRecord {
        asked: now,
        fetched: now,
        unreachable_since: None,
        failures: 0,
        rules: Some(in_force.map_or_else(|| Arc::clone(&rules), |old| old.and(&rules).shared())),
    };
    match found {
        RobotsOutcome::Rules(rules) => reached(Arc::clone(rules)),
        RobotsOutcome::Missing => reached(Rules::allow_all().shared()),
        RobotsOutcome::Unreachable | RobotsOutcome::Redirect(_) => RobotsRecord {
            asked: now,
            fetched: before.map_or(Timestamp::ZERO, |b| b.fetched),
            unreachable_since: before.and_then(|b| b.unreachable_since).or(Some(now)),
            failures: before.map_or(0, |b| b.failures).saturating_add(1),
            rules: before.and_then(|b| b.rules.clone()),
        },
    }
}

/// Replaces or adds the record of one origin.
pub fn set_record(
    robots: &mut Box<[(Origin, RobotsRecord)]>,
    origin: Origin,
    record: RobotsRecord,
) {
    if let Some(slot) = robots.iter_mut().find(|(o, _)| *o == origin) {
        slot.1 = record;
    } else {
        let mut all = std::mem::take(robots).into_vec();
        all.reserve_exact(1);
        all.push((origin, record));
        *robots = all.into_boxed_slice();
    }
}
