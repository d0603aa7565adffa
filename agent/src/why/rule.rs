//! The rule that set a host's next time, in words, with what led to it.

use super::facts::Facts;
use super::words::{span, times};
use crivello_common::failure::Failure;
use crivello_common::politeness::{HostState, WaitRule};
use crivello_common::time::Timestamp;

/// More failures than ever give a host up.
const TRIES_MAX: u8 = 100;

/// See the module.
pub(super) fn words(facts: &Facts<'_>, state: &HostState) -> String {
    let wait = span(state.next.since(state.last_ended));
    match state.rule {
        WaitRule::Delay if facts.pace().domain_delay.is_some() => {
            format!("the delay of its domain, {wait} after the last request (politeness.domains)")
        }
        WaitRule::Delay => {
            format!("the delay of {wait} after the last request (politeness.delay)")
        }
        WaitRule::CrawlDelay => crawl_delay(facts, &wait),
        WaitRule::Relative => format!(
            "{} times the time that the last answer took: {wait} (politeness.relative-factor)",
            facts.settings.politeness.relative_factor
        ),
        WaitRule::RetryAfter => format!(
            "it answered 429 or 503 with a Retry-After, {} in a row",
            times(slow_downs(state))
        ),
        WaitRule::Backoff => format!(
            "backoff: it answered 429 or 503 without a Retry-After, {} in a row \
             (politeness.backoff-first)",
            times(slow_downs(state))
        ),
        WaitRule::RobotsUnreachable => robots(facts, state),
        WaitRule::StartUp => "caution: the last run was killed, and nobody knows how lately the \
                              host was visited: it waits for one delay from the start"
            .to_owned(),
        WaitRule::AddressChange => "its name leads to another address: connections to the old one \
                                    are closed first (fetch.keep-alive)"
            .to_owned(),
        WaitRule::Failure(kind) => failure(kind, state),
        WaitRule::Nothing if facts.settings.limits.pages_per_domain_max.is_some() => {
            "the last pages of its domain are promised to other hosts of it \
             (limits.pages-per-domain-max)"
                .to_owned()
        }
        WaitRule::Nothing => "it is held back for a moment".to_owned(),
    }
}

/// So many answers of 429 or 503 in a row.
fn slow_downs(state: &HostState) -> u64 {
    u64::from(state.failures.of(Failure::SlowDown)).max(1)
}

fn crawl_delay(facts: &Facts<'_>, wait: &str) -> String {
    let most = facts.settings.politeness.crawl_delay_max;
    match facts.crawl_delay() {
        Some(asked) if asked > most => format!(
            "Crawl-delay: its robots.txt asks for {}, which counts as {} \
             (politeness.crawl-delay-max)",
            span(asked),
            span(most)
        ),
        Some(asked) => {
            format!("Crawl-delay: its robots.txt asks for {} between requests", span(asked))
        }
        None => format!("Crawl-delay: its robots.txt asked for {wait} between requests"),
    }
}

fn robots(facts: &Facts<'_>, state: &HostState) -> String {
    // What kept it out of reach, where that was no answer of 5xx or 429.
    let kinds: Vec<&str> = state.failures.iter().map(|(kind, _)| kind.name()).collect();
    let because = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    let silent = |record: &crate::messages::RobotsRecord| {
        record.unreachable_since.is_some() && record.rules.is_none()
    };
    match facts.robots.iter().find(|origin| silent(&origin.record)) {
        Some(origin) => format!(
            "{}/robots.txt is out of reach, {} in a row{because}: nothing is fetched without it",
            origin.origin.on_host(facts.name),
            times(origin.record.failures.into())
        ),
        None => format!("its robots.txt is out of reach{because}: nothing is fetched without it"),
    }
}

fn failure(kind: Failure, state: &HostState) -> String {
    let n_so_far = u64::from(state.failures.of(kind)).max(1);
    let left = match until_given_up(kind, state) {
        Some(1) => "; one more and the host is given up".to_owned(),
        Some(n) => format!("; {n} more and the host is given up"),
        None => String::new(),
    };
    let so_far = times(n_so_far);
    format!("backoff after {}, {so_far} in a row (politeness.backoff-first){left}", kind.name())
}

/// How many more failures of this kind give the host up.
fn until_given_up(kind: Failure, state: &HostState) -> Option<u8> {
    let mut then = HostState { failures: state.failures, ..HostState::default() };
    (1..TRIES_MAX).find(|_| {
        then.failures.count(kind);
        then.is_given_up()
    })
}

/// When a wait began, where that is known.
pub(super) fn ago(now: Timestamp, at: Timestamp) -> Option<String> {
    (at > Timestamp::ZERO).then(|| span(now.since(at)))
}
