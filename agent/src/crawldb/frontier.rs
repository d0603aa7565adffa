//! The rows of hosts and URLs that every part of the crawl database changes: queues, outcomes, hosts
//! in memory, totals, and the log of changes.

use super::changes::{ChangeLog, is_limit};
use super::group_table::GroupTable;
use super::host_in_memory::HostInMemory;
use super::hosts::HostTable;
use super::overdue::Overdue;
use super::totals::Totals;
use crate::messages::{Finder, QueueKey, Queued, Revisit, RobotsRecord, Validators};
use crate::storage::values::{FinishedUrl, HostRow, Seen, UrlOutcome, encode_queued};
use crate::storage::{Batch, Database, DiskError, Family, Row, keys};
use crivello_common::config::Limits;
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey, UrlHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use crivello_common::view::AgentId;
use std::sync::Arc;

/// The rows of hosts and URLs.
#[derive(Debug)]
pub struct Frontier {
    pub disk: Arc<Database>,
    pub hosts: HostTable,
    pub groups: GroupTable,
    pub totals: Totals,
    pub limits: Limits,
    /// Changes of the current commit.
    pub changes: ChangeLog,
    /// Id of this agent if groups may change hands. A row of `seen` then records the place where
    /// its URL waits, or the agent that fetched it.
    pub me: Option<AgentId>,
    /// Robots rows to write with the next commit.
    pub robots: Vec<(HostKey, Origin, RobotsRecord)>,
    /// Hosts whose queue is discarded once their pages in flight have arrived.
    pub dropping: Vec<HostKey>,
    /// Place of the scan of `due`.
    pub due: DueCursor,
    pub overdue: Overdue,
    /// True if only URLs are handed out that were answered before, because the limit of pages is
    /// reached.
    pub only_again: bool,
}

/// Place of the scan of `due`, which goes back when a key is written before it.
#[derive(Debug, Default)]
pub struct DueCursor {
    /// First key that the scan has not passed.
    pub key: [u8; keys::DUE],
    /// Time at which the scan goes on.
    pub next: Timestamp,
}

impl DueCursor {
    /// Makes the scan include a key.
    pub fn include(&mut self, key: [u8; keys::DUE], at: Timestamp) {
        self.key = self.key.min(key);
        self.next = self.next.min(at);
    }
}

impl Frontier {
    /// Adds and counts a host that has no row yet. The next commit writes its row.
    pub fn add_host(&mut self, host: HostKey, name: Arc<str>, finder: Finder) {
        self.totals.hosts += 1;
        self.hosts.insert(host, name, finder);
    }

    /// Counts a host in the row of its group as it is now: whether it counts, and for whom.
    pub fn recount_host(&mut self, host: HostKey) -> Result<(), DiskError> {
        match self.hosts.get_mut(host).and_then(HostInMemory::recount) {
            Some(change) => self.groups.change(host.group, |group| change.apply(group)),
            None => Ok(()),
        }
    }

    /// Writes a robots row with the next commit.
    pub fn set_robots(&mut self, host: HostKey, origin: Origin, record: RobotsRecord) {
        self.robots.push((host, origin, record));
        self.hosts.change(host, |entry| entry.row.robots = true);
    }

    /// Returns the robots rows of a host that is in memory, as of the last commit.
    pub fn read_robots(&self, host: HostKey) -> Result<Vec<(Origin, RobotsRecord)>, DiskError> {
        let mut robots = Vec::new();
        if self.hosts.get(host).is_some_and(|entry| entry.row.robots) {
            let from = keys::host(host);
            self.disk.walk(Family::Robots, &from, &keys::end_of_host(host), |key, value| {
                let (_, origin) = keys::read_robots(key)?;
                robots.push((origin, RobotsRecord::decode(value)?));
                Ok(true)
            })?;
        }
        Ok(robots)
    }

    /// Returns the next number in the order of appearance.
    pub const fn next_seq(&mut self) -> u64 {
        let seq = self.totals.next_seq;
        self.totals.next_seq += 1;
        seq
    }

    /// Returns the last place of the queue in which a URL waits, within its priority.
    pub fn next_queue_key(&mut self, url: &Queued) -> QueueKey {
        QueueKey { queue: url.queue(), priority: url.queue_key.priority, seq: self.next_seq() }
    }

    /// Moves a queued URL that is not handed out to another priority. Both rows keep its number, so
    /// the order of appearance remains.
    pub fn set_priority(&mut self, batch: &mut Batch, host: HostKey, url: &Queued, priority: u8) {
        let moved = QueueKey { priority, ..url.queue_key };
        batch.delete(Family::Frontier, &keys::frontier(host, url.queue_key));
        self.write_queued(batch, host, &Queued { queue_key: moved, ..url.clone() });
        if let Some(entry) = self.hosts.get_mut(host) {
            entry.cursors.include(moved);
        }
    }

