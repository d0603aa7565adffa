//! Names and addresses of the hosts.
//!
//! Generated hosts are named like `h3.site12.test`. `.test` is on no public-suffix list, so the
//! default rule makes `site12.test` the registrable domain. Their addresses are consecutive
//! addresses of the spec's [`Network`].

use crate::network::Network;
use crate::spec::Spec;
use std::collections::HashMap;
use std::fmt;
use std::net::Ipv4Addr;

/// A host: its number, and the number of a subdomain if every name below the host is a host too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HostRef {
    /// Number of the host: generated hosts first, then named hosts.
    pub id: u32,
    /// Number of the subdomain, written as `x7.` before the host's name.
    pub sub: Option<u64>,
}

impl HostRef {
    /// Returns the host with this number.
    #[must_use]
    pub const fn new(id: u32) -> Self {
        Self { id, sub: None }
    }
}

/// All names of a web.
#[derive(Debug)]
pub struct HostNames {
    n_generated: u32,
    hosts_per_domain: u32,
    network: Network,
    n_ips: u32,
    own: Vec<String>,
    by_name: HashMap<String, u32>,
    own_ips: Vec<Option<Ipv4Addr>>,
}

impl HostNames {
    /// Collects the names of `spec`.
    #[must_use]
    pub fn new(spec: &Spec) -> Self {
        let n_generated = spec.domains.saturating_mul(spec.hosts_per_domain);
        let own: Vec<String> = spec.hosts.iter().map(|h| h.name.to_ascii_lowercase()).collect();
        let by_name = own.iter().cloned().zip(n_generated..).collect();
        Self {
            n_generated,
            hosts_per_domain: spec.hosts_per_domain.max(1),
            network: spec.network,
            n_ips: if spec.ips == 0 { n_generated } else { spec.ips.min(n_generated) },
            own_ips: spec.hosts.iter().map(|h| h.character.ip).collect(),
            own,
            by_name,
        }
    }

    /// Returns the number of hosts, without subdomains.
    pub fn len(&self) -> u32 {
        self.n_generated + self.own.len() as u32
    }

    /// Returns whether there is no host.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of generated hosts.
    pub const fn n_generated(&self) -> u32 {
        self.n_generated
    }

    /// Returns the host with this name (lower case). Names like `x7.trap.test` are subdomains of
    /// `trap.test`; the character of `trap.test` decides whether they exist.
    pub fn find(&self, name: &str) -> Option<HostRef> {
        if let Some(id) = self.by_name.get(name).copied().or_else(|| self.find_generated(name)) {
            return Some(HostRef::new(id));
        }
        let (label, rest) = name.split_once('.')?;
        let sub = label.strip_prefix('x')?.parse().ok()?;
        self.by_name.get(rest).map(|&id| HostRef { id, sub: Some(sub) })
    }

    fn find_generated(&self, name: &str) -> Option<u32> {
        let (host, domain) = name.strip_suffix(".test")?.split_once('.')?;
        let host: u32 = host.strip_prefix('h')?.parse().ok()?;
        let domain: u32 = domain.strip_prefix("site")?.parse().ok()?;
        let id = domain.checked_mul(self.hosts_per_domain)?.checked_add(host)?;
        let exists = host < self.hosts_per_domain && id < self.n_generated;
        (exists && self.name(HostRef::new(id)).to_string() == name).then_some(id)
    }

    /// Returns the name of a host, for formatting.
    pub const fn name(&self, host: HostRef) -> Name<'_> {
        Name { names: self, host }
    }

    /// Returns the registrable domain of a host.
    pub fn domain(&self, host: HostRef) -> String {
        let name = self.name(host).to_string();
        let start = name.rmatch_indices('.').nth(1).map_or(0, |(dot, _)| dot + 1);
        name[start..].to_owned()
    }

    /// Returns the address assigned to a host, whatever its name resolves to.
    pub fn ip(&self, id: u32) -> Ipv4Addr {
        match id.checked_sub(self.n_generated) {
            None => self.network.nth(id % self.n_ips.max(1)),
            Some(own) => {
                let ip = self.own_ips.get(own as usize).copied().flatten();
                ip.unwrap_or_else(|| self.network.nth(self.n_ips + own))
            }
        }
    }

    /// Returns all addresses without duplicates.
    pub fn ips(&self) -> Vec<Ipv4Addr> {
        let mut ips: Vec<_> = (0..self.len()).map(|id| self.ip(id)).collect();
        ips.sort_unstable();
        ips.dedup();
        ips
    }

    /// Returns the networks, in CIDR form, that a visitor must be allowed to contact. None of them
    /// is 127.0.0.0/16.
    pub fn networks(&self) -> Vec<String> {
        self.network.allowed(&self.ips())
    }
}

/// Returns whether a host's name equals `suffix` or lies below it.
#[must_use]
pub fn is_within(host: &str, suffix: &str) -> bool {
    host.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// A host's name, for formatting.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a> {
    names: &'a HostNames,
    host: HostRef,
}

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(sub) = self.host.sub {
            write!(f, "x{sub}.")?;
        }
        match self.host.id.checked_sub(self.names.n_generated) {
            None => {
                let per_domain = self.names.hosts_per_domain;
                write!(f, "h{}.site{}.test", self.host.id % per_domain, self.host.id / per_domain)
            }
            Some(own) => f.write_str(self.names.own.get(own as usize).map_or("?", String::as_str)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::character::Character;

    #[test]
    fn names_are_found_again() {
        let names =
            HostNames::new(&Spec::new(1).size(3, 2, 1).host("Trap.test", Character::default()));
        assert_eq!(names.len(), 7);
        for id in 0..7 {
            let host = HostRef::new(id);
            assert_eq!(names.find(&names.name(host).to_string()), Some(host));
        }
        let below = HostRef { id: 6, sub: Some(12) };
        assert_eq!(names.name(below).to_string(), "x12.trap.test");
        assert_eq!(names.find("x12.trap.test"), Some(below));
        assert_eq!(names.domain(below), "trap.test");
        assert_eq!(names.domain(HostRef::new(3)), "site1.test");
        for unknown in ["h2.site0.test", "h0.site3.test", "h00.site0.test", "site0.test", ""] {
            assert_eq!(names.find(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn addresses_are_shared_and_never_the_first() {
        let names = HostNames::new(&Spec::new(1).size(100, 3, 1).ips(20));
        assert_eq!(names.ips().len(), 20);
        assert_eq!(names.networks(), ["127.1.0.0/16"]);
        let many = HostNames::new(&Spec::new(1).size(100_000, 1, 1).ips(0));
        assert_eq!(many.ips().len(), 100_000);
        assert_eq!(many.networks(), ["127.1.0.0/16", "127.2.0.0/16"]);
        let lent = Spec::new(1).size(100, 3, 1).ips(20).network("10.93.128.0/17".parse().unwrap());
        let names = HostNames::new(&lent.host("own.test", Character::default()));
        assert_eq!(names.networks(), ["10.93.128.0/17"]);
        assert_eq!(names.ip(19), Ipv4Addr::new(10, 93, 128, 20));
        assert_eq!(names.ip(20), names.ip(0));
        assert_eq!(names.ip(300), Ipv4Addr::new(10, 93, 128, 21));
    }
}
