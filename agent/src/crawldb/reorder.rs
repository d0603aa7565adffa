//! Reordering of queued URLs after a change of `links.priority`: a scan of all queues in bounded steps.
//!
//! A rule that needs more than the rows have applies to new links only, and starts no scan. URLs that are
//! handed out and groups that are being deleted are left as they are. `meta` has the text of the rule
//! that all rows follow, or none while a scan runs. So a scan that a restart interrupts begins again, and
//! one whose rule changed while no process ran begins at the next start.

use super::frontier::Frontier;
use super::group_jobs::GroupJobs;
use crate::messages::{LinkKind, PRIORITY_DEFAULT, Queued};
use crate::storage::values::decode_queued;
use crate::storage::{Batch, Database, DiskError, Family, keys};
use crivello_common::fields::priority::PriorityRule;
use crivello_common::hash::HostKey;
use crivello_common::url::CrawlUrl;

/// Key in `meta` of the text of the rule that all rows follow.
const META_PRIORITY: &[u8] = b"priority";
/// Value at this key while the rows follow different rules; no text.
const MIXED: &[u8] = &[0xff];
/// Maximum number of rows per step; small in tests, so that a scan takes several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 7 } else { 2_048 };
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
}

impl Reorder {
    /// Reads the state. A scan begins if the rule in the settings is not the one that all rows follow.
    pub fn read(disk: &Database, text: &str) -> Result<Self, DiskError> {
        let applied = disk.get(Family::Meta, META_PRIORITY)?.unwrap_or_default();
        let begins = applied != text.as_bytes();
        Ok(if begins {
            Self::begin(text)
        } else {
            Self { text: text.to_owned(), ..Self::default() }
        })
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
        Self { text: text.to_owned(), rule, at: Some(at) }
    }

    /// Returns true while rows remain to be scanned.
    pub const fn is_running(&self) -> bool {
        self.at.is_some()
    }

    /// Scans some rows, and adds the moves of those with another priority to `batch`.
    pub fn step(
        &mut self,
        frontier: &mut Frontier,
        jobs: &GroupJobs,
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
                rows.push((host, decode_queued(queue_key, value)?));
                hosts.push(host);
            }
            Ok(true)
        })?;
        hosts.dedup();
        frontier.hosts.load(&hosts)?;
        for (host, url) in rows {
            if let Some(priority) = self.priority(frontier, host, &url)
                && priority != url.queue_key.priority
            {
                frontier.set_priority(batch, host, &url, priority);
            }
        }
        let rule = if self.at.is_none() { self.text.as_bytes() } else { MIXED };
        batch.put(Family::Meta, META_PRIORITY, rule);
        Ok(())
    }

    /// Returns the priority of a queued URL by the rule; `None` if it must stay where it is.
    fn priority(&self, frontier: &Frontier, host: HostKey, url: &Queued) -> Option<u8> {
        let entry = frontier.hosts.get(host)?;
        if entry.is_checked_out(url.queue_key) {
            return None;
        }
        let Some(rule) = &self.rule else { return Some(PRIORITY_DEFAULT) };
        let is_sitemap = url.kind == LinkKind::Sitemap;
        let whole = CrawlUrl::from_parts(url.origin, &entry.row.name, &url.path);
        Some(rule.of_row(&whole, url.depth, is_sitemap))
    }
}
