//! The set of URLs that a correct visitor fetches: a walk over the graph that obeys robots.txt and
//! `nofollow`, treats redirects as links, and knows which hosts fail.
//!
//! A URL *may* be fetched where the standard or the visitor's settings leave it open, and behind
//! hosts that may not be found in time. All others *must* be fetched. These two sets bound the
//! exact one.

use crate::character::{Content, DnsWay, Manner, PageKind};
use crate::names::{HostRef, is_within};
use crate::report::Excess;
use crate::robots::Permission;
use crate::route::Route;
use crate::world::{Target, World};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

/// Rate from which a visitor waits for a slow answer.
const PATIENCE_BYTES_PER_SECOND: u32 = 1_000;
/// A visitor may give up a host that refuses more often than this.
const PATIENCE_REFUSALS: u32 = 5;

/// The limits of the crawl, and the visitor's settings that decide what it fetches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgeLimits {
    /// Pages of the crawl.
    pub pages_max: Option<u64>,
    /// Links from a seed.
    pub depth_max: Option<u32>,
    /// Pages of one host.
    pub pages_per_host_max: Option<u64>,
    /// Pages of one registrable domain.
    pub pages_per_domain_max: Option<u64>,
    /// Occurrences of one path segment in a URL.
    pub repeated_segments_max: u32,
    /// True if sitemaps are fetched.
    pub sitemaps: bool,
    /// True if images are fetched: `/favicon.ico` of each host may be.
    pub images: bool,
    /// True if `nofollow` is respected.
    pub respect_nofollow: bool,
    /// Only hosts that equal one of these or lie below one; empty admits all.
    pub host_suffixes: Vec<String>,
    /// Prefixes of paths that are not fetched.
    pub path_prefixes_excluded: Vec<String>,
}

impl Default for JudgeLimits {
    fn default() -> Self {
        Self {
            pages_max: None,
            depth_max: None,
            pages_per_host_max: None,
            pages_per_domain_max: None,
            repeated_segments_max: 3,
            sitemaps: true,
            images: false,
            respect_nofollow: true,
            host_suffixes: Vec::new(),
            path_prefixes_excluded: Vec::new(),
        }
    }
}

impl JudgeLimits {
    /// Returns whether a path of a host is within the scope of the crawl.
    pub fn admits(&self, host: &str, path: &str) -> bool {
        let included = self.host_suffixes.is_empty()
            || self.host_suffixes.iter().any(|suffix| is_within(host, suffix));
        included && !self.path_prefixes_excluded.iter().any(|prefix| path.starts_with(prefix))
    }

    /// Returns the limits that these places exceed, each with what it limits.
    pub(crate) fn exceeded(
        &self,
        world: &World,
        places: impl Iterator<Item = Target>,
    ) -> Vec<Excess> {
        let names = world.names();
        let mut hosts: BTreeMap<String, u64> = BTreeMap::new();
        let mut domains: BTreeMap<String, u64> = BTreeMap::new();
        let mut total = 0;
        for at in places {
            total += 1;
            *hosts.entry(names.name(at.host).to_string()).or_default() += 1;
            *domains.entry(names.domain(at.host)).or_default() += 1;
        }
        let hosts = hosts.into_iter().map(|(host, n)| (host, n, self.pages_per_host_max));
        let domains = domains.into_iter().map(|(name, n)| (name, n, self.pages_per_domain_max));
        std::iter::once(("the crawl".to_owned(), total, self.pages_max))
            .chain(hosts)
            .chain(domains)
            .filter_map(|(what, n_pages, max)| {
                let max = max.filter(|&max| n_pages > max)?;
                Some(Excess { what, n_pages, max })
            })
            .collect()
    }
}

/// Expectation for one URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// True if it must be fetched; otherwise it may be.
    pub must: bool,
    /// True if it may be tried any number of times, because it fails; otherwise one response is
    /// enough. Refusals (429 and 503) never count as responses.
    pub repeat: bool,
}

/// The URLs that a correct visitor fetches.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// Every URL that may be fetched, except robots.txt and URLs of endless hosts. Foreign links
    /// and icons may be fetched.
    pub urls: HashMap<String, Expectation>,
    /// Endless hosts: any of their URLs that robots.txt allows may be fetched. Hosts below them are
    /// endless too.
    pub endless: HashSet<String>,
}

impl Expected {
    /// Computes which URLs of `world` must, and which may, be fetched within `limits`.
    #[must_use]
    pub fn new(world: &World, limits: &JudgeLimits) -> Self {
        let mut walk = Walk { world, limits, places: HashMap::new(), certain_only: true };
        walk.run();
        walk.certain_only = false;
        walk.run();
        let mut places = walk.places;
        if !limits.exceeded(world, places.keys().copied()).is_empty() {
            // The visitor chooses which of them it fetches.
            places.values_mut().for_each(|due| due.must = false);
        }
        let endless = (0..world.names().len())
            .filter(|&id| is_endless(world, id))
            .map(|id| world.names().name(HostRef::new(id)).to_string())
            .collect();
        let icons: Vec<String> = match limits.images {
            true => {
                places.keys().map(|at| format!("{}/favicon.ico", world.origin(at.host))).collect()
            }
            false => Vec::new(),
        };
        let mut urls: HashMap<_, _> =
            places.into_iter().map(|(at, due)| (world.url(at), due)).collect();
        for url in foreign_links(world).chain(icons) {
            urls.entry(url).or_insert(Expectation { must: false, repeat: true });
        }
        Self { urls, endless }
    }

