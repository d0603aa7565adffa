//! The network that contains the addresses of all hosts.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// Maximum prefix length. At least 256 addresses are needed, because the extra addresses of a host
/// that has several are in the same block of 256.
const PREFIX_MAX: u32 = 24;
/// Addresses per block of 256 that are assigned to hosts: those that end in 1 to 250. The following
/// ones are extra addresses of hosts that have several.
const HOSTS_PER_256: u32 = 250;
/// Number of addresses at the beginning of 127.0.0.0/8 that are left out, so that a crawl can be
/// allowed the simulated web but not 127.0.0.1.
const LOOPBACK_SPARED: u32 = 1 << 16;

/// A network, in CIDR form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Network {
    first: Ipv4Addr,
    prefix: u32,
}

/// A text that is not a network that a web can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}: {why}")]
pub struct NetworkError {
    text: String,
    why: &'static str,
}

impl Network {
    /// Addresses that never leave the machine: 127.0.0.0/8 without its first 65,536 addresses.
    pub const LOOPBACK: Self = Self { first: Ipv4Addr::new(127, 0, 0, 0), prefix: 8 };

    /// Returns whether only this machine can reach the network.
    pub const fn is_loopback(self) -> bool {
        self.prefix >= Self::LOOPBACK.prefix && self.first.is_loopback()
    }

    /// Returns the address of the `n`-th host. After the last address, hosts share them from the
    /// first on.
    pub fn nth(self, n: u32) -> Ipv4Addr {
        let spared = if self == Self::LOOPBACK { LOOPBACK_SPARED } else { 0 };
        let n_addresses = (1 << (u32::BITS - self.prefix)) - spared;
        let n = n % (n_addresses / 256 * HOSTS_PER_256);
        let at = spared + n / HOSTS_PER_256 * 256 + n % HOSTS_PER_256 + 1;
        Ipv4Addr::from_bits(self.first.to_bits() + at)
    }

    /// Returns the networks that a visitor of these addresses must be allowed to contact. For
    /// 127.0.0.0/8, these are only the parts in use.
    pub fn allowed(self, ips: &[Ipv4Addr]) -> Vec<String> {
        if self != Self::LOOPBACK {
            return vec![self.to_string()];
        }
        let mut seconds: Vec<u8> = ips.iter().map(|ip| ip.octets()[1]).collect();
        seconds.sort_unstable();
        seconds.dedup();
        seconds.into_iter().map(|second| format!("127.{second}.0.0/16")).collect()
    }
}

impl Default for Network {
    fn default() -> Self {
        Self::LOOPBACK
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first, self.prefix)
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let fault = |why| NetworkError { text: text.to_owned(), why };
        let (first, prefix) = text.split_once('/').ok_or(fault("no /length after the address"))?;
        let first: Ipv4Addr = first.parse().map_err(|_| fault("no IPv4 address before the /"))?;
        let prefix: u32 = prefix.parse().map_err(|_| fault("no number after the /"))?;
        if !(Self::LOOPBACK.prefix..=PREFIX_MAX).contains(&prefix) {
            return Err(fault("the length must be 8 to 24"));
        }
        let network = Self { first, prefix };
        let rest = first.to_bits() & (u32::MAX >> prefix);
        if rest == 0 { Ok(network) } else { Err(fault("the address is not the network's first")) }
    }
}

impl TryFrom<String> for Network {
    type Error = NetworkError;

    fn try_from(text: String) -> Result<Self, NetworkError> {
        text.parse()
    }
}

impl From<Network> for String {
    fn from(network: Network) -> Self {
        network.to_string()
    }
}

/// Returns a host's own address and up to four more that belong to no host.
#[must_use]
pub fn several(own: Ipv4Addr, more: u8) -> Vec<Ipv4Addr> {
    let [a, b, c, _] = own.octets();
    let extra = (0..more.min(4)).map(|k| Ipv4Addr::new(a, b, c, 251 + k));
    std::iter::once(own).chain(extra).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(text: &str) -> Network {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_no_network_is_refused() {
        for (text, why) in [
            ("10.93.128.0", "/length"),
            ("10.93/17", "IPv4"),
            ("::1/17", "IPv4"),
            ("10.93.128.0/x", "number"),
            ("10.93.128.0/25", "8 to 24"),
            ("0.0.0.0/0", "8 to 24"),
            ("10.93.128.1/17", "first"),
            ("10.93.64.0/17", "first"),
        ] {
            let error = text.parse::<Network>().unwrap_err().to_string();
            assert!(error.starts_with(text) && error.contains(why), "{error}");
            assert!(serde_json::from_str::<Network>(&format!("{text:?}")).is_err(), "{text}");
        }
        let json = "\"10.93.128.0/17\"";
        let kept: Network = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&kept).unwrap(), json);
    }

    #[test]
    fn addresses_leave_out_what_ends_on_zero_and_are_within() {
        let lent = network("10.93.128.0/17");
        assert_eq!(lent.nth(0), Ipv4Addr::new(10, 93, 128, 1));
        assert_eq!(lent.nth(249), Ipv4Addr::new(10, 93, 128, 250));
        assert_eq!(lent.nth(250), Ipv4Addr::new(10, 93, 129, 1));
        assert_eq!(lent.nth(31_999), Ipv4Addr::new(10, 93, 255, 250));
        assert_eq!(
            lent.nth(32_000),
            lent.nth(0),
            "expected shared addresses: there are more hosts than addresses"
        );
        assert_eq!(network("10.0.0.0/24").nth(250), Ipv4Addr::new(10, 0, 0, 1));
    }

    #[test]
    fn loopback_spares_the_first_address() {
        assert_eq!(Network::default(), network("127.0.0.0/8"));
        assert_eq!(Network::LOOPBACK.nth(0), Ipv4Addr::new(127, 1, 0, 1));
        assert_eq!(Network::LOOPBACK.nth(16_319_999), Ipv4Addr::new(127, 255, 255, 250));
        assert_eq!(Network::LOOPBACK.nth(16_320_000), Ipv4Addr::new(127, 1, 0, 1));
        assert_eq!(network("127.7.0.0/16").nth(0), Ipv4Addr::new(127, 7, 0, 1));
    }

    #[test]
    fn only_what_begins_with_127_stays_on_the_machine() {
        for (text, stays) in [
            ("127.0.0.0/8", true),
            ("127.7.0.0/16", true),
            ("126.0.0.0/8", false),
            ("128.0.0.0/8", false),
            ("10.93.128.0/17", false),
        ] {
            assert_eq!(network(text).is_loopback(), stays, "{text}");
        }
    }

    #[test]
    fn a_visitor_is_allowed_no_more_than_the_web() {
        let ips = [Ipv4Addr::new(127, 1, 0, 1), Ipv4Addr::new(127, 2, 0, 1)];
        assert_eq!(Network::LOOPBACK.allowed(&ips), ["127.1.0.0/16", "127.2.0.0/16"]);
        assert_eq!(network("10.93.128.0/17").allowed(&[]), ["10.93.128.0/17"]);
    }
}
