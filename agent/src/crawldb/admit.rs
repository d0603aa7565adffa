//! Admission of new URLs: through the sieve, past closed hosts, into their hosts' queues.

use super::CrawlDb;
use super::domain_counters::DomainCounters;
use crate::messages::{Found, Queued, SieveResults};
use crate::storage::facts::as_queued;
use crate::storage::values::UrlOutcome;
use crate::storage::{Batch, DiskError};
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
        self.frontier.hosts.load(&hosts)?;
        for url in new {
            self.frontier.totals.seen += 1;
            let key = UrlKey { group: url.host.group, url: url.hash };
            if let Some(reason) = self.refusal(counters, url)? {
                self.frontier.totals.discards.count(reason);
                results.push(Some(reason));
                let outcome = UrlOutcome::Discarded(reason);
                self.frontier.write_outcome(batch, key, &outcome);
            } else {
                results.push(None);
                let queue_key = self.frontier.next_queue_key();
                let queued = Queued { queue_key, ..as_queued(url) };
                self.frontier.enqueue(batch, url.host, &queued);
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
        let frontier = &mut self.frontier;
        if let Some(entry) = frontier.hosts.get(url.host) {
            return Ok(entry.row.closed);
        }
        if let Some(max) = frontier.limits.hosts_per_domain {
            let group = counters.row(&frontier.disk, url.host.group)?;
            if group.hosts >= max {
                return Ok(Some(Discard::TooManyHosts));
            }
            group.hosts += 1;
        }
        frontier.add_host(url.host, url.url.host().into());
        Ok(None)
    }
}
