//! Delivery of hosts to the workbench as they fall due, and of more URLs on request.

use super::GroupRows;
use super::blocked_hosts::BlockedHosts;
use super::changes::is_limit;
use super::frontier::Frontier;
use super::group_jobs::GroupJobs;
use super::host_in_memory::{HostInMemory, QueueCursors};
use super::schedule_scan::{MayFetch, SKIPPED_MAX, ScheduleScan};
use crate::limits::{WINDOW_MAX, WINDOW_MIN};
use crate::messages::{
    DueHost, Finder, QueueKey, QueueKind, Queued, RobotsRecord, SchedulePlace, ToWorkbench,
};
use crate::storage::values::decode_queued;
use crate::storage::{Database, DiskError, Family, keys};
use crivello_common::config::Politeness;
use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::politeness::{HostPolicy, WaitRule};
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;
use std::time::Duration;

/// Delay before another look at a host whose domain has no pages left to reserve.
const RESERVATION_WAIT: Duration = Duration::from_secs(1);
/// Maximum time in which a host's URLs in memory are fetched at its delay. They come before a page that
/// falls due, and before new URLs of a higher priority.
const WINDOW_TIME: Duration = Duration::from_secs(60);

/// The requests of the workbench, and the scan of `schedule` that answers them.
#[derive(Debug)]
pub(super) struct Server {
    /// True if the workbench requested something since [`Self::serve`] was last called.
    requested: bool,
    /// Number of hosts that the workbench has space for.
    wanted: u32,
    /// Hosts for which the workbench requested more URLs.
    refills: Vec<HostKey>,
    /// Hosts that were requested whatever their next time.
    requested_hosts: Vec<(HostKey, Arc<str>)>,
    scan: ScheduleScan,
    window_urls_max: u64,
    politeness: Politeness,
}

impl Server {
    pub fn new(window_urls_max: u64, politeness: Politeness) -> Self {
        Self {
            requested: false,
            wanted: 0,
            refills: Vec::new(),
            requested_hosts: Vec::new(),
            scan: ScheduleScan::new(),
            window_urls_max,
            politeness,
        }
    }

    /// Applies new delays.
    pub fn reconfigure(&mut self, politeness: &Politeness) {
        self.politeness.clone_from(politeness);
    }

    /// Returns true if the workbench requested something since [`Self::serve`] was last called.
    pub const fn is_requested(&self) -> bool {
        self.requested
    }

    /// Handles a request for due hosts.
    pub const fn want_hosts(&mut self, hosts: u32) {
        self.wanted = hosts;
        self.requested = true;
    }

    /// Handles a request for more URLs of a host.
    pub fn refill(&mut self, host: HostKey) {
        self.refills.push(host);
        self.requested = true;
    }

    /// Handles a request for a host, due or not.
    pub fn request_host(&mut self, host: HostKey, name: Arc<str>) {
        self.requested_hosts.push((host, name));
        self.requested = true;
    }

    /// Makes the next scan include a host at this place.
    pub fn include(&mut self, place: SchedulePlace, host: HostKey) {
        self.scan.include(place, host);
    }

    /// Answers the workbench's requests, as far as hosts are due and `may_fetch` allows it. Returns
    /// the time when the next host falls due, if it is known.
    ///
    /// A closed group costs nothing here. A host of an open group that may not be fetched, or that
    /// does not rest yet after a take-over, is skipped once, until [`Self::rescan_schedule`].
    ///
    /// # Errors
    /// [`DiskError`] if the disk or `may_fetch` fails.
    pub fn serve(
        &mut self,
        frontier: &mut Frontier,
        (group_rows, blocked, jobs): (&mut GroupRows, &BlockedHosts, &GroupJobs),
        now: Timestamp,
        may_fetch: MayFetch<'_>,
        out: &mut Vec<ToWorkbench>,
    ) -> Result<Option<Timestamp>, DiskError> {
        self.requested = false;
        // The decision comes first: it may take the group over.
        let mut may_fetch = |group, rows: &mut GroupRows| {
            Ok::<_, DiskError>(may_fetch(group, rows)? && !jobs.is_unrested(group))
        };
        let may_fetch: MayFetch<'_> = &mut may_fetch;
        let refills = std::mem::take(&mut self.refills);
        // The turn of a host ends with its window if another one waits, and there is no place for it.
        let mut n_waiting = match self.wanted {
            0 => self.scan.count_due(frontier, now, refills.len())?,
            _ => 0,
        };
        for host in refills {
            let ends = n_waiting > 0;
            n_waiting = n_waiting.saturating_sub(1);
            let (urls, more) = match may_fetch(host.group, group_rows)? && !ends {
                // The workbench knows the number of pages that are left.
                true => {
                    let only_again = frontier.hosts.get(host).is_some_and(|entry| entry.only_again);
                    self.read_window(frontier, host, if only_again { 0 } else { u64::MAX })?
                }
                false => (Vec::new(), false),
            };
            out.push(ToWorkbench::MoreUrls { host, urls, more });
        }
        for (host, name) in std::mem::take(&mut self.requested_hosts) {
            if may_fetch(host.group, group_rows)? {
                out.extend(answer_host_request(frontier, host, name)?);
            } else if jobs.is_unrested(host.group) {
                self.requested_hosts.push((host, name));
            } else {
                out.push(ToWorkbench::NotOwned { host });
            }
        }
        let (mut next, mut n_unused) = (None, 0);
        while self.wanted > 0 {
            if n_unused >= SKIPPED_MAX {
                self.requested = true;
                next = Some(now);
                break;
            }
            let due = self.scan.find_due(frontier, group_rows, now, may_fetch, self.wanted)?;
            self.requested |= due.is_cut();
            next = due.later;
            if due.hosts.is_empty() {
                break;
            }
            let hosts: Vec<HostKey> = due.hosts.iter().map(|&(_, host)| host).collect();
            frontier.hosts.load(&hosts)?;
            for (place, host) in due.hosts {
                if self.wanted == 0 {
                    // Earlier hosts counted as several. The next scan finds this one again.
                    self.include(place, host);
                    continue;
                }
                match self.check_out_host(frontier, blocked, (place, host), now)? {
                    Some(note) => {
                        self.scan.end_turn();
                        self.wanted = self.wanted.saturating_sub(note.counts_as());
                        out.push(ToWorkbench::Due(Box::new(note)));
                    }
                    None => n_unused += 1,
                }
            }
            frontier.hosts.forget_idle(&[]);
        }
        Ok(next)
    }

