//! The HTTP clients: several, because the pool of idle connections is one lock in each.
//!
//! A host's client is chosen by its name *and* its address, so that a host which moved is mostly
//! not met through a connection to where it was. (The address is checked after each response
//! all the same.)

use super::FetchError;
use super::follow::Patience;
use super::pins::{Pin, Pins};
use crivello_common::config::Fetch;
use reqwest::{Client, redirect, retry};
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::Arc;

const SHARDS: usize = 8;
/// Header lines of a response; more count as a head too large.
const HEADERS_MAX: usize = 200;

pub(super) struct Clients {
    shards: Vec<Client>,
    pins: Pins,
    hasher: foldhash::fast::FixedState,
}

impl Clients {
    pub(super) fn new(fetch: &Fetch) -> Result<Self, FetchError> {
        // An error says that a provider is installed already: by an earlier agent of this process.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let pins = Pins::default();
        let shards = (0..SHARDS).map(|_| build(fetch, &pins)).collect::<Result<_, _>>()?;
        Ok(Self { shards, pins, hasher: foldhash::fast::FixedState::default() })
    }

    pub(super) fn of(&self, name: &str, address: IpAddr) -> &Client {
        &self.shards[self.shard(name, address)]
    }

    pub(super) fn shard(&self, name: &str, address: IpAddr) -> usize {
        (self.hasher.hash_one((name, address)) >> 32) as usize % SHARDS
    }

    pub(super) fn pin(&self, name: &Arc<str>, address: IpAddr) -> Pin {
        self.pins.pin(name, address)
    }
}

fn build(fetch: &Fetch, pins: &Pins) -> Result<Client, reqwest::Error> {
    let head_size = u32::try_from(fetch.head_size_max.0).unwrap_or(u32::MAX);
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
        .pool_idle_timeout(fetch.keep_alive)
        .pool_max_idle_per_host(1)
        .tcp_nodelay(true)
        .connector_layer(Patience)
        .tls_danger_accept_invalid_certs(!fetch.verify_certificates)
        .http1_max_headers(HEADERS_MAX)
        .http1_ignore_invalid_headers_in_responses(true)
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        .http1_allow_spaces_after_header_name_in_responses(true)
        .http2_max_header_list_size(head_size);
    if !fetch.http2 {
        builder = builder.http1_only();
    }
    builder.build()
}
