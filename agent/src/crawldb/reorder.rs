//! Reordering of queued URLs after a change of `links.priority` or of the ranks of hosts, and while the links to them are
//! counted: a scan of all queues in bounded steps.
//!
//! A rule that needs more than the rows have applies to new links only, and starts no scan. URLs that are
//! handed out and groups that are being deleted are left as they are. `meta` has the text of the rule and the digest of
//! the ranks that all rows follow, or none while a scan runs. So a scan that a restart interrupts begins again, and
//! one whose rule changed while no process ran begins at the next start.
//!
//! After a change of the ranks, the hosts of the rows also get their places by their new classes.
//!
//! With a rule that names the number of in-links, scans follow each other while counts grow. Such a scan moves URLs only
//! forward, because counts begin anew at a start, and it pauses for much longer than it takes.

use super::frontier::Frontier;
use super::group_jobs::GroupJobs;
use super::inlinks::Inlinks;
use crate::messages::{LinkKind, PRIORITY_DEFAULT, Queued};
use crate::storage::values::decode_queued;
use crate::storage::{Batch, Database, DiskError, Family, keys};
use crivello_common::fields::link::LinkRecord;
use crivello_common::fields::priority::PriorityRule;
use crivello_common::hash::{HostKey, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_ranks::HostRanks;
use std::time::Duration;

/// Key in `meta` of the text of the rule that all rows follow; behind it, after a line feed, the digest of the ranks,
/// if there are some.
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
    /// Digest of the ranks that the rows follow, or will follow after the scan; empty without ranks.
    ranks: String,
    /// True if the scan follows a change of the ranks.
    is_for_ranks: bool,
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
        let Ok(applied) = String::from_utf8(applied) else {
            // The scan that was interrupted may have been for ranks.
            return Ok(Self { is_for_ranks: true, at: Some(Vec::new()), ..Self::begin(text) });
        };
        let ranks = match applied.strip_prefix(text) {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix('\n'),
            None => None,
        };
        let scan = Self::begin(text);
        Ok(match ranks {
            Some(ranks) => Self { at: None, ranks: ranks.to_owned(), ..scan },
            None => Self { is_for_ranks: true, at: Some(Vec::new()), ..scan },
        })
    }

    /// Applies a new value of `links.priority`, which is valid.
    pub fn reconfigure(&mut self, text: &str) {
        if text != self.text {
            let before = std::mem::replace(self, Self::begin(text));
            self.ranks = before.ranks;
            // A scan for ranks that is interrupted is part of this one.
            if before.is_for_ranks {
                (self.at, self.is_for_ranks) = (Some(Vec::new()), true);
            }
        }
    }

    /// Begins a scan if the ranks are not those that the rows follow.
    pub fn follow_ranks(&mut self, ranks: Option<&HostRanks>) {
        let digest = ranks.map(HostRanks::digest).unwrap_or_default();
        if digest != self.ranks {
            (self.ranks, self.is_for_ranks) = (digest.to_owned(), true);
            (self.at, self.is_forward) = (Some(Vec::new()), false);
        }
    }

    fn begin(text: &str) -> Self {
        let rule = PriorityRule::compile(text).unwrap_or_default();
        let applies = is_of_row(rule.as_ref());
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
        (jobs, inlinks, ranks): (&GroupJobs, &Inlinks, Option<&HostRanks>),
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
        if self.is_for_ranks {
            hosts.iter().for_each(|&host| frontier.hosts.reclassify(host, ranks));
        }
        let moves = is_of_row(self.rule.as_ref());
        for (host, url, inlinks) in rows.into_iter().filter(|_| moves) {
            let before = url.queue_key.priority;
            if let Some(priority) = self.priority(frontier, (host, &url), inlinks, ranks)
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
        if self.at.is_some() {
            batch.put(Family::Meta, META_PRIORITY, MIXED);
            return Ok(());
        }
        self.is_for_ranks = false;
        let separator = if self.ranks.is_empty() { "" } else { "\n" };
        let applied = [&*self.text, separator, &*self.ranks].concat();
        batch.put(Family::Meta, META_PRIORITY, applied.as_bytes());
        Ok(())
    }

    /// Returns the priority of a queued URL by the rule; `None` if it must stay where it is.
    fn priority(
        &self,
        frontier: &Frontier,
        (host, url): (HostKey, &Queued),
        inlinks: u64,
        ranks: Option<&HostRanks>,
    ) -> Option<u8> {
        let entry = frontier.hosts.get(host)?;
        if entry.is_checked_out(url.queue_key) {
            return None;
        }
        let Some(rule) = &self.rule else { return Some(PRIORITY_DEFAULT) };
        let is_sitemap = url.kind == LinkKind::Sitemap;
        let whole = CrawlUrl::from_parts(url.origin, &entry.row.name, &url.path);
        let host_rank = match rule.names_host_rank() {
            true => ranks.map_or(0, |ranks| ranks.rank(&entry.row.name)),
            false => 0,
        };
        let link = LinkRecord::seed(&whole, url.depth, is_sitemap);
        Some(rule.priority(&LinkRecord { inlinks, host_rank, ..link }))
    }
}

/// Returns true if a rule, or none, gives queued URLs their priorities.
fn is_of_row(rule: Option<&PriorityRule>) -> bool {
    rule.is_none_or(PriorityRule::is_of_row)
}
