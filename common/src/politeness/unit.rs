//! The unit of politeness among IP addresses.

use std::net::{IpAddr, Ipv6Addr};

/// Number of bits of an IPv6 address within a network that one party usually has as a whole.
const INTERFACE_BITS: u32 = 64;

/// Returns the first address of the unit that an address belongs to: an IPv4 address is one by
/// itself, of IPv6 each /64 is one. An IPv4 address in IPv6 notation counts as IPv4.
#[must_use]
pub const fn address_unit(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(v4) => IpAddr::V4(v4),
        IpAddr::V6(v6) => {
            IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() >> INTERFACE_BITS << INTERFACE_BITS))
        }
    }
}

/// Returns the part of an address that its [`address_unit`] lacks: the interface identifier of an
/// IPv6 address; 0 for IPv4.
#[must_use]
pub const fn interface_of(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(_) => 0,
        #[expect(clippy::cast_possible_truncation, reason = "the lower half is wanted")]
        IpAddr::V6(v6) => v6.to_bits() as u64,
    }
}

/// Returns the address with this unit and this interface identifier.
#[must_use]
pub const fn address_in(unit: IpAddr, interface: u64) -> IpAddr {
    match unit {
        IpAddr::V4(_) => unit,
        IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() | interface as u128)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_addresses_of_ipv4_and_networks_of_ipv6() {
        for (address, unit) in [
            ("192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::"),
            ("2001:db8:1:2::", "2001:db8:1:2::"),
            ("2001:db8:1:3::1", "2001:db8:1:3::"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(address_unit(address), unit.parse::<IpAddr>().unwrap(), "{address}");
            let again = address_in(address_unit(address), interface_of(address));
            assert_eq!(again, address.to_canonical());
        }
    }
}