    /// Adds a URL to its host's queue, where its queue key is unused.
    pub fn enqueue(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        url: &Queued,
    ) -> Result<(), DiskError> {
        self.totals.queued += 1;
        if let Some(due) = due_again(url) {
            self.totals.queued_again += 1;
            self.overdue.add(due);
        }
        self.write_queued(batch, host, url);
        let bytes = url.path.len() as u64;
        let (changes, only_again) = (&mut self.changes, self.only_again);
        let change = self.hosts.change(host, |entry| {
            changes.queued(host, &entry.row.name, url);
            entry.row.queued += 1;
            entry.row.queued_bytes += bytes;
            entry.cursors.include(url.queue_key);
            // The scan of `schedule` may have passed a host that had nothing to be fetched again.
            entry.reschedule |= only_again;
            entry.recount()
        });
        self.groups.change(host.group, |group| {
            if let Some(change) = change.flatten() {
                change.apply(group);
            }
            group.change(url.finder, |taken| taken.add_url(bytes));
        })
    }

    /// Writes both rows of a queued URL.
    pub fn write_queued(&self, batch: &mut Batch, host: HostKey, url: &Queued) {
        let seen = keys::seen(UrlKey { group: host.group, url: url.hash });
        let value = Seen::Queued(self.me.map(|_| (host.host, url.queue_key))).encode();
        batch.put(Family::Seen, &seen, &value);
        let key = keys::frontier(host, url.queue_key);
        batch.put(Family::Frontier, &key, &encode_queued(url));
    }

    /// Returns true if a URL is handed out and has no outcome yet.
    pub fn is_checked_out(&self, host: HostKey, queue_key: QueueKey) -> bool {
        self.hosts.get(host).is_some_and(|entry| entry.is_checked_out(queue_key))
    }

    /// Moves a URL whose attempt failed to the end of its host's queue, without validators: the server may
    /// have failed because of them.
    pub fn requeue(&mut self, batch: &mut Batch, host: HostKey, url: &Queued) {
        self.totals.retries += 1;
        let mut again = Queued {
            queue_key: self.next_queue_key(url),
            attempts: url.attempts.saturating_add(1),
            ..url.clone()
        };
        if let Some(revisit) = &mut again.revisit {
            revisit.validators = Validators::default();
        }
        batch.delete(Family::Frontier, &keys::frontier(host, url.queue_key));
        self.write_queued(batch, host, &again);
        self.hosts.change(host, |entry| {
            entry.take_back(url.queue_key);
            entry.cursors.include(again.queue_key);
        });
    }

    /// Writes the outcome of a URL, which has none, and its key in `due`.
    pub fn write_outcome(&mut self, batch: &mut Batch, url: UrlKey, outcome: &UrlOutcome) {
        self.store_outcome(batch, url, outcome);
        self.changes.done(url, outcome);
    }

    /// Writes the outcome of a URL for this agent only.
    pub fn store_outcome(&mut self, batch: &mut Batch, url: UrlKey, outcome: &UrlOutcome) {
        batch.put(Family::Seen, &keys::seen(url), &outcome.encode());
        if let Some(due) = outcome.due() {
            let key = keys::due(due, url);
            batch.put(Family::Due, &key, &[]);
            self.due.include(key, due);
            self.totals.scheduled += 1;
        }
    }

    /// Deletes the key in `due` of an outcome that is replaced or deleted.
    pub fn forget_due(&mut self, batch: &mut Batch, url: UrlKey, outcome: &UrlOutcome) {
        if let Some(due) = outcome.due() {
            batch.delete(Family::Due, &keys::due(due, url));
            self.totals.scheduled = self.totals.scheduled.saturating_sub(1);
        }
    }

    /// Queues a finished URL, whose host is in memory, for its next fetch. `outcome` is replaced.
    pub fn queue_again(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        outcome: &UrlOutcome,
        url: &Queued,
    ) -> Result<Queued, DiskError> {
        self.forget_due(batch, UrlKey { group: host.group, url: url.hash }, outcome);
        self.enqueue_last(batch, host, url)
    }

    /// Queues a URL in the last place of its priority. Returns it with its place.
    pub fn enqueue_last(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        url: &Queued,
    ) -> Result<Queued, DiskError> {
        let url = Queued { queue_key: self.next_queue_key(url), ..url.clone() };
        self.enqueue(batch, host, &url)?;
        Ok(url)
    }

