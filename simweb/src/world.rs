//! A spec prepared for queries: the properties of hosts and URLs, all pure functions of the spec
//! and of the two ports.

use crate::character::{Character, Content, DnsWay, Manner, PageKind};
use crate::draw::{hash, unit};
use crate::names::{HostNames, HostRef};
use crate::network::several;
use crate::robots::{HOPS_FOLLOWED, Robots};
use crate::route::Route;
use crate::spec::{SeedChoice, Spec};
use crate::text::Text;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::net::Ipv4Addr;

/// Purposes of draws, so that no two share a hash.
pub(crate) mod draw {
    pub const CHARACTER: u64 = 10;
    pub const PAGES: u64 = 11;
    pub const LATENCY: u64 = 12;
    pub const TLS: u64 = 13;
    pub const KIND: u64 = 14;
    pub const LINK: u64 = 15;
    pub const BODY: u64 = 16;
    pub const TEXT: u64 = 17;
    pub const CHANGES: u64 = 18;
    pub const LASTMOD: u64 = 19;
    pub const COPY: u64 = 20;
}

/// A place in the web, which a URL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Target {
    /// The host.
    pub host: HostRef,
    /// The place on the host.
    pub route: Route,
}

/// A spec prepared for queries. Its port is never 0.
#[derive(Debug)]
pub struct World {
    spec: Spec,
    names: HostNames,
    text: Text,
    plain: Character,
}

impl World {
    /// Prepares `spec`. A port of 0 counts as 80; the caller picks ports first.
    #[must_use]
    pub fn new(mut spec: Spec) -> Self {
        if spec.port == 0 {
            spec.port = 80;
        }
        let plain = Character::named("plain");
        Self { names: HostNames::new(&spec), text: Text::new(spec.seed), spec, plain }
    }

    /// Returns the spec with its ports filled in.
    pub const fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the names of the hosts.
    pub const fn names(&self) -> &HostNames {
        &self.names
    }

    /// Returns the text from which pages are cut.
    pub const fn text(&self) -> &Text {
        &self.text
    }

    /// Sets the ports of the web and of the name server.
    #[must_use]
    pub fn at_ports(mut self, port: u16, dns_port: u16) -> Self {
        (self.spec.port, self.spec.dns_port) = (port, dns_port);
        self
    }

    /// Returns the addresses at which a host may be contacted.
    pub fn addresses(&self, id: u32) -> Vec<Ipv4Addr> {
        let own = self.names.ip(id);
        match self.character(id).dns {
            DnsWay::Well | DnsWay::Rebind(_) | DnsWay::Beside(_) => vec![own],
            DnsWay::Several(more) => several(own, more),
            _ => Vec::new(),
        }
    }

    /// Returns all addresses at which hosts may be contacted, without duplicates.
    pub fn all_addresses(&self) -> BTreeSet<Ipv4Addr> {
        (0..self.names.len()).flat_map(|id| self.addresses(id)).collect()
    }

    /// Returns a draw for one purpose.
    pub fn draw(&self, purpose: u64, parts: &[u64]) -> u64 {
        hash(hash(self.spec.seed, &[purpose]), parts)
    }

    /// Returns the character of a host.
    pub fn character(&self, id: u32) -> &Character {
        if let Some(own) = id.checked_sub(self.names.n_generated()) {
            return self.spec.hosts.get(own as usize).map_or(&self.plain, |h| &h.character);
        }
        let at = unit(self.draw(draw::CHARACTER, &[u64::from(id)]));
        let shares = self.spec.shares.iter().map(|s| (s.share, &s.character));
        pick(shares, at).unwrap_or(&self.plain)
    }

    /// Returns the robots.txt of a host.
    pub fn robots(&self, id: u32) -> &Robots {
        self.character(id).robots.as_ref().unwrap_or(&self.spec.robots)
    }

