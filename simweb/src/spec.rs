//! The description of a whole web: from it and nothing else, every page, name and robots.txt
//! follows. It is plain data, so a test can hand it to a process of its own as JSON.

use crate::character::{Character, PageKind};
use crate::network::Network;
use crate::robots::Robots;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// A simulated web.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Spec {
    /// All chance comes from here.
    pub seed: u64,
    /// Registrable domains `site0.test`, `site1.test`, …
    pub domains: u32,
    /// Hosts `h0.`, `h1.`, … of each domain.
    pub hosts_per_domain: u32,
    /// IP addresses that those hosts share evenly; 0 gives each host its own.
    pub ips: u32,
    /// What these addresses are taken from. Loopback by default, where they begin at 127.1.0.1:
    /// never 127.0.0.1. Of any other network they must be this machine's own, as `ip route add local
    /// NETWORK dev lo` makes them all at once.
    pub network: Network,
    /// Pages of a host.
    pub pages_per_host: u32,
    /// How far the number of pages strays: 0 not at all, 1 between one and twice as many.
    pub pages_spread: f64,
    /// Links of a page. At least those that make every page of a host reachable from its first.
    pub links_per_page: u32,
    /// How many of them stay on the host, 0 to 1.
    pub internal_share: f64,
    /// How popular the popular are: 1 all the same, 2.5 about as in the real web.
    pub skew: f64,
    /// Bytes of a page, not encoded; a page whose links need more is longer.
    pub body_bytes: u32,
    /// How far they stray: 0 not at all, 1 between none and twice as many.
    pub body_spread: f64,
    /// The fastest host's milliseconds before an answer begins.
    pub latency_ms_min: u32,
    /// The slowest host's.
    pub latency_ms_max: u32,
    /// Whether connections are kept alive.
    pub keep_alive: bool,
    /// How many hosts are https, 0 to 1.
    pub tls_share: f64,
    /// The port of all hosts, http and https alike; 0 picks a free one.
    pub port: u16,
    /// The address of the name server.
    pub dns_ip: Ipv4Addr,
    /// Its port; 0 picks a free one.
    pub dns_port: u16,
    /// How long a name server's answer holds, in seconds.
    pub dns_ttl_secs: u32,
    /// The robots.txt of hosts whose character has none.
    pub robots: Robots,
    /// The kinds of pages on generated hosts; the rest is plain.
    pub variety: Vec<KindShare>,
    /// The characters of generated hosts; the rest is well-behaved.
    pub shares: Vec<Share>,
    /// Hosts under names of their own.
    pub hosts: Vec<HostSpec>,
    /// Where the crawl begins.
    pub seeds: SeedChoice,
    /// The product token by which robots.txt knows the visitor.
    pub agent: String,
}

/// A kind of page and how many pages are of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct KindShare {
    /// The kind.
    pub kind: PageKind,
    /// 0 to 1.
    pub share: f64,
}

/// A character and how many generated hosts have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Share {
    /// The character.
    pub character: Character,
    /// 0 to 1.
    pub share: f64,
}

/// A host under a name of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostSpec {
    /// Its name, lower case.
    pub name: String,
    /// What it is like.
    pub character: Character,
}

/// Where the crawl begins: always on the first page of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SeedChoice {
    /// On the first host of each domain, and on all hosts under names of their own.
    #[default]
    Domains,
    /// On all hosts.
    Hosts,
    /// On the first so many hosts, and on all hosts under names of their own.
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
            variety: Vec::new(),
            shares: Vec::new(),
            hosts: Vec::new(),
            seeds: SeedChoice::Domains,
            agent: "crivello".to_owned(),
        }
    }
}

impl Spec {
    /// A small plain web under this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed, ..Self::default() }
    }

    /// So many domains of so many hosts of so many pages.
    #[must_use]
    pub fn size(mut self, domains: u32, hosts_per_domain: u32, pages_per_host: u32) -> Self {
        self.domains = domains;
        self.hosts_per_domain = hosts_per_domain;
        self.pages_per_host = pages_per_host;
        self
    }

    /// So many addresses; 0 gives each host its own.
    #[must_use]
    pub fn ips(mut self, n_ips: u32) -> Self {
        self.ips = n_ips;
        self
    }

    /// Its addresses are taken from this network.
    #[must_use]
    pub fn network(mut self, network: Network) -> Self {
        self.network = network;
        self
    }

    /// What others than this machine can reach of it, name server included, in words; `None` where
    /// that is nothing.
    #[must_use]
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

    /// So many links a page.
    #[must_use]
    pub fn links(mut self, per_page: u32) -> Self {
        self.links_per_page = per_page;
        self
    }

    /// One more host, under this name.
    #[must_use]
    pub fn host(mut self, name: &str, character: Character) -> Self {
        self.hosts.push(HostSpec { name: name.to_owned(), character });
        self
    }

    /// A share of the generated hosts gets this character.
    #[must_use]
    pub fn share(mut self, share: f64, character: Character) -> Self {
        self.shares.push(Share { character, share });
        self
    }

    /// A share of the pages is of this kind.
    #[must_use]
    pub fn portion(mut self, share: f64, kind: PageKind) -> Self {
        self.variety.push(KindShare { kind, share });
        self
    }

    /// This robots.txt where the character has none.
    #[must_use]
    pub fn robots(mut self, robots: Robots) -> Self {
        self.robots = robots;
        self
    }

    /// Where the crawl begins.
    #[must_use]
    pub fn seeds(mut self, seeds: SeedChoice) -> Self {
        self.seeds = seeds;
        self
    }

    /// All hosts answer after a time between these, each always after its own.
    #[must_use]
    pub fn latency_ms(mut self, min: u32, max: u32) -> Self {
        self.latency_ms_min = min;
        self.latency_ms_max = max;
        self
    }

    /// The share of https hosts.
    #[must_use]
    pub fn tls(mut self, share: f64) -> Self {
        self.tls_share = share;
        self
    }

    /// This port for all hosts.
    #[must_use]
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }
}
