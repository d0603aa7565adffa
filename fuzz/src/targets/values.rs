//! Values and keys of the crawl database, and facts: what is decoded is encoded, and decoded again
//! to the same.
//!
//! Input: a byte that selects the kind, and the bytes of the value.

use crate::target::{FuzzTarget, MemoryBound};
use bytes::Bytes;
use crivello_agent::crawldb::Totals;
use crivello_agent::messages::{
    ChangeSignal, Fact, Finder, GroupRole, HostClass, HostRequest, LastCapture, LinkKind, QueueKey,
    Queued, RecordPlace, Revisit, RobotsRecord, Role, SchedulePlace, SignalSource, Validators,
};
use crivello_agent::storage::group_row::GroupRow;
use crivello_agent::storage::values::{
    ContentRow, FinishedUrl, HostRow, Seen, UrlOutcome, decode_queued, encode_queued,
};
use crivello_agent::storage::{GroupState, Row, facts, keys};
use crivello_archive::ArchivePosition;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::hash::{GroupHash, HostHash, HostKey, UrlHash, UrlKey};
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::HostState;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin, Scheme};
use crivello_common::view::AgentId;
use crivello_recrawl::page::PageHistory;
use std::fmt::Debug;
use std::sync::Arc;

/// The target `values`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "values",
    run,
    samples,
    tokens: &[
        b"www.site.example",
        b"/a?b=c",
        b"\x00\x00\x00\x00\x00\x00\x00\x01",
        b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
        b"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01",
        b"[::1]",
        b"127.0.0.1",
    ],
    len_max: 4_096,
    peak: MemoryBound { base: 64 << 10, per_byte: 64 },
    total: MemoryBound { base: 256 << 10, per_byte: 256 },
};

/// Decoders, each under its number.
const KINDS: [fn(&[u8]); 12] = [
    |value| row(value, Seen::encode),
    |value| row(value, HostRow::encode),
    |value| row(value, GroupRow::encode),
    |value| row(value, GroupState::encode),
    |value| row(value, RobotsRecord::encode),
    |value| row(value, ContentRow::encode),
    |value| {
        round_trip(value, |value| decode_queued(QueueKey::default(), value).ok(), encode_queued);
    },
    |value| round_trip(value, HostState::from_bytes, HostState::to_bytes),
    |value| {
        let decode = |value: &[u8]| ArchivePosition::from_bytes(value).ok();
        round_trip(value, decode, ArchivePosition::to_bytes);
    },
    |value| round_trip(value, |value| Totals::decode(value).ok(), Totals::encode),
    fact,
    key,
];

fn run(input: &[u8]) {
    let Some((&kind, value)) = input.split_first() else { return };
    KINDS[usize::from(kind) % KINDS.len()](value);
}

fn row<T: Row + PartialEq + Debug>(value: &[u8], encode: impl Fn(&T) -> Vec<u8>) {
    round_trip(value, |value| T::decode(value).ok(), encode);
}

fn round_trip<T: PartialEq + Debug>(
    value: &[u8],
    decode: impl Fn(&[u8]) -> Option<T>,
    encode: impl Fn(&T) -> Vec<u8>,
) {
    if let Some(decoded) = decode(value) {
        let again = decode(&encode(&decoded));
        assert_eq!(again.as_ref(), Some(&decoded), "it changes when it is stored again");
    }
}

fn fact(value: &[u8]) {
    let hasher = KeyedHasher::with_public_key();
    round_trip(value, |value| facts::decode(value, &hasher), facts::encode);
    let decoded = facts::decode(value, &hasher);
    let bytes = Bytes::copy_from_slice(value);
    for ahead in [0, 1, -1, i64::MAX, i64::MIN] {
        let converted = facts::on_clock_ahead(bytes.clone(), ahead);
        assert_eq!(facts::group_of(&converted), facts::group_of(value), "{ahead}");
        let again = facts::decode(&converted, &hasher);
        assert_eq!(again.is_some(), decoded.is_some(), "{ahead} microseconds ahead");
    }
    if let Some(fact) = decoded {
        assert_eq!(Some(fact.group()), facts::group_of(value));
        // Bounds of queues count the weight, so it must not be less than what the wire takes.
        let wire = facts::encode(&fact).len();
        assert!(fact.weight() + 64 >= wire / 2, "{} for {wire} bytes", fact.weight());
    }
}

