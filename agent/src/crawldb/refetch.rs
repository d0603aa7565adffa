//! Pages that only a lost archive has: they are fetched again.
//!
//! Which agents are gone with their archives is said by the view, for good. From then on whatever they
//! fetched counts as not fetched, here and in all that others still say of it. The rows that are
//! here are looked through once, a bounded number at a time; those that come later are taken for
//! queued when they come.

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

/// Rows that are looked at in one step; few enough in tests that there are several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 5 } else { 8_192 };
/// Name in `meta` of the agents for which all rows have been looked through.
const META_REFETCHED: &[u8] = b"refetched";
/// Beyond all keys of `seen`.
const END: [u8; 17] = [0xff; 17];

/// See the module.
#[derive(Debug, Default)]
pub struct Refetch {
    gone: BTreeSet<AgentId>,
    done: BTreeSet<AgentId>,
    /// Where to go on looking.
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
        // Until the view says more.
        Ok(Self { gone: done.clone(), done, from: None })
    }

    /// The page, if only a lost archive has it.
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
    /// These agents are gone with their archives.
    pub fn set_lost_archives(&mut self, gone: &[AgentId]) {
        let refetch = &mut self.refetch;
        let n_gone = refetch.gone.len();
        refetch.gone.extend(gone);
        if refetch.gone.len() > n_gone {
            refetch.from = Some(Vec::new());
            self.changes.refetching = true;
        }
    }

    /// Whether rows are still to be looked through.
    #[must_use]
    pub const fn is_refetching(&self) -> bool {
        self.refetch.from.is_some()
    }

    /// Scans some rows: a commit of its own, which is applied already; `None` when all are scanned. All
    /// earlier batches must have been written.
    ///
    /// # Errors
    /// When the disk fails; the crawl database must then not be used any more.
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

    /// A page of a host is to be fetched again: it does not count towards the limits until then.
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

    /// Pages of a domain count no more: those of its hosts that were closed because of its limit are
    /// open again, whosever pages they were.
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

    /// A row that is to be queued again.
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

/// How many pages of groups that are `own` are in the archive of `by`; breaks off when that is not
/// `wanted` any more.
///
/// # Errors
/// When the disk fails.
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