    /// Removes a URL from its host's queue, and writes its outcome. The outcome has the number of the
    /// fetch that the URL waited for.
    pub fn finish_url(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        url: &Queued,
        outcome: &UrlOutcome,
    ) -> Result<(), DiskError> {
        let place = (url.queue_key, url.hash);
        if url.revisit.is_some() && outcome.page().is_none() {
            let name = self.hosts.get(host).map(|entry| entry.row.name.clone()).unwrap_or_default();
            let by = self.me.unwrap_or_default();
            let url = Queued { revisit: url.revisit.as_deref().map(never_due), ..url.clone() };
            let page = Some(Arc::new(FinishedUrl { by, name, url }));
            self.finish_pending(batch, host, place, &outcome.clone().with_page(page));
        } else {
            self.finish_pending(batch, host, place, outcome);
        }
        self.take_from_queue(host, url)
    }

    /// Removes a pending page from behind its host's queue, and writes its outcome. It does not
    /// count as queued.
    pub fn finish_pending(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        (queue_key, url): (QueueKey, UrlHash),
        outcome: &UrlOutcome,
    ) {
        batch.delete(Family::Frontier, &keys::frontier(host, queue_key));
        self.write_outcome(batch, UrlKey { group: host.group, url }, outcome);
    }

    /// Uncounts a URL that leaves its host's queue.
    pub fn take_from_queue(&mut self, host: HostKey, url: &Queued) -> Result<(), DiskError> {
        self.totals.queued -= 1;
        if let Some(due) = due_again(url) {
            self.totals.queued_again = self.totals.queued_again.saturating_sub(1);
            self.overdue.remove(due);
        }
        let bytes = url.path.len() as u64;
        self.hosts.change(host, |entry| {
            entry.take_back(url.queue_key);
            entry.row.queued -= 1;
            entry.row.queued_bytes = entry.row.queued_bytes.saturating_sub(bytes);
        });
        self.groups.change(host.group, |group| {
            group.change(url.finder, |taken| taken.remove_url(bytes));
        })
    }

    /// Counts a queued URL as `after`, because the data of earlier fetches were merged.
    pub fn recount_again(&mut self, before: &Queued, after: &Queued) {
        let [before, after] = [before, after].map(due_again);
        self.totals.queued_again += u64::from(after.is_some());
        self.totals.queued_again =
            self.totals.queued_again.saturating_sub(u64::from(before.is_some()));
        before.into_iter().for_each(|due| self.overdue.remove(due));
        after.into_iter().for_each(|due| self.overdue.add(due));
    }

    /// Counts a queued URL for the class `after`, because a better finder was merged.
    pub fn change_finder(
        &mut self,
        group: GroupHash,
        url: &Queued,
        after: Finder,
    ) -> Result<(), DiskError> {
        let bytes = url.path.len() as u64;
        self.groups.change(group, |row| {
            row.change(url.finder, |taken| taken.remove_url(bytes));
            row.change(after, |taken| taken.add_url(bytes));
        })
    }

    /// Discards the queue of a host once its pages in flight have arrived. With `forever`, later
    /// URLs are refused, too.
    pub fn drop_host(&mut self, host: HostKey, reason: Discard, forever: bool) {
        self.hosts.change(host, |entry| entry.dropping = Some((reason, forever)));
        self.dropping.push(host);
    }

    /// Uncounts a page that is to be fetched again: it does not count towards the limits until
    /// then.
    pub fn uncount_page(&mut self, host: HostKey) -> Result<(), DiskError> {
        self.hosts.change(host, |entry| {
            entry.row.pages = entry.row.pages.saturating_sub(1);
            entry.row.closed = entry.row.closed.filter(|&reason| !is_limit(reason));
        });
        if self.limits.pages_per_domain_max.is_some() {
            self.groups.change(host.group, |row| row.pages = row.pages.saturating_sub(1))?;
        }
        Ok(())
    }

    /// Reopens the hosts of a domain that its page limit closed, after pages of any of its hosts
    /// were uncounted.
    pub fn reopen_domain(&mut self, group: GroupHash) -> Result<(), DiskError> {
        let mut closed = Vec::new();
        self.disk.walk(
            Family::Hosts,
            &group.to_bytes(),
            &keys::end_of_group(group),
            |key, value| {
                if let Some(host) = keys::read_hosts(key)?
                    && HostRow::decode(value)?.closed == Some(Discard::DomainLimit)
                {
                    closed.push(host);
                }
                Ok(true)
            },
        )?;
        self.hosts.load(&closed)?;
        for host in closed {
            self.hosts.change(host, |entry| {
                entry.row.closed =
                    entry.row.closed.filter(|&reason| reason != Discard::DomainLimit);
            });
        }
        Ok(())
    }
}

/// Returns the time at which a queued URL was due that was answered before.
fn due_again(url: &Queued) -> Option<Timestamp> {
    url.revisit.as_ref().filter(|revisit| revisit.was_answered).map(|revisit| revisit.due)
}

/// Returns the data of a URL that was discarded, and is not fetched again.
fn never_due(revisit: &Revisit) -> Box<Revisit> {
    Box::new(Revisit { due: Timestamp::ZERO, ..revisit.clone() })
}
