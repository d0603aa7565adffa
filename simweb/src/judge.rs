//! Judgment of a visitor, from the access log and the spec alone.
//!
//! It reports no false violations. A request's `end` in the log is not after the visitor's, and its
//! `start` is not before it (see [`crate::log`]), so every gap here is at least as long as at the
//! visitor. For a request that was not complete, the visitor may have disconnected long before the
//! server noticed. So only its arrival counts: the next request may begin one delay after that.
//! robots.txt, and redirects on the way to it, are requests like any other, except that their URLs
//! and number are not judged.

use crate::expected::{Expected, JudgeLimits, is_endless};
use crate::log::Entry;
use crate::names::HostRef;
use crate::pace::{Pace, Paces};
use crate::report::{Judgment, Violation};
use crate::robots::{HOPS_FOLLOWED, Permission, Robots, SIZE_MIN_READ};
use crate::route::Route;
use crate::spec::Spec;
use crate::world::{Target, World};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A judge of the logs of one web.
#[derive(Debug)]
pub struct Judge {
    world: World,
    expected: Expected,
    limits: JudgeLimits,
    pace: Pace,
    repeats_max: u64,
    finished: bool,
}

impl Judge {
    /// Creates a judge of visitors of `spec`, whose ports must be those of the visited web. It
    /// assumes that the crawl has finished and that no page was fetched twice.
    #[must_use]
    pub fn new(spec: Spec, limits: JudgeLimits, pace: Pace) -> Self {
        let world = World::new(spec);
        let expected = Expected::new(&world, &limits);
        Self { world, expected, limits, pace, repeats_max: 0, finished: true }
    }

    /// Allows this many repeated fetches in all, for pages that were in flight, or in the open
    /// commit, when the visitor was killed.
    #[must_use]
    pub const fn allow_repeats(mut self, n_pages: u64) -> Self {
        self.repeats_max = n_pages;
        self
    }

    /// Accepts missing pages, because the crawl was stopped before its end.
    #[must_use]
    pub const fn unfinished(mut self) -> Self {
        self.finished = false;
        self
    }

    /// Returns the URLs that must, and those that may, be fetched.
    pub const fn expected(&self) -> &Expected {
        &self.expected
    }

    /// Judges a log.
    pub fn judge(&self, log: &[Entry]) -> Judgment {
        let entries = by_start(log);
        let mut report = Judgment { n_requests: log.len() as u64, ..Judgment::default() };
        let mut paces = Paces::new(&self.pace);
        let mut fetched: HashMap<String, Fetched> = HashMap::new();
        let answered = robots_answered(&entries);
        let agent = &self.world.spec().agent;
        for entry in entries {
            let host = self.world.host(&entry.host);
            let route = Route::parse(&entry.path);
            let crawl_delay =
                host.and_then(|h| self.world.robots_in_force(h.id).crawl_delay_secs(agent));
            paces.note(entry, crawl_delay.unwrap_or_default(), &mut report);
            if let Some(ip) = entry.ip
                && !host.is_some_and(|host| self.world.addresses(host.id).contains(&ip))
            {
                report.add(Violation::WrongAddress { url: entry.url(), ip });
            }
            if host.is_some() && route.is_some_and(Route::is_robots) {
                report.n_robots += 1;
                continue;
            }
            self.check_allowed(entry, host, route.is_some(), &answered, &mut report);
            if !entry.is_refusal() {
                let seen = fetched.entry(entry.url()).or_default();
                seen.responses += u64::from(entry.complete);
                seen.good |= entry.complete && entry.status == 200;
            }
        }
        self.check_set(&fetched, &mut report);
        self.check_limits(&fetched, &mut report);
        report
    }