    /// Sets whether only URLs are handed out that were answered before, because the limit of pages is
    /// reached.
    pub fn set_only_again(&mut self, frontier: &mut Frontier, only_again: bool) {
        if std::mem::replace(&mut frontier.only_again, only_again) && !only_again {
            self.requested |= self.scan.include_new();
        }
    }

    /// Makes the next scan include skipped hosts, because a group can be fetched now that could not
    /// be before.
    pub fn rescan_schedule(&mut self) {
        self.requested |= self.scan.include_skipped();
        self.requested |= !self.requested_hosts.is_empty();
    }

    /// Checks a host out to the workbench; `None` if nothing of it can be fetched at the moment.
    fn check_out_host(
        &mut self,
        frontier: &mut Frontier,
        blocked: &BlockedHosts,
        (place, host): (SchedulePlace, HostKey),
        now: Timestamp,
    ) -> Result<Option<DueHost>, DiskError> {
        let Some(entry) = frontier.hosts.get(host) else { return Ok(None) };
        if let Some(reason) = entry.row.closed.filter(|&reason| !is_limit(reason)) {
            // One agent's facts closed it, another agent's facts filled its queue.
            frontier.drop_host(host, reason, true);
            return Ok(None);
        }
        if blocked.has(&entry.row.name) {
            // A blocked host may be unblocked later, so it is not closed.
            frontier.drop_host(host, Discard::Blocked, false);
            return Ok(None);
        }
        let new_left = self.new_left(frontier, host)?;
        let new_max = match new_left {
            _ if frontier.only_again => 0,
            Ok(left) => left,
            Err(Some(_)) => 0,
            Err(None) => {
                frontier.hosts.change(host, |entry| {
                    entry.reschedule = true;
                    entry.row.state.next = entry.row.state.next.max(now + RESERVATION_WAIT);
                });
                return Ok(None);
            }
        };
        let (urls, more) = self.read_window(frontier, host, new_max)?;
        if let (true, Err(Some(reason))) = (urls.is_empty(), new_left) {
            frontier.drop_host(host, reason, true);
            return Ok(None);
        }
        // Pages that are counted already are fetched again without a limit.
        let pages_left = if new_max == 0 { u64::MAX } else { new_max };
        if new_max > 0 && !urls.is_empty() && frontier.limits.pages_per_domain_max.is_some() {
            frontier.hosts.reserve(host, pages_left);
        }
        let only_again = frontier.only_again;
        let Some(entry) = frontier.hosts.get_mut(host) else { return Ok(None) };
        if urls.is_empty() {
            if !entry.checked_out.is_empty() {
                entry.parked = true;
            } else if only_again {
                self.scan.skip_new(place, host);
            } else {
                let what = "the queue of a host is shorter than its row in `hosts` records";
                return Err(DiskError::Row { family: "frontier", what });
            }
            return Ok(None);
        }
        (entry.on_workbench, entry.only_again) = (true, new_max == 0);
        let robots = frontier.read_robots(host)?;
        let Some(entry) = frontier.hosts.get(host) else { return Ok(None) };
        Ok(Some(DueHost { urls, more, pages_left, ..due_without_urls(host, entry, robots) }))
    }

