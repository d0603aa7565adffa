//! Pages that are archived, and whose links are not yet safe with those who own them.
//!
//! Here such a page is not fetched again; to others it is as if it were still queued. So its row
//! stays in `frontier`, at a place behind all that wait ([`BEHIND`]), and costs no memory. Should
//! this agent be lost, another fetches the page again and finds its links again.

use super::Ledger;
use super::commit::PRIORITY;
use crate::messages::{Place, Queued};
use crate::storage::values::{Outcome, Seen};
use crate::storage::{Batch, DiskError, Family, RowReader, RowWriter, keys};
use crivello_common::hash::{GroupHash, HostHash, HostKey, UrlHash, UrlKey};

/// The priority of rows that are not to be fetched any more.
pub const BEHIND: u8 = u8::MAX;
const _: () = assert!(PRIORITY < BEHIND);

/// The end of what waits in a host's queue.
pub const END_OF_QUEUE: Place = Place { priority: BEHIND, seq: 0 };

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// The page's host.
    pub host: HostKey,
    /// Where its row is now.
    pub place: Place,
    /// Its URL.
    pub hash: UrlHash,
    /// What is to be remembered of it.
    pub outcome: Outcome,
}

impl Unsettled {
    /// Appends it to a row.
    pub fn write(&self, w: &mut RowWriter) {
        w.rest(&self.host.group.to_bytes()).rest(&self.host.host.to_bytes());
        w.rest(&self.hash.to_bytes()).number(self.place.seq).bytes(&self.outcome.encode());
    }

    /// The inverse of [`Self::write`].
    #[must_use]
    pub fn read(r: &mut RowReader<'_>) -> Option<Self> {
        let group = GroupHash::from_bytes(r.array()?);
        let host = HostKey { group, host: HostHash::from_bytes(r.array()?) };
        let hash = UrlHash::from_bytes(r.array()?);
        let place = Place { priority: BEHIND, seq: r.number()? };
        Some(Self { host, place, hash, outcome: Outcome::read(r.bytes()?)? })
    }

    fn key(&self) -> UrlKey {
        UrlKey { group: self.host.group, url: self.hash }
    }
}

impl Ledger {
    /// Puts a page behind the queue of its host until its links are safe.
    pub(super) fn unsettle(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        row: &Queued,
        outcome: Outcome,
    ) {
        let place = Place { priority: BEHIND, ..self.next_place() };
        let behind = Queued { place, ..row.clone() };
        self.disk.delete(batch, Family::Frontier, &keys::frontier(host, row.place));
        self.write_queued(batch, host, &behind);
        self.totals.queued -= 1;
        self.change(host, |resident| {
            resident.take_back(row.place);
            resident.row.queued -= 1;
        });
        self.unsettled.push(Unsettled { host, place, hash: row.hash, outcome });
    }

    /// The links of these pages are safe: they are done with, unless others were quicker.
    pub(super) fn settle_pages(
        &mut self,
        batch: &mut Batch,
        pages: &[Unsettled],
    ) -> Result<(), DiskError> {
        let mut pages: Vec<&Unsettled> = pages.iter().collect();
        pages.sort_unstable_by_key(|page| page.key());
        pages.dedup_by_key(|page| page.key());
        let rows: Vec<_> = pages.iter().map(|page| keys::seen(page.key())).collect();
        let mut waiting = Vec::new();
        self.disk.get_sorted(Family::Seen, &rows, |i, value| {
            if let Some(Seen::Queued(Some(at))) = value.map(Seen::decode).transpose()?
                && at == (pages[i].host.host, pages[i].place)
            {
                waiting.push(pages[i]);
            }
            Ok(())
        })?;
        for page in waiting {
            self.put_away(batch, page.host, page.place, page.hash, &page.outcome);
        }
        Ok(())
    }
}