    fn check_allowed(
        &self,
        entry: &Entry,
        host: Option<HostRef>,
        is_route: bool,
        answered: &HashMap<String, u64>,
        report: &mut Judgment,
    ) {
        let url = entry.url();
        let Some(host) = host else {
            return report.add(Violation::Unexpected(url));
        };
        let robots = self.world.robots_in_force(host.id);
        if robots.decide(&self.world.spec().agent, &entry.path) == Permission::Disallowed {
            return report.add(Violation::Disallowed(url));
        }
        let robots_txt = |at: Target| self.world.url(at);
        let mut needed = vec![robots_txt(Target { host, route: Route::Robots })];
        if let Robots::Redirects { hops: 1..=HOPS_FOLLOWED, .. } = self.world.robots(host.id) {
            needed.extend(self.world.robots_hops(host).last().copied().map(robots_txt));
        }
        let known = |url: &String| answered.get(url).is_some_and(|&end| end <= entry.start);
        if !needed.iter().all(known) {
            report.add(Violation::BeforeRobots(url.clone()));
        }
        let within_endless = is_endless(&self.world, host.id) && is_route;
        if !self.expected.urls.contains_key(&url) && !within_endless {
            report.add(Violation::Unexpected(url));
        }
    }

    fn check_set(&self, fetched: &HashMap<String, Fetched>, report: &mut Judgment) {
        let urls = &self.expected.urls;
        report.n_expected = self.expected.n_must() as u64;
        report.n_pages = fetched.values().filter(|f| f.responses > 0).count() as u64;
        if self.finished {
            let is_missing = |url: &&String| fetched.get(*url).is_none_or(|f| f.responses == 0);
            let must = urls.iter().filter(|(_, due)| due.must).map(|(url, _)| url);
            let missing: BTreeSet<&String> = must.filter(is_missing).collect();
            missing.into_iter().for_each(|url| report.add(Violation::Missing(url.clone())));
        }
        let repeated: BTreeMap<&String, u64> = fetched
            .iter()
            .filter(|(url, f)| f.responses > 1 && urls.get(*url).is_none_or(|due| !due.repeat))
            .map(|(url, f)| (url, f.responses))
            .collect();
        report.n_repeats = repeated.values().map(|n| n - 1).sum();
        if report.n_repeats > self.repeats_max {
            for (url, n_times) in repeated {
                report.add(Violation::Repeated { url: url.clone(), n_times });
            }
        }
    }

    /// Checks the limits. Only pages answered with 200 count, each once. If a visitor counts more
    /// against its limits, it only stops earlier.
    fn check_limits(&self, fetched: &HashMap<String, Fetched>, report: &mut Judgment) {
        let good =
            fetched.iter().filter(|(_, f)| f.good).filter_map(|(url, _)| self.world.find(url));
        let pages = good.filter(|at| !at.route.is_sitemap());
        for excess in self.limits.exceeded(&self.world, pages) {
            report.add(Violation::OverLimit(excess));
        }
    }
}

/// Judges the pace alone, for a web with too many pages to list, whose robots.txt files have no
/// Crawl-delay.
#[must_use]
pub fn judge_pace(pace: &Pace, log: &[Entry]) -> Judgment {
    let mut report = Judgment { n_requests: log.len() as u64, ..Judgment::default() };
    let mut paces = Paces::new(pace);
    for entry in by_start(log) {
        let is_robots = asks_for_robots(entry);
        report.n_robots += u64::from(is_robots);
        report.n_pages += u64::from(!is_robots && entry.complete);
        paces.note(entry, 0.0, &mut report);
    }
    report
}

fn by_start(log: &[Entry]) -> Vec<&Entry> {
    let mut entries: Vec<&Entry> = log.iter().collect();
    entries.sort_by_key(|e| (e.start, e.end));
    entries
}

#[derive(Default)]
struct Fetched {
    responses: u64,
    good: bool,
}

/// Returns when each robots.txt, or redirect on the way to it, was first answered. One that the
/// visitor aborted after the required 500 KiB counts as answered; 429 and 5xx do not.
fn robots_answered(entries: &[&Entry]) -> HashMap<String, u64> {
    let mut answered = HashMap::new();
    for entry in entries {
        let is_robots = asks_for_robots(entry);
        let refused = matches!(entry.status, 429 | 500..);
        if is_robots && !refused && (entry.complete || entry.bytes >= SIZE_MIN_READ as u64) {
            // An incomplete answer only proves that it had begun.
            let end = if entry.complete { entry.end } else { entry.start };
            let first: &mut u64 = answered.entry(entry.url()).or_insert(end);
            *first = end.min(*first);
        }
    }
    answered
}

/// Returns whether a request is for a robots.txt, or for a redirect on the way to one.
fn asks_for_robots(entry: &Entry) -> bool {
    Route::parse(&entry.path).is_some_and(Route::is_robots)
}
