//! The last fetches, in a ring under a lock that is held for some hundred nanoseconds.

use crate::limits::{FETCH_URL_SHOWN, FETCHES_REMEMBERED};
use crate::messages::{FetchOutcome, Fetched};
use crivello_common::failure::Failure;
use crivello_common::hash::HostKey;
use crivello_common::time::{Timestamp, micros};
use crivello_common::view::AgentId;
use crivello_proto::v1;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// The last fetches of this agent, successful or not.
#[derive(Debug)]
pub struct RecentFetches {
    fetches: Mutex<VecDeque<Fetch>>,
    max: usize,
}

/// One request and its result.
#[derive(Clone, Debug)]
struct Fetch {
    at: Timestamp,
    host: HostKey,
    url: Box<str>,
    end: Result<u16, Failure>,
    took: Duration,
    bytes: u64,
    address: IpAddr,
}

impl Default for RecentFetches {
    fn default() -> Self {
        Self::new(FETCHES_REMEMBERED)
    }
}

impl RecentFetches {
    /// Creates an empty list of at most `max` fetches.
    #[must_use]
    pub fn new(max: usize) -> Self {
        Self { fetches: Mutex::default(), max }
    }

    /// Records a result. Discarded URLs were not requested, and are not recorded.
    pub fn push(&self, fetched: &Fetched) {
        let (end, bytes) = match &fetched.outcome {
            FetchOutcome::Response(response) => (Ok(response.status), response.body.len() as u64),
            FetchOutcome::Failed(kind) => (Err(*kind), 0),
            FetchOutcome::Discarded(_) => return,
        };
        let fetch = Fetch {
            at: fetched.at,
            host: fetched.host,
            url: cut(fetched.url.as_str()).into(),
            end,
            took: fetched.took,
            bytes,
            address: fetched.address,
        };
        let mut fetches = self.fetches.lock();
        let oldest = if fetches.len() >= self.max { fetches.pop_front() } else { None };
        fetches.push_back(fetch);
        drop(fetches);
        // Freed after the lock is released.
        drop(oldest);
    }

    /// Returns the last fetches, newest first; `agent` is this agent.
    pub fn last(&self, max: usize, failed_only: bool, agent: AgentId) -> Vec<v1::FetchSummary> {
        self.select(max, agent, |fetch| !failed_only || fetch.is_failed())
    }

    /// Returns the last fetches of one host, newest first; `agent` is this agent.
    pub fn of_host(&self, host: HostKey, max: usize, agent: AgentId) -> Vec<v1::FetchSummary> {
        self.select(max, agent, |fetch| fetch.host == host)
    }

    /// Returns the time and the status of the last fetch of `url`, if it is remembered and did not
    /// fail.
    pub fn page_of(&self, url: &str) -> Option<(Timestamp, u16)> {
        if url.len() > FETCH_URL_SHOWN {
            return None; // Only the beginning of long URLs is remembered.
        }
        let fetches = self.fetches.lock();
        let last = fetches.iter().rev().find(|fetch| *fetch.url == *url)?;
        Some((last.at, last.end.ok()?))
    }

    fn select(
        &self,
        max: usize,
        agent: AgentId,
        is_selected: impl Fn(&Fetch) -> bool,
    ) -> Vec<v1::FetchSummary> {
        let fetches = self.fetches.lock();
        let selected: Vec<Fetch> =
            fetches.iter().rev().filter(|fetch| is_selected(fetch)).take(max).cloned().collect();
        drop(fetches);
        selected.iter().map(|fetch| fetch.summary(agent)).collect()
    }
}

impl Fetch {
    fn is_failed(&self) -> bool {
        self.end.is_ok_and(|status| status >= 400) || self.end.is_err()
    }

    fn summary(&self, agent: AgentId) -> v1::FetchSummary {
        v1::FetchSummary {
            at: self.at.0,
            url: self.url.to_string(),
            status: self.end.map_or(0, u32::from),
            failure: self.end.err().map(|kind| kind.name().to_owned()).unwrap_or_default(),
            took_us: micros(self.took),
            bytes: self.bytes,
            address: self.address.to_string(),
            agent: agent.0,
        }
    }
}