    /// Returns the number of ordinary pages of a host; at least one.
    pub fn n_pages(&self, id: u32) -> u32 {
        let mean = self.character(id).pages.unwrap_or(self.spec.pages_per_host);
        self.stray(f64::from(mean), self.spec.pages_spread, &[draw::PAGES, u64::from(id)]).max(1)
    }

    /// Returns the target size of a page in bytes.
    pub fn n_bytes(&self, id: u32, page: u64) -> usize {
        let mean = f64::from(self.spec.body_bytes);
        self.stray(mean, self.spec.body_spread, &[draw::BODY, u64::from(id), page]) as usize
    }

    fn stray(&self, mean: f64, spread: f64, parts: &[u64]) -> u32 {
        let at = unit(hash(self.spec.seed, parts)) * 2.0 - 1.0;
        (mean * (1.0 + spread * at)).round() as u32
    }

    /// Returns the delay before a host's answers begin, in milliseconds.
    pub fn latency_ms(&self, id: u32) -> u32 {
        self.character(id).latency_ms.unwrap_or_else(|| {
            let (min, max) = (self.spec.latency_ms_min, self.spec.latency_ms_max);
            let at = unit(self.draw(draw::LATENCY, &[u64::from(id)]));
            min + (at * f64::from(max.saturating_sub(min))).round() as u32
        })
    }

    /// Returns whether a host's URLs are https.
    pub fn tls(&self, id: u32) -> bool {
        self.character(id)
            .tls
            .unwrap_or_else(|| unit(self.draw(draw::TLS, &[u64::from(id)])) < self.spec.tls_share)
    }

    /// Returns whether any host may have https URLs.
    pub fn any_tls(&self) -> bool {
        self.spec.tls_share > 0.0
            || self.spec.hosts.iter().any(|h| h.character.tls == Some(true))
            || self.spec.shares.iter().any(|s| s.character.tls == Some(true))
    }

    /// Returns whether a host keeps connections alive.
    pub fn keep_alive(&self, id: u32) -> bool {
        self.character(id).keep_alive.unwrap_or(self.spec.keep_alive)
    }

    /// Returns the kind of an ordinary page.
    pub fn kind(&self, id: u32, page: u32) -> PageKind {
        let generated = id < self.names.n_generated();
        if let (false, Some(way)) = (generated, self.character(id).coding) {
            return PageKind::Coded(way);
        }
        if page == 0 || (!generated && self.character(id).content != Content::Plain) {
            return PageKind::Plain;
        }
        let at = unit(self.draw(draw::KIND, &[u64::from(id), u64::from(page)]));
        pick(self.spec.variety.iter().map(|v| (v.share, v.kind)), at).unwrap_or_default()
    }

    /// Returns the kind of the page at a place; plain if it is not an ordinary page.
    pub fn kind_at(&self, at: Target) -> PageKind {
        match at.route {
            Route::Page(page) => self.kind(at.host.id, page),
            _ => PageKind::Plain,
        }
    }

    /// Returns whether a host's pages have links. Pages of hosts that always fail or break off have
    /// none.
    pub fn has_links(&self, id: u32) -> bool {
        matches!(
            self.character(id).manner,
            Manner::Well | Manner::Drip { .. } | Manner::DripHead { .. } | Manner::SlowDown { .. }
        )
    }

    /// Returns the origin of a host, such as `http://h3.site12.test:8080`.
    pub fn origin(&self, host: HostRef) -> impl Display {
        let port = self.character(host.id).port.unwrap_or(self.spec.port);
        origin(self.tls(host.id), self.names.name(host), port)
    }

    /// Replaces `{port}` in a location by the web's port.
    pub fn with_port(&self, location: &str) -> String {
        location.replace("{port}", &self.spec.port.to_string())
    }

    /// Returns the URL of a place, in normal form.
    pub fn url(&self, target: Target) -> String {
        format!("{}{}", self.origin(target.host), target.route)
    }

    /// Returns the place that a URL (in normal form) names, if there is one.
    pub fn find(&self, url: &str) -> Option<Target> {
        let (_, rest) = url.split_once("://")?;
        let at = rest.find('/')?;
        let name = rest[..at].split_once(':').map_or(&rest[..at], |(name, _)| name);
        let target = Target { host: self.host(name)?, route: Route::parse(&rest[at..])? };
        (self.url(target) == url).then_some(target)
    }

