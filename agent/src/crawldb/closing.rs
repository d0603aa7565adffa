//! Setting aside the queue of a host: its limit is reached, its address may not be visited, its
//! name does not exist.

use super::groups::Groups;
use super::unsettled::END_OF_QUEUE;
use super::{Ledger, mark};
use crate::messages::Place;
use crate::storage::values::{Outcome, decode_queued};
use crate::storage::{Batch, DiskError, Family, keys};
use crivello_common::discard::Discard;
use crivello_common::hash::{HostKey, UrlKey};

/// Rows set aside in one commit; the rest waits for the next. Few enough in tests that it does.
const ROWS_AT_ONCE: usize = if cfg!(test) { 40 } else { 10_000 };

impl Ledger {
    /// Sets queues aside, of those hosts whose pages on the way have all arrived.
    pub(super) fn close_hosts(
        &mut self,
        batch: &mut Batch,
        groups: &mut Groups,
    ) -> Result<(), DiskError> {
        let mut room = ROWS_AT_ONCE;
        for host in std::mem::take(&mut self.closing) {
            let Some(resident) = self.hosts.get(&host) else { continue };
            let Some((reason, forever)) = resident.closing else { continue };
            if !resident.handed.is_empty() || room == 0 {
                self.closing.push(host);
                continue;
            }
            let Some(reason) = self.reached(groups, host, reason)? else {
                self.reopen(host);
                continue;
            };
            let before = room;
            let done = self.set_aside(batch, host, reason, &mut room)?;
            self.count_blocked(host, reason, (before - room) as u64, done);
            let Some(resident) = self.hosts.get_mut(&host) else { continue };
            if done {
                resident.closing = None;
                // While it was closing, `serve` may have passed its place in the schedule.
                resident.reschedule = true;
                resident.row.closed = forever.then_some(reason).or(resident.row.closed);
            } else {
                self.closing.push(host);
            }
            mark(&mut self.dirty, host, resident);
        }
        Ok(())
    }

    /// Which limit is really reached, now that all pages on the way are counted: the workbench
    /// knows only how many pages it was given. What is not blocked any more is not dropped further.
    fn reached(
        &self,
        groups: &mut Groups,
        host: HostKey,
        reason: Discard,
    ) -> Result<Option<Discard>, DiskError> {
        if reason == Discard::Blocked {
            let name = self.hosts.get(&host).map_or("", |resident| &*resident.row.name);
            return Ok(self.blocking.still_has(host, name).then_some(reason));
        }
        if !matches!(reason, Discard::HostLimit | Discard::DomainLimit) {
            return Ok(Some(reason));
        }
        if self.hosts.get(&host).is_some_and(|resident| resident.row.closed == Some(reason)) {
            return Ok(Some(reason)); // Another agent closed it.
        }
        let pages = self.hosts.get(&host).map_or(0, |resident| resident.row.pages);
        if self.limits.pages_per_host.is_some_and(|max| pages >= max) {
            return Ok(Some(Discard::HostLimit));
        }
        if let Some(max) = self.limits.pages_per_domain
            && groups.row(&self.disk, host.group)?.pages >= max
        {
            return Ok(Some(Discard::DomainLimit));
        }
        Ok(None)
    }

    fn reopen(&mut self, host: HostKey) {
        let Some(resident) = self.hosts.get_mut(&host) else { return };
        if matches!(resident.closing, Some((Discard::Blocked, _))) {
            self.blocking.spare(host);
        }
        resident.closing = None;
        resident.reschedule = true;
        mark(&mut self.dirty, host, resident);
    }

    /// Moves rows of a host from the frontier to `seen` with their reason; true when none is left.
    fn set_aside(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        reason: Discard,
        room: &mut usize,
    ) -> Result<bool, DiskError> {
        let from = keys::frontier(host, Place::default());
        let last = keys::frontier(host, END_OF_QUEUE);
        let outcome = Outcome::Discarded(reason);
        let (mut rows, mut done) = (Vec::new(), true);
        self.disk.walk(Family::Frontier, &from, &last, |key, value| {
            done = rows.len() < *room;
            if done {
                let place = keys::read_place(key).unwrap_or_default();
                rows.push((place, decode_queued(place, value)?.hash));
            }
            Ok(done)
        })?;
        *room -= rows.len();
        for &(place, hash) in &rows {
            self.disk.delete(batch, Family::Frontier, &keys::frontier(host, place));
            let url = UrlKey { group: host.group, url: hash };
            self.disk.put(batch, Family::Seen, &keys::seen(url), &outcome.encode());
            self.news.done(url, &outcome);
        }
        let n = rows.len() as u64;
        self.totals.queued -= n;
        self.totals.discards.add(reason, n);
        if let Some(resident) = self.hosts.get_mut(&host) {
            resident.row.queued -= n;
        }
        Ok(done)
    }
}
