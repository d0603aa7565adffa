//! The description of a whole web, from which every page, name and robots.txt follows. It is plain
//! data, so a test can pass it to another process as JSON.

use crate::changes::Changes;
use crate::character::{Character, PageKind};
use crate::network::Network;
use crate::robots::Robots;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// A simulated web.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// Seed of all randomness.
    pub seed: u64,
    /// Registrable domains `site0.test`, `site1.test`, …
    pub domains: u32,
    /// Hosts `h0.`, `h1.`, … of each domain.
    pub hosts_per_domain: u32,
    /// Number of IP addresses that those hosts share evenly; 0 gives each host its own.
    pub ips: u32,
    /// Network of these addresses. The default is loopback, where they begin at 127.1.0.1 and never
    /// include 127.0.0.1. The addresses of any other network must belong to this machine; `ip route
    /// add local NETWORK dev lo` adds all of them.
    pub network: Network,
    /// Mean number of pages of a host.
    pub pages_per_host: u32,
    /// Variation of the number of pages: 0 is none, 1 is between one and twice the mean.
    pub pages_spread: f64,
    /// Links of a page. Links that make every page of a host reachable from its first are always
    /// there.
    pub links_per_page: u32,
    /// Share of the links that stay on the host, 0 to 1.
    pub internal_share: f64,
    /// Skew of popularity: with 1 all pages are equally popular, 2.5 resembles the real web.
    pub skew: f64,
    /// Mean size of a page in bytes, before encoding. A page whose links need more is longer.
    pub body_bytes: u32,
    /// Variation of the size: 0 is none, 1 is between zero and twice the mean.
    pub body_spread: f64,
    /// Delay of the fastest host before an answer begins, in milliseconds.
    pub latency_ms_min: u32,
    /// Delay of the slowest host, in milliseconds.
    pub latency_ms_max: u32,
    /// True if connections are kept alive.
    pub keep_alive: bool,
    /// Share of https hosts, 0 to 1.
    pub tls_share: f64,
    /// The port of all hosts, http and https alike; 0 picks a free one.
    pub port: u16,
    /// The address of the name server.
    pub dns_ip: Ipv4Addr,
    /// Port of the name server; 0 picks a free one.
    pub dns_port: u16,
    /// TTL of the name server's answers, in seconds.
    pub dns_ttl_secs: u32,
    /// The robots.txt of hosts whose character has none.
    pub robots: Robots,
    /// Share of the pages of generated hosts whose text is that of another page, of the same domain or of
    /// another one, but for a few words. If it is not 0, links of plain pages are in navigation.
    pub copies: f64,
    /// Kinds of pages on generated hosts; the rest are plain.
    pub variety: Vec<KindShare>,
    /// Characters of generated hosts; the rest are well-behaved.
    pub shares: Vec<Share>,
    /// Hosts with their own names.
    pub hosts: Vec<HostSpec>,
    /// Start of the crawl.
    pub seeds: SeedChoice,
    /// Product token of the visitor in robots.txt.
    pub agent: String,
    /// Changes of pages; `None` if they never change and have no validators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Changes>,
}

/// A kind of page and its share of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindShare {
    /// The kind.
    pub kind: PageKind,
    /// Share of the pages, 0 to 1.
    pub share: f64,
}

/// A character and its share of the generated hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The character.
    pub character: Character,
    /// Share of the hosts, 0 to 1.
    pub share: f64,
}

/// A host with its own name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSpec {
    /// Name, lower case.
    pub name: String,
    /// Behavior of the host.
    pub character: Character,
}