    /// Returns the host with this name, if there is one.
    pub fn host(&self, name: &str) -> Option<HostRef> {
        let host = self.names.find(&name.to_ascii_lowercase())?;
        let wild = self.character(host.id).content == Content::Subdomains;
        (host.sub.is_none() || wild).then_some(host)
    }

    /// Returns the first pages that are the seeds of the crawl.
    pub fn seeds(&self) -> Vec<Target> {
        let n_generated = self.names.n_generated();
        let (end, step) = match self.spec.seeds {
            SeedChoice::Domains => (n_generated, self.spec.hosts_per_domain.max(1)),
            SeedChoice::Hosts => (n_generated, 1),
            SeedChoice::First(n) => (n.min(n_generated), 1),
        };
        (0..end)
            .step_by(step as usize)
            .chain(n_generated..self.names.len())
            .map(|id| Target { host: HostRef::new(id), route: Route::Page(0) })
            .collect()
    }

    /// Returns the redirect targets of a host's robots.txt, in order, without the robots.txt
    /// itself.
    pub fn robots_hops(&self, host: HostRef) -> Vec<Target> {
        let Robots::Redirects { hops, to } = self.robots(host.id) else {
            return Vec::new();
        };
        (1..=*hops)
            .map(|k| {
                let last = to.as_deref().filter(|_| k == *hops).and_then(|name| self.host(name));
                match last {
                    Some(other) => Target { host: other, route: Route::Robots },
                    None => Target { host, route: Route::RobotsHop(*hops - k) },
                }
            })
            .collect()
    }

    /// Returns the robots.txt whose rules apply to a host: that of another host, if its own
    /// redirects there.
    pub fn robots_in_force(&self, id: u32) -> &Robots {
        let (mut robots, mut total) = (self.robots(id), 0_u8);
        while let Robots::Redirects { hops, to: Some(name) } = robots
            && *hops > 0
            && let Some(other) = self.host(name)
        {
            total = total.saturating_add(*hops);
            if total > HOPS_FOLLOWED {
                return &TOO_MANY_HOPS;
            }
            robots = self.robots(other.id);
        }
        match robots {
            Robots::Redirects { hops, .. } if total.saturating_add(*hops) > HOPS_FOLLOWED => {
                &TOO_MANY_HOPS
            }
            robots => robots,
        }
    }
}

/// A robots.txt behind more redirects than a visitor needs to follow.
static TOO_MANY_HOPS: Robots = Robots::Redirects { hops: u8::MAX, to: None };

/// Returns the item at `at`, where each covers its share of 0 to 1, in order.
pub(crate) fn pick<T>(shares: impl IntoIterator<Item = (f64, T)>, mut at: f64) -> Option<T> {
    let found = shares.into_iter().find(|(share, _)| {
        at -= share;
        at < 0.0
    });
    found.map(|(_, item)| item)
}

/// Returns an origin in normal form, without the default port of its scheme.
pub(crate) fn origin(tls: bool, host: impl Display, port: u16) -> impl Display {
    let (scheme, default) = if tls { ("https", 443) } else { ("http", 80) };
    std::fmt::from_fn(move |f| {
        write!(f, "{scheme}://{host}")?;
        if port == default { Ok(()) } else { write!(f, ":{port}") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_found_again() {
        let spec = Spec::new(3).port(8_080).tls(0.5).host("odd.test", Character::named("odd"));
        let world = World::new(spec);
        for id in 0..world.names().len() {
            let target = Target { host: HostRef::new(id), route: Route::Page(4) };
            let url = world.url(target);
            assert_eq!(world.find(&url), Some(target), "{url}");
            assert_eq!(world.find(&url.replace("http", "httpx")), None);
        }
        assert_eq!(world.find("http://x1.odd.test:8080/"), None);
    }
}
