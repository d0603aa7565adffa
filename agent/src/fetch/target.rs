//! Target of a request: a URL whose host, port and address have been checked together. A request can
//! only be made from it, so the host that is connected to is the host that was checked.

use super::address_policy::AddressPolicy;
use super::dns::literal;
use crivello_common::discard::Discard;
use crivello_common::ports::PortPolicy;
use crivello_common::url::CrawlUrl;
use std::net::IpAddr;

/// Filter of what may be connected to.
pub(super) struct ConnectPolicy {
    pub(super) addresses: AddressPolicy,
    pub(super) ports: PortPolicy,
}

impl ConnectPolicy {
    /// Returns true if a host may be visited at `address`. IP literals do not pass through the
    /// pinned resolver, so they must equal the address of the visit.
    pub(super) fn admits_host(&self, name: &str, address: IpAddr) -> bool {
        self.addresses.admits(address) && literal(name).is_none_or(|literal| literal == address)
    }

    /// Checks a URL of host `name`, which is visited at `address`. This is the last check before a
    /// socket is opened.
    ///
    /// # Errors
    /// [`Discard::Unparsable`] if the text of the URL has another host, port or scheme than
    /// `name` and the URL's origin; [`Discard::AddressDenied`] or [`Discard::PortDenied`].
    pub(super) fn target(
        &self,
        url: &CrawlUrl,
        name: &str,
        address: IpAddr,
    ) -> Result<RequestTarget, Discard> {
        let parsed = url::Url::parse(url.as_str()).map_err(|_| Discard::Unparsable)?;
        let origin = url.origin();
        if parsed.host_str() != Some(name)
            || parsed.port_or_known_default() != Some(origin.port)
            || parsed.scheme() != origin.scheme.name()
        {
            return Err(Discard::Unparsable);
        }
        if !self.admits_host(name, address) {
            return Err(Discard::AddressDenied);
        }
        if !self.ports.admits(origin.port) {
            return Err(Discard::PortDenied);
        }
        Ok(RequestTarget { url: url.clone(), parsed, address })
    }
}

/// A URL that may be requested at an address.
pub(super) struct RequestTarget {
    url: CrawlUrl,
    parsed: url::Url,
    address: IpAddr,
}

impl RequestTarget {
    /// Returns the URL in normal form.
    pub(super) const fn url(&self) -> &CrawlUrl {
        &self.url
    }

    /// Returns the URL as the HTTP client reads it. Its host is that of [`Self::url`].
    pub(super) const fn parsed(&self) -> &url::Url {
        &self.parsed
    }

    /// Returns the only address that may be connected to.
    pub(super) const fn address(&self) -> IpAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::url::{Origin, Scheme};

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(93, 184, 215, 14));

    fn policy() -> ConnectPolicy {
        ConnectPolicy { addresses: AddressPolicy::default(), ports: PortPolicy::default() }
    }

    fn target(name: &str, port: u16, path: &str) -> Result<RequestTarget, Discard> {
        let origin = Origin { scheme: Scheme::Http, port };
        policy().target(&CrawlUrl::from_parts(origin, name, path), name, ADDRESS)
    }

    #[test]
    fn a_name_that_is_more_than_a_host_is_refused() {
        assert!(target("site.test", 80, "/a?b").is_ok());
        for name in [
            "169.254.169.254/latest/meta-data?x=.evil.test",
            "127.0.0.1#.evil.test",
            "127.0.0.1\\.evil.test",
            "user@site.test",
            "site.test:22",
            "SITE.test",
            "0x7f.1",
            "",
        ] {
            assert_eq!(target(name, 80, "/").err(), Some(Discard::Unparsable), "{name}");
        }
        let url = CrawlUrl::parse("http://other.test/").unwrap();
        let other = policy().target(&url, "site.test", ADDRESS);
        assert_eq!(other.err(), Some(Discard::Unparsable));
    }

    #[test]
    fn denied_ports_and_addresses_are_refused() {
        for port in PortPolicy::default().denied() {
            assert_eq!(target("site.test", *port, "/").err(), Some(Discard::PortDenied), "{port}");
        }
        assert_eq!(target("93.184.215.15", 80, "/").err(), Some(Discard::AddressDenied));
        let url = CrawlUrl::parse("http://site.test/").unwrap();
        let private = policy().target(&url, "site.test", "10.0.0.1".parse().unwrap());
        assert_eq!(private.err(), Some(Discard::AddressDenied));
    }
}
