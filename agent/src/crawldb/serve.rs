//! Delivery of hosts to the workbench as they fall due, and of more URLs on request.

use super::domain_counters::DomainCounters;
use super::host_in_memory::HostInMemory;
use super::pending_page::END_OF_QUEUE;
use super::{CrawlDb, GroupRows, mark};
use crate::limits::{WINDOW_MAX, WINDOW_MIN};
use crate::messages::{DueHost, QueueKey, Queued, RobotsRecord, ToWorkbench};
use crate::storage::values::{HostRow, RobotsRow, decode_queued};
use crate::storage::{DiskError, Family, keys};
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;
use std::time::Duration;

/// Hosts that fall due within this time are handed over early.
const HORIZON: Duration = Duration::from_secs(2);
/// Maximum number of hosts per scan of `schedule`.
const HOSTS_AT_ONCE: usize = 512;
/// Delay before another look at a host whose domain has no pages left to reserve.
const PROMISE_WAIT: Duration = Duration::from_secs(1);

/// A host in `schedule`, and the time in its key.
type Scheduled = (Timestamp, HostKey);

/// Returns true if a visit to a group's hosts may begin now. It may read and write roles.
pub type MayFetch<'a> = &'a mut dyn FnMut(GroupHash, &mut GroupRows) -> Result<bool, DiskError>;

impl CrawlDb {
    /// Answers the workbench's requests, as far as hosts are due and `may_fetch` allows it. Returns
    /// the time when the next host falls due, if it is known.
    ///
    /// A closed group costs nothing here. A host of an open group that may not be fetched is
    /// skipped once, until [`Self::rescan_schedule`].
    ///
    /// # Errors
    /// [`DiskError`] if the disk or `may_fetch` fails.
    pub fn serve(
        &mut self,
        now: Timestamp,
        may_fetch: MayFetch<'_>,
        out: &mut Vec<ToWorkbench>,
    ) -> Result<Option<Timestamp>, DiskError> {
        self.asked = false;
        for host in std::mem::take(&mut self.refills) {
            let (urls, more) = match may_fetch(host.group, &mut self.group_rows)? {
                true => self.read_window(host, u64::MAX)?,
                false => (Vec::new(), false),
            };
            out.push(ToWorkbench::MoreUrls { host, urls, more });
        }
        for (host, name) in std::mem::take(&mut self.requested_hosts) {
            if !may_fetch(host.group, &mut self.group_rows)? {
                out.push(ToWorkbench::NotOwned { host });
            } else if let Some(due) = self.answer_host_request(host, name)? {
                out.push(ToWorkbench::Due(Box::new(due)));
            }
        }
        let mut next = None;
        while self.wanted > 0 {
            let (due, later) = self.find_due(now, may_fetch)?;
            next = later;
            if due.is_empty() {
                break;
            }
            let hosts: Vec<HostKey> = due.iter().map(|&(_, host)| host).collect();
            self.load(&hosts)?;
            for (at, host) in due {
                if self.wanted == 0 {
                    // Earlier hosts counted as several. The next scan finds this one again.
                    self.cursor = keys::schedule(at, host);
                    break;
                }
                if let Some(note) = self.check_out_host(host, now)? {
                    self.wanted = self.wanted.saturating_sub(note.counts_as());
                    out.push(ToWorkbench::Due(Box::new(note)));
                }
            }
        }
        Ok(next)
    }

    /// Makes the next scan include skipped hosts, because a group can be fetched now that could not
    /// be before.
    pub fn rescan_schedule(&mut self) {
        if let Some(first) = self.first_skipped.take() {
            self.cursor = self.cursor.min(first);
            self.asked = true;
        }
    }

    /// Returns the next due hosts in `schedule` with their times, and the time of the first one
    /// beyond the horizon.
    fn find_due(
        &mut self,
        now: Timestamp,
        may_fetch: MayFetch<'_>,
    ) -> Result<(Vec<Scheduled>, Option<Timestamp>), DiskError> {
        let most = HOSTS_AT_ONCE.min(self.wanted as usize);
        let mut due = Vec::new();
        let mut later = None;
        let mut cursor = self.cursor;
        let (hosts, tags, first_skipped) =
            (&self.hosts, &mut self.group_rows, &mut self.first_skipped);
        self.disk.walk(Family::Schedule, &self.cursor, &[0xff; 25], |key, _| {
            let (at, host) = keys::read_schedule(key)
                .ok_or(DiskError::Row { family: "schedule", what: "its key is malformed" })?;
            if at > now + HORIZON {
                later = Some(at);
                return Ok(false);
            }
            if due.len() == most {
                return Ok(false);
            }
            cursor = successor(key);
            if hosts.get(&host).is_some_and(|h| h.on_workbench || h.dropping.is_some()) {
                return Ok(true);
            }
            if may_fetch(host.group, tags)? {
                due.push((at, host));
            } else {
                let key = keys::schedule(at, host);
                *first_skipped = Some(first_skipped.map_or(key, |first| first.min(key)));
            }
            Ok(true)
        })?;
        self.cursor = cursor;
        Ok((due, later))
    }

