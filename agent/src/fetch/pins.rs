//! Pinned addresses: the only ones that may be connected to now, one for each visit in flight.
//!
//! The HTTP client resolves names through this map only, so it can connect only to the address
//! of a visit in flight. The client does not resolve IP literals:
//! [`visit`](super::visit) checks them.

use dashmap::DashMap;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Host names, each with the one address that may be connected to.
#[derive(Clone, Default)]
pub(super) struct Pins(Arc<DashMap<Arc<str>, IpAddr, foldhash::fast::RandomState>>);

/// Error for a name without a visit in flight.
#[derive(Debug, thiserror::Error)]
#[error("no visit to this host is in flight")]
pub(super) struct NotPinned;

impl Pins {
    /// Allows connections to `name` at `address` until the returned guard is dropped.
    pub(super) fn pin(&self, name: &Arc<str>, address: IpAddr) -> Pin {
        self.0.insert(Arc::clone(name), address);
        Pin { pins: self.clone(), name: Arc::clone(name) }
    }
}

impl Resolve for Pins {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.0.get(name.as_str()).map(|entry| SocketAddr::new(*entry.value(), 0));
        let addresses = found.map(|address| Box::new(std::iter::once(address)) as Addrs);
        Box::pin(std::future::ready(addresses.ok_or_else(|| NotPinned.into())))
    }
}

/// Guard that removes a pinned address when it is dropped.
pub(super) struct Pin {
    pins: Pins,
    name: Arc<str>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.0.remove(&self.name);
    }
}
