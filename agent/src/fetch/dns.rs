//! Name resolution: from a host's name to the one address that is visited.
//!
//! Answers are cached by our own clock and rules: an address for its TTL, clamped to
//! `ttl-min..ttl-max`; "no such name" and "no answer" each for a fixed time. Simultaneous requests
//! for the same name cause one query. Of several addresses the smallest admitted one is used, so
//! that a host stays at the address for which politeness is counted.

use super::address_policy::AddressPolicy;
use super::name_servers::{self, ATTEMPTS};
use crate::messages::{BlockAndPauseList, Resolution, ResolveError, Resolved};
use crivello_common::config::{self, Settings};
use crivello_common::hash::HostKey;
use crivello_common::metrics::{Histogram, NETWORK_BUCKETS, Timer};
use crivello_common::time::{Clock, Timestamp};
use hickory_resolver::TokioResolver;
use hickory_resolver::lookup_ip::LookupIp;
use hickory_resolver::net::{DnsError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::Name;
use moka::future::Cache;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::Semaphore;

/// Kinds of answers.
const KINDS: [&str; 5] = ["address", "no-such-name", "unavailable", "denied", "blocked"];

/// Resolver of host names, with its cache.
pub struct DnsResolver {
    address_policy: AddressPolicy,
    block_list: BlockAndPauseList,
    servers: Option<TokioResolver>,
    cache: Cache<String, Kept>,
    permits: Semaphore,
    settings: config::Dns,
    /// Numbers of answers, by kind as in [`KINDS`].
    answers: [AtomicU64; KINDS.len()],
    /// Number of these that came from the cache.
    answers_cached: AtomicU64,
    queries: Timer,
}

/// Cached answer with its expiry.
#[derive(Clone, Copy, Debug)]
struct Kept {
    answer: Result<IpAddr, ResolveError>,
    until: Timestamp,
}

impl DnsResolver {
    /// Creates a resolver. It reads the addresses of the name servers and sends no query yet.
    /// Without any name server every name is [`ResolveError::Unavailable`]. `block_list` is the shared
    /// list of blocked hosts.
    #[must_use]
    pub fn new(settings: &Settings, clock: Clock, block_list: BlockAndPauseList) -> Self {
        let dns = settings.fixed.dns.clone();
        Self {
            address_policy: AddressPolicy::of_machine(&settings.fixed.fetch.allow_networks, clock),
            block_list,
            servers: name_servers::connect(&dns),
            cache: Cache::new(dns.cache_entries_max),
            permits: Semaphore::new(dns.queries_max.max(1) as usize),
            settings: dns,
            answers: Default::default(),
            answers_cached: AtomicU64::new(0),
            queries: Timer::new(clock, NETWORK_BUCKETS),
        }
    }

    /// Returns the durations of queries.
    pub fn times(&self) -> &Histogram {
        self.queries.times()
    }

    /// Returns the numbers of answers by kind, without those for IP literals.
    pub fn answers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        KINDS.into_iter().zip(&self.answers).map(|(kind, n)| (kind, n.load(Relaxed)))
    }

    /// Returns the number of these answers that came from the cache.
    pub fn answers_cached(&self) -> u64 {
        self.answers_cached.load(Relaxed)
    }

    /// Returns the address at which to visit `name` (in normal form, IPv6 literals in brackets). An
    /// IP literal is its own answer, without a query.
    pub async fn resolve(&self, host: HostKey, name: &str, now: Timestamp) -> Resolution {
        let (kept, cached) = match literal(name) {
            Some(address) => (self.judged(&[address], Timestamp::MAX), None),
            None => {
                let is_stale = |kept: &Kept| kept.until <= now;
                let entry = self.cache.entry_by_ref(name);
                let entry = entry.or_insert_with_if(self.ask(name, now), is_stale).await;
                let cached = !entry.is_fresh();
                (entry.into_value(), Some(cached))
            }
        };
        // The cache holds the address itself: it may be blocked now and unblocked later.
        let answer =
            kept.answer.and_then(|address| match self.block_list.blocks_address(address) {
                true => Err(ResolveError::Blocked(address)),
                false => Ok(Resolved { address, until: kept.until }),
            });
        if let Some(cached) = cached {
            self.count(&answer, cached);
        }
        Resolution { host, answer }
    }

    fn count(&self, answer: &Result<Resolved, ResolveError>, cached: bool) {
        let kind = match answer {
            Ok(_) => 0,
            Err(ResolveError::NoSuchName) => 1,
            Err(ResolveError::Unavailable) => 2,
            Err(ResolveError::Denied) => 3,
            Err(ResolveError::Blocked(_)) => 4,
        };
        self.answers[kind].fetch_add(1, Relaxed);
        self.answers_cached.fetch_add(cached.into(), Relaxed);
    }

    async fn ask(&self, name: &str, now: Timestamp) -> Kept {
        let encoded = Name::from_labels(name.split('.').map(str::as_bytes));
        let answer = match (&self.servers, encoded) {
            // Not a valid name for a query, for example because of an overlong label.
            (_, Err(_)) => Err(ResolveError::NoSuchName),
            (Some(servers), Ok(name)) => self.query(servers, name).await,
            (None, Ok(_)) => Err(ResolveError::Unavailable),
        };
        match answer {
            Ok(found) => {
                let ttl = ttl(&found).clamp(self.settings.ttl_min, self.settings.ttl_max);
                self.judged(&found.iter().collect::<Vec<_>>(), now + ttl)
            }
            Err(error) => {
                let holds = match error {
                    ResolveError::Unavailable => self.settings.error_ttl,
                    ResolveError::NoSuchName | ResolveError::Denied | ResolveError::Blocked(_) => {
                        self.settings.negative_ttl
                    }
                };
                Kept { answer: Err(error), until: now + holds }
            }
        }
    }

    async fn query(&self, servers: &TokioResolver, name: Name) -> Result<LookupIp, ResolveError> {
        let Ok(_permit) = self.permits.acquire().await else {
            return Err(ResolveError::Unavailable);
        };
        // The library has timeouts of its own; this bound applies if they ever fail: UDP and TCP,
        // two address families.
        let patience = self.settings.timeout * (ATTEMPTS * 4);
        let began = self.queries.start();
        let found = tokio::time::timeout(patience, servers.lookup_ip(name)).await;
        self.queries.stop(began);
        match found {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(resolve_error(&error)),
            Err(_) => Err(ResolveError::Unavailable),
        }
    }

    /// Returns the smallest admitted address; IPv4 is smaller than IPv6. An IPv4 address in IPv6
    /// notation becomes the IPv4 address, so that politeness counts the machine once.
    fn judged(&self, addresses: &[IpAddr], until: Timestamp) -> Kept {
        let canonical = addresses.iter().map(IpAddr::to_canonical);
        let admitted = canonical.filter(|&address| self.address_policy.admits(address));
        let denied = match addresses.is_empty() {
            true => ResolveError::NoSuchName,
            false => ResolveError::Denied,
        };
        Kept { answer: admitted.min().ok_or(denied), until }
    }
}

/// Returns the address of a host name that is an IP literal, in canonical form
/// (`[::ffff:192.0.2.1]` is 192.0.2.1).
pub(super) fn literal(name: &str) -> Option<IpAddr> {
    let address = match name.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => name.parse().ok(),
    };
    address.map(|address: IpAddr| address.to_canonical())
}

/// Returns the shortest TTL of all aliases and addresses.
fn ttl(found: &LookupIp) -> Duration {
    let seconds = found.as_lookup().answers().iter().map(|record| record.ttl).min();
    Duration::from_secs(u64::from(seconds.unwrap_or(0)))
}

fn resolve_error(error: &NetError) -> ResolveError {
    match error {
        NetError::Dns(DnsError::NoRecordsFound(none)) => match none.response_code {
            ResponseCode::NXDomain | ResponseCode::NoError => ResolveError::NoSuchName,
            _ => ResolveError::Unavailable,
        },
        // This includes malformed replies: they contain nothing about the name.
        _ => ResolveError::Unavailable,
    }
}