fn key(key: &[u8]) {
    if let Ok(url) = keys::read_seen(key) {
        assert_eq!(keys::seen(url)[..], key[..keys::PAIR]);
    }
    if let Ok((host, queue_key)) = keys::read_frontier(key) {
        assert_eq!(keys::frontier(host, queue_key)[..], key[..26]);
        assert!(
            keys::frontier(host, queue_key)[..] < keys::end_of_host(host)[..]
                || host.host.0 == u64::MAX
        );
    }
    if let Ok((place, host)) = keys::read_schedule(key) {
        assert_eq!(keys::schedule(place, host)[..], key[..keys::SCHEDULE]);
    }
    if let Ok((at, url)) = keys::read_due(key) {
        assert_eq!(keys::due(at, url)[..], key[..keys::DUE]);
    }
    if let Ok((host, origin)) = keys::read_robots(key) {
        assert_eq!(keys::robots(host, origin)[..], key[..19]);
    }
    if let Some(host) = keys::read_host(key) {
        assert_eq!(keys::host(host)[..], key[..keys::PAIR]);
        assert_eq!(
            keys::read_hosts(key).ok().flatten(),
            Some(host).filter(|host| host.host.0 != 0)
        );
    }
}

/// Facts of every kind, encoded.
#[expect(clippy::expect_used, reason = "a constant")]
pub fn sample_facts() -> Vec<Vec<u8>> {
    let hasher = KeyedHasher::with_public_key();
    let url = CrawlUrl::parse("https://www.site.example:8443/a?b=c").expect("a URL");
    let (host, name) = (hasher.host_key(url.host()), Arc::<str>::from(url.host()));
    let key = UrlKey { group: host.group, url: hasher.url(&url) };
    let at = Timestamp::from_secs(1_795_176_000);
    let queued = queued(&url, key.url);
    let kept = FinishedUrl { by: AgentId(3), name: name.clone(), url: queued.clone() };
    let fetched = UrlOutcome::Fetched { at, status: 200, record: None, page: Some(kept.into()) };
    let state = HostState { next: at, requests: 3, ..HostState::default() };
    let host_fact = |closed| Fact::Host {
        host,
        name: name.clone(),
        state: state.clone(),
        closed,
        pages: 5,
        bytes: 1 << 40,
        finder: Finder::OWN,
        resolved: true,
        answered: false,
        evidence: None,
    };
    let again = again(&queued, at);
    let due = FinishedUrl { by: AgentId(3), name: name.clone(), url: again.clone() };
    let failed = UrlOutcome::Failed(Failure::Tls, Some(due.into()));
    let facts = [
        Fact::Listed {
            host,
            name: name.clone(),
            url: queued.clone(),
            sitemap: "http://b.example/s.xml".into(),
        },
        Fact::Queued { host, name: name.clone(), url: queued },
        Fact::Queued { host, name: name.clone(), url: again },
        Fact::Signal(ChangeSignal { url: key, source: SignalSource::Person }),
        Fact::HostRequest(HostRequest { host, name: name.clone(), at }),
        Fact::Done { url: key, outcome: failed },
        Fact::Done { url: key, outcome: fetched },
        Fact::Done { url: key, outcome: UrlOutcome::Failed(Failure::Tls, None) },
        Fact::Done { url: key, outcome: UrlOutcome::Discarded(Discard::Robots, None) },
        host_fact(None),
        host_fact(Some(Discard::HostLimit)),
        Fact::Robots { host, name: name.clone(), origin: url.origin(), record: record(at) },
    ];
    facts.iter().map(facts::encode).collect()
}

fn queued(url: &CrawlUrl, hash: UrlHash) -> Queued {
    Queued {
        queue_key: QueueKey::default(),
        hash,
        origin: url.origin(),
        path: url.path_and_query().into(),
        depth: 7,
        redirects: 0,
        attempts: 0,
        revisit: None,
        kind: LinkKind::Sitemap,
        finder: Finder::LAST,
    }
}

