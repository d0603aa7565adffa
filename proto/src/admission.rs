//! Bounds on connections that have not shown that they are of a node or of people.
//!
//! A connection is *unproven* from its acceptance until its certificate is verified, or until its
//! first call that is permitted. Unproven connections are bounded in number, also for each address,
//! and in time.

use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of unproven connections. Beyond it new connections are closed.
pub(crate) const UNPROVEN_MAX: usize = 512;
/// Maximum number of unproven connections of one address, a /64 for IPv6.
pub(crate) const UNPROVEN_PER_ADDRESS_MAX: usize = 64;
/// Time after which an unproven connection is closed.
pub(crate) const UNPROVEN_TIME_MAX: Duration = Duration::from_secs(10);

/// Counts of unproven connections. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admission(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// A slot among the unproven connections, given up when dropped.
#[derive(Debug)]
pub(crate) struct AdmissionSlot {
    admission: Admission,
    address: IpAddr,
}

impl Admission {
    /// Returns a slot for a connection from `address`; `None` if there are too many.
    pub(crate) fn admit(&self, address: IpAddr) -> Option<AdmissionSlot> {
        let address = network(address);
        let mut counts = self.0.lock();
        let of_address = counts.by_address.get(&address).copied().unwrap_or_default();
        if counts.all >= UNPROVEN_MAX || of_address >= UNPROVEN_PER_ADDRESS_MAX {
            return None;
        }
        counts.all += 1;
        counts.by_address.insert(address, of_address + 1);
        Some(AdmissionSlot { admission: self.clone(), address })
    }
}

impl Drop for AdmissionSlot {
    fn drop(&mut self) {
        let mut counts = self.admission.0.lock();
        counts.all -= 1;
        if let Some(n) = counts.by_address.get_mut(&self.address) {
            *n -= 1;
            if *n == 0 {
                counts.by_address.remove(&self.address);
            }
        }
    }
}

/// Returns the address by which connections are counted: IPv6 by its /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => IpAddr::V6((v6.to_bits() >> 64 << 64).into()),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_bounded_in_all_and_for_each_address() {
        let admission = Admission::default();
        let of = |text: &str| admission.admit(text.parse().unwrap());
        let mut slots: Vec<AdmissionSlot> =
            (0..UNPROVEN_PER_ADDRESS_MAX).map(|_| of("192.0.2.1").unwrap()).collect();
        assert!(of("192.0.2.1").is_none() && of("::ffff:192.0.2.1").is_none());
        drop(slots.pop());
        slots.push(of("192.0.2.1").expect("a slot that was given up"));
        for n in slots.len()..UNPROVEN_MAX {
            slots.push(of(&format!("10.0.{}.{}", n / 256, n % 256)).unwrap());
        }
        assert!(of("198.51.100.1").is_none());
        slots.clear();
        assert!(admission.0.lock().by_address.is_empty());
        let one = of("2001:db8::1").unwrap();
        assert_eq!(one.address, network("2001:db8::ffff".parse().unwrap()));
    }
}
