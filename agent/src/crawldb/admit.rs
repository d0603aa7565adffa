//! Admission of new URLs: through the sieve, past closed hosts and full shares, into their hosts'
//! queues.

use super::CrawlDb;
use super::hosts::Map;
use super::shares::refuse;
use crate::messages::{Found, SieveResult};
use crate::storage::facts::as_queued;
use crate::storage::values::UrlOutcome;
use crate::storage::{Batch, DiskError};
use crivello_common::discard::Discard;
use crivello_common::hash::{HostKey, UrlKey};

impl CrawlDb {
    /// Adds those of `found` that are `fresh` to the frontier in their order, or discards them. A
    /// URL that is refused only [for now](Discard::is_for_now) is not marked as seen; if it occurs
    /// again in `found`, it is tried again, because someone else may have found it there.
    pub(super) fn enqueue_new(
        &mut self,
        batch: &mut Batch,
        found: &[&Found],
        fresh: &[bool],
    ) -> Result<Vec<SieveResult>, DiskError> {
        let new = || found.iter().zip(fresh).filter(|&(_, &fresh)| fresh).map(|(url, _)| url);
        let mut hosts: Vec<HostKey> = new().map(|url| url.host).collect();
        // Many links of a page lead to the same host.
        hosts.dedup();
        self.frontier.hosts.load(&hosts)?;
        self.frontier.groups.load(hosts.iter().map(|host| host.group))?;
        let mut results = vec![Ok(false); found.len()];
        let mut refused_for_now = Map::<UrlKey, ()>::default();
        for (i, url) in found.iter().enumerate() {
            let again = || !refused_for_now.is_empty() && refused_for_now.contains_key(&url.key());
            if !fresh[i] && !again() {
                continue;
            }
            results[i] = self.enqueue_or_refuse(batch, url)?;
            match results[i] {
                Err(reason) if reason.is_for_now() => {
                    refused_for_now.insert(url.key(), ());
                }
                _ => {
                    refused_for_now.remove(&url.key());
                    self.sieve.insert(url.key());
                }
            }
        }
        self.cross_submission.forget();
        for &url in refused_for_now.keys() {
            self.sieve.forget_url(url);
        }
        Ok(results)
    }

    fn enqueue_or_refuse(
        &mut self,
        batch: &mut Batch,
        url: &Found,
    ) -> Result<SieveResult, DiskError> {
        let refusal = self.refusal(url)?;
        if let Some(reason) = refusal {
            self.frontier.totals.discards.count(reason);
            if !reason.is_for_now() {
                self.frontier.totals.seen += 1;
                let outcome = UrlOutcome::Discarded(reason, None);
                self.frontier.write_outcome(batch, url.key(), &outcome);
            }
            return Ok(Err(reason));
        }
        self.frontier.totals.seen += 1;
        let mut queued = as_queued(url);
        queued.queue_key = self.frontier.next_queue_key(&queued);
        self.frontier.enqueue(batch, url.host, &queued)?;
        Ok(Ok(true))
    }

    /// Returns the reason to refuse a new URL. Otherwise creates the row of its host, if there is
    /// none, and records who found it.
    fn refusal(&mut self, url: &Found) -> Result<Option<Discard>, DiskError> {
        // An agent that does not have these settings yet may have sent it.
        if self.blocked_hosts.has(url.url.host()) {
            return Ok(Some(Discard::Blocked));
        }
        let host = self.frontier.hosts.get(url.host);
        if host.is_some_and(|entry| !entry.is_named(url.host, url.url.host())) {
            return Ok(Some(Discard::HostKeyTaken));
        }
        if let Some(sitemap) = &url.listed_by {
            let of = (url.host, url.url.host(), url.url.origin());
            if !self.cross_submission.permits(&self.frontier, of, sitemap)? {
                return Ok(Some(Discard::ForeignInSitemap));
            }
        }
        let frontier = &mut self.frontier;
        let group = frontier.groups.row(url.host.group)?;
        let host = frontier.hosts.get(url.host).map(|entry| &entry.row);
        if let Some(reason) = host.and_then(|host| host.closed) {
            return Ok(Some(reason));
        }
        let refused = refuse(&frontier.limits, host, group, url.finder);
        match (refused, host) {
            (Some(_), _) => {}
            (None, None) => frontier.add_host(url.host, url.url.host().into(), url.finder),
            (None, Some(_)) => {
                frontier.hosts.change(url.host, |entry| entry.found_by(url.finder));
            }
        }
        Ok(refused)
    }
}
