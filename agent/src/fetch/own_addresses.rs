//! Addresses of this machine. Services that listen there may trust it, so the crawler does not
//! connect to them.

use crivello_common::time::{Clock, Timestamp};
use parking_lot::RwLock;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Time after which the addresses are read again.
const READ_AGAIN: Duration = Duration::from_secs(60);

/// The addresses of the network interfaces, in canonical form.
#[derive(Clone)]
pub(super) struct OwnAddresses(Arc<Inner>);

struct Inner {
    clock: Clock,
    read: fn() -> Option<Vec<IpAddr>>,
    known: RwLock<Known>,
}

#[derive(Default)]
struct Known {
    addresses: Box<[IpAddr]>,
    read_at: Timestamp,
}

impl OwnAddresses {
    /// Returns the addresses of this machine, read by the system.
    pub(super) fn of_machine(clock: Clock) -> Self {
        Self::new(clock, of_interfaces)
    }

    pub(super) fn new(clock: Clock, read: fn() -> Option<Vec<IpAddr>>) -> Self {
        Self(Arc::new(Inner { clock, read, known: RwLock::default() }))
    }

    /// Returns true if `address` is one of them. Reads them again if they are old.
    pub(super) fn contain(&self, address: IpAddr) -> bool {
        let now = self.0.clock.now();
        let is_fresh = |known: &Known| now < known.read_at + READ_AGAIN;
        {
            let known = self.0.known.read();
            if is_fresh(&known) {
                return known.addresses.contains(&address);
            }
        }
        let mut known = self.0.known.write();
        if !is_fresh(&known) {
            known.read_at = now;
            // If they cannot be read, those of the last time stay.
            if let Some(addresses) = (self.0.read)() {
                known.addresses = addresses.iter().map(IpAddr::to_canonical).collect();
            }
        }
        known.addresses.contains(&address)
    }
}

fn of_interfaces() -> Option<Vec<IpAddr>> {
    match if_addrs::get_if_addrs() {
        Ok(interfaces) => Some(interfaces.iter().map(if_addrs::Interface::ip).collect()),
        Err(error) => {
            tracing::warn!("cannot read the addresses of this machine: {error}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_of_this_machine_are_known() {
        let own = OwnAddresses::of_machine(Clock::start());
        assert!(own.contain("127.0.0.1".parse().unwrap()));
        assert!(!own.contain("192.0.2.1".parse().unwrap()));
    }

    #[test]
    fn addresses_that_cannot_be_read_are_none() {
        let own = OwnAddresses::new(Clock::start(), || None);
        assert!(!own.contain("127.0.0.1".parse().unwrap()));
    }
}
