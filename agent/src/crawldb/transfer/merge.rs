//! Merging of facts into the rows, in one commit.

use super::super::CrawlDb;
use super::super::hosts::Map;
use super::super::join::{is_newer, join_closed, join_queued, join_states};
use crate::messages::{ChangeSignal, Fact, Finder, QueueKey, Queued, RobotsRecord};
use crate::storage::values::{Seen, UrlOutcome, decode_queued};
use crate::storage::{Batch, DiskError, Family, Row, keys};
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Error of a state that was begun without [`CrawlDb::sharing`]: it cannot merge facts.
const ALONE: DiskError =
    DiskError::Row { family: "seen", what: "written by an agent that crawled alone" };

/// Rows of the URLs in one merge, ahead of the disk.
struct Known {
    seen: Map<UrlKey, Seen>,
    queued: Map<UrlKey, Queued>,
    /// Domains with pages that no longer count.
    uncounted: BTreeSet<GroupHash>,
}

impl CrawlDb {
    /// Joins facts into the rows. The batch also contains all roles that were set before. None of
    /// the groups may be [being deleted](Self::is_deleting).
    pub(in crate::crawldb) fn apply_facts(
        &mut self,
        facts: &[Fact],
        now: Timestamp,
    ) -> Result<Batch, DiskError> {
        let mut batch = Batch::default();
        let mut known = self.known(facts)?;
        for fact in facts {
            match fact {
                Fact::Queued { host, name, url } => {
                    if self.meet(*host, name, Some(url.finder)) {
                        self.merge_queued(&mut batch, &mut known, *host, url)?;
                    }
                }
                Fact::Listed { host, name, url, sitemap } => {
                    let of = (*host, &**name, url.origin);
                    if !self.cross_submission.permits(&self.frontier, of, sitemap)? {
                        self.frontier.totals.discards.count(Discard::ForeignInSitemap);
                    } else if self.meet(*host, name, Some(url.finder)) {
                        self.merge_queued(&mut batch, &mut known, *host, url)?;
                    }
                }
                // A page that only a lost archive has is fetched again, although some agents still
                // report it as done.
                Fact::Done { url, outcome } if let Some(page) = self.refetch.lost(outcome) => {
                    let host = self.refetch.host_of(url.group, page);
                    if self.meet(host, &page.name, Some(page.url.finder)) {
                        self.merge_queued(
                            &mut batch,
                            &mut known,
                            host,
                            &uncounted(page.url.without_capture()),
                        )?;
                    }
                }
                Fact::Done { url, outcome } => {
                    self.merge_done(&mut batch, &mut known, *url, outcome)?;
                }
                Fact::Signal(signal) => self.merge_signal(&mut batch, &mut known, signal, now)?,
                Fact::HostRequest(request) => self.host_requests.add(request),
                Fact::Host { host, name, finder, .. } => {
                    if self.meet(*host, name, Some(*finder)) {
                        self.merge_host(*host, fact)?;
                    }
                }
                Fact::Robots { host, name, origin, record } => {
                    if self.meet(*host, name, None) {
                        self.merge_robots(*host, *origin, record)?;
                    }
                }
            }
        }
        self.cross_submission.forget();
        known.seen.keys().for_each(|&url| self.sieve.insert(url));
        if self.frontier.limits.pages_per_domain_max.is_some() {
            for group in known.uncounted {
                self.frontier.reopen_domain(group)?;
            }
        }
        self.finish(&mut batch, now)?;
        Ok(batch)
    }

    /// Looks up all URLs at once, and loads their hosts.
    fn known(&mut self, facts: &[Fact]) -> Result<Known, DiskError> {
        let (mut urls, mut hosts) = (Vec::new(), Vec::new());
        for fact in facts {
            match fact {
                Fact::Queued { host, url, .. } | Fact::Listed { host, url, .. } => {
                    hosts.push(*host);
                    urls.push(UrlKey { group: host.group, url: url.hash });
                }
                Fact::Done { url, outcome } => {
                    urls.push(*url);
                    let lost = self.refetch.lost(outcome);
                    hosts.extend(lost.map(|page| self.refetch.host_of(url.group, page)));
                }
                Fact::Signal(signal) => urls.push(signal.url),
                Fact::HostRequest(_) => {}
                Fact::Host { host, .. } | Fact::Robots { host, .. } => hosts.push(*host),
            }
        }
        urls.sort_unstable();
        urls.dedup();
        let rows: Vec<_> = urls.iter().map(|&url| keys::seen(url)).collect();
        let mut seen = Map::default();
        self.frontier.disk.get_sorted(Family::Seen, &rows, |i, value| {
            if let Some(value) = value {
                let row = Seen::decode(value)?;
                if let Seen::Queued(Some((host, _))) = row {
                    hosts.push(HostKey { group: urls[i].group, host });
                }
                seen.insert(urls[i], row);
            }
            Ok(())
        })?;
        self.frontier.hosts.load(&hosts)?;
        Ok(Known { seen, queued: Map::default(), uncounted: BTreeSet::new() })
    }

