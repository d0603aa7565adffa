//! HTTP clients: several, because each has one lock for its pool of idle connections.
//!
//! A host's client is chosen by its name *and* its address, so that a host whose address changed
//! is usually not reached over a connection to the old one. (The address is checked after each
//! response nevertheless.)
//!
//! Visits whose connection must not stay idle afterwards use separate clients, which use only
//! HTTP/1.1: there a request can have `Connection: close`. HTTP/2 has no equivalent, and the client
//! would keep the connection.

use super::certificates::Certificates;
use super::fetch_error::FetchError;
use super::pins::Pins;
use super::reuse_wait::ReuseWaitLayer;
use super::tls;
use crate::limits::BODY_FREE;
use crivello_common::config::Fetch;
use crivello_common::metrics::Timer;
use reqwest::{Client, redirect, retry};
use rustls::ClientConfig;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::time::Duration;

const SHARDS: usize = 8;
/// Maximum number of header lines of a response. With more, its head is too large.
const HEADERS_MAX: usize = 200;
/// Bytes that an HTTP/2 connection may receive while nobody reads.
const HTTP2_WINDOW: u32 = BODY_FREE as u32;
/// Maximum idle time of a connection that must not outlive its visit: it is idle only between two
/// requests. If the visit ends before its last request, the connection is closed after this time.
const PASSING: Duration = Duration::from_secs(1);

/// Fate of a connection after its visit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum After {
    /// Kept for the next visit.
    Kept,
    /// Closed.
    Closed,
}

pub(super) struct Clients {
    keeping: Vec<Client>,
    closing: Vec<Client>,
    pub(super) pins: Pins,
    pub(super) certificates: Certificates,
    hasher: foldhash::fast::RandomState,
}

impl Clients {
    /// Creates clients that record in `connects` the time to make each connection.
    pub(super) fn new(fetch: &Fetch, connects: &Timer) -> Result<Self, FetchError> {
        // An error means that an earlier agent of this process has installed a provider.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let pins = Pins::default();
        let certificates = Certificates::default();
        let tls = tls::config(fetch.verify_certificates, &certificates)?;
        let shard = |after| build(fetch, &pins, &tls, after, connects);
        let shards = |after| (0..SHARDS).map(|_| shard(after)).collect();
        let keeping: Result<_, reqwest::Error> = shards(After::Kept);
        let closing: Result<_, reqwest::Error> = shards(After::Closed);
        let hasher = foldhash::fast::RandomState::default();
        Ok(Self { keeping: keeping?, closing: closing?, pins, certificates, hasher })
    }

    pub(super) fn of(&self, name: &str, address: IpAddr, after: After) -> &Client {
        let shards = match after {
            After::Kept => &self.keeping,
            After::Closed => &self.closing,
        };
        &shards[self.shard(name, address)]
    }

    pub(super) fn shard(&self, name: &str, address: IpAddr) -> usize {
        (self.hasher.hash_one((name, address)) >> 32) as usize % SHARDS
    }
}

fn build(
    fetch: &Fetch,
    pins: &Pins,
    tls: &ClientConfig,
    after: After,
    connects: &Timer,
) -> Result<Client, reqwest::Error> {
    let head_size = u32::try_from(fetch.head_size_max.0).unwrap_or(u32::MAX);
    let idle = match after {
        After::Kept => fetch.keep_alive,
        After::Closed => fetch.keep_alive.min(PASSING),
    };
    let http2 = fetch.http2 && after == After::Kept;
    let mut tls = tls.clone();
    tls.alpn_protocols =
        if http2 { vec![b"h2".to_vec(), b"http/1.1".to_vec()] } else { vec![b"http/1.1".to_vec()] };
    let mut builder = Client::builder()
        .dns_resolver(pins.clone())
        .no_proxy()
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(retry::never())
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        .connect_timeout(fetch.connect_timeout)
        .pool_idle_timeout(idle)
        .pool_max_idle_per_host(1)
        .tcp_nodelay(true)
        .connector_layer(ReuseWaitLayer(connects.clone()))
        .tls_backend_preconfigured(tls)
        .tls_info(true)
        .http1_max_headers(HEADERS_MAX)
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http2_max_header_list_size(head_size)
        .http2_initial_stream_window_size(HTTP2_WINDOW)
        .http2_initial_connection_window_size(HTTP2_WINDOW);
    if !http2 {
        builder = builder.http1_only();
    }
    builder.build()
}