    /// Checks a host out to the workbench; `None` if nothing of it can be fetched at the moment.
    fn check_out_host(
        &mut self,
        host: HostKey,
        now: Timestamp,
    ) -> Result<Option<DueHost>, DiskError> {
        if let Some(reason) = self.hosts.get(&host).and_then(|entry| entry.row.closed) {
            // One agent's facts closed it, another agent's facts filled its queue.
            self.drop_or_wait(host, Some(reason), now);
            return Ok(None);
        }
        if self.hosts.get(&host).is_some_and(|entry| self.blocked_hosts.has(&entry.row.name)) {
            self.drop_or_wait(host, Some(Discard::Blocked), now);
            return Ok(None);
        }
        let pages_left = match self.pages_left(host)? {
            Ok(pages_left) => pages_left,
            Err(reason) => {
                self.drop_or_wait(host, reason, now);
                return Ok(None);
            }
        };
        let (urls, more) = self.read_window(host, pages_left)?;
        let robots = self.read_robots(host)?;
        let Some(entry) = self.hosts.get_mut(&host) else { return Ok(None) };
        if urls.is_empty() {
            if entry.checked_out.is_empty() {
                let what = "the queue of a host is shorter than its row in `hosts` records";
                return Err(DiskError::Row { family: "frontier", what });
            }
            entry.parked = true;
            return Ok(None);
        }
        entry.on_workbench = true;
        if self.limits.pages_per_domain.is_some() {
            // In addition to the reservation for its pages in flight.
            entry.reserved_pages += pages_left;
            *self.reserved_pages.entry(host.group).or_default() += pages_left;
        }
        Ok(Some(DueHost {
            host,
            name: entry.row.name.clone(),
            state: entry.row.state.clone(),
            robots,
            urls,
            more,
            pages_left,
        }))
    }

    /// Returns a host that is requested because another host's robots.txt redirects to it. Its
    /// queue is not included: it is handed over when the host falls due.
    fn answer_host_request(
        &mut self,
        host: HostKey,
        name: Arc<str>,
    ) -> Result<Option<DueHost>, DiskError> {
        self.load(&[host])?;
        let robots = self.read_robots(host)?;
        let (counted, dirty) = (&mut self.totals.hosts, &mut self.dirty);
        let entry = self.hosts.entry(host).or_insert_with(|| {
            let mut entry = HostInMemory::new(HostRow { name, ..HostRow::default() });
            // The same commit counts and writes it.
            *counted += 1;
            mark(dirty, host, &mut entry);
            entry
        });
        if entry.on_workbench {
            return Ok(None);
        }
        entry.on_workbench = true;
        Ok(Some(DueHost {
            host,
            name: entry.row.name.clone(),
            state: entry.row.state.clone(),
            robots,
            urls: Vec::new(),
            more: false,
            pages_left: u64::MAX,
        }))
    }

    /// Returns the number of pages that may still be fetched of a host. `Err` contains the limit
    /// that is reached, or `None` if only pages in flight or reserved for other hosts use it up.
    fn pages_left(&self, host: HostKey) -> Result<Result<u64, Option<Discard>>, DiskError> {
        let Some(entry) = self.hosts.get(&host) else { return Ok(Err(None)) };
        let on_the_way = entry.checked_out.len() as u64;
        let mut left = u64::MAX;
        if let Some(max) = self.limits.pages_per_host {
            if entry.row.pages >= max {
                return Ok(Err(Some(Discard::HostLimit)));
            }
            left = max.saturating_sub(entry.row.pages + on_the_way);
        }
        if let Some(max) = self.limits.pages_per_domain {
            let pages = DomainCounters::default().row(&self.disk, host.group)?.pages;
            if pages >= max {
                return Ok(Err(Some(Discard::DomainLimit)));
            }
            let reserved_pages = self.reserved_pages.get(&host.group).copied().unwrap_or(0);
            left = left.min(max.saturating_sub(pages + reserved_pages)).min(self.window());
        }
        Ok(if left == 0 { Err(None) } else { Ok(left) })
    }

    fn drop_or_wait(&mut self, host: HostKey, reason: Option<Discard>, now: Timestamp) {
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        if let Some(reason) = reason {
            // A blocked host may be unblocked later, so it is not closed.
            entry.dropping = Some((reason, reason != Discard::Blocked));
            self.dropping.push(host);
        } else {
            entry.reschedule = true;
            entry.row.state.next = entry.row.state.next.max(now + PROMISE_WAIT);
        }
        mark(&mut self.dirty, host, entry);
    }

