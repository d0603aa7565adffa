//! Goal: names are resolved by our rules: guarded, with a time limit, with one query each.

use super::kit::settings;
use crate::fetch::DnsResolver;
use crate::messages::{BlockAndPauseList, ResolveError, Resolved};
use crivello_common::config::Settings;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::{Clock, Timestamp};
use hickory_proto::op::{Message, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{RData, Record, RecordType};
use parking_lot::Mutex;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UdpSocket;

const NOW: Timestamp = Timestamp::from_secs(1_000);

fn after(seconds: u64) -> Timestamp {
    NOW + Duration::from_secs(seconds)
}

fn resolver(settings: &Settings) -> DnsResolver {
    DnsResolver::new(settings, Clock::start(), BlockAndPauseList::of(&settings.live))
}

/// Queries that a server received: names in their original case, and types.
type Queries = Arc<Mutex<Vec<(String, RecordType)>>>;

/// Starts a name server whose answer depends on the first label: `a-10-0-0-1--8-8-8-8.…`,
/// `nxdomain`, `servfail`, `empty`, `silent`, `garbled`, `six`, `mapped`. All TTLs are 300 s.
async fn server() -> (Settings, Queries) {
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut settings = settings();
    settings.fixed.fetch.allow_networks = Vec::new();
    settings.fixed.dns.servers = vec![socket.local_addr().unwrap()];
    settings.fixed.dns.timeout = Duration::from_secs(2);
    let queries = Queries::default();
    let log = Arc::clone(&queries);
    tokio::spawn(async move {
        let mut buffer = [0; 2_048];
        while let Ok((n, from)) = socket.recv_from(&mut buffer).await {
            let request = Message::from_vec(&buffer[..n]).unwrap();
            let query = &request.queries[0];
            log.lock().push((query.name().to_string(), query.query_type()));
            if let Some(reply) = reply(&request) {
                let mut reply = reply.to_vec().unwrap();
                if query.name().to_string().to_ascii_lowercase().starts_with("garbled") {
                    // The reply ends within the question, but its header announces an answer.
                    reply.truncate(reply.len() - 4);
                    reply[7] = 1;
                }
                socket.send_to(&reply, from).await.unwrap();
            }
        }
    });
    (settings, queries)
}

fn reply(request: &Message) -> Option<Message> {
    let query = &request.queries[0];
    let label = query.name().to_string().to_ascii_lowercase();
    let label = label.split('.').next().unwrap();
    let mut reply = Message::response(request.metadata.id, request.metadata.op_code);
    reply.add_query(query.clone());
    let code = match label {
        "silent" => return None,
        "nxdomain" => ResponseCode::NXDomain,
        "servfail" => ResponseCode::ServFail,
        _ => ResponseCode::NoError,
    };
    reply.metadata.response_code = code;
    for data in records(label, query.query_type()) {
        reply.add_answer(Record::from_rdata(query.name().clone(), 300, data));
    }
    Some(reply)
}

fn records(label: &str, kind: RecordType) -> Vec<RData> {
    match (label, kind) {
        ("mapped", RecordType::AAAA) => vec![RData::AAAA(AAAA("::ffff:8.8.8.8".parse().unwrap()))],
        ("six", RecordType::AAAA) => {
            vec![RData::AAAA(AAAA("2606:4700:4700::1111".parse().unwrap()))]
        }
        (_, RecordType::A) => label
            .strip_prefix("a-")
            .into_iter()
            .flat_map(|list| list.split("--"))
            .map(|text| RData::A(A(text.replace('-', ".").parse().unwrap())))
            .collect(),
        _ => Vec::new(),
    }
}

async fn resolve(dns: &DnsResolver, name: &str, now: Timestamp) -> Result<Resolved, ResolveError> {
    let host = KeyedHasher::with_public_key().host_key(name);
    let resolution = dns.resolve(host, name, now).await;
    assert_eq!(resolution.host, host);
    resolution.answer
}

fn at(address: &str, until: Timestamp) -> Result<Resolved, ResolveError> {
    Ok(Resolved { address: address.parse().unwrap(), until })
}

#[tokio::test(flavor = "multi_thread")]
async fn the_smallest_admitted_address_is_taken() {
    let (settings, queries) = server().await;
    let dns = resolver(&settings);
    for (name, expected) in [
        ("a-9-9-9-9--8-8-8-8--10-0-0-1.test", at("8.8.8.8", after(300))),
        ("a-8-8-8-8--9-9-9-9.test", at("8.8.8.8", after(300))),
        ("a-8-8-8-8.-o$d", at("8.8.8.8", after(300))),
        ("a-10-0-0-1--127-0-0-1.test", Err(ResolveError::Denied)),
        ("empty.test", Err(ResolveError::NoSuchName)),
        ("nxdomain.test", Err(ResolveError::NoSuchName)),
        ("servfail.test", Err(ResolveError::Unavailable)),
        ("garbled.test", Err(ResolveError::Unavailable)),
        ("localhost", Err(ResolveError::Denied)),
    ] {
        assert_eq!(resolve(&dns, name, NOW).await, expected, "{name}");
    }
    let overlong = format!("{}.test", "x".repeat(64));
    assert_eq!(resolve(&dns, &overlong, NOW).await, Err(ResolveError::NoSuchName));
    let queries = queries.lock();
    assert!(queries.iter().all(|(_, kind)| *kind == RecordType::A), "{queries:?}");
    assert!(queries.iter().all(|(name, _)| name.matches('.').count() == 2), "{queries:?}");
    let mixed = |name: &str| name.bytes().any(|byte| byte.is_ascii_uppercase());
    assert!(queries.iter().any(|(name, _)| mixed(name)), "0x20: {queries:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn literals_are_their_own_answers_and_ask_nobody() {
    let (settings, queries) = server().await;
    let dns = resolver(&settings);
    for (name, expected) in [
        ("8.8.8.8", at("8.8.8.8", Timestamp::MAX)),
        ("[2606:4700:4700::1111]", at("2606:4700:4700::1111", Timestamp::MAX)),
        ("[::ffff:808:808]", at("8.8.8.8", Timestamp::MAX)),
        ("[64:ff9b::808:808]", Err(ResolveError::Denied)),
        ("127.0.0.1", Err(ResolveError::Denied)),
        ("169.254.169.254", Err(ResolveError::Denied)),
        ("[::1]", Err(ResolveError::Denied)),
        ("[::ffff:127.0.0.1]", Err(ResolveError::Denied)),
    ] {
        assert_eq!(resolve(&dns, name, NOW).await, expected, "{name}");
    }
    assert!(queries.lock().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_hold_for_their_time_and_no_longer() {
    for (name, ttl_min, ttl_max, holds) in [
        ("a-8-8-8-8.test", 60, 86_400, 300),
        ("a-8-8-8-8.test", 600, 86_400, 600),
        ("a-8-8-8-8.test", 60, 100, 100),
        ("nxdomain.test", 60, 86_400, 500),
        ("servfail.test", 60, 86_400, 20),
    ] {
        let (mut settings, queries) = server().await;
        settings.fixed.dns.ttl_min = Duration::from_secs(ttl_min);
        settings.fixed.dns.ttl_max = Duration::from_secs(ttl_max);
        settings.fixed.dns.negative_ttl = Duration::from_secs(500);
        settings.fixed.dns.error_ttl = Duration::from_secs(20);
        let dns = resolver(&settings);
        let first = resolve(&dns, name, NOW).await;
        let asked = queries.lock().len();
        assert_eq!(resolve(&dns, name, after(holds - 1)).await, first);
        assert_eq!(queries.lock().len(), asked, "{name} was looked up again within {holds} s");
        assert_eq!(resolve(&dns, name, after(holds)).await.is_ok(), first.is_ok());
        assert!(queries.lock().len() > asked, "{name} was not looked up again after {holds} s");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_ask_at_once_ask_once() {
    let (settings, queries) = server().await;
    let dns = Arc::new(resolver(&settings));
    let tasks: Vec<_> = (0..50)
        .map(|_| {
            let dns = Arc::clone(&dns);
            tokio::spawn(async move { resolve(&dns, "a-8-8-8-8.test", NOW).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap(), at("8.8.8.8", after(300)));
    }
    assert_eq!(queries.lock().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn ipv6_is_used_only_when_asked_for_and_only_where_there_is_no_ipv4() {
    let (mut settings, _) = server().await;
    assert_eq!(resolve(&resolver(&settings), "six.test", NOW).await, Err(ResolveError::NoSuchName));
    settings.fixed.dns.ipv6 = true;
    let dns = resolver(&settings);
    assert_eq!(resolve(&dns, "six.test", NOW).await, at("2606:4700:4700::1111", after(300)));
    assert_eq!(resolve(&dns, "a-8-8-8-8.test", NOW).await, at("8.8.8.8", after(300)));
    assert_eq!(resolve(&dns, "mapped.test", NOW).await, at("8.8.8.8", after(300)));
}

#[tokio::test(flavor = "multi_thread")]
async fn silent_and_absent_servers_are_unavailable() {
    let (mut settings, _) = server().await;
    settings.fixed.dns.timeout = Duration::from_millis(100);
    let dns = resolver(&settings);
    assert_eq!(resolve(&dns, "silent.test", NOW).await, Err(ResolveError::Unavailable));
    // No other process can get its port, and it receives packets only from its peer.
    let deaf = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    deaf.connect("127.0.0.1:9").await.unwrap();
    settings.fixed.dns.servers = vec![deaf.local_addr().unwrap()];
    let dns = resolver(&settings);
    assert_eq!(resolve(&dns, "a-8-8-8-8.test", NOW).await, Err(ResolveError::Unavailable));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allowed_network_is_admitted() {
    let (mut settings, _) = server().await;
    settings.fixed.fetch.allow_networks = vec!["127.0.0.0/8".parse().unwrap()];
    let dns = resolver(&settings);
    let expected = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 7));
    let found = resolve(&dns, "a-127-0-0-7--10-0-0-1.test", NOW).await.unwrap();
    assert_eq!(found.address, expected);
}
