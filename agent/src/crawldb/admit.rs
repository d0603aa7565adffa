//! Admission of new URLs: through the sieve, past closed hosts, into their hosts' queues.

use super::domain_counters::DomainCounters;
use super::host_in_memory::HostInMemory;
use super::{CrawlDb, mark};
use crate::messages::{Found, Queued, SieveResults};
use crate::storage::facts::as_queued;
use crate::storage::values::{HostRow, Seen, UrlOutcome, encode_queued};
use crate::storage::{Batch, DiskError, Family, keys};
use crivello_common::discard::Discard;
use crivello_common::hash::{HostKey, UrlKey};

impl CrawlDb {
    /// Returns for each of `found` whether it appears for the first time ever. Those from index
    /// `asked` on are not links.
    pub(super) fn dedup(&mut self, found: &[&Found], asked: usize) -> Result<Vec<bool>, DiskError> {
        let keys: Vec<UrlKey> =
            found.iter().map(|f| UrlKey { group: f.host.group, url: f.hash }).collect();
        let mut fresh = Vec::new();
        self.sieve.dedup(&keys, asked, &mut fresh)?;
        Ok(fresh)
    }

    /// Adds new URLs to the frontier in their order, or discards them.
    pub(super) fn enqueue_new<'f>(
        &mut self,
        batch: &mut Batch,
        counters: &mut DomainCounters,
        results: &mut SieveResults,
        new: impl Iterator<Item = &'f Found> + Clone,
    ) -> Result<(), DiskError> {
        let hosts: Vec<HostKey> = new.clone().map(|f| f.host).collect();
        self.load(&hosts)?;
        for url in new {
            self.totals.seen += 1;
            let key = UrlKey { group: url.host.group, url: url.hash };
            if let Some(reason) = self.refusal(counters, url)? {
                self.totals.discards.count(reason);
                results.push(Some(reason));
                let outcome = UrlOutcome::Discarded(reason);
                self.disk.put(batch, Family::Seen, &keys::seen(key), &outcome.encode());
                self.changes.done(key, &outcome);
            } else {
                results.push(None);
                self.queue(batch, url);
            }
        }
        Ok(())
    }

    /// Returns the reason to refuse a new URL. Creates its host's row if an admitted URL is the
    /// first.
    fn refusal(
        &mut self,
        counters: &mut DomainCounters,
        url: &Found,
    ) -> Result<Option<Discard>, DiskError> {
        // An agent that does not have these settings yet may have sent it.
        if self.blocked_hosts.has(url.url.host()) {
            return Ok(Some(Discard::Blocked));
        }
        if let Some(entry) = self.hosts.get(&url.host) {
            return Ok(entry.row.closed);
        }
        if let Some(max) = self.limits.hosts_per_domain {
            let group = counters.row(&self.disk, url.host.group)?;
            if group.hosts >= max {
                return Ok(Some(Discard::TooManyHosts));
            }
            group.hosts += 1;
        }
        let row = HostRow { name: url.url.host().into(), ..HostRow::default() };
        self.hosts.insert(url.host, HostInMemory::new(row));
        self.totals.hosts += 1;
        Ok(None)
    }

    /// Appends a new URL to its host's queue.
    fn queue(&mut self, batch: &mut Batch, url: &Found) {
        let queued = Queued { queue_key: self.next_queue_key(), ..as_queued(url) };
        self.enqueue(batch, url.host, &queued);
    }

    /// Adds a URL to its host's queue, where its queue key is unused.
    pub(super) fn enqueue(&mut self, batch: &mut Batch, host: HostKey, url: &Queued) {
        self.totals.queued += 1;
        self.write_queued(batch, host, url);
        if let Some(entry) = self.hosts.get_mut(&host) {
            self.changes.queued(host, &entry.row.name, url);
            entry.row.queued += 1;
            entry.cursor = entry.cursor.min(url.queue_key);
            mark(&mut self.dirty, host, entry);
        }
    }

    /// Writes both rows of a queued URL.
    pub(super) fn write_queued(&self, batch: &mut Batch, host: HostKey, url: &Queued) {
        let seen = keys::seen(UrlKey { group: host.group, url: url.hash });
        let value = Seen::Queued(self.me.map(|_| (host.host, url.queue_key))).encode();
        self.disk.put(batch, Family::Seen, &seen, &value);
        let key = keys::frontier(host, url.queue_key);
        self.disk.put(batch, Family::Frontier, &key, &encode_queued(url));
    }

    /// Loads the rows of hosts that have one and are not in memory.
    pub(super) fn load(&mut self, hosts: &[HostKey]) -> Result<(), DiskError> {
        let mut missing: Vec<HostKey> =
            hosts.iter().copied().filter(|host| !self.hosts.contains_key(host)).collect();
        missing.sort_unstable();
        missing.dedup();
        let rows: Vec<_> = missing.iter().map(|&host| keys::host(host)).collect();
        let (loaded, loaded_for_commit) = (&mut self.hosts, &mut self.loaded_for_commit);
        self.disk.get_sorted(Family::Hosts, &rows, |i, value| {
            if let Some(value) = value {
                loaded.insert(missing[i], HostInMemory::new(HostRow::decode(value)?));
                loaded_for_commit.push(missing[i]);
            }
            Ok(())
        })
    }
}