/// Returns the part of a URL that is remembered.
fn cut(url: &str) -> &str {
    &url[..url.floor_char_boundary(FETCH_URL_SHOWN)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::discard::Discard;
    use crivello_common::identity::KeyedHasher;
    use crivello_common::url::CrawlUrl;

    fn fetched(url: &str, at: u64, outcome: FetchOutcome) -> Fetched {
        let url = CrawlUrl::parse(url).unwrap();
        Fetched {
            host: KeyedHasher::with_public_key().host_key(url.host()),
            name: url.host().into(),
            row: None,
            url,
            address: "192.0.2.7".parse().unwrap(),
            at: Timestamp::from_secs(at),
            took: Duration::from_millis(210),
            outcome,
            handed_out: crate::messages::HandedOut::default(),
            signals: None,
            traced: None,
            payload: None,
        }
    }

    fn page(status: u16) -> FetchOutcome {
        FetchOutcome::Response(Box::new(crate::messages::Response {
            status,
            version: http::Version::HTTP_11,
            headers: http::HeaderMap::new(),
            request_head: bytes::Bytes::new(),
            address: "192.0.2.7:80".parse().unwrap(),
            certificate: None,
            body: bytes::Bytes::from_static(b"four"),
            truncated: None,
            reservation: None,
        }))
    }

    #[test]
    fn the_last_fetches_are_remembered() {
        let recent = RecentFetches::new(3);
        for n in 0..5 {
            recent.push(&fetched(&format!("http://a.test/{n}"), n, page(200)));
        }
        recent.push(&fetched("http://a.test/x", 9, FetchOutcome::Discarded(Discard::Robots)));
        let urls: Vec<_> = recent.last(9, false, AgentId(1)).into_iter().map(|f| f.url).collect();
        assert_eq!(urls, ["http://a.test/4", "http://a.test/3", "http://a.test/2"]);
        assert_eq!(recent.last(1, false, AgentId(1)).len(), 1);
        assert_eq!(recent.page_of("http://a.test/4"), Some((Timestamp::from_secs(4), 200)));
        assert_eq!(recent.page_of("http://a.test/0"), None);
    }

    #[test]
    fn fetches_are_selected_by_failure_and_by_host() {
        let recent = RecentFetches::default();
        recent.push(&fetched("http://a.test/1", 1, page(404)));
        recent.push(&fetched("http://b.test/", 2, page(200)));
        recent.push(&fetched("http://a.test/2", 3, FetchOutcome::Failed(Failure::ConnectRefused)));
        let failed = recent.last(9, true, AgentId(7));
        let summaries: Vec<_> =
            failed.iter().map(|f| (f.at, f.status, &*f.failure, f.bytes, f.agent)).collect();
        assert_eq!(
            summaries,
            [(3_000_000, 0, "connect-refused", 0, 7), (1_000_000, 404, "", 4, 7)]
        );
        assert_eq!((failed[0].took_us, &*failed[0].address), (210_000, "192.0.2.7"));
        let b = KeyedHasher::with_public_key()
            .host_key(CrawlUrl::parse("http://b.test/").unwrap().host());
        assert_eq!(recent.of_host(b, 9, AgentId(7)).len(), 1);
        assert_eq!(recent.page_of("http://a.test/2"), None, "the last fetch of this URL failed");
    }

    #[test]
    fn a_long_url_is_cut_at_a_character() {
        let recent = RecentFetches::default();
        let long = format!("http://a.test/{}", "%C3%A4x".repeat(200));
        recent.push(&fetched(&long, 1, page(200)));
        let url = &recent.last(1, false, AgentId(0))[0].url;
        assert!(url.len() <= FETCH_URL_SHOWN && long.starts_with(&**url));
        assert_eq!(recent.page_of(&long), None, "a truncated URL is ambiguous");
    }
}
