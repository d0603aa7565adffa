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

    fn get(&self, name: &str) -> Option<IpAddr> {
        self.0.get(name).map(|entry| *entry.value())
    }
}

impl Resolve for Pins {
    fn resolve(&self, name: Name) -> Resolving {
        let found = self.get(name.as_str());
        Box::pin(std::future::ready(match found {
            Some(address) => {
                let addresses: Addrs = Box::new(std::iter::once(SocketAddr::new(address, 0)));
                Ok(addresses)
            }
            None => Err(NotPinned.into()),
        }))
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
