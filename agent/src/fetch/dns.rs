//! From a host's name to the one address that is visited.
//!
//! Answers are kept by our own clock and our own rules: an address for its TTL within
//! `ttl-min..ttl-max`, "no such name" and "no answer" for fixed times of their own. A name that
//! is asked for by many at once is asked for once. Of several addresses the smallest admitted one
//! is taken, so that a host stays at the address politeness is counted on.

use super::answers::Answers;
use super::guard::Guard;
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
use std::time::Duration;
use tokio::sync::Semaphore;

/// The resolver of host names, with its cache.
pub struct Dns {
    guard: Guard,
    barred: BlockAndPauseList,
    servers: Option<TokioResolver>,
    cache: Cache<String, Kept>,
    permits: Semaphore,
    settings: config::Dns,
    answers: Answers,
    queries: Option<Timer>,
}

/// An answer and how long it holds.
#[derive(Clone, Copy, Debug)]
struct Kept {
    answer: Result<IpAddr, ResolveError>,
    until: Timestamp,
}

impl Dns {
    /// Reads the name servers' addresses; asks nothing yet. Without any name server every name is
    /// [`ResolveError::Unavailable`].
    #[must_use]
    pub fn new(settings: &Settings) -> Self {
        let dns = settings.fixed.dns.clone();
        Self {
            guard: Guard::new(&settings.fixed.fetch.allow_networks),
            barred: BlockAndPauseList::of(&settings.live),
            servers: name_servers::connect(&dns),
            cache: Cache::new(dns.cache_entries_max),
            permits: Semaphore::new(dns.queries_max.max(1) as usize),
            settings: dns,
            answers: Answers::default(),
            queries: None,
        }
    }

    /// The same, which measures how long the name servers take.
    #[must_use]
    pub fn timed(mut self, clock: Clock) -> Self {
        self.queries = Some(Timer::new(clock, NETWORK_BUCKETS));
        self
    }

    /// How long the name servers took, where that is measured.
    #[must_use]
    pub fn times(&self) -> Option<&Histogram> {
        self.queries.as_ref().map(Timer::times)
    }

    /// The answers that were given by kind, those to IP literals left out.
    pub fn answers(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.answers.read()
    }

    /// Of these, known from before.
    #[must_use]
    pub fn answers_cached(&self) -> u64 {
        self.answers.cached()
    }

    /// The same, heeding what is blocked while it works.
    #[must_use]
    pub fn with_live_settings(mut self, barred: BlockAndPauseList) -> Self {
        self.barred = barred;
        self
    }

    /// The address to visit `name` at (in normal form, IPv6 literals in brackets). An IP literal
    /// is its own answer and asks nobody.
    pub async fn resolve(&self, host: HostKey, name: &str, now: Timestamp) -> Resolution {
        let (kept, cached) = match literal(name) {
            Some(address) => (self.judged(&[address], Timestamp::MAX), None),
            None => self.looked_up(name, now).await,
        };
        // What is kept is the address: it may be blocked now, and not a while later.
        let answer = kept.answer.and_then(|address| match self.barred.blocks_address(address) {
            true => Err(ResolveError::Blocked(address)),
            false => Ok(Resolved { address, until: kept.until }),
        });
        if let Some(cached) = cached {
            self.answers.count(&answer.map(|resolved| resolved.address), cached);
        }
        Resolution { host, answer }
    }

    /// What is known of a name, and whether it was known before.
    async fn looked_up(&self, name: &str, now: Timestamp) -> (Kept, Option<bool>) {
        let entry = self
            .cache
            .entry_by_ref(name)
            .or_insert_with_if(self.ask(name, now), |kept| kept.until <= now)
            .await;
        let cached = !entry.is_fresh();
        (entry.into_value(), Some(cached))
    }

    async fn ask(&self, name: &str, now: Timestamp) -> Kept {
        let encoded = Name::from_labels(name.split('.').map(str::as_bytes));
        let answer = match (&self.servers, encoded) {
            // Not a name that could be asked for: an overlong label, for instance.
            (_, Err(_)) => Err(ResolveError::NoSuchName),
            (Some(servers), Ok(name)) => self.query(servers, name).await,
            (None, Ok(_)) => Err(ResolveError::Unavailable),
        };
        match answer {
            Ok(found) => {
                let ttl = ttl(&found).clamp(self.settings.ttl_min, self.settings.ttl_max);
                self.judged(&found.iter().collect::<Vec<_>>(), now + ttl)
            }
            Err(error) => self.refused(error, now),
        }
    }

    async fn query(&self, servers: &TokioResolver, name: Name) -> Result<LookupIp, ResolveError> {
        let Ok(_permit) = self.permits.acquire().await else {
            return Err(ResolveError::Unavailable);
        };
        // The library keeps its own time; this is the bound should it ever not: UDP and TCP, two
        // families.
        let patience = self.settings.timeout * (ATTEMPTS * 4);
        let began = self.queries.as_ref().map(Timer::start);
        let found = tokio::time::timeout(patience, servers.lookup_ip(name)).await;
        if let (Some(queries), Some(began)) = (&self.queries, began) {
            queries.stop(began);
        }
        match found {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => Err(resolve_error(&error)),
            Err(_) => Err(ResolveError::Unavailable),
        }
    }

    /// The smallest admitted address; IPv4 is smaller than IPv6. An IPv4 address in IPv6 notation
    /// is the IPv4 address: politeness must know the machine by one name.
    fn judged(&self, addresses: &[IpAddr], until: Timestamp) -> Kept {
        let canonical = addresses.iter().map(IpAddr::to_canonical);
        let admitted = canonical.filter(|&address| self.guard.admits(address));
        let denied = match addresses.is_empty() {
            true => ResolveError::NoSuchName,
            false => ResolveError::Denied,
        };
        Kept { answer: admitted.min().ok_or(denied), until }
    }

    fn refused(&self, error: ResolveError, now: Timestamp) -> Kept {
        let holds = match error {
            ResolveError::NoSuchName | ResolveError::Denied | ResolveError::Blocked(_) => {
                self.settings.negative_ttl
            }
            ResolveError::Unavailable => self.settings.error_ttl,
        };
        Kept { answer: Err(error), until: now + holds }
    }
}

/// The address that a host name is, when it is one; in canonical form (`[::ffff:192.0.2.1]` is
/// 192.0.2.1).
pub(super) fn literal(name: &str) -> Option<IpAddr> {
    let address = match name.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => name.parse().ok(),
    };
    address.map(|address: IpAddr| address.to_canonical())
}

/// The shortest TTL on the way: of the aliases and of the addresses.
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
        // Also a reply that is none: it says nothing about the name.
        _ => ResolveError::Unavailable,
    }
}
