//! Spans of a visit: the wait in the queue, the look-up of the host, the request.

use super::{Span, SpanId, Stage, TraceId};
use crate::messages::{FetchOutcome, Fetched, HandedOut};
use crivello_common::politeness::WaitRule;
use crivello_common::time::Timestamp;
use std::time::Duration;

/// The time at which a URL was queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueuedSince {
    /// The time.
    pub at: Timestamp,
    /// The source of the time.
    pub since: Since,
}

crivello_common::closed_set! {
    /// The source of the time at which a URL was queued.
    pub enum Since {
        /// The sieve of this agent let the URL through.
        Sieved => "sieved",
        /// An attempt failed, and the URL was queued again.
        Retry => "retry",
        /// Another agent reported it: the owner before this one, or one that this agent replicates.
        Reported => "reported",
        /// It was queued when this process began, or arrived with the group of another agent.
        Restart => "restart",
        /// Unknown: too many URLs are followed for all times to be remembered.
        Forgotten => "forgotten",
        /// Unknown: the URL was not followed before the end of its visit.
        Unsampled => "unsampled",
    }
}

/// The times of the last look-up of a host's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LookedUp {
    /// The time of the query.
    pub begin: Timestamp,
    /// The time of the answer.
    pub end: Timestamp,
}

/// The result of a visit, and the stages before it.
#[derive(Clone, Copy, Debug)]
pub struct Visited<'a> {
    /// The URL's trace.
    pub trace: TraceId,
    /// True if the URL is followed from the beginning: the trace has a span of the sieve.
    pub sampled: bool,
    /// The result.
    pub fetched: &'a Fetched,
    /// The time since which the URL has waited.
    pub queued: QueuedSince,
    /// The last look-up of the host's name, if it is remembered.
    pub looked_up: Option<LookedUp>,
}

/// Returns true if a result is followed whatever the rate: it failed, or was slow.
#[must_use]
pub fn is_bad(fetched: &Fetched, slow: Duration) -> bool {
    match &fetched.outcome {
        FetchOutcome::Failed(_) => true,
        FetchOutcome::Response(response) => response.status >= 500 || fetched.took > slow,
        FetchOutcome::Discarded(_) => false,
    }
}

impl Visited<'_> {
    /// Returns the spans of the visit, in order.
    pub fn spans(&self) -> [Span; 3] {
        let waited = self.waited();
        let parent = waited.id;
        [waited, self.resolved(parent), self.fetched(parent)]
    }

    fn salt(&self) -> u64 {
        self.fetched.at.0
    }

    fn waited(&self) -> Span {
        let HandedOut { at, rule, host_next, address, address_next } = self.fetched.handed_out;
        let parent = self.sampled && self.fetched.row.is_some();
        let parent = parent.then(|| self.trace.span(Stage::Sieved, 0));
        let mut span =
            Span::new(self.trace, (Stage::Waited, self.salt()), parent, (self.queued.at, at))
                .with("crivello.reason", reason(&self.fetched.handed_out))
                .with("crivello.rule", rule.name())
                .with("crivello.since", self.queued.since.name())
                .with("server.address", self.fetched.name.to_string())
                .with("network.peer.address", address.to_string());
        for (name, next) in
            [("crivello.host.next", host_next), ("crivello.address.next", address_next)]
        {
            if next > Timestamp::ZERO {
                span = span.with(name, next.to_string());
            }
        }
        span
    }

    /// Returns the span of the look-up; of length 0 if the look-up ended before the URL was queued.
    fn resolved(&self, parent: SpanId) -> Span {
        let handed_out = self.fetched.handed_out;
        let own = self
            .looked_up
            .filter(|look_up| look_up.end >= self.queued.at && look_up.end <= handed_out.at);
        let times = own.map_or((handed_out.at, handed_out.at), |own| (own.begin, own.end));
        Span::new(self.trace, (Stage::Resolved, self.salt()), Some(parent), times)
            .with("server.address", self.fetched.name.to_string())
            .with("network.peer.address", handed_out.address.to_string())
            .with("crivello.cached", own.is_none())
    }

    fn fetched(&self, parent: SpanId) -> Span {
        let Fetched { url, row, at, took, outcome, handed_out, .. } = self.fetched;
        let times = (*at, *at + *took);
        let span = Span::new(self.trace, (Stage::Fetched, self.salt()), Some(parent), times)
            .with("url.full", url.as_str().to_owned())
            .with("network.peer.address", handed_out.address.to_string());
        let span = match row {
            Some(row) => span
                .with("crivello.attempt", u64::from(row.attempts) + 1)
                .with("crivello.depth", u64::from(row.depth)),
            None => span.with("crivello.robots", true),
        };
        match outcome {
            FetchOutcome::Response(response) => {
                let version = match response.version {
                    http::Version::HTTP_2 => "2",
                    http::Version::HTTP_10 => "1.0",
                    _ => "1.1",
                };
                let mut span = span
                    .with("http.response.status_code", u64::from(response.status))
                    .with("http.response.body.size", response.body.len() as u64)
                    .with("network.protocol.version", version);
                if let Some(why) = response.truncated {
                    span = span.with("crivello.truncated", why.name());
                }
                Span { is_error: response.status >= 500, ..span }
            }
            FetchOutcome::Failed(failure) => {
                Span { is_error: true, ..span.with("error.type", failure.name()) }
            }
            FetchOutcome::Discarded(why) => span.with("crivello.discarded", why.name()),
        }
    }
}

