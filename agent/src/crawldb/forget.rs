//! Forgetting of hosts and URLs in the state of a crawl that does not run.
//!
//! Rows of `seen` stay, without the data of the page, so no URL is fetched again. Rows of
//! `content` and `known` that lead to captures of these URLs are deleted. Hosts are closed for good. URLs whose revisits
//! are redacted are kept, but their next request is unconditional: a 304 would refer to nothing.
//!
//! Each step is a batch of its own, and may be repeated.

use super::CrawlDb;
use super::frontier::Frontier;
use crate::messages::{Finder, QueueKind, Queued};
use crate::storage::values::{ContentRow, FinishedUrl, HostRow, Seen, UrlOutcome, decode_queued};
use crate::storage::{Batch, DiskError, Family, Row, keys};
use crivello_common::config::BlockEntry;
use crivello_common::discard::Discard;
use crivello_common::forget_list::ForgetList;
use crivello_common::hash::{GroupHash, HostKey, UrlKey};
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of rows per batch; small in tests, so that there are several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 3 } else { 4_096 };
/// Bound above all keys of `content` and of `hosts`.
const END: [u8; 17] = [0xff; 17];
/// The outcome of a forgotten URL: its row says nothing else.
const FORGOTTEN: UrlOutcome = UrlOutcome::Discarded(Discard::Forgotten, None);

/// Hosts and URLs that the state is to forget, and what belongs to them.
#[derive(Clone, Copy, Debug)]
pub struct ForgetJob<'a> {
    /// Hosts and URLs.
    pub list: &'a ForgetList,
    /// URLs on these hosts that the archive had.
    pub urls: &'a BTreeSet<CrawlUrl>,
    /// Other URLs whose revisits were redacted.
    pub unreferable: &'a BTreeSet<CrawlUrl>,
    /// Hashes of the crawl.
    pub hasher: KeyedHasher,
}

/// Numbers of changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForgetCounts {
    /// Hosts that were closed.
    pub hosts: u64,
    /// URLs that were forgotten.
    pub urls: u64,
    /// Rows of payloads that were deleted.
    pub payloads: u64,
    /// Other URLs whose next request is unconditional now.
    pub unreferable: u64,
    /// Hosts and URLs that could not be recorded, because another agent of the cluster owns them.
    pub elsewhere: u64,
}

impl CrawlDb {
    /// Forgets hosts and URLs. The state must be that of a crawl that does not run.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. Then the crawl database must be opened again; the job may be repeated.
    pub fn forget(
        &mut self,
        job: &ForgetJob<'_>,
        now: Timestamp,
    ) -> Result<ForgetCounts, DiskError> {
        let mut counts = ForgetCounts::default();
        self.forget_payloads(job, &mut counts)?;
        let hosts = self.forgotten_hosts(job, &mut counts)?;
        for (&host, name) in &hosts {
            self.close_host(host, name, now, &mut counts)?;
        }
        self.forget_outcomes(&hosts, now, &mut counts)?;
        for url in job.list.urls().chain(job.urls) {
            self.change_url(job, url, now, |db, batch, found| {
                db.forget_url(batch, found, &mut counts)
            })?;
        }
        for url in job.unreferable {
            self.change_url(job, url, now, |db, batch, found| {
                db.forget_capture(batch, found, &mut counts)
            })?;
        }
        self.host_requests.forget(|name| job.list.has_host(name));
        self.write_step(Batch::default(), now)?;
        Ok(counts)
    }

    /// Writes the changes of a step. No change is sent to other agents: the same job changes their states.
    fn write_step(&mut self, mut batch: Batch, now: Timestamp) -> Result<(), DiskError> {
        self.finish(&mut batch, now)?;
        self.frontier.changes.take();
        self.frontier.disk.commit(&batch)
    }

    fn forget_payloads(
        &mut self,
        job: &ForgetJob<'_>,
        counts: &mut ForgetCounts,
    ) -> Result<(), DiskError> {
        let disk = self.frontier.disk.clone();
        // A row of `known` is one of `content` under another digest.
        for family in [Family::Content, Family::Known] {
            let mut from = Some(Vec::new());
            while let Some(start) = from.take() {
                let mut batch = Batch::default();
                let mut n_rows = 0;
                disk.walk(family, &start, &END, |key, value| {
                    if n_rows == ROWS_AT_ONCE {
                        from = Some(key.to_vec());
                        return Ok(false);
                    }
                    if job.list.has_url(&ContentRow::decode(value)?.url) {
                        n_rows += 1;
                        batch.delete(family, key);
                    }
                    Ok(true)
                })?;
                counts.payloads += n_rows as u64;
                disk.commit(&batch)?;
            }
        }
        Ok(())
    }

