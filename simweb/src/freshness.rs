//! Freshness of a visitor's copies of the pages of a web with [`crate::Changes`], judged from the
//! access log and from the web's own versions.
//!
//! A copy is what the last complete answer said: a page, that it has not changed, or that it is
//! gone. It is of the version that was current at the `start` of the request, and it is fresh until
//! the next change. It is judged from the first such answer to the end of the log.

use crate::change_times::ChangePattern;
use crate::history::ChangeHistory;
use crate::log::Entry;
use crate::world::World;
use crivello_common::time::Timestamp;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// A request with a complete answer about a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageVisit {
    /// Time of the request.
    pub at: Timestamp,
    /// Number of the version that was current.
    pub version: u64,
    /// Status: 200, 304, 404 or 410.
    pub status: u16,
    /// True if the request had conditions.
    pub conditional: bool,
}

/// Visits of one page, and the freshness of the copy.
#[derive(Clone, Debug, PartialEq)]
pub struct PageFreshness {
    /// The history of the page.
    pub history: ChangeHistory,
    /// The visits, in the order of their times.
    pub visits: Vec<PageVisit>,
    /// Changes from the first visit to the end of the log.
    pub n_changes: u64,
    /// Visits that found another version than the visit before.
    pub n_changes_seen: u64,
    /// Visits that found no other version than the visit before, and were answered with 200 all the
    /// same.
    pub n_unchanged: u64,
    /// Time from the first visit to the end of the log.
    pub observed: Duration,
    /// Part of that time in which the copy was that of the current version.
    pub fresh: Duration,
    /// Part of that time in which the main text of the copy was current. It is longer than `fresh`
    /// if changes touch boilerplate only.
    pub text_fresh: Duration,
    /// Longest time without a visit, from the first one to the end of the log.
    pub gap_max: Duration,
}

/// Freshness of all pages that were visited.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FreshnessReport {
    /// The pages by URL.
    pub pages: BTreeMap<String, PageFreshness>,
}

impl FreshnessReport {
    /// Judges a log up to the end of its last request. The spec of `world` must be that of the
    /// visited web, with its port and its origin.
    #[must_use]
    pub fn new(world: &World, log: &[Entry]) -> Self {
        let end = log.iter().map(|entry| entry.end).max().unwrap_or_default();
        Self::until(world, log, Timestamp(end))
    }

    /// Judges a log up to a time. Later requests are ignored.
    #[must_use]
    pub fn until(world: &World, log: &[Entry], end: Timestamp) -> Self {
        let mut visits: BTreeMap<String, Vec<PageVisit>> = BTreeMap::new();
        for entry in log.iter().filter(|entry| entry.complete && entry.start <= end.0) {
            let Some(version) = entry.version else { continue };
            let (at, status, conditional) =
                (Timestamp(entry.start), entry.status, entry.conditional);
            let visit = PageVisit { at, version, status, conditional };
            visits.entry(entry.url()).or_default().push(visit);
        }
        let judged = visits.into_iter().filter_map(|(url, mut visits)| {
            let history = world.change_history(world.find(&url)?)?;
            visits.sort_by_key(|visit| visit.at);
            Some((url, PageFreshness::new(history, visits, end)))
        });
        Self { pages: judged.collect() }
    }

    /// Returns the share of the time in which copies were fresh, over the times of all pages.
    pub fn fresh_share(&self) -> f64 {
        self.share(|page| page.fresh)
    }

    /// Returns the share of the time in which the main texts of copies were fresh, over the times
    /// of all pages.
    pub fn text_fresh_share(&self) -> f64 {
        self.share(|page| page.text_fresh)
    }

    /// Returns the mean of the pages' shares of time in which the copy was fresh.
    pub fn fresh_share_mean(&self) -> f64 {
        let sum: f64 = self.pages.values().map(PageFreshness::fresh_share).sum();
        if self.pages.is_empty() { 1.0 } else { sum / self.pages.len() as f64 }
    }

    /// Returns a number of all pages together: `report.count(PageFreshness::n_not_modified)`.
    pub fn count(&self, number: impl Fn(&PageFreshness) -> u64) -> u64 {
        self.pages.values().map(number).sum()
    }