/// Returns the last obstacle of the URL: the rest of its address, or the rule that set the rest of
/// its host. A host that was never visited waits for nothing.
fn reason(handed_out: &HandedOut) -> &'static str {
    let HandedOut { rule, host_next, address_next, .. } = *handed_out;
    match rule {
        _ if address_next > host_next => "address",
        WaitRule::Nothing => "none",
        rule => rule.name(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::discard::Discard;
    use crivello_common::failure::Failure;
    use crivello_common::identity::KeyedHasher;
    use crivello_common::url::CrawlUrl;
    use std::net::{IpAddr, Ipv4Addr};

    const SECOND: Duration = Duration::from_secs(1);
    const T: Timestamp = Timestamp::from_secs(1_700_000_000);

    fn fetched(outcome: FetchOutcome, took: Duration) -> Fetched {
        let url = CrawlUrl::parse("http://a.test/x").unwrap();
        let handed_out = HandedOut {
            at: T + 9 * SECOND,
            rule: WaitRule::CrawlDelay,
            host_next: T + 8 * SECOND,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            address_next: T + 7 * SECOND,
        };
        Fetched {
            host: KeyedHasher::with_public_key().host_key(url.host()),
            name: url.host().into(),
            row: None,
            url,
            address: handed_out.address,
            at: T + 10 * SECOND,
            took,
            outcome,
            handed_out,
            signals: None,
            traced: None,
            payload: None,
        }
    }

    fn spans(fetched: &Fetched, looked_up: Option<LookedUp>) -> [Span; 3] {
        let queued = QueuedSince { at: T + 2 * SECOND, since: Since::Sieved };
        Visited { trace: TraceId(5), sampled: true, fetched, queued, looked_up }.spans()
    }

    fn says(span: &Span, name: &str) -> Option<String> {
        span.attributes.iter().find(|(n, _)| *n == name).map(|(_, value)| value.to_string())
    }

    #[test]
    fn a_wait_says_which_rule_set_it_and_a_failure_says_what_failed() {
        let failed = fetched(FetchOutcome::Failed(Failure::ConnectRefused), SECOND);
        let [waited, resolved, fetched] = spans(&failed, None);
        assert_eq!((waited.begin, waited.end), (T + 2 * SECOND, T + 9 * SECOND));
        assert_eq!(says(&waited, "crivello.reason").as_deref(), Some("crawl-delay"));
        assert_eq!((resolved.parent, fetched.parent), (Some(waited.id), Some(waited.id)));
        assert_eq!(says(&resolved, "crivello.cached").as_deref(), Some("true"));
        assert!(fetched.is_error);
        assert_eq!(says(&fetched, "error.type").as_deref(), Some("connect-refused"));
        assert_eq!((fetched.begin, fetched.end), (T + 10 * SECOND, T + 11 * SECOND));
        let mut address = failed;
        address.handed_out.address_next = T + 9 * SECOND;
        assert_eq!(says(&spans(&address, None)[0], "crivello.reason").as_deref(), Some("address"));
    }

    #[test]
    fn a_look_up_counts_for_the_url_that_waited_for_it() {
        let page = fetched(FetchOutcome::Discarded(Discard::Robots), Duration::ZERO);
        let during = LookedUp { begin: T + 3 * SECOND, end: T + 4 * SECOND };
        let resolved = &spans(&page, Some(during))[1];
        assert_eq!((resolved.begin, resolved.end), (during.begin, during.end));
        let before = LookedUp { begin: T, end: T + SECOND };
        let resolved = &spans(&page, Some(before))[1];
        assert_eq!(resolved.begin, resolved.end);
    }

    #[test]
    fn what_failed_is_followed_and_what_was_not_asked_for_is_not() {
        assert!(is_bad(&fetched(FetchOutcome::Failed(Failure::Tls), Duration::ZERO), SECOND));
        assert!(!is_bad(&fetched(FetchOutcome::Discarded(Discard::Robots), 2 * SECOND), SECOND));
    }
}