    /// Returns the hosts to be forgotten: those with a row, and those that are named.
    fn forgotten_hosts(
        &self,
        job: &ForgetJob<'_>,
        counts: &mut ForgetCounts,
    ) -> Result<BTreeMap<HostKey, Arc<str>>, DiskError> {
        let mut hosts = BTreeMap::new();
        if job.list.hosts().is_empty() {
            return Ok(hosts);
        }
        self.frontier.disk.walk(Family::Hosts, &[], &END, |key, value| {
            if let Some(host) = keys::read_hosts(key)? {
                let name = HostRow::decode(value)?.name;
                if job.list.has_host(&name) {
                    hosts.insert(host, name);
                }
            }
            Ok(true)
        })?;
        for entry in job.list.hosts() {
            let name = match entry {
                BlockEntry::Host(name) | BlockEntry::Domain(name) => name.clone(),
                BlockEntry::Network(network) if network.addr().is_ipv6() => {
                    format!("[{}]", network.addr())
                }
                BlockEntry::Network(network) => network.addr().to_string(),
            };
            let host = job.hasher.host_key(&name);
            if self.may_record(host.group)? {
                hosts.entry(host).or_insert_with(|| name.into());
            } else if !hosts.contains_key(&host) {
                counts.elsewhere += 1;
            }
        }
        Ok(hosts)
    }

    /// Returns true if rows of a group may be added: in a cluster, only if this agent has the group.
    fn may_record(&self, group: GroupHash) -> Result<bool, DiskError> {
        let Frontier { me, disk, .. } = &self.frontier;
        Ok(me.is_none() || disk.get(Family::Groups, &group.to_bytes())?.is_some())
    }

    /// Closes a host for good, and removes its queue and its robots.txt rows.
    fn close_host(
        &mut self,
        host: HostKey,
        name: &Arc<str>,
        now: Timestamp,
        counts: &mut ForgetCounts,
    ) -> Result<(), DiskError> {
        self.frontier.hosts.load(&[host])?;
        match self.frontier.hosts.get(host) {
            None => self.frontier.add_host(host, name.clone(), Finder::default()),
            Some(entry) if entry.row.name != *name => return Ok(()),
            Some(entry) => counts.hosts += u64::from(entry.row.closed != Some(Discard::Forgotten)),
        }
        loop {
            let queued = self.queued_of(host, ROWS_AT_ONCE, |_| true)?;
            let mut batch = Batch::default();
            for url in &queued {
                self.forget_queued(&mut batch, host, url)?;
            }
            counts.urls += queued.len() as u64;
            self.write_step(batch, now)?;
            if queued.len() < ROWS_AT_ONCE {
                break;
            }
        }
        self.frontier.hosts.load(&[host])?;
        let mut batch = Batch::default();
        for (origin, _) in self.frontier.read_robots(host)? {
            batch.delete(Family::Robots, &keys::robots(host, origin));
        }
        self.frontier.hosts.change(host, |entry| {
            entry.row.robots = false;
            entry.row.closed = Some(Discard::Forgotten);
        });
        self.write_step(batch, now)
    }

    /// Returns at most `max` rows of a host in `frontier`.
    fn queued_of(
        &self,
        host: HostKey,
        max: usize,
        is_wanted: impl Fn(&Queued) -> bool,
    ) -> Result<Vec<Queued>, DiskError> {
        let mut queued = Vec::new();
        let (from, end) = (keys::host(host), keys::end_of_host(host));
        self.frontier.disk.walk(Family::Frontier, &from, &end, |key, value| {
            let url = decode_queued(keys::read_frontier(key)?.1, value)?;
            if is_wanted(&url) {
                queued.push(url);
            }
            Ok(queued.len() < max)
        })?;
        Ok(queued)
    }

    fn forget_queued(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        url: &Queued,
    ) -> Result<(), DiskError> {
        let frontier = &mut self.frontier;
        frontier.hosts.load(&[host])?;
        let is_pending = url.queue_key.queue == QueueKind::Pending;
        if !is_pending {
            frontier.take_from_queue(host, url)?;
        }
        // A pending page was counted when it was archived.
        if is_pending || url.is_counted() {
            frontier.uncount_page(host)?;
        }
        frontier.finish_pending(batch, host, (url.queue_key, url.hash), &FORGOTTEN);
        Ok(())
    }

