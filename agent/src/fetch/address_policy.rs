//! Admission of addresses: those that the public internet routes, and those that a setting allows.
//! This guards against server-side request forgery.
//!
//! IPv4 addresses are checked against a table of denied networks, after the IANA special-purpose
//! registry (RFC 6890). For IPv6 only global unicast (`2000::/3`) without its special blocks is
//! admitted. Addresses that a translator or a tunnel maps to an IPv4 address (NAT64, 6to4, Teredo,
//! IPv4-compatible) count as special: a machine with two addresses would be visited as if it were
//! two. An IPv4 address that is part of an address of NAT64, 6to4 or ISATAP is checked as well, even
//! if a setting allows the network around it. This machine's own addresses are denied too.

use super::own_addresses::OwnAddresses;
use crivello_common::time::Clock;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Filter of addresses.
#[derive(Clone, Default)]
pub struct AddressPolicy {
    allowed: Box<[IpNet]>,
    own: Option<OwnAddresses>,
}

impl AddressPolicy {
    /// Creates a policy that also admits the addresses in `allow_networks`.
    #[must_use]
    pub fn new(allow_networks: &[IpNet]) -> Self {
        Self { allowed: allow_networks.into(), own: None }
    }

    /// Creates a policy that also denies the addresses of this machine, unless they are in
    /// `allow_networks`.
    #[must_use]
    pub fn of_machine(allow_networks: &[IpNet], clock: Clock) -> Self {
        Self { own: Some(OwnAddresses::of_machine(clock)), ..Self::new(allow_networks) }
    }

    /// Returns true if `address` may be connected to.
    pub fn admits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_allowed = self.allowed.iter().any(|network| network.contains(&address));
        let is_public = || match address {
            IpAddr::V4(v4) => !DENIED_V4.iter().any(|network| network.contains(&v4)),
            IpAddr::V6(v6) => {
                GLOBAL_V6.contains(&v6) && !DENIED_V6.iter().any(|network| network.contains(&v6))
            }
        };
        let is_own = || self.own.as_ref().is_some_and(|own| own.contain(address));
        let embedded = match address {
            IpAddr::V4(_) => None,
            IpAddr::V6(v6) => embedded(v6),
        };
        (is_allowed || (is_public() && !is_own()))
            && embedded.is_none_or(|v4| self.admits(v4.into()))
    }
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> Ipv4Net {
    Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length)
}

const fn v6(a: u16, b: u16, c: u16, length: u8) -> Ipv6Net {
    Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), length)
}

const DENIED_V4: [Ipv4Net; 16] = [
    v4(0, 0, 0, 0, 8),        // "this network", RFC 791
    v4(10, 0, 0, 0, 8),       // private, RFC 1918
    v4(100, 64, 0, 0, 10),    // carrier-grade NAT, RFC 6598
    v4(127, 0, 0, 0, 8),      // loopback, RFC 1122
    v4(168, 63, 129, 16, 32), // control service of the Azure cloud, at a public address
    v4(169, 254, 0, 0, 16),   // link-local (and the clouds' metadata services), RFC 3927
    v4(172, 16, 0, 0, 12),    // private, RFC 1918
    v4(192, 0, 0, 0, 24),     // IETF protocol assignments, RFC 6890
    v4(192, 0, 2, 0, 24),     // documentation, RFC 5737
    v4(192, 88, 99, 0, 24),   // 6to4 relays, RFC 7526
    v4(192, 168, 0, 0, 16),   // private, RFC 1918
    v4(198, 18, 0, 0, 15),    // benchmarking, RFC 2544
    v4(198, 51, 100, 0, 24),  // documentation, RFC 5737
    v4(203, 0, 113, 0, 24),   // documentation, RFC 5737
    v4(224, 0, 0, 0, 4),      // multicast, RFC 5771
    v4(240, 0, 0, 0, 4),      // reserved, and broadcast, RFC 1112
];

const GLOBAL_V6: Ipv6Net = v6(0x2000, 0, 0, 3);

const DENIED_V6: [Ipv6Net; 4] = [
    v6(0x2001, 0, 0, 23), // IETF protocol assignments: Teredo, benchmarking…, RFC 2928
    v6(0x2001, 0xdb8, 0, 32), // documentation, RFC 3849
    v6(0x2002, 0, 0, 16), // 6to4, RFC 3056
    v6(0x3fff, 0, 0, 20), // documentation, RFC 9637
];