    /// Returns the number of pages of a host that may still be fetched for the first time. `Err`
    /// contains the limit that is reached, or `None` if only pages in flight or reserved for other hosts
    /// use it up.
    fn new_left(
        &self,
        frontier: &mut Frontier,
        host: HostKey,
    ) -> Result<Result<u64, Option<Discard>>, DiskError> {
        let Some(entry) = frontier.hosts.get(host) else { return Ok(Err(None)) };
        if let Some(reason) = entry.row.closed {
            return Ok(Err(Some(reason)));
        }
        let on_the_way = entry.checked_out.len() as u64;
        let mut left = u64::MAX;
        if let Some(max) = frontier.limits.pages_per_host_max {
            if entry.row.pages >= max {
                return Ok(Err(Some(Discard::HostLimit)));
            }
            left = max.saturating_sub(entry.row.pages + on_the_way);
        }
        if let Some(max) = frontier.limits.pages_per_domain_max {
            let window = self.window(frontier.hosts.len(), entry);
            let pages = frontier.groups.row(host.group)?.pages;
            if pages >= max {
                return Ok(Err(Some(Discard::DomainLimit)));
            }
            let reserved = frontier.hosts.reserved(host.group);
            left = left.min(max.saturating_sub(pages + reserved)).min(window);
        }
        Ok(if left == 0 { Err(None) } else { Ok(left) })
    }

    /// Returns the maximum number of URLs of a host in memory, by weight: its share of all, and no more
    /// than are fetched in [`WINDOW_TIME`].
    fn window(&self, n_hosts: usize, entry: &HostInMemory) -> u64 {
        let share = self.window_urls_max / (n_hosts as u64).max(1);
        let in_time = urls_in_time(&self.politeness, entry);
        share.min(in_time).clamp(WINDOW_MIN as u64, WINDOW_MAX as u64)
    }

    /// Returns the next URLs of a host, and whether more follow. New URLs, at most `new_max`, and those
    /// that were answered before take turns: neither queue waits for the end of the other.
    fn read_window(
        &self,
        frontier: &mut Frontier,
        host: HostKey,
        new_max: u64,
    ) -> Result<(Vec<Queued>, bool), DiskError> {
        let n_hosts = frontier.hosts.len();
        let Some(entry) = frontier.hosts.get_mut(host) else { return Ok((Vec::new(), false)) };
        if entry.available() == 0 {
            return Ok((Vec::new(), false));
        }
        let window = usize::try_from(self.window(n_hosts, entry)).unwrap_or(usize::MAX);
        let new_max = usize::try_from(new_max).unwrap_or(usize::MAX);
        let new_max = if frontier.only_again { 0 } else { new_max.min(window) };
        let again_max = if frontier.totals.queued_again > 0 { window } else { 0 };
        let head = |queue, most| head_of(&frontier.disk, (host, entry), queue, (most, window));
        let (new, again) = (head(QueueKind::New, new_max)?, head(QueueKind::Again, again_max)?);
        let urls = in_turn(new, again, window);
        entry.checked_out.reserve_exact(urls.len());
        for url in &urls {
            entry.check_out(url.queue_key);
            entry.cursors.pass(url.queue_key);
        }
        Ok((urls, entry.available() > 0))
    }
}

/// Returns the number of URLs of a host that its delay allows in [`WINDOW_TIME`].
fn urls_in_time(politeness: &Politeness, entry: &HostInMemory) -> u64 {
    let state = &entry.row.state;
    // A Crawl-delay is known by the last wait only.
    let crawl_delay = (state.rule == WaitRule::CrawlDelay).then(|| state.last_wait());
    let policy = HostPolicy::of(politeness, &entry.row.name, crawl_delay);
    match policy.wait(state.mean_served()).0.as_micros() {
        0 => u64::MAX,
        wait => {
            // Visits are not cut short.
            let visits = (WINDOW_TIME.as_micros() / wait).max(2) as u64;
            visits.saturating_mul(u64::from(policy.burst()))
        }
    }
}

/// Returns the first URLs of a queue of a host that are not handed out: at most `most`, until they have the
/// weight `window`.
fn head_of(
    disk: &Database,
    (host, entry): (HostKey, &HostInMemory),
    queue: QueueKind,
    (most, window): (usize, usize),
) -> Result<Vec<Queued>, DiskError> {
    let (mut urls, mut weight) = (Vec::new(), 0);
    if most == 0 {
        return Ok(urls);
    }
    walk_queue(disk, host, (queue, entry.cursors), |queue_key, value| {
        if !entry.is_checked_out(queue_key) {
            let url = decode_queued(queue_key, value)?;
            weight += url.weight();
            urls.push(url);
        }
        Ok(urls.len() < most && weight < window)
    })?;
    Ok(urls)
}

