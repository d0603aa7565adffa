//! Hints that pages have changed, and requests to fetch pages again: they move due times.

use super::CrawlDb;
use super::due::with_due;
use crate::messages::{ChangeSignal, Commit, Page, Revisit, SignalSource};
use crate::storage::values::{Seen, UrlOutcome};
use crate::storage::{Batch, DiskError, Family, Row, keys};
use crivello_common::hash::UrlKey;
use crivello_common::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

impl CrawlDb {
    /// Moves the due times of finished URLs by hints. Those that `pages` of this commit finish are left
    /// out: they were just fetched.
    pub(super) fn apply_signals(
        &mut self,
        batch: &mut Batch,
        mut signals: Vec<ChangeSignal>,
        pages: &[(Page, Option<(u32, u64)>)],
        now: Timestamp,
    ) -> Result<(), DiskError> {
        if signals.is_empty() || !self.recrawl.is_on() {
            return Ok(());
        }
        let key = |page: &Page| {
            let row = page.row.as_ref()?;
            Some(UrlKey { group: page.host.group, url: row.hash })
        };
        let finished: BTreeSet<UrlKey> = pages.iter().filter_map(|(page, _)| key(page)).collect();
        signals.retain(|signal| !finished.contains(&signal.url));
        // Of several hints for one URL the last counts, but a person comes first.
        signals.sort_by_key(|signal| (signal.url, signal.source == SignalSource::Person));
        let rows: Vec<_> = signals.iter().map(|signal| keys::seen(signal.url)).collect();
        let mut outcomes = BTreeMap::new();
        self.frontier.disk.get_sorted(Family::Seen, &rows, |i, value| {
            if let Some(Seen::Done(outcome)) = value.map(Seen::decode).transpose()? {
                outcomes.insert(signals[i].url, (outcome, signals[i]));
            }
            Ok(())
        })?;
        for (outcome, signal) in outcomes.values() {
            self.apply_signal(batch, outcome, signal, now)?;
        }
        Ok(())
    }

    /// Moves the due time of a finished URL by a hint. Returns its new outcome, if it changed.
    pub(super) fn apply_signal(
        &mut self,
        batch: &mut Batch,
        outcome: &UrlOutcome,
        signal: &ChangeSignal,
        now: Timestamp,
    ) -> Result<Option<UrlOutcome>, DiskError> {
        let Some(page) = outcome.page() else { return Ok(None) };
        let host = self.refetch.host_of(signal.url.group, page);
        self.frontier.hosts.load(&[host])?;
        let entry = self.frontier.hosts.get(host);
        let evidence = entry.and_then(|entry| entry.row.evidence.as_deref());
        let Some(revisit) = self.recrawl.after_signal(&page.url, signal.source, evidence, now)
        else {
            return Ok(None);
        };
        let revisit = Revisit { is_counted: outcome.is_counted(), ..revisit };
        let moved = with_due(outcome, page, &revisit, revisit.due);
        self.frontier.forget_due(batch, signal.url, outcome);
        self.frontier.store_outcome(batch, signal.url, &moved);
        Ok(Some(moved))
    }

    /// Performs a step of the scans for hosts that people asked for. Returns a commit of its own, as
    /// [`Self::step_due`], or `None` if there is no request.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. The crawl database must then not be used any more.
    pub fn step_host_requests(&mut self, now: Timestamp) -> Result<Option<Commit>, DiskError> {
        if !self.host_requests.is_running() {
            return Ok(None);
        }
        let found = self.host_requests.step(&self.frontier.disk)?;
        let mut batch = Batch::default();
        for (url, outcome) in found {
            let signal = ChangeSignal { url, source: SignalSource::Person };
            self.apply_signal(&mut batch, &outcome, &signal, now)?;
        }
        self.finish(&mut batch, now)?;
        Ok(Some(self.scan_commit(batch)))
    }
}
