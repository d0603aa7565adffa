//! The addresses that may be connected to right now: one a visit in flight.
//!
//! The HTTP client resolves names through this map alone, so a connection can only be made to the
//! address a visit holds the lease on. IP literals never reach it: see
//! [`visit`](super::visit) for their check.

use dashmap::DashMap;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Host names and the one address each may be reached at.
#[derive(Clone, Default)]
pub(super) struct Pins(Arc<DashMap<Arc<str>, IpAddr, foldhash::fast::RandomState>>);

/// A name that no visit is at.
#[derive(Debug, thiserror::Error)]
#[error("no visit holds a lease on this host")]
pub(super) struct NotPinned;

impl Pins {
    /// Lets `name` be reached at `address` until the guard is dropped.
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

/// See [`Pins::pin`].
pub(super) struct Pin {
    pins: Pins,
    name: Arc<str>,
}

impl Drop for Pin {
    fn drop(&mut self) {
        self.pins.0.remove(&self.name);
    }
}
