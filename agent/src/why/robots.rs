//! What is known of a robots.txt, in words.

use super::words::times;
use crate::messages::RobotsRecord;
use crivello_common::politeness::ROBOTS_TRIES_MAX;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin};
use crivello_proto::v1;

/// What is known of one origin's robots.txt.
#[derive(Clone, Debug)]
pub struct OriginFacts {
    /// Scheme and port.
    pub origin: Origin,
    /// What the last answers were.
    pub record: RobotsRecord,
    /// When it is asked for again.
    pub again: Timestamp,
}

impl OriginFacts {
    pub(super) fn tell(&self, host: &str) -> v1::OriginRobots {
        let delay = self.record.rules.as_ref().and_then(|rules| rules.crawl_delay());
        v1::OriginRobots {
            origin: self.origin.on_host(host),
            state: self.state(),
            fetched: self.record.fetched.0,
            expires: self.again.0,
            crawl_delay_ms: delay.map(|d| u64::try_from(d.as_millis()).unwrap_or(u64::MAX)),
        }
    }

    fn state(&self) -> String {
        let RobotsRecord { unreachable_since, failures, rules, .. } = &self.record;
        let in_a_row = times((*failures).into());
        match (unreachable_since, rules) {
            (None, None) => "asked for, and not answered".to_owned(),
            (None, Some(rules)) if **rules == Rules::allow_all() => "all is allowed".to_owned(),
            (None, Some(_)) => "rules known".to_owned(),
            (Some(_), Some(_)) => {
                format!("out of reach, {in_a_row} in a row: the last rules known go on to hold")
            }
            (Some(_), None) if *failures >= ROBOTS_TRIES_MAX => {
                format!("out of reach, {in_a_row} in a row: given up, its URLs are set aside")
            }
            (Some(_), None) => {
                format!("out of reach, {in_a_row} in a row: nothing is allowed meanwhile")
            }
        }
    }
}

/// Why a robots.txt that is known of is asked for anew.
pub(super) const fn why_asked(origin: &OriginFacts) -> &'static str {
    if origin.record.unreachable_since.is_some() {
        "which was out of reach"
    } else {
        "whose rules have had their time (politeness.robots-age-max)"
    }
}

/// The line of robots.txt by which a URL is disallowed; `None` when it is allowed, as far as is
/// known.
#[must_use]
pub fn decisive(robots: &[OriginFacts], url: &CrawlUrl) -> Option<String> {
    let origin = robots.iter().find(|origin| origin.origin == url.origin())?;
    let decision = origin.record.rules.as_ref()?.decide(url.path_and_query());
    match decision.by {
        _ if decision.allowed => None,
        Some(rule) => Some(format!("line {}: {}", rule.line, rule.text)),
        None => Some("nothing is allowed".to_owned()),
    }
}
