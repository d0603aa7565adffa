//! The front: the number of IP entries that the workbench wants, and so the number of hosts
//! that it requests from the crawl database. It grows when fetchers starve. When more entries are
//! ready than fetchers can take, it shrinks to the entries in use plus one for each fetcher.

use crate::limits::{RULES_A_HOST, RULES_BYTES_MAX, WINDOW_MAX, WINDOW_MIN};
use crivello_common::config::Settings;
use crivello_common::time::Timestamp;
use std::time::Duration;

/// Interval between two reviews of the number of ready entries.
const REVIEW: Duration = Duration::from_secs(1);
/// The front shrinks after more than this many reviews in a row with too many ready entries.
const IDLE_REVIEWS_MAX: u32 = 10;

/// The current occupancy of the workbench.
#[derive(Clone, Copy, Debug)]
pub(super) struct Usage {
    /// Hosts in memory.
    pub hosts: usize,
    /// IP entries with a host, and hosts without an address.
    pub entries: usize,
    /// URLs in windows, by their weight.
    pub window_urls: usize,
    /// Bytes of compiled rules.
    pub rules_bytes: usize,
}

/// The wanted number of IP entries, and the limits of memory.
#[derive(Debug)]
pub(super) struct Front {
    wanted: usize,
    floor: usize,
    hosts_max: usize,
    window_urls_max: usize,
    /// Number of ready entries that fetchers can take at most.
    need: usize,
    /// The open host request at the crawl database: hosts that are still to be delivered.
    ordered: u32,
    review_at: Timestamp,
    idle_reviews: u32,
}

impl Front {
    pub fn new(settings: &Settings, now: Timestamp) -> Self {
        let hosts_max = to_usize(settings.fixed.state.hosts_max).max(1);
        let need = settings.fixed.fetch.visits_max as usize;
        let floor = (2 * need).clamp(1, hosts_max);
        Self {
            wanted: floor,
            floor,
            hosts_max,
            window_urls_max: to_usize(settings.fixed.state.window_urls_max).max(1),
            need,
            ordered: 0,
            review_at: now + REVIEW,
            idle_reviews: 0,
        }
    }

    pub const fn wanted(&self) -> usize {
        self.wanted
    }

    /// Returns true if memory has no room for another host.
    pub const fn is_memory_full(&self, usage: Usage) -> bool {
        usage.hosts >= self.hosts_max
            || self.is_window_full(usage)
            || usage.rules_bytes >= RULES_BYTES_MAX
    }

    /// Returns true if rules exceed their maximum so far that hosts with rules leave whenever they
    /// must wait. The margin exceeds the rules of any one host, so that a host is not sent back for
    /// its own rules and then ordered again at once.
    pub const fn has_too_many_rules(usage: Usage) -> bool {
        usage.rules_bytes > RULES_BYTES_MAX + RULES_BYTES_MAX / 4
    }

    /// Returns true if the windows contain the maximum number of URLs.
    pub const fn is_window_full(&self, usage: Usage) -> bool {
        usage.window_urls >= self.window_urls_max
    }

    /// Returns true if nothing but the URLs of other hosts keeps out hosts that are wanted.
    pub const fn is_crowded_out(&self, usage: Usage) -> bool {
        self.is_window_full(usage)
            && usage.entries < self.wanted
            && usage.hosts < self.hosts_max
            && usage.rules_bytes < RULES_BYTES_MAX
    }

    /// Returns the URLs that each host may keep in that case, by their weight: half of an equal
    /// share of the maximum; the other half is for new hosts. New addresses are expected to have as
    /// many hosts each as those in memory.
    pub fn window_share(&self, usage: Usage) -> usize {
        let hosts = usage.hosts.saturating_mul(self.wanted) / usage.entries.max(1);
        let hosts = hosts.max(usage.hosts).clamp(1, self.hosts_max);
        (self.window_urls_max / hosts.saturating_mul(2)).clamp(WINDOW_MIN, WINDOW_MAX)
    }

    /// Returns true if hosts with long rests should leave.
    pub const fn is_full(&self, usage: Usage) -> bool {
        usage.entries >= self.wanted || self.is_memory_full(usage)
    }

    /// Returns true if so many more entries are in memory than wanted that a host leaves whenever one comes to
    /// rest.
    pub const fn is_overfull(&self, usage: Usage) -> bool {
        usage.entries > self.wanted + self.wanted / 8
    }

    /// Grows the front if it is used up: a fetcher is free and nothing is ready.
    pub fn starve(&mut self, usage: Usage) {
        self.idle_reviews = 0;
        if usage.entries >= self.wanted {
            self.wanted = (self.wanted + self.wanted / 4 + 1).min(self.hosts_max);
        }
    }

    /// Returns true if [`Self::review`] is due.
    pub fn is_review_due(&self, now: Timestamp) -> bool {
        now >= self.review_at
    }

    /// Reviews the number of entries that are ready and not taken. While there are too many, the
    /// wanted number falls step by step, but not below the number of entries that rest or are
    /// visited. The delay needs these: without them, nothing would be ready a delay later.
    pub fn review(&mut self, ready: usize, usage: Usage, now: Timestamp) {
        self.review_at = now + REVIEW;
        self.idle_reviews = if ready > self.need { self.idle_reviews + 1 } else { 0 };
        if self.idle_reviews > IDLE_REVIEWS_MAX {
            let enough = usage.entries.saturating_sub(ready) + self.need;
            let step = self.wanted.div_ceil(20);
            self.wanted = enough.clamp(self.wanted - step, self.wanted).max(self.floor);
        }
    }

    /// Deducts a delivered host, which counts as `hosts` hosts, from the open host request.
    pub const fn delivered(&mut self, hosts: u32) {
        self.ordered = self.ordered.saturating_sub(hosts);
    }

    /// Returns a new host request if it differs enough from the open one: by an eighth, or from or to
    /// 0.
    pub fn order(&mut self, usage: Usage, closing: bool) -> Option<u32> {
        let free = self.hosts_max.saturating_sub(usage.hosts);
        let urls = self.window_urls_max.saturating_sub(usage.window_urls);
        let rules = RULES_BYTES_MAX.saturating_sub(usage.rules_bytes) / RULES_A_HOST;
        let room = self.wanted.saturating_sub(usage.entries).min(free).min(urls).min(rules);
        let room = if closing { 0 } else { u32::try_from(room).unwrap_or(u32::MAX) };
        let drift = room.abs_diff(self.ordered);
        let matters = drift > 0
            && (room == 0 || self.ordered == 0 || drift >= self.ordered.max(room).div_ceil(8));
        matters.then(|| {
            self.ordered = room;
            room
        })
    }
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}