    /// Moves the due time of a finished URL.
    fn merge_signal(
        &mut self,
        batch: &mut Batch,
        known: &mut Known,
        signal: &ChangeSignal,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        if let Some(Seen::Done(outcome)) = known.seen.get(&signal.url)
            && let Some(moved) = self.apply_signal(batch, outcome, signal, now)?
        {
            known.seen.insert(signal.url, Seen::Done(moved));
        }
        Ok(())
    }

    /// Creates the row of a host that is not known yet, or joins the finder of one that is. Returns
    /// false, and counts a discard, if the row is that of another host.
    fn meet(&mut self, host: HostKey, name: &Arc<str>, finder: Option<Finder>) -> bool {
        let finder = finder.unwrap_or(Finder::LAST);
        match self.frontier.hosts.get(host) {
            None => self.frontier.add_host(host, name.clone(), finder),
            Some(entry) if !entry.is_named(host, name) => {
                self.frontier.totals.discards.count(Discard::HostKeyTaken);
                return false;
            }
            Some(entry) if finder < entry.row.finder => {
                self.frontier.hosts.change(host, |entry| entry.row.finder = finder);
            }
            Some(_) => {}
        }
        true
    }

    fn merge_queued(
        &mut self,
        batch: &mut Batch,
        known: &mut Known,
        host: HostKey,
        theirs: &Queued,
    ) -> Result<(), DiskError> {
        let key = UrlKey { group: host.group, url: theirs.hash };
        let before = known.seen.get(&key);
        let generation = theirs.generation();
        let is_lost = |outcome| self.refetch.lost(outcome).is_some();
        let lost = matches!(before, Some(Seen::Done(outcome))
            if is_lost(outcome) && outcome.generation() == generation);
        match before {
            Some(Seen::Done(outcome)) if outcome.generation() < generation => {
                let outcome = outcome.clone();
                let url = self.frontier.queue_again(batch, host, &outcome, theirs)?;
                known.seen.insert(key, Seen::Queued(Some((host.host, url.queue_key))));
                known.queued.insert(key, url);
            }
            Some(Seen::Done(_)) if !lost => {}
            Some(&Seen::Queued(at)) => {
                let (of, queue_key) = at.ok_or(ALONE)?;
                let host = HostKey { group: host.group, host: of };
                let before = self.queued_row(known, host, queue_key, key)?;
                if generation > before.generation() {
                    return self.replace_queued(batch, known, host, (&before, theirs));
                }
                if generation < before.generation() {
                    return Ok(());
                }
                let mut ours = before.clone();
                if join_queued(&mut ours, theirs) {
                    let is_out = self.frontier.is_checked_out(host, queue_key);
                    // A pending page does not count as queued.
                    if before.finder != ours.finder && !queue_key.is_pending() {
                        self.frontier.change_finder(host.group, &before, ours.finder)?;
                    }
                    // A URL that is handed out is uncounted as it was then.
                    if !is_out && !queue_key.is_pending() {
                        self.frontier.recount_again(&before, &ours);
                    }
                    if ours.queue_key == queue_key || is_out {
                        ours.queue_key = queue_key;
                        self.frontier.write_queued(batch, host, &ours);
                    } else {
                        let moved = Queued { queue_key, ..ours.clone() };
                        let priority = ours.queue_key.priority;
                        self.frontier.set_priority(batch, host, &moved, priority);
                        known.seen.insert(key, Seen::Queued(Some((host.host, ours.queue_key))));
                    }
                    if let Some(entry) = self.frontier.hosts.get(host) {
                        self.frontier.changes.queued(host, &entry.row.name, &ours);
                    }
                    known.queued.insert(key, ours);
                }
            }
            _ => {
                self.frontier.totals.seen += u64::from(!lost);
                let was_counted =
                    matches!(before, Some(Seen::Done(outcome)) if outcome.is_counted());
                if lost && was_counted {
                    self.frontier.uncount_page(host)?;
                    known.uncounted.insert(host.group);
                }
                if let Some(Seen::Done(outcome)) = before {
                    let outcome = outcome.clone();
                    self.frontier.forget_due(batch, key, &outcome);
                }
                let theirs = if lost { &uncounted(theirs.clone()) } else { theirs };
                self.enqueue(batch, known, host, theirs)?;
            }
        }
        Ok(())
    }

    /// Queues a URL of another agent under a number of this one.
    fn enqueue(
        &mut self,
        batch: &mut Batch,
        known: &mut Known,
        host: HostKey,
        theirs: &Queued,
    ) -> Result<(), DiskError> {
        let url = self.frontier.enqueue_last(batch, host, theirs)?;
        let key = UrlKey { group: host.group, url: url.hash };
        known.seen.insert(key, Seen::Queued(Some((host.host, url.queue_key))));
        known.queued.insert(key, url);
        Ok(())
    }