/// Calls `visit` with the rows of a queue of a host, from its cursor on, until it returns false.
pub fn walk_queue(
    disk: &Database,
    host: HostKey,
    (queue, cursors): (QueueKind, QueueCursors),
    mut visit: impl FnMut(QueueKey, &[u8]) -> Result<bool, DiskError>,
) -> Result<(), DiskError> {
    let (from, end) = (keys::frontier(host, cursors.of(queue)), keys::frontier(host, queue.end()));
    disk.walk(Family::Frontier, &from, &end, |key, value| {
        let (_, queue_key) = keys::read_frontier(key)?;
        visit(queue_key, value)
    })
}

/// Returns URLs of both queues in turn, until they have the weight `window`.
fn in_turn(new: Vec<Queued>, again: Vec<Queued>, window: usize) -> Vec<Queued> {
    let (mut queue, mut other) = (new.into_iter(), again.into_iter());
    let (mut urls, mut weight) = (Vec::new(), 0);
    while weight < window
        && let Some(url) = queue.next().or_else(|| other.next())
    {
        weight += url.weight();
        urls.push(url);
        std::mem::swap(&mut queue, &mut other);
    }
    urls.shrink_to_fit();
    urls
}

/// Returns a host that is requested because another host's robots.txt redirects to it. Its
/// queue is not included: it is handed over when the host falls due. The host counts as not owned
/// if another one has its key.
fn answer_host_request(
    frontier: &mut Frontier,
    host: HostKey,
    name: Arc<str>,
) -> Result<Option<ToWorkbench>, DiskError> {
    frontier.hosts.load(&[host])?;
    let robots = frontier.read_robots(host)?;
    match frontier.hosts.get(host) {
        None => frontier.add_host(host, name, Finder::ROBOTS),
        Some(entry) if entry.is_named(host, &name) => {}
        Some(_) => {
            frontier.totals.discards.count(Discard::HostKeyTaken);
            return Ok(Some(ToWorkbench::NotOwned { host }));
        }
    }
    let Some(entry) = frontier.hosts.get_mut(host) else { return Ok(None) };
    if entry.on_workbench {
        return Ok(None);
    }
    entry.on_workbench = true;
    Ok(Some(ToWorkbench::Due(Box::new(due_without_urls(host, entry, robots)))))
}

/// Returns a host for the workbench, without its queue.
fn due_without_urls(
    host: HostKey,
    entry: &HostInMemory,
    robots: Vec<(Origin, RobotsRecord)>,
) -> DueHost {
    DueHost {
        host,
        name: entry.row.name.clone(),
        state: entry.row.state.clone(),
        robots,
        urls: Vec::new(),
        more: false,
        pages_left: u64::MAX,
        resolved: entry.row.resolved,
        answered: entry.row.answered,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::values::HostRow;
    use crivello_common::config::PolitenessMode;
    use crivello_common::politeness::HostState;

    #[test]
    fn urls_in_memory_take_a_minute_at_most() {
        let at = Timestamp::from_secs(1_000);
        let secs = Duration::from_secs;
        for (delay, burst, rule, last_wait, urls) in [
            (5, 1, WaitRule::Nothing, 0, 12),
            (5, 1, WaitRule::Delay, 5, 12),
            (5, 3, WaitRule::Delay, 5, 36),
            (100, 1, WaitRule::Delay, 100, 2),
            (100, 50, WaitRule::Delay, 100, 100),
            (0, 1, WaitRule::Delay, 0, u64::MAX),
            // The last wait was longer than usual, and says nothing of the next ones.
            (5, 1, WaitRule::Backoff, 600, 12),
            (5, 1, WaitRule::TakeOver, 60, 12),
            (5, 1, WaitRule::CrawlDelay, 20, 3),
            (5, 50, WaitRule::CrawlDelay, 20, 3),
        ] {
            let politeness = Politeness {
                mode: PolitenessMode::Absolute,
                delay: secs(delay),
                burst,
                ..Politeness::default()
            };
            let next = at + secs(last_wait);
            let state = HostState { last_ended: at, next, rule, ..HostState::default() };
            let entry = HostInMemory::new(HostRow { state, ..HostRow::default() });
            assert_eq!(urls_in_time(&politeness, &entry), urls, "{rule:?} {delay} s");
        }
    }

    #[test]
    fn the_time_follows_from_the_response_time_in_relative_mode() {
        let politeness = Politeness {
            mode: PolitenessMode::Relative,
            relative_factor: 10.0,
            relative_delay_min: Duration::from_secs(1),
            ..Politeness::default()
        };
        let state = HostState { requests: 4, served_us: 1_200_000, ..HostState::default() };
        let entry = HostInMemory::new(HostRow { state, ..HostRow::default() });
        assert_eq!(urls_in_time(&politeness, &entry), 20);
    }
}
