//! How closely requests may follow each other on a host and on an address.

use crate::log::Entry;
use crate::report::{Judgment, Violation};
use crate::route::Route;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

/// The politeness that the visitor promised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    /// From the end of one request to a host to the start of the next.
    pub delay: Duration,
    /// The same for all hosts of one address.
    pub ip_delay: Duration,
    /// So many requests to a host may follow each other at once (one after another all the same)
    /// before the delay. Within the burst of one host the address's delay does not count.
    pub burst: u32,
    /// A longer Crawl-delay counts as this. It holds from the request after the first page on:
    /// the visitor that has just read robots.txt may still keep to its own delay.
    pub crawl_delay_max: Duration,
    /// Relative mode, in place of `delay`.
    pub relative: Option<Relative>,
    /// Domains with a delay of their own, in place of `delay`: a suffix at a label boundary covers
    /// all below it. No two may cover the same host.
    pub domains: Vec<(String, Duration)>,
    /// After a refusal without Retry-After, at least this, doubled with each that follows; never
    /// forgiven here. Zero asks for nothing.
    pub backoff_first: Duration,
}

/// The delay is a multiple of the time that the last request took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Relative {
    /// This multiple.
    pub factor: f64,
    /// At least this.
    pub min: Duration,
    /// At most this.
    pub max: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            delay: Duration::from_secs(10),
            ip_delay: Duration::from_secs(2),
            burst: 1,
            crawl_delay_max: Duration::from_secs(300),
            relative: None,
            domains: Vec::new(),
            backoff_first: Duration::ZERO,
        }
    }
}

impl Pace {
    /// So long between two requests to a host, and to an address; one request a visit.
    #[must_use]
    pub fn delays(delay: Duration, ip_delay: Duration) -> Self {
        Self { delay, ip_delay, ..Self::default() }
    }

    /// `delay`, or that of the domain of `host`.
    fn delay_of(&self, host: &str) -> Duration {
        let covers = |suffix: &str| {
            host.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        let own = self.domains.iter().find(|(suffix, _)| covers(suffix));
        own.map_or(self.delay, |(_, delay)| *delay)
    }

    /// Microseconds that are to pass after `last`.
    fn wanted(&self, last: &Last, crawl_delay_secs: f64) -> u64 {
        let own = self.relative.map_or_else(
            || self.delay_of(&last.host),
            |relative| {
                let took = Duration::from_micros(last.took);
                took.mul_f64(relative.factor).clamp(relative.min, relative.max)
            },
        );
        let asked = if last.robots || crawl_delay_secs <= 0.0 {
            Duration::ZERO
        } else {
            Duration::try_from_secs_f64(crawl_delay_secs).unwrap_or(Duration::MAX)
        };
        micros(own.max(asked.min(self.crawl_delay_max)))
    }
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

/// What was last seen on one host or address.
#[derive(Debug, Default)]
struct Last {
    /// When the latest complete request ended.
    busy_until: u64,
    /// When the latest request that was not complete began.
    broken_start: u64,
    /// How long the latest took.
    took: u64,
    /// Whether it was for robots.txt.
    robots: bool,
    /// How many followed each other without the delay, the latest included.
    n_in_burst: u32,
    /// Not before this, because the host asked so.
    resting_until: u64,
    /// Refusals that did not say when to come back.
    n_vague: u32,
    url: String,
    host: String,
}

impl Last {
    fn note(&mut self, entry: &Entry, backoff_first: Duration) {
        if entry.complete {
            self.busy_until = self.busy_until.max(entry.end);
            self.took = entry.end.saturating_sub(entry.start);
        } else {
            self.broken_start = self.broken_start.max(entry.start);
            self.took = 0;
        }
        if let Some(rest) = entry.retry_after_ms.filter(|_| entry.complete) {
            // Counted from the start: a date is a date, whatever the latency.
            self.resting_until = self.resting_until.max(entry.start + rest * 1_000);
        }
        if entry.complete && entry.is_refusal() && entry.retry_after_ms.is_none() {
            let rest = backoff_first.saturating_mul(1 << self.n_vague.min(20));
            self.resting_until = self.resting_until.max(entry.end + micros(rest));
            self.n_vague += 1;
        }
        let route = Route::parse(&entry.path);
        self.robots = matches!(route, Some(Route::Robots | Route::RobotsHop(_)));
        self.url = entry.url();
        self.host.clone_from(&entry.host);
    }

    /// Microseconds since the latest request was over; negative while it was not.
    fn gap(&self, start: u64) -> i64 {
        signed(start) - signed(self.busy_until.max(self.broken_start))
    }
}

fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

/// All hosts and addresses, fed with requests in the order in which they began.
#[derive(Debug)]
pub struct Paces<'a> {
    pace: &'a Pace,
    hosts: HashMap<String, Last>,
    ips: HashMap<Ipv4Addr, Last>,
}

impl<'a> Paces<'a> {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(pace: &'a Pace) -> Self {
        Self { pace, hosts: HashMap::new(), ips: HashMap::new() }
    }

    /// One more request, to a host that asked for this Crawl-delay.
    pub fn note(&mut self, entry: &Entry, crawl_delay_secs: f64, report: &mut Judgment) {
        self.note_host(entry, crawl_delay_secs, report);
        if let Some(ip) = entry.ip {
            self.note_ip(entry, ip, report);
        }
    }

    fn note_host(&mut self, entry: &Entry, crawl_delay_secs: f64, report: &mut Judgment) {
        let pace = self.pace;
        if let Some(last) = self.hosts.get_mut(&entry.host) {
            let gap = last.gap(entry.start);
            let wanted = pace.wanted(last, crawl_delay_secs);
            let (first, second) = (last.url.clone(), entry.url());
            if entry.start < last.resting_until {
                let early_us = last.resting_until - entry.start;
                report.add(Violation::TooEarly { url: second.clone(), early_us });
            }
            if gap < 0 {
                let host = entry.host.clone();
                report.add(Violation::HostOverlap { host, first, second, overlap_us: -gap });
            } else if gap < signed(wanted) {
                last.n_in_burst += 1;
                if last.n_in_burst > pace.burst {
                    last.n_in_burst = 1;
                    report.host_gap(gap);
                    let host = entry.host.clone();
                    report.add(Violation::HostGap {
                        host,
                        first,
                        second,
                        gap_us: gap,
                        wanted_us: wanted,
                    });
                }
            } else {
                last.n_in_burst = 1;
                report.host_gap(gap);
            }
        }
        let last = self
            .hosts
            .entry(entry.host.clone())
            .or_insert_with(|| Last { n_in_burst: 1, ..Last::default() });
        last.note(entry, pace.backoff_first);
    }

    fn note_ip(&mut self, entry: &Entry, ip: Ipv4Addr, report: &mut Judgment) {
        let wanted_us = micros(self.pace.ip_delay);
        let last = self.ips.entry(ip).or_default();
        let in_burst = self.pace.burst > 1 && last.host == entry.host;
        if !last.host.is_empty() && !in_burst {
            let gap = last.gap(entry.start);
            let (first, second) = (last.url.clone(), entry.url());
            report.ip_gap(gap);
            if gap < 0 {
                report.add(Violation::IpOverlap { ip, first, second, overlap_us: -gap });
            } else if gap < signed(wanted_us) {
                report.add(Violation::IpGap { ip, first, second, gap_us: gap, wanted_us });
            }
        }
        last.note(entry, Duration::ZERO);
    }
}
