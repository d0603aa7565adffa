//! Refetching of pages that only a lost archive has.
//!
//! The view lists agents that are gone with their archives, for good. From then on all that they
//! fetched counts as not fetched, in rows here and in facts that other agents still send, except
//! pages in files that are safe in a store. The existing rows are scanned once, a bounded number at a
//! time. Outcomes that arrive later are merged as queued URLs.

use crate::messages::{ArchivedPages, Fact, RecordPlace};
use crate::storage::values::{FinishedUrl, Seen, UrlOutcome};
use crate::storage::{Batch, Database, DiskError, Family, Row, RowReader, RowWriter, keys};
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::identity::KeyedHasher;
use crivello_common::view::{AgentId, LostArchive};
use std::collections::BTreeMap;

/// Maximum number of rows per step; small in tests, so that a scan takes several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 5 } else { 8_192 };
/// Key in `meta` of the agents for which all rows have been scanned.
const META_REFETCHED: &[u8] = b"refetched";
/// Bound above all keys of `seen`.
const END: [u8; 17] = [0xff; 17];

/// Agents with lost archives, and the progress of the scan.
#[derive(Debug)]
pub struct Refetch {
    hasher: KeyedHasher,
    /// The agents, each with the serial number of the first file that is not safe.
    gone: BTreeMap<AgentId, u32>,
    /// Key at which the scan continues; `None` when it is complete.
    from: Option<Vec<u8>>,
}

impl Refetch {
    pub fn read(disk: &Database, hasher: KeyedHasher) -> Result<Self, DiskError> {
        let mut gone = BTreeMap::new();
        if let Some(value) = disk.get(Family::Meta, META_REFETCHED)? {
            let mut r = RowReader(&value);
            while let (Some(id), Some(safe_files)) = (r.small(), r.small()) {
                gone.insert(AgentId(id), safe_files);
            }
        }
        // A view may add others later.
        Ok(Self { hasher, gone, from: None })
    }

    /// Returns the page if only a lost archive has it.
    pub fn lost<'a>(&self, outcome: &'a UrlOutcome) -> Option<&'a FinishedUrl> {
        match outcome {
            UrlOutcome::Fetched { record, page: Some(page), .. } => {
                let safe_files = *self.gone.get(&page.by)?;
                (!is_safe(*record, safe_files)).then_some(page)
            }
            _ => None,
        }
    }

    /// Returns the key of the host of a page in this group.
    pub fn host_of(&self, group: GroupHash, page: &FinishedUrl) -> HostKey {
        HostKey { group, host: self.hasher.host(&page.name) }
    }

    /// Adds agents that are gone with their archives. Returns true, and starts a scan, if there is a
    /// new one.
    pub fn add(&mut self, gone: &[LostArchive]) -> bool {
        let n_gone = self.gone.len();
        self.gone.extend(gone.iter().map(|lost| (lost.agent, lost.safe_files)));
        let is_new = self.gone.len() > n_gone;
        if is_new {
            self.from = Some(Vec::new());
        }
        is_new
    }

    /// Returns true while rows remain to be scanned.
    pub const fn is_running(&self) -> bool {
        self.from.is_some()
    }

    /// Scans some rows. Returns the facts that queue URLs again, except those of groups for which
    /// `is_deleting` returns true; `None` if all rows are scanned.
    pub fn step(
        &mut self,
        disk: &Database,
        is_deleting: impl Fn(GroupHash) -> bool,
    ) -> Result<Option<Vec<Fact>>, DiskError> {
        let Some(from) = self.from.take() else { return Ok(None) };
        let (mut facts, mut n_rows, mut last) = (Vec::new(), 0, None);
        disk.walk(Family::Seen, &from, &END, |key, value| {
            n_rows += 1;
            if let Seen::Done(outcome) = Seen::decode(value)?
                && let Some(page) = self.lost(&outcome)
                && let group = keys::read_seen(key)?.group
                && !is_deleting(group)
            {
                let host = self.host_of(group, page);
                facts.push(Fact::Queued {
                    host,
                    name: page.name.clone(),
                    url: page.url.without_capture(),
                });
            }
            last = Some(key.to_vec());
            Ok(n_rows < ROWS_AT_ONCE)
        })?;
        if n_rows == ROWS_AT_ONCE {
            self.from = last.map(|key| [&key[..], &[0]].concat());
        }
        Ok(Some(facts))
    }

    /// Records the end of the scan with the commit of its last step.
    pub fn finish(&mut self, batch: &mut Batch) {
        let mut value = RowWriter::default();
        for (id, safe_files) in &self.gone {
            value.number(u64::from(id.0)).number(u64::from(*safe_files));
        }
        batch.put(Family::Meta, META_REFETCHED, &value.finish());
    }
}

/// Returns true if the record is in one of the first files, which are safe in a store.
fn is_safe(record: Option<RecordPlace>, safe_files: u32) -> bool {
    record.is_some_and(|record| record.file < safe_files)
}

/// Counts the pages in a lost archive that belong to groups with `own`. Stops early when `wanted`
/// returns false.
///
/// # Errors
/// [`DiskError`] if the disk fails.
pub fn archived(
    disk: &Database,
    lost: LostArchive,
    own: impl Fn(GroupHash) -> bool,
    wanted: impl Fn() -> bool,
) -> Result<ArchivedPages, DiskError> {
    let mut pages = ArchivedPages::default();
    disk.walk(Family::Seen, &[], &END, |key, value| {
        if let Seen::Done(UrlOutcome::Fetched { record, page: Some(page), .. }) =
            Seen::decode(value)?
            && page.by == lost.agent
            && own(keys::read_seen(key)?.group)
        {
            match is_safe(record, lost.safe_files) {
                true => pages.safe += 1,
                false => pages.lost += 1,
            }
        }
        Ok(wanted())
    })?;
    Ok(pages)
}
