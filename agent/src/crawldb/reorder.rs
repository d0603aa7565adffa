//! Reordering of queued URLs after a change of `links.priority`, and while the links to them are counted: a scan of all
//! queues in bounded steps.
//!
//! A rule that needs more than the rows have applies to new links only, and starts no scan. URLs that are
//! handed out and groups that are being deleted are left as they are. `meta` has the text of the rule
//! that all rows follow, or none while a scan runs. So a scan that a restart interrupts begins again, and
//! one whose rule changed while no process ran begins at the next start.
//!
//! With a rule that names the number of in-links, scans follow each other while counts grow. Such a scan moves URLs only
//! forward, because counts begin anew at a start, and it pauses for much longer than it takes.

use super::frontier::Frontier;
use super::group_jobs::GroupJobs;
use super::inlinks::Inlinks;
use crate::messages::{LinkKind, PRIORITY_DEFAULT, Queued};
use crate::storage::values::decode_queued;
use crate::storage::{Batch, Database, DiskError, Family, keys};
use crivello_common::fields::priority::PriorityRule;
use crivello_common::hash::{HostKey, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::time::Duration;

/// Key in `meta` of the text of the rule that all rows follow.
const META_PRIORITY: &[u8] = b"priority";
/// Value at this key while the rows follow different rules; no text.
const MIXED: &[u8] = &[0xff];
/// Maximum number of rows per step; small in tests, so that a scan takes several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 7 } else { 2_048 };
/// Least pause between scans for counts, and the number of times as long as a scan that it is.
const PAUSE_MIN: Duration = Duration::from_secs(1);
const PAUSE_FACTOR: u32 = 20;
/// Bound above all keys of `frontier`.
const END: [u8; keys::PAIR + 10] = [0xff; keys::PAIR + 10];

/// The rule for priorities, and the progress of its application to all rows.
#[derive(Debug, Default)]
pub struct Reorder {
    /// Value of `links.priority`.
    text: String,
    rule: Option<PriorityRule>,
    /// Key at which the scan continues; `None` when it is complete.
    at: Option<Vec<u8>>,
    /// True if the scan moves URLs only forward, because their counts have grown.
    is_forward: bool,
    /// Time when the scan began, or when the next one for counts may begin.
    since: Timestamp,
}

impl Reorder {
    /// Reads the state. A scan begins if the rule in the settings is not the one that all rows follow.
    pub fn read(disk: &Database, text: &str) -> Result<Self, DiskError> {
        let applied = disk.get(Family::Meta, META_PRIORITY)?.unwrap_or_default();
        let begins = applied != text.as_bytes();
        let scan = Self::begin(text);
        Ok(if begins { scan } else { Self { at: None, ..scan } })
    }

    /// Applies a new value of `links.priority`, which is valid.
    pub fn reconfigure(&mut self, text: &str) {
        if text != self.text {
            *self = Self::begin(text);
        }
    }

    fn begin(text: &str) -> Self {
        let rule = PriorityRule::compile(text).unwrap_or_default();
        let applies = rule.as_ref().is_none_or(PriorityRule::is_of_row);
        let at = if applies { Vec::new() } else { END.to_vec() };
        Self { text: text.to_owned(), rule, at: Some(at), ..Self::default() }
    }

    /// Returns true if the rule names the number of in-links.
    pub fn counts_inlinks(&self) -> bool {
        self.rule.as_ref().is_some_and(PriorityRule::counts_inlinks)
    }

    /// Begins a scan if counts have grown since the last one, and it is not too early.
    pub fn follow_counts(&mut self, inlinks: &mut Inlinks, now: Timestamp) {
        if inlinks.is_on() && self.at.is_none() && self.since <= now && inlinks.take_risen() {
            (self.at, self.is_forward, self.since) = (Some(Vec::new()), true, now);
        }
    }

    /// Returns true while rows remain to be scanned.
    pub const fn is_running(&self) -> bool {
        self.at.is_some()
    }

    /// Scans some rows, and adds the moves of those with another priority to `batch`.
    pub fn step(
        &mut self,
        frontier: &mut Frontier,
        (jobs, inlinks): (&GroupJobs, &Inlinks),
        now: Timestamp,
        batch: &mut Batch,
    ) -> Result<(), DiskError> {
        let Some(from) = self.at.take() else { return Ok(()) };
        let (mut rows, mut n_rows, mut hosts) = (Vec::new(), 0, Vec::new());
        frontier.disk.walk(Family::Frontier, &from, &END, |key, value| {
            if n_rows == ROWS_AT_ONCE {
                self.at = Some(key.to_vec());
                return Ok(false);
            }
            n_rows += 1;
            let (host, queue_key) = keys::read_frontier(key)?;
            if !queue_key.is_pending() && !jobs.is_deleting(host.group) {
                let url = decode_queued(queue_key, value)?;
                let count = inlinks.of(UrlKey { group: host.group, url: url.hash });
                if !self.is_forward || count > 1 {
                    rows.push((host, url, count));
                    hosts.push(host);
                }
            }
            Ok(true)
        })?;
        hosts.dedup();
        frontier.hosts.load(&hosts)?;
        for (host, url, inlinks) in rows {
            let before = url.queue_key.priority;
            if let Some(priority) = self.priority(frontier, (host, &url), inlinks)
                && priority != before
                && (!self.is_forward || priority < before)
            {
                frontier.set_priority(batch, host, &url, priority);
            }
        }
        if self.is_forward {
            if self.at.is_none() {
                let pause = (now.since(self.since) * PAUSE_FACTOR).max(PAUSE_MIN);
                (self.is_forward, self.since) = (false, now + pause);
            }
            return Ok(());
        }
        let rule = if self.at.is_none() { self.text.as_bytes() } else { MIXED };
        batch.put(Family::Meta, META_PRIORITY, rule);
        Ok(())
    }

    /// Returns the priority of a queued URL by the rule; `None` if it must stay where it is.
    fn priority(
        &self,
        frontier: &Frontier,
        (host, url): (HostKey, &Queued),
        inlinks: u64,
    ) -> Option<u8> {
        let entry = frontier.hosts.get(host)?;
        if entry.is_checked_out(url.queue_key) {
            return None;
        }
        let Some(rule) = &self.rule else { return Some(PRIORITY_DEFAULT) };
        let is_sitemap = url.kind == LinkKind::Sitemap;
        let whole = CrawlUrl::from_parts(url.origin, &entry.row.name, &url.path);
        Some(rule.of_row(&whole, url.depth, is_sitemap, inlinks))
    }
}