    /// Forgets the finished URLs of hosts, as far as their rows have the host's name.
    fn forget_outcomes(
        &mut self,
        hosts: &BTreeMap<HostKey, Arc<str>>,
        now: Timestamp,
        counts: &mut ForgetCounts,
    ) -> Result<(), DiskError> {
        let groups: BTreeSet<GroupHash> = hosts.keys().map(|host| host.group).collect();
        for group in groups {
            let mut from = Some(keys::group(group).to_vec());
            while let Some(start) = from.take() {
                let mut found = Vec::new();
                let end = keys::end_of_group(group);
                self.frontier.disk.walk(Family::Seen, &start, &end, |key, value| {
                    if found.len() == ROWS_AT_ONCE {
                        from = Some(key.to_vec());
                        return Ok(false);
                    }
                    if let Seen::Done(outcome) = Seen::decode(value)?
                        && let Some(page) = outcome.page()
                    {
                        let host = self.refetch.host_of(group, page);
                        if hosts.get(&host) == Some(&page.name) {
                            found.push((host, keys::read_seen(key)?, outcome));
                        }
                    }
                    Ok(true)
                })?;
                let mut batch = Batch::default();
                for (host, url, outcome) in &found {
                    self.forget_done(&mut batch, *host, *url, outcome)?;
                }
                counts.urls += found.len() as u64;
                self.write_step(batch, now)?;
            }
        }
        Ok(())
    }

    fn forget_done(
        &mut self,
        batch: &mut Batch,
        host: HostKey,
        url: UrlKey,
        outcome: &UrlOutcome,
    ) -> Result<(), DiskError> {
        self.frontier.forget_due(batch, url, outcome);
        if outcome.is_counted() {
            self.frontier.hosts.load(&[host])?;
            self.frontier.uncount_page(host)?;
        }
        self.frontier.write_outcome(batch, url, &FORGOTTEN);
        Ok(())
    }

    /// Reads the rows of a URL, changes them, and writes them.
    fn change_url(
        &mut self,
        job: &ForgetJob<'_>,
        url: &CrawlUrl,
        now: Timestamp,
        change: impl FnOnce(&mut Self, &mut Batch, &FoundUrl) -> Result<(), DiskError>,
    ) -> Result<(), DiskError> {
        let host = job.hasher.host_key(url.host());
        let key = UrlKey { group: host.group, url: job.hasher.url(url) };
        let seen = self.frontier.disk.row::<Seen>(&keys::seen(key))?;
        let queued = match seen {
            Some(Seen::Queued(_)) => self.queued_of(host, 1, |row| row.hash == key.url)?.pop(),
            _ => None,
        };
        let mut batch = Batch::default();
        change(self, &mut batch, &FoundUrl { host, key, seen, queued })?;
        self.write_step(batch, now)
    }

    fn forget_url(
        &mut self,
        batch: &mut Batch,
        found: &FoundUrl,
        counts: &mut ForgetCounts,
    ) -> Result<(), DiskError> {
        match (&found.seen, &found.queued) {
            (Some(Seen::Done(FORGOTTEN)), _) => return Ok(()),
            (Some(Seen::Done(outcome)), _) => {
                self.forget_done(batch, found.host, found.key, outcome)?;
            }
            (Some(Seen::Queued(_)), Some(queued)) => {
                self.forget_queued(batch, found.host, queued)?;
            }
            (Some(Seen::Queued(_)), None) => return Ok(()),
            (None, _) if self.may_record(found.key.group)? => {
                self.frontier.totals.seen += 1;
                self.frontier.write_outcome(batch, found.key, &FORGOTTEN);
            }
            (None, _) => {
                counts.elsewhere += 1;
                return Ok(());
            }
        }
        counts.urls += 1;
        Ok(())
    }

    /// Makes the next request of a URL unconditional, because its capture is redacted.
    fn forget_capture(
        &mut self,
        batch: &mut Batch,
        found: &FoundUrl,
        counts: &mut ForgetCounts,
    ) -> Result<(), DiskError> {
        match (&found.seen, &found.queued) {
            (Some(Seen::Done(outcome)), _) => {
                let changed = without_capture(outcome);
                if changed == *outcome {
                    return Ok(());
                }
                self.frontier.forget_due(batch, found.key, outcome);
                self.frontier.store_outcome(batch, found.key, &changed);
            }
            (_, Some(queued)) => {
                let changed = queued.without_capture();
                if changed == *queued {
                    return Ok(());
                }
                self.frontier.write_queued(batch, found.host, &changed);
            }
            _ => return Ok(()),
        }
        counts.unreferable += 1;
        Ok(())
    }
}

/// The rows of a URL.
struct FoundUrl {
    host: HostKey,
    key: UrlKey,
    seen: Option<Seen>,
    queued: Option<Queued>,
}

fn without_capture(outcome: &UrlOutcome) -> UrlOutcome {
    let page = outcome
        .page()
        .map(|page| Arc::new(FinishedUrl { url: page.url.without_capture(), ..page.clone() }));
    match outcome.clone().with_page(page) {
        UrlOutcome::Fetched { at, status, page, .. } => {
            UrlOutcome::Fetched { at, status, record: None, page }
        }
        other => other,
    }
}
