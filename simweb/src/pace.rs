//! Minimum intervals between requests to a host and to an address.

use crate::log::Entry;
use crate::names::is_within;
use crate::report::{Judgment, RequestPair, Violation};
use crate::route::Route;
use crivello_common::time::{Timestamp, micros};
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::time::Duration;

/// Politeness that the visitor promised.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Time between the end of one request to a host and the start of the next.
    pub delay: Duration,
    /// Time between the end of one request to an address and the start of the next, over all its
    /// hosts.
    pub ip_delay: Duration,
    /// Number of requests to a host that may follow each other without the delay (but never at the
    /// same time). The address's delay does not apply within the burst of one host.
    pub burst: u32,
    /// Upper limit of Crawl-delay. Crawl-delay applies from the request after the first page: a
    /// visitor that has just read robots.txt may still use its own delay.
    pub crawl_delay_max: Duration,
    /// Relative mode, which replaces `delay`.
    pub relative: Option<Relative>,
    /// Domains with their own delay instead of `delay`. A suffix at a label boundary covers all
    /// hosts below it. No two may cover the same host.
    pub domains: Vec<(String, Duration)>,
    /// Minimum pause after a refusal without Retry-After, doubled with each further one and never
    /// reset here. Zero disables the check.
    pub backoff_first: Duration,
}

/// A delay that is a multiple of the duration of the last request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relative {
    /// Multiple of the last request's duration.
    pub factor: f64,
    /// Lower limit of the delay.
    pub min: Duration,
    /// Upper limit of the delay.
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
    /// Creates a pace with these delays for a host and for an address, and one request per visit.
    #[must_use]
    pub fn delays(delay: Duration, ip_delay: Duration) -> Self {
        Self { delay, ip_delay, ..Self::default() }
    }

    /// Returns the delay for `host`: that of its domain, or `delay`.
    fn delay_of(&self, host: &str) -> Duration {
        let own = self.domains.iter().find(|(suffix, _)| is_within(host, suffix));
        own.map_or(self.delay, |(_, delay)| *delay)
    }

    /// Returns the microseconds that must pass after `last`.
    fn wanted(&self, last: &Last, crawl_delay_secs: f64) -> u64 {
        let own = self.relative.map_or_else(
            || self.delay_of(&last.host),
            |relative| {
                let took = Duration::from_micros(last.took);
                took.mul_f64(relative.factor).clamp(relative.min, relative.max)
            },
        );
        let asked = if last.robots { 0.0 } else { crawl_delay_secs.max(0.0) };
        let asked = Duration::try_from_secs_f64(asked).unwrap_or(Duration::MAX);
        micros(own.max(asked.min(self.crawl_delay_max)))
    }
}

/// The latest request to one host or address.
#[derive(Debug, Default)]
struct Last {
    /// End of the latest complete request.
    busy_until: u64,
    /// Arrival of the latest request that was not complete.
    broken_arrived: u64,
    /// Duration of the latest request.
    took: u64,
    /// True if it was for robots.txt.
    robots: bool,
    /// Number of requests, up to the latest, that followed each other without the delay.
    n_early: u32,
    /// Earliest next request that the host asked for.
    resting_until: u64,
    /// Number of refusals without Retry-After.
    n_vague: u32,
    url: String,
    host: String,
    /// Sender and times of the latest request.
    sender: String,
}

impl Last {
    fn note(&mut self, entry: &Entry, backoff_first: Duration) {
        if entry.complete {
            self.busy_until = self.busy_until.max(entry.end);
            self.took = entry.end.saturating_sub(entry.start);
        } else {
            self.broken_arrived = self.broken_arrived.max(entry.arrived);
            self.took = 0;
        }
        if let Some(rest) = entry.retry_after_ms.filter(|_| entry.complete) {
            // Counted from the start, because a date does not depend on the latency.
            self.resting_until = self.resting_until.max(entry.start + rest * 1_000);
        } else if entry.complete && entry.is_refusal() {
            let rest = backoff_first.saturating_mul(1 << self.n_vague.min(20));
            self.resting_until = self.resting_until.max(entry.end + micros(rest));
            self.n_vague += 1;
        }
        self.robots = Route::parse(&entry.path).is_some_and(Route::is_robots);
        self.url = entry.url();
        self.sender = sender(entry);
        self.host.clone_from(&entry.host);
    }

