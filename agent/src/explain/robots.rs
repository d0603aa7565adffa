//! Facts about the robots.txt of a host.

use crate::messages::RobotsRecord;
use crivello_common::politeness::ROBOTS_TRIES_MAX;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin};
use crivello_proto::v1::{RobotsNeed, RobotsRule, RobotsState, RobotsStatus};
use std::time::Duration;

/// The facts about one origin's robots.txt.
#[derive(Clone, Debug)]
pub struct OriginFacts {
    /// Scheme and port.
    pub origin: Origin,
    /// The result of the last requests.
    pub record: RobotsRecord,
    /// The time of the next request for it.
    pub next_request: Timestamp,
}

impl OriginFacts {
    pub(super) fn status(&self, host: &str) -> RobotsStatus {
        let delay = self.record.rules.as_ref().and_then(|rules| rules.crawl_delay());
        RobotsStatus {
            origin: self.origin.on_host(host),
            state: self.state().into(),
            failures: self.record.failures,
            fetched: self.record.fetched.0,
            expires: self.next_request.0,
            crawl_delay_ms: delay.map(millis),
        }
    }

    fn state(&self) -> RobotsState {
        let RobotsRecord { unreachable_since, failures, rules, .. } = &self.record;
        match (unreachable_since, rules) {
            (None, None) => RobotsState::Requested,
            (None, Some(rules)) if **rules == Rules::allow_all() => RobotsState::AllAllowed,
            (None, Some(_)) => RobotsState::Rules,
            (Some(_), Some(_)) => RobotsState::LastRules,
            (Some(_), None) if *failures >= ROBOTS_TRIES_MAX => RobotsState::GivenUp,
            (Some(_), None) => RobotsState::Unreachable,
        }
    }
}

/// Returns the reason for which a robots.txt is requested.
pub(super) const fn need(known: Option<&OriginFacts>) -> RobotsNeed {
    match known {
        None => RobotsNeed::Unknown,
        Some(known) if known.record.unreachable_since.is_some() => RobotsNeed::Unreachable,
        Some(_) => RobotsNeed::Expired,
    }
}

/// Returns the line of robots.txt that disallows a URL; `None` if none is known to disallow it.
#[must_use]
pub fn disallowing_rule(robots: &[OriginFacts], url: &CrawlUrl) -> Option<RobotsRule> {
    let origin = robots.iter().find(|origin| origin.origin == url.origin())?;
    let decision = origin.record.rules.as_ref()?.decide(url.path_and_query());
    if decision.allowed {
        return None;
    }
    let rule = decision.by.map(|rule| RobotsRule { line: rule.line, text: rule.text });
    Some(rule.unwrap_or_default())
}

/// Returns whole milliseconds, rounded up.
pub(super) fn millis(d: Duration) -> u64 {
    u64::try_from(d.as_micros().div_ceil(1_000)).unwrap_or(u64::MAX)
}