/// Returns the URL as it waits for its third fetch.
fn again(url: &Queued, at: Timestamp) -> Queued {
    let revisit = Revisit {
        generation: 2,
        was_answered: true,
        is_counted: true,
        due: at,
        moved_in: 300,
        history: Some(PageHistory::from_bytes(&[7; PageHistory::LEN])),
        content: Some(1 << 40),
        is_list: true,
        capture: Some(LastCapture {
            by: AgentId(3),
            at,
            status: 200,
            record: Some(RecordPlace::here((3, 1 << 33))),
        }),
        validators: Validators {
            etag: Some("W/\"a\"".into()),
            last_modified: Some("Tue, 14 Nov 2023 22:13:20 GMT".into()),
        },
    };
    Queued { revisit: Some(Box::new(revisit)), ..url.clone() }
}

fn record(at: Timestamp) -> RobotsRecord {
    let rules = Rules::parse(b"User-agent: *\nDisallow: /x\nCrawl-delay: 3\n", "crivello");
    let rules = Some(Arc::new(rules));
    RobotsRecord { asked: at, fetched: at, unreachable_since: Some(at), failures: 2, rules }
}

#[expect(clippy::expect_used, reason = "a constant")]
fn samples() -> Vec<Vec<u8>> {
    let at = Timestamp::from_secs(1_795_176_000);
    let url = CrawlUrl::parse("http://a.example/x").expect("a URL");
    let (group, hash) = (GroupHash(1), UrlHash(2));
    let host = HostKey { group, host: HostHash(3) };
    let queue_key = QueueKey { priority: 1, seq: 70_000, ..QueueKey::default() };
    let page = FinishedUrl { by: AgentId(1), name: "a.example".into(), url: queued(&url, hash) };
    let page = Some(Arc::new(page));
    let fetched = UrlOutcome::Fetched {
        at,
        status: 200,
        record: Some(RecordPlace::here((3, 1 << 33))),
        page,
    };
    let mut host_row = HostRow { name: "a.example".into(), queued: 9, ..HostRow::default() };
    host_row.state.failures.count(Failure::Tls);
    let place = SchedulePlace { class: HostClass::Third, at };
    host_row.scheduled = Some(place);
    let mut group_row = GroupRow::default();
    group_row.pages = 300;
    group_row.change(Finder::OWN, |taken| taken.add_url(70));
    group_row.change(Finder::LAST, |taken| taken.count_host(true, true));
    let role = Role::Authority { in_sync: vec![(AgentId(2), 7), (AgentId(300), 1 << 40)] };
    let state = GroupState { open: false, tag: Some(GroupRole { epoch: 9, role }) };
    let file = "crivello-0badcafe-20261120120000-00000.warc.gz".to_owned();
    let mut totals = Totals { pages: 12, ..Totals::default() };
    totals.by_status.insert(404, 3);
    let origin = Origin { scheme: Scheme::Https, port: 8_443 };
    let mut values = vec![
        (0, Seen::Queued(Some((host.host, queue_key))).encode()),
        (0, Seen::Done(fetched).encode()),
        (1, host_row.encode()),
        (2, group_row.encode()),
        (3, state.encode()),
        (4, record(at).encode()),
        (5, ContentRow { at, url: url.as_str().into() }.encode()),
        (6, encode_queued(&queued(&url, hash))),
        (6, encode_queued(&again(&queued(&url, hash), at))),
        (7, HostState { next: at, ..HostState::default() }.to_bytes()),
        (8, ArchivePosition { file, warc_len: 1 << 30, index_len: 70 }.to_bytes()),
        (9, totals.encode()),
        (11, keys::frontier(host, queue_key).to_vec()),
        (11, keys::schedule(place, host).to_vec()),
        (11, keys::due(at, UrlKey { group, url: hash }).to_vec()),
        (11, keys::robots(host, origin).to_vec()),
    ];
    values.extend(sample_facts().into_iter().map(|fact| (10, fact)));
    values.into_iter().map(|(kind, value)| [&[kind][..], &value].concat()).collect()
}
