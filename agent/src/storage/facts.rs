//! Facts as bytes: rows of the outbox, and messages between agents.
//!
//! A byte for the kind, then LEB128 numbers and length-prefixed texts. A URL that was just found is
//! encoded as a queued one. The receiver computes the hash of a host from its name.

use super::values::{
    UrlOutcome, closed_number, decode_queued, encode_queued, evidence_bytes, merit_byte,
    read_closed, read_evidence, read_merit,
};
use super::{Row, RowReader, RowWriter};
use crate::messages::{
    ChangeSignal, Fact, Found, HostRequest, PRIORITY_LAST, QueueKey, Queued, RobotsRecord,
    SignalSource,
};
use bytes::Bytes;
use crivello_common::hash::{GroupHash, HostHash, HostKey, UrlHash, UrlKey};
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin, Scheme, is_normal_host};
use std::sync::Arc;

const QUEUED: u8 = 1;
const DONE: u8 = 2;
const HOST: u8 = 3;
const ROBOTS: u8 = 4;
const SIGNAL: u8 = 5;
const HOST_REQUEST: u8 = 6;
const LISTED: u8 = 7;

/// Encodes a fact.
#[must_use]
pub fn encode(fact: &Fact) -> Vec<u8> {
    match fact {
        Fact::Queued { host, name, url } => queued(host.group, name, url, None),
        Fact::Listed { host, name, url, sitemap } => queued(host.group, name, url, Some(sitemap)),
        Fact::Done { url, outcome } => {
            let url = [url.group.to_bytes(), url.url.to_bytes()].concat();
            RowWriter::versioned(DONE).rest(&url).rest(&outcome.encode()).finish()
        }
        Fact::Host {
            host,
            name,
            state,
            closed,
            pages,
            bytes,
            finder,
            resolved,
            answered,
            evidence,
        } => headed(HOST, host.group, name)
            .number(closed_number(*closed))
            .number(*pages)
            .number(*bytes)
            .byte(merit_byte(*finder, *resolved, *answered))
            .bytes(&evidence_bytes(evidence.as_deref()))
            .rest(&state.to_bytes())
            .finish(),
        Fact::Signal(ChangeSignal { url, source }) => {
            let (code, modified) = match source {
                SignalSource::Person => (0, Timestamp::ZERO),
                SignalSource::List { modified } => (1, *modified),
            };
            let url = [url.group.to_bytes(), url.url.to_bytes()].concat();
            RowWriter::versioned(SIGNAL).rest(&url).byte(code).number(modified.0).finish()
        }
        Fact::HostRequest(HostRequest { host, name, at }) => {
            headed(HOST_REQUEST, host.group, name).number(at.0).finish()
        }
        Fact::Robots { host, name, origin, record } => headed(ROBOTS, host.group, name)
            .byte(origin.scheme as u8)
            .rest(&origin.port.to_be_bytes())
            .rest(&record.encode())
            .finish(),
    }
}

/// Encodes the fact that `found` is queued or listed.
#[must_use]
pub fn encode_found(found: &Found) -> Vec<u8> {
    queued(found.host.group, found.url.host(), &as_queued(found), found.listed_by.as_deref())
}

/// Returns the row of a URL that was just found; the number of its queue key is not assigned yet.
#[must_use]
pub fn as_queued(found: &Found) -> Queued {
    Queued {
        queue_key: QueueKey { priority: found.priority, ..QueueKey::default() },
        hash: found.hash,
        origin: found.url.origin(),
        path: found.url.path_and_query().into(),
        depth: found.depth,
        redirects: found.redirects,
        attempts: 0,
        kind: found.kind,
        finder: found.finder,
        revisit: None,
    }
}

fn headed(kind: u8, group: GroupHash, name: &str) -> RowWriter {
    let mut w = RowWriter(Vec::with_capacity(96));
    w.byte(kind).rest(&group.to_bytes()).bytes(name.as_bytes());
    w
}

fn queued(group: GroupHash, name: &str, url: &Queued, listed_by: Option<&str>) -> Vec<u8> {
    let mut w = match listed_by {
        None => headed(QUEUED, group, name),
        Some(sitemap) => {
            let mut w = headed(LISTED, group, name);
            w.bytes(sitemap.as_bytes());
            w
        }
    };
    w.byte(url.queue_key.priority).rest(&encode_queued(url)).finish()
}