    /// Returns the maximum number of URLs of one host in memory, by weight.
    fn window(&self) -> u64 {
        let share = self.window_urls_max / (self.hosts.len() as u64).max(1);
        share.clamp(WINDOW_MIN as u64, WINDOW_MAX as u64)
    }

    /// Returns the next URLs of a host's queue, and whether more follow.
    fn read_window(&mut self, host: HostKey, most: u64) -> Result<(Vec<Queued>, bool), DiskError> {
        let window = usize::try_from(self.window()).unwrap_or(usize::MAX);
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(window);
        let Some(entry) = self.hosts.get_mut(&host) else { return Ok((Vec::new(), false)) };
        let mut urls = Vec::with_capacity(most.min(16));
        if entry.available() == 0 || most == 0 {
            return Ok((urls, false));
        }
        let from = keys::frontier(host, entry.cursor);
        let end = keys::frontier(host, END_OF_QUEUE);
        let checked_out = &*entry;
        let mut weight = 0;
        self.disk.walk(Family::Frontier, &from, &end, |key, value| {
            let queue_key = keys::read_queue_key(key)
                .ok_or(DiskError::Row { family: "frontier", what: "its key is malformed" })?;
            if !checked_out.is_checked_out(queue_key) {
                let url = decode_queued(queue_key, value)?;
                weight += url.weight();
                urls.push(url);
            }
            Ok(urls.len() < most && weight < window)
        })?;
        urls.shrink_to_fit();
        entry.checked_out.reserve_exact(urls.len());
        for url in &urls {
            entry.check_out(url.queue_key);
        }
        if let Some(last) = urls.last() {
            entry.cursor = QueueKey { seq: last.queue_key.seq + 1, ..last.queue_key };
        }
        Ok((urls, entry.available() > 0))
    }

    fn read_robots(&self, host: HostKey) -> Result<Vec<(Origin, RobotsRecord)>, DiskError> {
        let mut robots = Vec::new();
        if self.hosts.get(&host).is_some_and(|entry| entry.row.robots) {
            let from = keys::host(host);
            self.disk.walk(Family::Robots, &from, &end_of(host), |key, value| {
                let origin = keys::read_origin(key)
                    .ok_or(DiskError::Row { family: "robots", what: "its key is malformed" })?;
                robots.push((origin, RobotsRow::decode(value)?));
                Ok(true)
            })?;
        }
        Ok(robots)
    }

    /// Releases the reservation of a page that is now counted in its domain's row.
    pub(super) fn count_reserved_page(&mut self, host: HostKey) {
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        if entry.reserved_pages > 0 {
            entry.reserved_pages -= 1;
            self.release_reservation(host, 1);
        }
    }

    fn release_reservation(&mut self, host: HostKey, pages: u64) {
        if let Some(reserved_pages) = self.reserved_pages.get_mut(&host.group) {
            *reserved_pages = reserved_pages.saturating_sub(pages);
            if *reserved_pages == 0 {
                self.reserved_pages.remove(&host.group);
            }
        }
    }

    /// Reduces the reservation of a host that left the workbench to its pages in flight.
    pub(super) fn trim_reservation(&mut self, host: HostKey) {
        let Some(entry) = self.hosts.get_mut(&host) else { return };
        let keeps = if entry.on_workbench { u64::MAX } else { entry.checked_out.len() as u64 };
        let too_much = entry.reserved_pages.saturating_sub(keeps);
        entry.reserved_pages -= too_much;
        if too_much > 0 {
            self.release_reservation(host, too_much);
        }
    }

    /// Removes a host from memory.
    pub(super) fn forget(&mut self, host: HostKey) {
        if let Some(entry) = self.hosts.remove(&host) {
            self.release_reservation(host, entry.reserved_pages);
        }
    }
}

/// Returns the first key of `schedule` after `key`.
fn successor(key: &[u8]) -> [u8; keys::SCHEDULE] {
    let mut next = [0; keys::SCHEDULE];
    let n = key.len().min(next.len());
    next[..n].copy_from_slice(&key[..n]);
    increment(&mut next);
    next
}

/// Returns a bound above all keys of `host` in `frontier` and `robots`.
fn end_of(host: HostKey) -> [u8; keys::PAIR] {
    let mut end = keys::host(host);
    increment(&mut end);
    end
}

/// Increments a big-endian number; the largest stays.
pub(super) fn increment(bytes: &mut [u8]) {
    for byte in bytes.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return;
        }
    }
    bytes.fill(0xff);
}