/// Hosts on whose first pages the crawl starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedChoice {
    /// The first host of each domain, and all hosts with their own names.
    #[default]
    Domains,
    /// All hosts.
    Hosts,
    /// This many of the first hosts, and all hosts with their own names.
    First(u32),
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            seed: 1,
            domains: 4,
            hosts_per_domain: 2,
            ips: 4,
            network: Network::LOOPBACK,
            pages_per_host: 10,
            pages_spread: 0.0,
            links_per_page: 10,
            internal_share: 0.8,
            skew: 2.5,
            body_bytes: 4_000,
            body_spread: 0.0,
            latency_ms_min: 0,
            latency_ms_max: 0,
            keep_alive: true,
            tls_share: 0.0,
            port: 0,
            dns_ip: Ipv4Addr::LOCALHOST,
            dns_port: 0,
            dns_ttl_secs: 3_600,
            robots: Robots::AllowAll,
            copies: 0.0,
            variety: Vec::new(),
            shares: Vec::new(),
            hosts: Vec::new(),
            seeds: SeedChoice::Domains,
            agent: "crivello".to_owned(),
            changes: None,
        }
    }
}

impl Spec {
    /// Returns a small plain web with this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// Sets the number of domains, of hosts per domain, and of pages per host.
    #[must_use]
    pub fn size(mut self, domains: u32, hosts_per_domain: u32, pages_per_host: u32) -> Self {
        self.domains = domains;
        self.hosts_per_domain = hosts_per_domain;
        self.pages_per_host = pages_per_host;
        self
    }

    /// Sets the number of addresses; 0 gives each host its own.
    #[must_use]
    pub fn ips(mut self, n_ips: u32) -> Self {
        self.ips = n_ips;
        self
    }

    /// Sets the network of the addresses.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// Describes what other machines can reach of the web, including the name server. Returns
    /// `None` if they can reach nothing.
    pub fn beyond_loopback(&self) -> Option<String> {
        let own = |host: &HostSpec| {
            let ip = host.character.ip.filter(|ip| !ip.is_loopback())?;
            Some(format!("the host {} at {ip}", host.name))
        };
        let network =
            (!self.network.is_loopback()).then(|| format!("the hosts in {}", self.network));
        let dns =
            || (!self.dns_ip.is_loopback()).then(|| format!("the name server at {}", self.dns_ip));
        network.or_else(dns).or_else(|| self.hosts.iter().find_map(own))
    }

    /// Sets the number of links per page.
    #[must_use]
    pub fn links(mut self, per_page: u32) -> Self {
        self.links_per_page = per_page;
        self
    }

    /// Adds a host with this name.
    #[must_use]
    pub fn host(mut self, name: &str, character: Character) -> Self {
        self.hosts.push(HostSpec { name: name.to_owned(), character });
        self
    }

    /// Gives a share of the generated hosts this character.
    #[must_use]
    pub fn share(mut self, share: f64, character: Character) -> Self {
        self.shares.push(Share { character, share });
        self
    }

    /// Gives a share of the pages this kind.
    #[must_use]
    pub fn portion(mut self, share: f64, kind: PageKind) -> Self {
        self.variety.push(KindShare { kind, share });
        self
    }

    /// Lets pages change.
    #[must_use]
    pub fn changes(mut self, changes: Changes) -> Self {
        self.changes = Some(changes);
        self
    }

    /// Sets the robots.txt of hosts whose character has none.
    #[must_use]
    pub fn robots(mut self, robots: Robots) -> Self {
        self.robots = robots;
        self
    }

    /// Sets the start of the crawl.
    #[must_use]
    pub fn seeds(mut self, seeds: SeedChoice) -> Self {
        self.seeds = seeds;
        self
    }

    /// Sets the range of delays before answers, in milliseconds. Each host always has the same
    /// delay.
    #[must_use]
    pub fn latency_ms(mut self, min: u32, max: u32) -> Self {
        self.latency_ms_min = min;
        self.latency_ms_max = max;
        self
    }

    /// Sets the share of https hosts.
    #[must_use]
    pub fn tls(mut self, share: f64) -> Self {
        self.tls_share = share;
        self
    }

    /// Sets the port of all hosts.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }
}