    /// Returns the number of URLs that must be fetched.
    pub fn n_must(&self) -> usize {
        self.urls.values().filter(|due| due.must).count()
    }
}

/// Returns whether a host has endlessly many URLs or hosts below it.
#[must_use]
pub fn is_endless(world: &World, id: u32) -> bool {
    matches!(world.character(id).content, Content::Calendar | Content::Subdomains)
}

/// Returns the links of all hosts that lead anywhere, as absolute URLs.
fn foreign_links(world: &World) -> impl Iterator<Item = String> {
    (0..world.names().len()).flat_map(|id| match &world.character(id).content {
        Content::Foreign(links) => links.iter().map(|link| world.with_port(link)).collect(),
        _ => Vec::new(),
    })
}

struct Walk<'a> {
    world: &'a World,
    limits: &'a JudgeLimits,
    places: HashMap<Target, Expectation>,
    /// True in the first pass, which visits only URLs that must be fetched.
    certain_only: bool,
}

impl Walk<'_> {
    fn run(&mut self) {
        let mut queue: VecDeque<(Target, u32)> =
            self.world.seeds().into_iter().map(|at| (at, 0)).collect();
        let mut seen: HashSet<Target> = queue.iter().map(|(at, _)| *at).collect();
        let mut hosts = HashSet::new();
        while let Some((at, depth)) = queue.pop_front() {
            let Some(due) = self.due(at, depth) else {
                continue;
            };
            if self.certain_only && !due.must {
                continue;
            }
            self.places.entry(at).or_insert(Expectation { must: self.certain_only, ..due });
            let mut next = self.leads_to(at);
            if hosts.insert(at.host) && self.limits.sitemaps {
                next.extend(self.world.sitemap_of(at.host));
            }
            for target in next {
                if seen.insert(target) {
                    queue.push_back((target, depth.saturating_add(1)));
                }
            }
        }
    }

    /// Returns the expectation for a place that was found, or `None` if it must not or cannot be
    /// fetched.
    fn due(&self, at: Target, depth: u32) -> Option<Expectation> {
        let world = self.world;
        let character = world.character(at.host.id);
        let spec = world.spec();
        if at.host.sub.is_some() || matches!(at.route, Route::Day(_)) {
            return None;
        }
        let (name, path) = (world.names().name(at.host).to_string(), at.route.to_string());
        let repeats =
            matches!(at.route, Route::Segments(n) if n > self.limits.repeated_segments_max);
        if repeats || !self.limits.admits(&name, &path) {
            return None;
        }
        let mut must = !is_endless(world, at.host.id);
        if let Some(max) = self.limits.depth_max {
            if depth > max {
                return None;
            }
            // The path by which a page is found first is random, unless there is only one.
            must &= depth == 0 || spec.links_per_page == 0;
        }
        match character.dns {
            DnsWay::Well | DnsWay::Several(_) | DnsWay::Beside(_) => {}
            DnsWay::Rebind(_) => must = false,
            _ => return None,
        }
        if character.port.is_some_and(|port| port != spec.port) {
            return None;
        }
        match world.robots_in_force(at.host.id).decide(&spec.agent, &path) {
            Permission::Allowed => {}
            Permission::Open => must = false,
            Permission::Disallowed => return None,
        }
        let (answers, repeat) = self.answers(at);
        Some(Expectation { must: must && answers, repeat })
    }

    /// Returns whether a visitor can expect an answer, and whether it may try again.
    fn answers(&self, at: Target) -> (bool, bool) {
        let patient = |rate: u32| rate >= PATIENCE_BYTES_PER_SECOND;
        match self.world.character(at.host.id).manner {
            Manner::Well | Manner::RedirectTo { .. } => match self.world.kind_at(at) {
                PageKind::Status(code) => status(code),
                _ => (true, false),
            },
            // HTTP/2 resets the stream instead.
            Manner::LengthTooShort if self.world.tls(at.host.id) => (false, true),
            Manner::GzipBomb { .. } | Manner::TruncatedGzip | Manner::LengthTooShort => {
                (true, false)
            }
            Manner::Status { code } => status(code),
            Manner::Drip { bytes_per_second } | Manner::DripHead { bytes_per_second } => {
                (patient(bytes_per_second), !patient(bytes_per_second))
            }
            Manner::SlowDown { refusals, .. } => (refusals <= PATIENCE_REFUSALS, false),
            _ => (false, true),
        }
    }

    fn leads_to(&self, at: Target) -> Vec<Target> {
        let world = self.world;
        if let Some((_, url)) = world.redirect(at) {
            return world.find(&url).into_iter().collect();
        }
        if !world.exists(at) || matches!(world.character(at.host.id).manner, Manner::Status { .. })
        {
            return Vec::new();
        }
        if at.route.is_sitemap() {
            return world.sitemap_entries(at);
        }
        let follow = !self.limits.respect_nofollow;
        match world.kind_at(at) {
            PageKind::Status(_) | PageKind::Binary => Vec::new(),
            PageKind::MetaNofollow | PageKind::HeaderNofollow if !follow => Vec::new(),
            _ => {
                let links = world.links(at).into_iter();
                links.filter(|l| follow || !l.nofollow).map(|l| l.target).collect()
            }
        }
    }
}

const fn status(code: u16) -> (bool, bool) {
    (!matches!(code, 429 | 503), code == 429 || code >= 500)
}