/// Decodes a fact of [`encode`]; `None` if it is malformed, or if a name or URL is not in normal
/// form: it would be requested by another name than it was judged by.
#[must_use]
pub fn decode(bytes: &[u8], hasher: &KeyedHasher) -> Option<Fact> {
    read(bytes, |name| hasher.host(name))
}

/// Decodes a fact; `hash` returns the hash of its host's name.
fn read(bytes: &[u8], hash: impl FnOnce(&str) -> HostHash) -> Option<Fact> {
    let mut r = RowReader(bytes);
    let kind = r.byte()?;
    let group = GroupHash::from_bytes(r.array()?);
    if kind == DONE {
        let url = UrlKey { group, url: UrlHash::from_bytes(r.array()?) };
        let outcome = UrlOutcome::read(r.rest())?;
        if let Some(page) = outcome.page()
            && !is_normal(&page.name, &page.url)
        {
            return None;
        }
        return Some(Fact::Done { url, outcome });
    }
    if kind == SIGNAL {
        let url = UrlKey { group, url: UrlHash::from_bytes(r.array()?) };
        let (code, modified) = (r.byte()?, Timestamp(r.number()?));
        let source = match code {
            0 if modified == Timestamp::ZERO => SignalSource::Person,
            1 => SignalSource::List { modified },
            _ => return None,
        };
        return Some(Fact::Signal(ChangeSignal { url, source }));
    }
    let name: Arc<str> = r.text()?.into();
    if !matches!(kind, QUEUED | LISTED) && !is_normal_host(&name) {
        return None;
    }
    let host = HostKey { group, host: hash(&name) };
    Some(match kind {
        QUEUED | LISTED => {
            let sitemap = if kind == LISTED { Some(r.text()?.into()) } else { None };
            let priority = r.byte().filter(|&priority| priority <= PRIORITY_LAST)?;
            let queue_key = QueueKey { priority, ..QueueKey::default() };
            let url = decode_queued(queue_key, r.rest()).ok();
            let url = url.filter(|url| is_normal(&name, url))?;
            match sitemap {
                None => Fact::Queued { host, name, url },
                Some(sitemap) => Fact::Listed { host, name, url, sitemap },
            }
        }
        HOST => {
            let closed = read_closed(&mut r)?;
            let (pages, bytes) = (r.number()?, r.number()?);
            let (finder, resolved, answered) = read_merit(&mut r)?;
            let evidence = read_evidence(&mut r)?;
            let state = HostState::from_bytes(r.rest())?;
            Fact::Host {
                host,
                name,
                state,
                closed,
                pages,
                bytes,
                finder,
                resolved,
                answered,
                evidence,
            }
        }
        HOST_REQUEST => Fact::HostRequest(HostRequest { host, name, at: Timestamp(r.number()?) }),
        ROBOTS => {
            let scheme = Scheme::from_code(r.byte()?)?;
            let origin = Origin { scheme, port: u16::from_be_bytes(r.array()?) };
            let record = RobotsRecord::read(&mut r)?;
            Fact::Robots { host, name, origin, record }
        }
        _ => return None,
    })
}

/// Returns true if a URL on the host `name` is in normal form.
fn is_normal(name: &str, url: &Queued) -> bool {
    CrawlUrl::from_normal_parts(url.origin, name, &url.path).is_some()
}