    /// Returns the longest time without a visit of any page that is not known to be gone.
    pub fn gap_max(&self) -> Duration {
        let kept = self.pages.values().filter(|page| !page.is_known_gone());
        kept.map(|page| page.gap_max).max().unwrap_or_default()
    }

    /// Returns the pages of a pattern only.
    #[must_use]
    pub fn of_pattern(&self, pattern: ChangePattern) -> Self {
        let pages = self.pages.iter().filter(|(_, page)| page.history.pattern() == pattern);
        Self { pages: pages.map(|(url, page)| (url.clone(), page.clone())).collect() }
    }

    fn share(&self, part: impl Fn(&PageFreshness) -> Duration) -> f64 {
        let sum = |of: &dyn Fn(&PageFreshness) -> Duration| {
            self.pages.values().map(of).sum::<Duration>().as_secs_f64()
        };
        ratio(sum(&part), sum(&|page| page.observed))
    }
}

impl PageFreshness {
    /// Judges the visits of a page, in the order of their times, up to `end`.
    fn new(history: ChangeHistory, visits: Vec<PageVisit>, end: Timestamp) -> Self {
        let mut page = Self {
            history,
            visits: Vec::new(),
            n_changes: 0,
            n_changes_seen: 0,
            n_unchanged: 0,
            observed: Duration::ZERO,
            fresh: Duration::ZERO,
            text_fresh: Duration::ZERO,
            gap_max: Duration::ZERO,
        };
        for (k, visit) in visits.iter().enumerate() {
            let until = visits.get(k + 1).map_or(end, |next| next.at);
            let stale_at = history.since(visit.version + 1).unwrap_or(until).min(until);
            let text_stale_at = history.text_until(visit.version).unwrap_or(until).min(until);
            page.fresh += stale_at.since(visit.at);
            page.text_fresh += text_stale_at.since(visit.at);
            page.observed += until.since(visit.at);
            page.gap_max = page.gap_max.max(until.since(visit.at));
            if let Some(before) = k.checked_sub(1).and_then(|before| visits.get(before)) {
                let is_same = before.version == visit.version;
                page.n_changes_seen += u64::from(!is_same);
                page.n_unchanged += u64::from(is_same && visit.status == 200);
            }
        }
        if let Some(first) = visits.first() {
            page.n_changes = history.version(end).number.saturating_sub(first.version);
        }
        Self { visits, ..page }
    }

    /// Returns the share of the time in which the copy was fresh.
    pub fn fresh_share(&self) -> f64 {
        ratio(self.fresh.as_secs_f64(), self.observed.as_secs_f64())
    }

    /// Returns the share of the time in which the main text of the copy was fresh.
    pub fn text_fresh_share(&self) -> f64 {
        ratio(self.text_fresh.as_secs_f64(), self.observed.as_secs_f64())
    }

    /// Returns the number of visits.
    pub fn n_visits(&self) -> u64 {
        self.visits.len() as u64
    }

    /// Returns the number of visits that were answered with 304.
    pub fn n_not_modified(&self) -> u64 {
        self.visits.iter().filter(|visit| visit.status == 304).count() as u64
    }

    /// Returns whether the last visit found that the page is gone.
    pub fn is_known_gone(&self) -> bool {
        self.visits.last().is_some_and(|visit| matches!(visit.status, 404 | 410))
    }
}

/// Returns a share; 1 of no time.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 1.0 }
}

impl fmt::Display for FreshnessReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let n_visits = self.count(PageFreshness::n_visits);
        let n_not_modified = self.count(PageFreshness::n_not_modified);
        let (n_pages, n_unchanged) = (self.pages.len(), self.count(|page| page.n_unchanged));
        writeln!(
            f,
            "{n_pages} pages, {n_visits} visits: {n_not_modified} not modified, {n_unchanged} \
             unchanged and sent in full"
        )?;
        let (n_seen, n_changes) =
            (self.count(|page| page.n_changes_seen), self.count(|page| page.n_changes));
        writeln!(f, "{n_seen} visits with a change, of {n_changes} changes")?;
        write!(
            f,
            "fresh {:.1} % of the time, with their main text {:.1} %; longest time without a visit \
             {:.1} s",
            self.fresh_share() * 100.0,
            self.text_fresh_share() * 100.0,
            self.gap_max().as_secs_f64()
        )
    }
}

#[cfg(test)]
mod tests;
