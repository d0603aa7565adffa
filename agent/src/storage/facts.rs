//! Facts as bytes: rows of the outbox, and messages between agents.
//!
//! A byte for the kind, then LEB128 numbers and length-prefixed texts. A URL that was just found is
//! encoded as a queued one. The receiver computes the hash of a host from its name.

use super::values::{RobotsRow, UrlOutcome, decode_queued, encode_queued};
use super::{RowReader, RowWriter};
use crate::messages::{Fact, Found, QueueKey, Queued};
use bytes::Bytes;
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostHash, HostKey, UrlHash, UrlKey};
use crivello_common::politeness::HostState;
use crivello_common::url::{Origin, Scheme};
use std::sync::Arc;

const QUEUED: u8 = 1;
const DONE: u8 = 2;
const HOST: u8 = 3;
const ROBOTS: u8 = 4;

/// Encodes a fact.
#[must_use]
pub fn encode(fact: &Fact) -> Vec<u8> {
    match fact {
        Fact::Queued { host, name, url } => queued(host.group, name, url),
        Fact::Done { url, outcome } => {
            let mut w = RowWriter::versioned(DONE);
            w.rest(&url.group.to_bytes()).rest(&url.url.to_bytes()).rest(&outcome.encode());
            w.finish()
        }
        Fact::Host { host, name, state, closed, pages, bytes } => {
            let mut w = headed(HOST, host.group, name);
            w.number(closed.map_or(0, |reason| u64::from(reason.code()) + 1))
                .number(*pages)
                .number(*bytes)
                .rest(&state.to_bytes());
            w.finish()
        }
        Fact::Robots { host, name, origin, record } => {
            let mut w = headed(ROBOTS, host.group, name);
            w.byte(origin.scheme as u8).rest(&origin.port.to_be_bytes());
            w.rest(&RobotsRow::encode(record));
            w.finish()
        }
    }
}

/// Encodes the fact that `found` is queued.
#[must_use]
pub fn encode_found(found: &Found) -> Vec<u8> {
    queued(found.host.group, found.url.host(), &as_queued(found))
}

/// Returns the row of a URL that was just found; its queue key is not assigned yet.
#[must_use]
pub fn as_queued(found: &Found) -> Queued {
    Queued {
        queue_key: QueueKey::default(),
        hash: found.hash,
        origin: found.url.origin(),
        path: found.url.path_and_query().into(),
        depth: found.depth,
        attempts: 0,
        kind: found.kind,
    }
}

fn headed(kind: u8, group: GroupHash, name: &str) -> RowWriter {
    let mut w = RowWriter(Vec::with_capacity(96));
    w.byte(kind).rest(&group.to_bytes()).bytes(name.as_bytes());
    w
}

fn queued(group: GroupHash, name: &str, url: &Queued) -> Vec<u8> {
    let mut w = headed(QUEUED, group, name);
    w.rest(&encode_queued(url));
    w.finish()
}

/// Decodes a fact of [`encode`]; `None` if it is malformed.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<Fact> {
    let mut r = RowReader(bytes);
    let kind = r.byte()?;
    let group = GroupHash::from_bytes(r.array()?);
    if kind == DONE {
        let url = UrlKey { group, url: UrlHash::from_bytes(r.array()?) };
        return Some(Fact::Done { url, outcome: UrlOutcome::read(r.rest())? });
    }
    let name: Arc<str> = r.text().filter(|name| !name.is_empty())?.into();
    let host = HostKey { group, host: HostHash::of(&name) };
    Some(match kind {
        QUEUED => {
            let url = decode_queued(QueueKey::default(), r.rest()).ok()?;
            if !url.path.starts_with('/') {
                return None;
            }
            Fact::Queued { host, name, url }
        }
        HOST => {
            let closed = match r.small::<u16>()? {
                0 => None,
                code => Some(Discard::from_code(u8::try_from(code - 1).ok()?)?),
            };
            let (pages, bytes) = (r.number()?, r.number()?);
            let state = HostState::from_bytes(r.rest()).ok()?;
            Fact::Host { host, name, state, closed, pages, bytes }
        }
        ROBOTS => {
            let scheme = Scheme::from_code(r.byte()?)?;
            let origin = Origin { scheme, port: u16::from_be_bytes(r.array()?) };
            let record = RobotsRow::decode(r.rest()).ok()?;
            Fact::Robots { host, name, origin, record }
        }
        _ => return None,
    })
}

/// Converts the times in a fact from a clock that is `micros` microseconds behind. A fact that
/// cannot be decoded is returned as it is.
#[must_use]
pub fn on_clock_ahead(bytes: Bytes, micros: i64) -> Bytes {
    if !matches!(bytes.first(), Some(&(HOST | ROBOTS))) {
        return bytes;
    }
    let Some(mut fact) = decode(&bytes) else { return bytes };
    match &mut fact {
        Fact::Host { state, .. } => state.convert_to_clock_ahead(micros),
        Fact::Robots { record, .. } => {
            record.asked = record.asked.on_clock_ahead(micros);
            record.fetched = record.fetched.on_clock_ahead(micros);
            let since = record.unreachable_since;
            record.unreachable_since = since.map(|at| at.on_clock_ahead(micros));
        }
        Fact::Queued { .. } | Fact::Done { .. } => {}
    }
    encode(&fact).into()
}

