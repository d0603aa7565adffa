//! The last fetches, in a ring: one short lock for each of them, some hundred nanoseconds.

use crate::limits::{FETCH_URL_SHOWN, FETCHES_REMEMBERED};
use crate::messages::{FetchOutcome, Fetched};
use crivello_common::failure::Failure;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_proto::v1;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// See the module.
#[derive(Debug)]
pub struct Recent {
    fetches: Mutex<VecDeque<Fetch>>,
    most: usize,
}

/// One request and what came of it.
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

impl Default for Recent {
    fn default() -> Self {
        Self::new(FETCHES_REMEMBERED)
    }
}

impl Recent {
    /// Remembers at most so many.
    #[must_use]
    pub fn new(most: usize) -> Self {
        Self { fetches: Mutex::default(), most }
    }

    /// A result; what was not asked for on the web is none.
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
        let oldest = if fetches.len() >= self.most { fetches.pop_front() } else { None };
        fetches.push_back(fetch);
        drop(fetches);
        // Not under the lock.
        drop(oldest);
    }

    /// The last of them, newest first.
    #[must_use]
    pub fn last(&self, most: usize, failed_only: bool, agent: AgentId) -> Vec<v1::FetchStory> {
        self.pick(most, agent, |fetch| !failed_only || fetch.is_failed())
    }

    /// The last of one host, newest first.
    #[must_use]
    pub fn of_host(&self, host: HostKey, most: usize, agent: AgentId) -> Vec<v1::FetchStory> {
        self.pick(most, agent, |fetch| fetch.host == host)
    }

    /// When and with which status `url` was fetched, if its last result that is remembered is a
    /// page.
    #[must_use]
    pub fn page_of(&self, url: &str) -> Option<(Timestamp, u16)> {
        if url.len() > FETCH_URL_SHOWN {
            return None; // Others may begin like it.
        }
        let fetches = self.fetches.lock();
        let last = fetches.iter().rev().find(|fetch| *fetch.url == *url)?;
        Some((last.at, last.end.ok()?))
    }

    fn pick(
        &self,
        most: usize,
        agent: AgentId,
        is_wanted: impl Fn(&Fetch) -> bool,
    ) -> Vec<v1::FetchStory> {
        let fetches = self.fetches.lock();
        let picked: Vec<Fetch> =
            fetches.iter().rev().filter(|fetch| is_wanted(fetch)).take(most).cloned().collect();
        drop(fetches);
        picked.iter().map(|fetch| fetch.tell(agent)).collect()
    }
}

impl Fetch {
    fn is_failed(&self) -> bool {
        self.end.is_ok_and(|status| status >= 400) || self.end.is_err()
    }

    fn tell(&self, agent: AgentId) -> v1::FetchStory {
        v1::FetchStory {
            at: self.at.0,
            url: self.url.to_string(),
            status: self.end.map_or(0, u32::from),
            failure: self.end.err().map(|kind| kind.name().to_owned()).unwrap_or_default(),
            took_us: u64::try_from(self.took.as_micros()).unwrap_or(u64::MAX),
            bytes: self.bytes,
            address: self.address.to_string(),
            agent: agent.0,
        }
    }
}

/// As much of a URL as is remembered.
fn cut(url: &str) -> &str {
    &url[..url.floor_char_boundary(FETCH_URL_SHOWN)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::config::AssignBy;
    use crivello_common::discard::Discard;
    use crivello_common::url::CrawlUrl;

    fn fetched(url: &str, at: u64, outcome: FetchOutcome) -> Fetched {
        let url = CrawlUrl::parse(url).unwrap();
        Fetched {
            host: url.host_key(AssignBy::Domain),
            name: url.host().into(),
            row: None,
            url,
            address: "192.0.2.7".parse().unwrap(),
            at: Timestamp::from_secs(at),
            took: Duration::from_millis(210),
            outcome,
            handed_out: crate::messages::HandedOut::default(),
            traced: None,
        }
    }

    fn page(status: u16) -> FetchOutcome {
        FetchOutcome::Response(Box::new(crate::messages::Response {
            status,
            version: http::Version::HTTP_11,
            headers: http::HeaderMap::new(),
            request_head: bytes::Bytes::new(),
            address: "192.0.2.7:80".parse().unwrap(),
            body: bytes::Bytes::from_static(b"four"),
            truncated: None,
            room: None,
        }))
    }

    #[test]
    fn the_last_are_remembered_and_the_oldest_go() {
        let recent = Recent::new(3);
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
    fn failures_and_hosts_are_picked_out_with_what_came_of_them() {
        let recent = Recent::default();
        recent.push(&fetched("http://a.test/1", 1, page(404)));
        recent.push(&fetched("http://b.test/", 2, page(200)));
        recent.push(&fetched("http://a.test/2", 3, FetchOutcome::Failed(Failure::ConnectRefused)));
        let failed = recent.last(9, true, AgentId(7));
        let told: Vec<_> =
            failed.iter().map(|f| (f.at, f.status, &*f.failure, f.bytes, f.agent)).collect();
        assert_eq!(told, [(3_000_000, 0, "connect-refused", 0, 7), (1_000_000, 404, "", 4, 7)]);
        assert_eq!((failed[0].took_us, &*failed[0].address), (210_000, "192.0.2.7"));
        let b = CrawlUrl::parse("http://b.test/").unwrap().host_key(AssignBy::Domain);
        assert_eq!(recent.of_host(b, 9, AgentId(7)).len(), 1);
        assert_eq!(recent.page_of("http://a.test/2"), None, "its last result was none");
    }

    #[test]
    fn a_long_url_is_cut_between_letters() {
        let recent = Recent::default();
        let long = format!("http://a.test/{}", "%C3%A4x".repeat(200));
        recent.push(&fetched(&long, 1, page(200)));
        let told = &recent.last(1, false, AgentId(0))[0].url;
        assert!(told.len() <= FETCH_URL_SHOWN && long.starts_with(&**told));
        assert_eq!(recent.page_of(&long), None, "others begin like it");
    }
}