    /// Returns this request and `next`, both to `at`.
    fn pair(&self, at: &impl ToString, next: &Entry, wanted_us: u64) -> RequestPair {
        let gap_us = self.gap(next.start);
        let (first, second) = (self.url.clone(), next.url());
        let senders = format!("{}, {}", self.sender, sender(next));
        RequestPair { at: at.to_string(), first, second, gap_us, wanted_us, senders }
    }

    /// Returns the microseconds since the end of the latest request; negative if it had not ended.
    fn gap(&self, start: u64) -> i64 {
        signed(start) - signed(self.busy_until.max(self.broken_arrived))
    }
}

/// Returns who sent a request, and when it was read and answered.
fn sender(entry: &Entry) -> String {
    let by = entry.process.map_or_else(|| "?".to_owned(), |process| process.to_string());
    let end = if entry.complete { "answered" } else { "broken off" };
    let (start, took) = (Timestamp(entry.start), entry.end.saturating_sub(entry.start));
    let late = entry.start.saturating_sub(entry.arrived);
    format!("process {by} at {start}, read after {late} us, {end} after {took} us more")
}

fn signed(micros: u64) -> i64 {
    i64::try_from(micros).unwrap_or(i64::MAX)
}

/// The state of all hosts and addresses. It receives requests in the order of their starts.
#[derive(Debug)]
pub struct Paces<'a> {
    pace: &'a Pace,
    hosts: HashMap<String, Last>,
    ips: HashMap<Ipv4Addr, Last>,
}

impl<'a> Paces<'a> {
    /// Creates an empty state.
    #[must_use]
    pub fn new(pace: &'a Pace) -> Self {
        Self { pace, hosts: HashMap::new(), ips: HashMap::new() }
    }

    /// Records a request to a host with this Crawl-delay, and reports violations.
    pub fn note(&mut self, entry: &Entry, crawl_delay_secs: f64, report: &mut Judgment) {
        self.note_host(entry, crawl_delay_secs, report);
        if let Some(ip) = entry.ip {
            self.note_ip(entry, ip, report);
        }
    }

    fn note_host(&mut self, entry: &Entry, crawl_delay_secs: f64, report: &mut Judgment) {
        let last = self.hosts.entry(entry.host.clone()).or_default();
        if !last.url.is_empty() {
            let wanted_us = self.pace.wanted(last, crawl_delay_secs);
            let gap_us = last.gap(entry.start);
            if entry.start < last.resting_until {
                let early_us = last.resting_until - entry.start;
                report.add(Violation::TooEarly { url: entry.url(), early_us });
            }
            if gap_us < 0 {
                report.add(Violation::HostOverlap(last.pair(&entry.host, entry, wanted_us)));
            } else if gap_us < signed(wanted_us) {
                last.n_early += 1;
                if last.n_early >= self.pace.burst {
                    last.n_early = 0;
                    shorten(&mut report.host_gap_min_us, gap_us);
                    report.add(Violation::HostGap(last.pair(&entry.host, entry, wanted_us)));
                }
            } else {
                last.n_early = 0;
                shorten(&mut report.host_gap_min_us, gap_us);
            }
        }
        last.note(entry, self.pace.backoff_first);
    }

    fn note_ip(&mut self, entry: &Entry, ip: Ipv4Addr, report: &mut Judgment) {
        let wanted_us = micros(self.pace.ip_delay);
        let last = self.ips.entry(ip).or_default();
        let in_burst = self.pace.burst > 1 && last.host == entry.host;
        if !last.host.is_empty() && !in_burst {
            let gap_us = last.gap(entry.start);
            shorten(&mut report.ip_gap_min_us, gap_us);
            if gap_us < 0 {
                report.add(Violation::IpOverlap(last.pair(&ip, entry, wanted_us)));
            } else if gap_us < signed(wanted_us) {
                report.add(Violation::IpGap(last.pair(&ip, entry, wanted_us)));
            }
        }
        last.note(entry, Duration::ZERO);
    }
}

/// Lowers the shortest gap to `gap_us` if that is shorter.
fn shorten(min: &mut Option<i64>, gap_us: i64) {
    *min = Some(min.map_or(gap_us, |min| min.min(gap_us)));
}