/// Returns the group of a fact without decoding the rest.
#[must_use]
pub fn group_of(bytes: &[u8]) -> Option<GroupHash> {
    bytes.get(1..9)?.try_into().ok().map(GroupHash::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::values::ArchivedPage;
    use super::*;
    use crate::messages::{LinkKind, RobotsRecord};
    use crivello_common::config::AssignBy;
    use crivello_common::failure::Failure;
    use crivello_common::robots::Rules;
    use crivello_common::time::Timestamp;
    use crivello_common::url::CrawlUrl;
    use crivello_common::view::AgentId;
    use proptest::prelude::*;

    fn found(url: &str) -> Found {
        let url = CrawlUrl::parse(url).unwrap();
        let (host, hash) = (url.host_key(AssignBy::Domain), url.hash());
        Found { url, host, hash, depth: 7, kind: LinkKind::Sitemap }
    }

    fn samples() -> Vec<Fact> {
        let found = found("https://www.site.example:8443/a?b=c");
        let (host, name) = (found.host, Arc::<str>::from(found.url.host()));
        let url = UrlKey { group: host.group, url: found.hash };
        let at = Timestamp::from_secs(77);
        let state = HostState { next: at, requests: 3, ..HostState::default() };
        let rules = Some(Arc::new(Rules::parse(b"User-agent: *\nDisallow: /x\n", "c")));
        let record =
            RobotsRecord { asked: at, fetched: at, unreachable_since: None, failures: 2, rules };
        let fetched = UrlOutcome::Fetched { at, status: 404, record: None, page: None };
        let kept = ArchivedPage { by: AgentId(3), name: name.clone(), url: as_queued(&found) };
        let page = Some(Arc::new(kept));
        let by = UrlOutcome::Fetched { at, status: 200, record: None, page };
        vec![
            Fact::Queued { host, name: name.clone(), url: as_queued(&found) },
            Fact::Done { url, outcome: fetched },
            Fact::Done { url, outcome: by },
            Fact::Done { url, outcome: UrlOutcome::Failed(Failure::Tls) },
            Fact::Host {
                host,
                name: name.clone(),
                state: state.clone(),
                closed: None,
                pages: 5,
                bytes: 1 << 40,
            },
            Fact::Host {
                host,
                name: name.clone(),
                state,
                closed: Some(Discard::HostLimit),
                pages: 0,
                bytes: 0,
            },
            Fact::Robots { host, name, origin: found.url.origin(), record },
        ]
    }

    #[test]
    fn every_fact_survives_and_says_its_group() {
        for fact in samples() {
            let bytes = encode(&fact);
            assert_eq!(decode(&bytes), Some(fact));
            assert_eq!(group_of(&bytes), Some(found("http://site.example/").host.group));
        }
        let found = found("http://a.example/x");
        let (host, name) = (found.host, Arc::from(found.url.host()));
        let fact = Fact::Queued { host, name, url: as_queued(&found) };
        assert_eq!(encode_found(&found), encode(&fact));
    }

    #[test]
    fn times_are_put_right_by_clocks_that_differ() {
        for fact in samples() {
            let told = Bytes::from(encode(&fact));
            let hour = 3_600_000_000;
            let here = on_clock_ahead(told.clone(), hour);
            if let (Some(Fact::Host { state, .. }), Fact::Host { state: theirs, .. }) =
                (decode(&here), &fact)
            {
                assert_eq!(state.next, Timestamp::from_secs(3_677));
                assert_eq!(theirs.last_ended, Timestamp::ZERO, "a time of zero was changed");
                assert_eq!(state.last_ended, Timestamp::ZERO);
            }
            assert_eq!(on_clock_ahead(here, -hour), told);
            assert_eq!(on_clock_ahead(told.slice(..5), hour), told.slice(..5));
        }
    }

    #[test]
    fn what_is_no_fact_is_refused() {
        for fact in samples() {
            let bytes = encode(&fact);
            // Only the head is cut: a shorter URL is another URL, and shorter rules may still be
            // rules.
            for cut in 0..9 {
                assert_eq!(decode(&bytes[..cut]), None);
            }
            let mut other = bytes.clone();
            other[0] = 9;
            assert_eq!(decode(&other), None);
        }
        assert_eq!(group_of(&[1, 2]), None);
    }

    proptest! {
        #[test]
        fn garbage_is_refused_quietly(bytes: Vec<u8>, at in 0usize..120, with: u8) {
            let _ = decode(&bytes);
            for fact in samples() {
                let mut bytes = encode(&fact);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = with;
                }
                let _ = decode(&bytes);
            }
        }
    }
}