/// Converts the times in a fact from a clock that is `micros` microseconds behind. A fact that
/// cannot be decoded is returned as it is.
#[must_use]
pub fn on_clock_ahead(bytes: Bytes, micros: i64) -> Bytes {
    if !matches!(bytes.first(), Some(&(HOST | ROBOTS | HOST_REQUEST))) {
        return bytes;
    }
    // The encoded fact has the name of the host and not its hash.
    let Some(mut fact) = read(&bytes, |_| HostHash::default()) else { return bytes };
    match &mut fact {
        Fact::Host { state, .. } => state.convert_to_clock_ahead(micros),
        Fact::HostRequest(request) => request.at = request.at.on_clock_ahead(micros),
        Fact::Robots { record, .. } => {
            record.asked = record.asked.on_clock_ahead(micros);
            record.fetched = record.fetched.on_clock_ahead(micros);
            let since = record.unreachable_since;
            record.unreachable_since = since.map(|at| at.on_clock_ahead(micros));
        }
        Fact::Queued { .. } | Fact::Listed { .. } => {}
        Fact::Done { .. } | Fact::Signal(_) => {}
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
    use super::super::values::FinishedUrl;
    use super::*;
    use crate::messages::{Finder, LinkKind, PRIORITY_DEFAULT};
    use crivello_common::discard::Discard;
    use crivello_common::failure::Failure;
    use crivello_common::robots::Rules;
    use crivello_common::view::AgentId;
    use crivello_recrawl::host_evidence::{HostEvidence, ObservedVisit};
    use crivello_recrawl::rate::RateDistribution;
    use crivello_recrawl::signals::SignalModel;
    use proptest::prelude::*;

    fn found(url: &str) -> Found {
        let url = CrawlUrl::parse(url).unwrap();
        let hasher = KeyedHasher::with_public_key();
        let (host, hash) = (hasher.host_key(url.host()), hasher.url(&url));
        Found {
            url,
            host,
            hash,
            depth: 7,
            redirects: 0,
            kind: LinkKind::Sitemap,
            finder: Finder::LAST,
            priority: PRIORITY_DEFAULT,
            listed_by: None,
        }
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
        let kept = FinishedUrl { by: AgentId(3), name: name.clone(), url: as_queued(&found) };
        let page = Some(Arc::new(kept));
        let by = UrlOutcome::Fetched { at, status: 200, record: None, page };
        let mut evidence = HostEvidence::default();
        let visit = ObservedVisit {
            prefix: 9,
            elapsed: 60.0,
            rates: (RateDistribution::UNKNOWN, RateDistribution::UNKNOWN),
            n_signals: 1,
            is_changed: false,
            is_second: true,
        };
        evidence.add_visit(&visit, &SignalModel::NONE);
        vec![
            Fact::Queued { host, name: name.clone(), url: as_queued(&found) },
            Fact::Listed {
                host,
                name: name.clone(),
                url: as_queued(&found),
                sitemap: "http://other.example/s.xml".into(),
            },
            Fact::Done { url, outcome: fetched },
            Fact::Done { url, outcome: by },
            Fact::Done { url, outcome: UrlOutcome::Failed(Failure::Tls, None) },
            Fact::Host {
                host,
                name: name.clone(),
                state: state.clone(),
                closed: None,
                pages: 5,
                bytes: 1 << 40,
                finder: Finder::OWN,
                resolved: true,
                answered: false,
                evidence: Some(Box::new(evidence)),
            },
            Fact::Host {
                host,
                name: name.clone(),
                state,
                closed: Some(Discard::HostLimit),
                pages: 0,
                bytes: 0,
                finder: Finder::LAST,
                resolved: false,
                answered: true,
                evidence: None,
            },
            Fact::Signal(ChangeSignal { url, source: SignalSource::Person }),
            Fact::HostRequest(HostRequest { host, name: name.clone(), at }),
            Fact::Signal(ChangeSignal { url, source: SignalSource::List { modified: at } }),
            Fact::Robots { host, name, origin: found.url.origin(), record },
        ]
    }

    #[test]
    fn every_fact_survives_and_says_its_group() {
        for fact in samples() {
            let bytes = encode(&fact);
            assert_eq!(decode(&bytes, &KeyedHasher::with_public_key()), Some(fact));
            assert_eq!(group_of(&bytes), Some(found("http://site.example/").host.group));
        }
        let found = found("http://a.example/x");
        let (host, name) = (found.host, Arc::<str>::from(found.url.host()));
        let fact = Fact::Queued { host, name: Arc::clone(&name), url: as_queued(&found) };
        assert_eq!(encode_found(&found), encode(&fact));
        let sitemap = Arc::from("http://b.example/s.xml");
        let listed = Found { listed_by: Some(Arc::clone(&sitemap)), ..found };
        let fact = Fact::Listed { host, name, url: as_queued(&listed), sitemap };
        assert_eq!(encode_found(&listed), encode(&fact));
    }

    #[test]
    fn times_are_put_right_by_clocks_that_differ() {
        for fact in samples() {
            let sent = Bytes::from(encode(&fact));
            let hour = 3_600_000_000;
            let here = on_clock_ahead(sent.clone(), hour);
            if let (Some(Fact::Host { state, .. }), Fact::Host { state: theirs, .. }) =
                (decode(&here, &KeyedHasher::with_public_key()), &fact)
            {
                assert_eq!(state.next, Timestamp::from_secs(3_677));
                assert_eq!(theirs.last_ended, Timestamp::ZERO, "a time of zero was changed");
                assert_eq!(state.last_ended, Timestamp::ZERO);
            }
            assert_eq!(on_clock_ahead(here, -hour), sent);
            assert_eq!(on_clock_ahead(sent.slice(..5), hour), sent.slice(..5));
        }
    }

    #[test]
    fn what_is_no_fact_is_refused() {
        for fact in samples() {
            let bytes = encode(&fact);
            // Only the head is cut: a shorter URL is another URL, and shorter rules may still be
            // rules.
            for cut in 0..9 {
                assert_eq!(decode(&bytes[..cut], &KeyedHasher::with_public_key()), None);
            }
            let mut other = bytes.clone();
            other[0] = 9;
            assert_eq!(decode(&other, &KeyedHasher::with_public_key()), None);
        }
        assert_eq!(group_of(&[1, 2]), None);
    }

    /// Found by fuzzing: such a time was another one when the fact was sent on.
    #[test]
    fn a_time_later_than_any_is_refused() {
        for (seconds, is_time) in [(u64::MAX / 1_000_000, true), (u64::MAX / 1_000_000 + 1, false)]
        {
            let mut w = RowWriter::versioned(DONE);
            let bytes = w.rest(&[1; 16]).byte(0).number(seconds).number(200).finish();
            let fact = decode(&bytes, &KeyedHasher::with_public_key());
            assert_eq!(fact.is_some(), is_time, "{seconds} s");
            assert!(fact.is_none_or(|fact| encode(&fact) == bytes));
        }
    }

    #[test]
    fn names_and_urls_that_are_not_in_normal_form_are_refused() {
        let named = |fact: Fact, new: &str| {
            let name: Arc<str> = new.into();
            match fact {
                Fact::Queued { host, url, .. } => Fact::Queued { host, name, url },
                Fact::Listed { host, url, sitemap, .. } => {
                    Fact::Listed { host, name, url, sitemap }
                }
                Fact::Robots { host, origin, record, .. } => {
                    Fact::Robots { host, name, origin, record }
                }
                Fact::Host {
                    host,
                    state,
                    closed,
                    pages,
                    bytes,
                    finder,
                    resolved,
                    answered,
                    evidence,
                    ..
                } => Fact::Host {
                    host,
                    name,
                    state,
                    closed,
                    pages,
                    bytes,
                    finder,
                    resolved,
                    answered,
                    evidence,
                },
                Fact::Done { url, outcome: UrlOutcome::Fetched { at, status, page, .. } } => {
                    let page = page.map(|page| {
                        let page = Arc::unwrap_or_clone(page);
                        Arc::new(FinishedUrl { name, ..page })
                    });
                    Fact::Done {
                        url,
                        outcome: UrlOutcome::Fetched { at, status, record: None, page },
                    }
                }
                Fact::HostRequest(HostRequest { host, at, .. }) => {
                    Fact::HostRequest(HostRequest { host, name, at })
                }
                other @ (Fact::Done { .. } | Fact::Signal(_)) => other,
            }
        };
        for fact in samples() {
            let names_a_host = match &fact {
                Fact::Done { outcome: UrlOutcome::Fetched { page, .. }, .. } => page.is_some(),
                Fact::Done { .. } | Fact::Signal(_) => false,
                _ => true,
            };
            for name in [
                "169.254.169.254/latest/meta-data?x=.evil.com",
                "a@b.example",
                "a.example:22",
                "A.example",
                "a.example.",
                "a..example",
                "0x7f.1",
                "",
            ] {
                let decoded =
                    decode(&encode(&named(fact.clone(), name)), &KeyedHasher::with_public_key());
                assert_eq!(decoded.is_none(), names_a_host, "{name}: {decoded:?}");
            }
            assert!(
                decode(&encode(&named(fact, "[2001:db8::1]")), &KeyedHasher::with_public_key())
                    .is_some()
            );
        }
        let found = found("http://a.example/x");
        for path in ["x", "/a b", "/a/../b", "/%61", "/a#b", "//../x", ""] {
            let url = Queued { path: path.into(), ..as_queued(&found) };
            let fact = Fact::Queued { host: found.host, name: "a.example".into(), url };
            assert_eq!(decode(&encode(&fact), &KeyedHasher::with_public_key()), None, "{path}");
        }
    }

    proptest! {
        #[test]
        fn garbage_is_refused_quietly(bytes: Vec<u8>, at in 0usize..120, with: u8) {
            let _ = decode(&bytes, &KeyedHasher::with_public_key());
            for fact in samples() {
                let mut bytes = encode(&fact);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = with;
                }
                let _ = decode(&bytes, &KeyedHasher::with_public_key());
            }
        }
    }
}
