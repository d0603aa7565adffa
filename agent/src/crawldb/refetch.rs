//! Refetching of pages that only a lost archive has.
//!
//! The view lists agents that are gone with their archives, for good. From then on all that they
//! fetched counts as not fetched, in rows here and in facts that other agents still send. The
//! existing rows are scanned once, a bounded number at a time. Outcomes that arrive later are
//! merged as queued URLs.

use super::CrawlDb;
use super::changes::is_limit;
use super::domain_counters::DomainCounters;
use super::group_jobs::end_of;
use crate::messages::{Commit, CommitKind, Fact};
use crate::storage::values::{ArchivedPage, HostRow, Seen, UrlOutcome};
use crate::storage::{Database, DiskError, Family, RowReader, RowWriter, keys};
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostHash, HostKey};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeSet;

/// Maximum number of rows per step; small in tests, so that a scan takes several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 5 } else { 8_192 };
/// Key in `meta` of the agents for which all rows have been scanned.
const META_REFETCHED: &[u8] = b"refetched";
/// Bound above all keys of `seen`.
const END: [u8; 17] = [0xff; 17];

/// Agents with lost archives, and the progress of the scan.
#[derive(Debug, Default)]
pub struct Refetch {
    gone: BTreeSet<AgentId>,
    done: BTreeSet<AgentId>,
    /// Key at which the scan continues; `None` when it is complete.
    from: Option<Vec<u8>>,
}

impl Refetch {
    pub fn read(disk: &Database) -> Result<Self, DiskError> {
        let mut done = BTreeSet::new();
        if let Some(value) = disk.get(Family::Meta, META_REFETCHED)? {
            let mut r = RowReader(&value);
            while let Some(id) = r.small() {
                done.insert(AgentId(id));
            }
        }
        // A view may add to `gone` later.
        Ok(Self { gone: done.clone(), done, from: None })
    }

    /// Returns the page if only a lost archive has it.
    pub fn lost<'a>(&self, outcome: &'a UrlOutcome) -> Option<&'a ArchivedPage> {
        match outcome {
            UrlOutcome::Fetched { page: Some(page), .. } if self.gone.contains(&page.by) => {
                Some(page)
            }
            _ => None,
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut w = RowWriter::default();
        for id in &self.done {
            w.number(u64::from(id.0));
        }
        w.finish()
    }
}

impl CrawlDb {
    /// Adds agents that are gone with their archives, and starts a scan if there is a new one.
    pub fn set_lost_archives(&mut self, gone: &[AgentId]) {
        let refetch = &mut self.refetch;
        let n_gone = refetch.gone.len();
        refetch.gone.extend(gone);
        if refetch.gone.len() > n_gone {
            refetch.from = Some(Vec::new());
            self.changes.refetching = true;
        }
    }

    /// Returns true while rows remain to be scanned.
    #[must_use]
    pub const fn is_refetching(&self) -> bool {
        self.refetch.from.is_some()
    }

    /// Scans some rows. Returns a commit of its own, which is applied already, or `None` when all
    /// rows are scanned. All earlier batches must have been written.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. The crawl database must then not be used any more.
    pub fn step_refetch(&mut self, now: Timestamp) -> Result<Option<Commit>, DiskError> {
        let Some(from) = self.refetch.from.take() else { return Ok(None) };
        let (mut facts, mut n_rows, mut last) = (Vec::new(), 0, None);
        self.disk.walk(Family::Seen, &from, &END, |key, value| {
            n_rows += 1;
            if let Some(fact) = self.again(key, value)? {
                facts.push(fact);
            }
            last = Some(key.to_vec());
            Ok(n_rows < ROWS_AT_ONCE)
        })?;
        let mut batch = self.apply_facts(&facts, now)?;
        if n_rows == ROWS_AT_ONCE {
            self.refetch.from = last.map(|key| [&key[..], &[0]].concat());
        } else {
            self.changes.refetching = false;
            self.refetch.done = self.refetch.gone.clone();
            let done = self.refetch.encode();
            self.disk.put(&mut batch, Family::Meta, META_REFETCHED, &done);
        }
        let changes = self.changes.take();
        Ok(Some(Commit { kind: CommitKind::Scan, batch, changes, ..Commit::default() }))
    }

    /// Uncounts a page that is to be fetched again: it does not count towards the limits until
    /// then.
    pub(super) fn uncount_page(
        &mut self,
        counters: &mut DomainCounters,
        host: HostKey,
    ) -> Result<(), DiskError> {
        self.change(host, |entry| {
            entry.row.pages = entry.row.pages.saturating_sub(1);
            entry.row.closed = entry.row.closed.filter(|&reason| !is_limit(reason));
        });
        if self.limits.pages_per_domain.is_some() {
            let row = counters.row(&self.disk, host.group)?;
            row.pages = row.pages.saturating_sub(1);
        }
        Ok(())
    }

    /// Reopens the hosts of a domain that its page limit closed, after pages of any of its hosts
    /// were uncounted.
    pub(super) fn reopen_domain(&mut self, group: GroupHash) -> Result<(), DiskError> {
        let mut closed = Vec::new();
        self.disk.walk(Family::Hosts, &group.to_bytes(), &end_of(group), |key, value| {
            if let Some(host) = keys::read_host(key).filter(|host| host.host.0 != 0)
                && HostRow::decode(value)?.closed == Some(Discard::DomainLimit)
            {
                closed.push(host);
            }
            Ok(true)
        })?;
        self.load(&closed)?;
        for host in closed {
            self.change(host, |entry| {
                entry.row.closed =
                    entry.row.closed.filter(|&reason| reason != Discard::DomainLimit);
            });
        }
        Ok(())
    }

    /// Returns the fact that queues a row's URL again, if only a lost archive has its page.
    fn again(&self, key: &[u8], value: &[u8]) -> Result<Option<Fact>, DiskError> {
        let Seen::Done(outcome) = Seen::decode(value)? else { return Ok(None) };
        let Some(page) = self.refetch.lost(&outcome) else { return Ok(None) };
        let group = group_of(key)?;
        if self.is_deleting(group) {
            return Ok(None);
        }
        let host = HostKey { group, host: HostHash::of(&page.name) };
        Ok(Some(Fact::Queued { host, name: page.name.clone(), url: page.url.clone() }))
    }
}

/// Returns the number of pages in the archive of `by` that belong to groups with `own`. Stops early
/// when `wanted` returns false.
///
/// # Errors
/// [`DiskError`] if the disk fails.
pub fn archived(
    disk: &Database,
    by: AgentId,
    own: impl Fn(GroupHash) -> bool,
    wanted: impl Fn() -> bool,
) -> Result<u64, DiskError> {
    let mut n_pages = 0;
    disk.walk(Family::Seen, &[], &END, |key, value| {
        if let Seen::Done(UrlOutcome::Fetched { page: Some(page), .. }) = Seen::decode(value)?
            && page.by == by
            && own(group_of(key)?)
        {
            n_pages += 1;
        }
        Ok(wanted())
    })?;
    Ok(n_pages)
}

fn group_of(key: &[u8]) -> Result<GroupHash, DiskError> {
    let group = keys::read_group(key);
    group.ok_or(DiskError::Row { family: "seen", what: "its key is malformed" })
}