/// Returns the IPv4 address to which a translator or tunnel forwards what is sent to `address`: NAT64
/// (RFC 6052, RFC 8215), 6to4 (RFC 3056), or ISATAP under any prefix (RFC 5214).
const fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, ..]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => (high, low),
        _ => return None,
    };
    Some(Ipv4Addr::from_bits(((high as u32) << 16) | low as u32))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn special_addresses_are_denied() {
        let policy = AddressPolicy::default();
        for text in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.255.254",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.9",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:0:10.0.0.1",
            "::8.8.8.8",
            "::ffff:0:8.8.8.8",
            "64:ff9b::10.0.0.1",
            "64:ff9b::8.8.8.8",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:db8::1",
            "2002:a00:1::1",
            "2002:7f00:1::",
            "2002:808:808::1",
            "2001:0:808:808::f7f7:f7f7",
            "2001:0:a00:1::f5ff:fffe",
            "2001:0:808:808::f5ff:fffe",
            "2001:0:a00:1::f7f7:f7f7",
            "3fff::1",
            "5f00::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "2a00:1450::5efe:10.0.0.1",
            "2a00:1450::200:5efe:192.168.0.1",
            "4000::1",
        ] {
            assert!(!policy.admits(address(text)), "{text}");
        }
    }

    #[test]
    fn public_addresses_are_admitted() {
        let policy = AddressPolicy::default();
        for text in [
            "1.1.1.1",
            "8.8.8.8",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "168.63.129.15",
            "168.63.129.17",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.0",
            "192.0.3.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "2001:200::1",
            "2606:4700:4700::1111",
            "2a00:1450:4001::1",
            "2a00:1450::5efe:8.8.8.8",
        ] {
            assert!(policy.admits(address(text)), "{text}");
        }
    }

    #[test]
    fn a_configuration_line_admits_its_network_and_nothing_beside_it() {
        let allowed = ["127.0.0.0/8", "fd00:1::/32", "64:ff9b::/96"];
        let policy = AddressPolicy::new(&allowed.map(|network| network.parse().unwrap()));
        for text in ["127.0.0.1", "::ffff:127.9.9.9", "64:ff9b::8.8.8.8", "fd00:1::5"] {
            assert!(policy.admits(address(text)), "{text}");
        }
        for text in ["10.0.0.1", "::1", "fd00:2::5", "::ffff:10.0.0.1", "::127.0.0.1"] {
            assert!(!policy.admits(address(text)), "{text}");
        }
    }

    #[test]
    fn a_private_address_within_an_allowed_network_needs_its_own_line() {
        let policy = |allowed: &[&str]| {
            let networks: Vec<IpNet> = allowed.iter().map(|n| n.parse().unwrap()).collect();
            AddressPolicy::new(&networks)
        };
        for (network, within, public) in [
            ("64:ff9b::/96", "64:ff9b::10.0.0.1", "64:ff9b::8.8.8.8"),
            ("64:ff9b::/96", "64:ff9b::168.63.129.16", "64:ff9b::9.9.9.9"),
            ("64:ff9b:1::/48", "64:ff9b:1::127.0.0.1", "64:ff9b:1::8.8.8.8"),
            ("2002::/16", "2002:a00:1::1", "2002:808:808::1"),
            ("2a00:1450::/32", "2a00:1450::5efe:10.0.0.1", "2a00:1450::5efe:8.8.8.8"),
        ] {
            assert!(!policy(&[network]).admits(address(within)), "{within}");
            assert!(policy(&[network]).admits(address(public)), "{public}");
            let both = policy(&[network, "10.0.0.0/8", "127.0.0.0/8", "168.63.129.16/32"]);
            assert!(both.admits(address(within)), "{within}");
        }
    }

    #[test]
    fn own_addresses_are_denied_unless_they_are_allowed() {
        let own = OwnAddresses::new(Clock::start(), || {
            Some(vec![address("9.9.9.9"), address("::ffff:8.8.8.8"), address("2a00:1450::1")])
        });
        let policy = AddressPolicy { own: Some(own), ..AddressPolicy::default() };
        for text in ["9.9.9.9", "8.8.8.8", "2a00:1450::1", "2a00:1450::5efe:9.9.9.9"] {
            assert!(!policy.admits(address(text)), "{text}");
        }
        assert!(policy.admits(address("9.9.9.10")) && policy.admits(address("2a00:1450::2")));
        let allowed = AddressPolicy { allowed: ["9.9.9.9/32".parse().unwrap()].into(), ..policy };
        assert!(allowed.admits(address("9.9.9.9")) && !allowed.admits(address("8.8.8.8")));
    }

    proptest! {
        #[test]
        fn wrapping_an_address_never_launders_it(bits: u32, wrap in 0..6_u8) {
            let policy = AddressPolicy::default();
            let v4 = Ipv4Addr::from_bits(bits);
            let [high, low] = [(bits >> 16) as u16, bits as u16];
            let (wrapped, expected) = match wrap {
                0 => (v4.to_ipv6_mapped(), policy.admits(v4.into())),
                1 => (Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low), false),
                2 => (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low), false),
                3 => (Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1), false),
                4 => (Ipv6Addr::new(0x2001, 0, 0x808, 0x808, 0, 0, !high, !low), false),
                _ => (Ipv6Addr::new(0x2a00, 1, 0, 0, 0x200, 0x5efe, high, low), policy.admits(v4.into())),
            };
            prop_assert_eq!(policy.admits(wrapped.into()), expected);
        }
    }
}
