//! The front: how many IP entries the workbench wants to hold, and so how many hosts it asks the
//! crawl database for. It grows when fetchers starve and shrinks back, to those in use and one for each
//! fetcher, when more entries are ready than fetchers could take.

use crate::limits::{RULES_A_HOST, RULES_BYTES_MAX, WINDOW_MAX, WINDOW_MIN};
use crivello_common::config::Settings;
use crivello_common::time::Timestamp;
use std::time::Duration;

/// Between two looks at the number of ready entries.
const REVIEW: Duration = Duration::from_secs(1);
/// So many looks in a row must find too many before the front shrinks.
const PATIENCE: u32 = 10;

/// What the workbench holds now.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// Hosts in memory.
    pub hosts: usize,
    /// Entries with a host, and hosts that have no address yet.
    pub entries: usize,
    /// URLs in windows, by their weight.
    pub window_urls: usize,
    /// Bytes of compiled rules.
    pub rules_bytes: usize,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Front {
    wanted: usize,
    floor: usize,
    hosts_max: usize,
    window_urls_max: usize,
    /// More ready entries than this are more than can be taken.
    need: usize,
    /// What the crawl database believes is wanted.
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

    /// Whether another host would be one too many for memory.
    pub const fn is_memory_full(&self, held: Held) -> bool {
        held.hosts >= self.hosts_max
            || self.is_window_full(held)
            || held.rules_bytes >= RULES_BYTES_MAX
    }

    /// Whether there are so many more rules than may be that hosts with rules leave whenever they
    /// must wait. The margin is more than what one host may bring with it: it is not sent back for
    /// that, to be ordered again at once.
    pub const fn has_too_many_rules(held: Held) -> bool {
        held.rules_bytes > RULES_BYTES_MAX + RULES_BYTES_MAX / 4
    }

    /// Whether windows hold all the URLs they may.
    pub const fn is_window_full(&self, held: Held) -> bool {
        held.window_urls >= self.window_urls_max
    }

    /// Whether hosts that are wanted find no room only because of the URLs of others.
    pub const fn is_crowded_out(&self, held: Held) -> bool {
        self.is_window_full(held)
            && held.entries < self.wanted
            && held.hosts < self.hosts_max
            && held.rules_bytes < RULES_BYTES_MAX
    }

    /// URLs that a host may keep then, by their weight: half of an equal part of the room, so that
    /// the other half is for those who come. Addresses are expected to have as many hosts each as
    /// those that are here.
    pub fn window_share(&self, held: Held) -> usize {
        let hosts = held.hosts.saturating_mul(self.wanted) / held.entries.max(1);
        let hosts = hosts.max(held.hosts).clamp(1, self.hosts_max);
        (self.window_urls_max / hosts.saturating_mul(2)).clamp(WINDOW_MIN, WINDOW_MAX)
    }

    /// Whether hosts that rest for long had better make room.
    pub const fn is_full(&self, held: Held) -> bool {
        held.entries >= self.wanted || self.is_memory_full(held)
    }

    /// Whether so much more is held than wanted that a host leaves whenever one comes to rest.
    pub const fn is_overfull(&self, held: Held) -> bool {
        held.entries > self.wanted + self.wanted / 8
    }

    /// A fetcher is free and nothing is ready.
    pub fn starve(&mut self, held: Held) {
        self.idle_reviews = 0;
        if held.entries >= self.wanted {
            self.wanted = (self.wanted + self.wanted / 4 + 1).min(self.hosts_max);
        }
    }

    /// Whether it is time for [`Self::review`].
    pub fn is_review_due(&self, now: Timestamp) -> bool {
        now >= self.review_at
    }

    /// Looks at how many entries are ready and not taken. While these are too many, fewer are wanted
    /// step by step; but always as many as rest or are visited, for that is what the delay needs: if
    /// they went, nothing would be ready in their place a delay later.
    pub fn review(&mut self, ready: usize, held: Held, now: Timestamp) {
        self.review_at = now + REVIEW;
        self.idle_reviews = if ready > self.need { self.idle_reviews + 1 } else { 0 };
        if self.idle_reviews > PATIENCE {
            let enough = held.entries.saturating_sub(ready) + self.need;
            let step = self.wanted.div_ceil(20);
            self.wanted = enough.clamp(self.wanted - step, self.wanted).max(self.floor);
        }
    }

    /// A host came in against the order; it counts as so many.
    pub const fn delivered(&mut self, hosts: u32) {
        self.ordered = self.ordered.saturating_sub(hosts);
    }

    /// The new order, when it differs enough from the standing one.
    pub fn order(&mut self, held: Held, closing: bool) -> Option<u32> {
        let free = self.hosts_max.saturating_sub(held.hosts);
        let urls = self.window_urls_max.saturating_sub(held.window_urls);
        let rules = RULES_BYTES_MAX.saturating_sub(held.rules_bytes) / RULES_A_HOST;
        let room = self.wanted.saturating_sub(held.entries).min(free).min(urls).min(rules);
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