    /// Replaces a queued URL by one that waits for a later fetch: another agent has finished the earlier
    /// one. A page of it that is in flight or pending here does not count.
    fn replace_queued(
        &mut self,
        batch: &mut Batch,
        known: &mut Known,
        host: HostKey,
        (before, theirs): (&Queued, &Queued),
    ) -> Result<(), DiskError> {
        batch.delete(Family::Frontier, &keys::frontier(host, before.queue_key));
        if !before.queue_key.is_pending() {
            self.frontier.take_from_queue(host, before)?;
        }
        self.enqueue(batch, known, host, theirs)
    }

    /// Returns the row of a URL that `seen` marks as queued.
    fn queued_row(
        &self,
        known: &Known,
        host: HostKey,
        queue_key: QueueKey,
        url: UrlKey,
    ) -> Result<Queued, DiskError> {
        if let Some(row) = known.queued.get(&url) {
            return Ok(row.clone());
        }
        let row = self.frontier.disk.get(Family::Frontier, &keys::frontier(host, queue_key))?;
        let row = row.map(|row| decode_queued(queue_key, &row)).transpose()?;
        let what = "a URL marked as queued in `seen` is missing";
        row.ok_or(DiskError::Row { family: "frontier", what })
    }

    fn merge_done(
        &mut self,
        batch: &mut Batch,
        known: &mut Known,
        url: UrlKey,
        outcome: &UrlOutcome,
    ) -> Result<(), DiskError> {
        let generation = outcome.generation();
        let stays = |before: &UrlOutcome| {
            let lost = self.refetch.lost(before).is_some();
            // Of two outcomes of one fetch, the first one stays.
            before.generation() > generation || (before.generation() == generation && !lost)
        };
        match known.seen.insert(url, Seen::Done(outcome.clone())) {
            Some(Seen::Done(before)) if stays(&before) => {
                known.seen.insert(url, Seen::Done(before));
            }
            Some(Seen::Done(before)) => {
                self.frontier.forget_due(batch, url, &before);
                self.frontier.write_outcome(batch, url, outcome);
            }
            Some(Seen::Queued(at)) => {
                let (host, queue_key) = at.ok_or(ALONE)?;
                let host = HostKey { group: url.group, host };
                let row = self.queued_row(known, host, queue_key, url)?;
                if row.generation() > generation {
                    known.seen.insert(url, Seen::Queued(at));
                } else if queue_key.is_pending() {
                    self.frontier.finish_pending(batch, host, (queue_key, url.url), outcome);
                } else {
                    self.frontier.finish_url(batch, host, &row, outcome)?;
                }
            }
            None => {
                self.frontier.totals.seen += 1;
                self.frontier.write_outcome(batch, url, outcome);
            }
        }
        Ok(())
    }

    fn merge_host(&mut self, host: HostKey, fact: &Fact) -> Result<(), DiskError> {
        let Fact::Host { state, closed, pages, bytes, resolved, answered, evidence, .. } = fact
        else {
            return Ok(());
        };
        let Some(entry) = self.frontier.hosts.get_mut(host) else { return Ok(()) };
        let before = entry.row.clone();
        let row = &mut entry.row;
        join_states(&mut row.state, state);
        row.closed = join_closed(row.closed, *closed);
        row.pages = row.pages.max(*pages);
        row.bytes = row.bytes.max(*bytes);
        row.resolved |= *resolved;
        row.answered |= *answered;
        if let Some(evidence) = evidence {
            row.evidence.get_or_insert_default().join(evidence);
        }
        let n_pages = row.pages - before.pages;
        if entry.on_workbench {
            // The workbench does not know the merged state, and will report its own.
            let merged_while_out = entry.merged_while_out.get_or_insert_default();
            join_states(merged_while_out, state);
        }
        if entry.row != before {
            self.frontier.hosts.change(host, |entry| entry.reschedule = true);
        }
        if n_pages > 0 && self.frontier.limits.pages_per_domain_max.is_some() {
            self.frontier.groups.change(host.group, |group| group.pages += n_pages)?;
        }
        Ok(())
    }

    fn merge_robots(
        &mut self,
        host: HostKey,
        origin: Origin,
        theirs: &RobotsRecord,
    ) -> Result<(), DiskError> {
        let mut changed = self.frontier.robots.iter().rev();
        let ours = match changed.find(|&&(of, at, _)| (of, at) == (host, origin)) {
            Some((.., record)) => Some(record.clone()),
            None => self.frontier.disk.row(&keys::robots(host, origin))?,
        };
        if ours.is_none_or(|ours| is_newer(theirs, &ours)) {
            self.frontier.set_robots(host, origin, theirs.clone());
        }
        Ok(())
    }
}

/// Returns a URL as one that does not count as a page until its next success.
fn uncounted(mut url: Queued) -> Queued {
    if let Some(revisit) = &mut url.revisit {
        revisit.is_counted = false;
    }
    url
}
