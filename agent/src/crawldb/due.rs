//! The scan of `due`: finished URLs whose time has come are queued for their next fetch.
//!
//! Nothing is scanned at a start: the scan goes on from the first key. URLs of groups that are closed
//! here are skipped once, until [`DueScan::rescan`]. A key that does not belong to the row of its URL is
//! deleted.
//!
//! With the policy `adaptive`, a second scan, the **pass**, goes through all keys from time to time, in
//! bounded steps. It adds up the rates at which the pages would be fetched, and moves due times to the
//! threshold in force.

use super::frontier::{DueCursor, Frontier};
use super::group_jobs::GroupJobs;
use super::group_rows::GroupRows;
use super::recrawl::RecrawlState;
use super::refetch::Refetch;
use crate::messages::{Queued, Revisit};
use crate::storage::values::{FinishedUrl, Seen, UrlOutcome};
use crate::storage::{Batch, DiskError, Family, Row, keys};
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_recrawl::demand::{DemandReport, DemandSums};
use crivello_recrawl::threshold_history::DuePass;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Number of keys that are read at once, and maximum number of such reads per step; small in tests, so that
/// a scan takes several.
const KEYS_AT_ONCE: usize = if cfg!(test) { 3 } else { 128 };
const READS_MAX: u32 = if cfg!(test) { 2 } else { 8 };
/// Time after which a step makes no more reads: commits must not wait for the rows of many pages, each of
/// which may be somewhere else on the disk.
const STEP_TIME: Duration = Duration::from_millis(10);
/// Growth of the number of pages, as a ratio, after which a pass begins at once.
const GROWTH: f64 = 1.2;
/// Number of pages whose rates are added up in a pass. If there are more, a random share of them stands for
/// all: the error of the sum is below 1 %, and adding one up takes some 30 µs.
const PAGES_ADDED_UP: u64 = 20_000;
/// Minimum pause between two passes, as a multiple of the duration of a pass; one duration if the threshold
/// in force is far from that of the last pass.
const PASS_PAUSE_FACTOR: u32 = 20;

/// A pass over all keys.
#[derive(Debug)]
struct Pass {
    begun: Timestamp,
    mark: u16,
    from: Vec<u8>,
    moves: Option<DuePass>,
    /// Groups of which other agents have stored due times, perhaps by a threshold or bounds that are not in
    /// force any more.
    opened: BTreeSet<GroupHash>,
    sums: DemandSums,
    n_pages: u64,
    /// Share of the pages whose rates are added up.
    share: f64,
}

/// The progress of both scans.
#[derive(Debug, Default)]
pub struct DueScan {
    /// First key that was skipped because its group is closed.
    first_skipped: Option<[u8; keys::DUE]>,
    pass: Option<Pass>,
    /// Groups that were opened since the last pass began: it left them out.
    opened: BTreeSet<GroupHash>,
    /// End of the last pass, the number of pages then, and its duration.
    passed: Option<(Timestamp, u64, Duration)>,
}

/// A finished URL, its key in `due`, and its outcome.
struct DueUrl {
    at: Timestamp,
    url: UrlKey,
    outcome: Option<UrlOutcome>,
}

impl DueScan {
    /// Makes the next scan include skipped URLs, because a group was opened.
    pub fn rescan(&mut self, frontier: &mut Frontier) {
        if let Some(first) = self.first_skipped.take() {
            frontier.due.include(first, Timestamp::ZERO);
        }
    }

    /// Notes that a group was opened that was closed.
    pub fn on_opened(&mut self, group: GroupHash) {
        self.opened.insert(group);
    }

    /// Queues some URLs that are due. `clock` measures the time that this takes.
    pub fn step(
        &mut self,
        frontier: &mut Frontier,
        parts: (&GroupRows, &GroupJobs, &Refetch),
        (now, clock): (Timestamp, &dyn Fn() -> Timestamp),
        batch: &mut Batch,
    ) -> Result<(), DiskError> {
        let mut goes_on = step_limit(clock);
        self.queue_some(frontier, parts, now, batch)?;
        while frontier.due.next <= now && goes_on() {
            self.queue_some(frontier, parts, now, batch)?;
        }
        Ok(())
    }

    /// Queues the URLs of the next keys.
    fn queue_some(
        &mut self,
        frontier: &mut Frontier,
        (group_rows, jobs, refetch): (&GroupRows, &GroupJobs, &Refetch),
        now: Timestamp,
        batch: &mut Batch,
    ) -> Result<(), DiskError> {
        let (mut due, mut cursor, mut next) = (Vec::new(), frontier.due.key, None);
        frontier.disk.walk(Family::Due, &frontier.due.key, &[0xff; keys::DUE + 1], |key, _| {
            let (at, url) = keys::read_due(key)?;
            if at > now || due.len() == KEYS_AT_ONCE {
                next = Some(at);
                return Ok(false);
            }
            cursor = keys::due(at, url);
            keys::increment(&mut cursor);
            due.push((at, url));
            Ok(true)
        })?;
        frontier.due = DueCursor { key: cursor, next: next.unwrap_or(Timestamp::MAX) };
        let due = read_outcomes(frontier, due)?;
        let (is_shut, mut hosts) = (shut(group_rows, jobs, &due)?, Vec::new());
        for DueUrl { url, outcome, .. } in due.iter().filter(|due| !is_shut(due.url.group)) {
            let page = outcome.as_ref().and_then(UrlOutcome::page);
            hosts.extend(page.map(|page| refetch.host_of(url.group, page)));
        }
        frontier.hosts.load(&hosts)?;
        for DueUrl { at, url, outcome } in due {
            let Some((outcome, page, revisit)) = parts(outcome.as_ref(), at) else {
                batch.delete(Family::Due, &keys::due(at, url));
                continue;
            };
            if is_shut(url.group) {
                let key = keys::due(at, url);
                self.first_skipped = Some(self.first_skipped.map_or(key, |first| first.min(key)));
                continue;
            }
            let host = refetch.host_of(url.group, page);
            match frontier.hosts.get(host) {
                None => frontier.add_host(host, page.name.clone(), page.url.finder),
                Some(entry) if entry.is_named(host, &page.name) => {}
                Some(_) => {
                    frontier.totals.discards.count(Discard::HostKeyTaken);
                    frontier.forget_due(batch, url, outcome);
                    let never = with_due(outcome, page, revisit, Timestamp::ZERO);
                    frontier.store_outcome(batch, url, &never);
                    continue;
                }
            }
            let was_answered = matches!(outcome, UrlOutcome::Fetched { .. });
            let again = Some(Box::new(revisit.queued_next(was_answered)));
            let again = Queued { revisit: again, attempts: 0, ..page.url.clone() };
            frontier.queue_again(batch, host, outcome, &again)?;
        }
        Ok(())
    }

    /// Returns true if [`Self::step_pass`] has something to do.
    pub fn has_pass(&self, frontier: &Frontier, recrawl: &RecrawlState, now: Timestamp) -> bool {
        let n_pages = frontier.totals.scheduled;
        let begins = match self.passed {
            // Also without pages: the threshold waits for the reports of all agents.
            None => true,
            Some((at, before, took)) => {
                let factor = if recrawl.is_rule_far_off() { 1 } else { PASS_PAUSE_FACTOR };
                now.since(at) >= recrawl.pass_pause().max(factor * took)
                    || n_pages as f64 > GROWTH * before as f64 + 10.0
            }
        };
        self.pass.is_some() || begins
    }

    /// Returns true while a pass has not reached its end.
    pub const fn is_passing(&self) -> bool {
        self.pass.is_some()
    }

    /// Performs a step of a pass, or begins one. Returns the report at its end. `clock` measures the time
    /// that this takes.
    pub fn step_pass(
        &mut self,
        frontier: &mut Frontier,
        parts: (&GroupRows, &GroupJobs),
        recrawl: &mut RecrawlState,
        (now, clock): (Timestamp, &dyn Fn() -> Timestamp),
        batch: &mut Batch,
    ) -> Result<Option<DemandReport>, DiskError> {
        let mut goes_on = step_limit(clock);
        let mut pass = self.pass.take().unwrap_or_else(|| Pass {
            begun: now,
            share: (PAGES_ADDED_UP as f64 / frontier.totals.scheduled.max(1) as f64).min(1.0),
            mark: recrawl.next_pass(),
            from: Vec::new(),
            moves: recrawl.begin_pass(now),
            opened: std::mem::take(&mut self.opened),
            sums: DemandSums::default(),
            n_pages: 0,
        });
        while !pass.look_at_some(frontier, parts, recrawl, now, batch)? {
            if !goes_on() {
                self.pass = Some(pass);
                return Ok(None);
            }
        }
        let queued = 1.0 + frontier.totals.queued_again as f64 / (pass.n_pages as f64).max(1.0);
        let report = recrawl.take_sums(&pass.sums, queued / pass.share, now);
        if let Some(moves) = &pass.moves {
            recrawl.end_pass(moves);
            // A restart may have interrupted it. What was moved before is not added up, so another pass
            // follows at once.
            if self.passed.is_none() {
                return Ok(None);
            }
        }
        self.passed = Some((now, frontier.totals.scheduled, now.since(pass.begun)));
        let n_pages = (pass.n_pages as f64 * queued) as u64;
        Ok(Some(DemandReport { n_pages, ..report }))
    }
}

impl Pass {
    /// Adds up and moves the URLs of the next keys. Returns true at the end.
    fn look_at_some(
        &mut self,
        frontier: &mut Frontier,
        (group_rows, jobs): (&GroupRows, &GroupJobs),
        recrawl: &RecrawlState,
        now: Timestamp,
        batch: &mut Batch,
    ) -> Result<bool, DiskError> {
        let (mut rows, mut last) = (Vec::new(), Vec::new());
        frontier.disk.walk(Family::Due, &self.from, &[0xff; keys::DUE + 1], |key, _| {
            rows.push(keys::read_due(key)?);
            last = [key, &[0]].concat();
            Ok(rows.len() < KEYS_AT_ONCE)
        })?;
        let is_last = rows.len() < KEYS_AT_ONCE;
        self.from = last;
        let rows = read_outcomes(frontier, rows)?;
        let is_shut = shut(group_rows, jobs, &rows)?;
        for DueUrl { at, url, outcome } in rows {
            let Some((outcome, page, revisit)) = parts(outcome.as_ref(), at) else { continue };
            // One that was moved to a later time is met again.
            let is_done = revisit.moved_in == self.mark;
            if is_done || is_shut(url.group) || !recrawl.follows_threshold(revisit, &page.url) {
                continue;
            }
            if is_in_share(url, self.share) {
                recrawl.count(revisit, &mut self.sums);
            }
            self.n_pages += 1;
            let moves = self.moves.as_ref();
            let due = moves.and_then(|moves| recrawl.moved_due(moves, revisit, now));
            let is_opened = self.opened.contains(&url.group);
            let sooner = || if is_opened { recrawl.sooner_due(revisit, now) } else { None };
            if let Some(due) = due.or_else(sooner) {
                let revisit = Revisit { moved_in: self.mark, ..revisit.clone() };
                let moved = with_due(outcome, page, &revisit, due);
                frontier.forget_due(batch, url, outcome);
                frontier.store_outcome(batch, url, &moved);
            }
        }
        Ok(is_last)
    }
}

/// Returns a function that says, after each read of a step but the last, whether another one follows.
fn step_limit(clock: &dyn Fn() -> Timestamp) -> impl FnMut() -> bool {
    let (ends, mut n_reads) = (clock() + STEP_TIME, 1);
    move || {
        n_reads += 1;
        n_reads <= READS_MAX && clock() < ends
    }
}

/// Returns true for a share of all URLs. Their hashes are keyed, so nobody chooses them.
fn is_in_share(url: UrlKey, share: f64) -> bool {
    share >= 1.0 || (url.url.0 as f64) < share * 2.0_f64.powi(64)
}

/// Reads the outcomes of URLs with a key in `due`.
fn read_outcomes(
    frontier: &Frontier,
    mut due: Vec<(Timestamp, UrlKey)>,
) -> Result<Vec<DueUrl>, DiskError> {
    due.sort_unstable_by_key(|&(at, url)| (url, at));
    let mut rows: Vec<_> = due.iter().map(|&(_, url)| keys::seen(url)).collect();
    rows.dedup();
    let mut outcomes = BTreeMap::new();
    frontier.disk.get_sorted(Family::Seen, &rows, |i, value| {
        if let Some(Seen::Done(outcome)) = value.map(Seen::decode).transpose()? {
            outcomes.insert(rows[i], outcome);
        }
        Ok(())
    })?;
    let with_outcome = |(at, url)| {
        let outcome = outcomes.get(&keys::seen(url)).cloned();
        DueUrl { at, url, outcome }
    };
    Ok(due.into_iter().map(with_outcome).collect())
}

/// Returns the parts of the outcome of a URL that is due at this time; `None` if it is not.
fn parts(
    outcome: Option<&UrlOutcome>,
    at: Timestamp,
) -> Option<(&UrlOutcome, &FinishedUrl, &Revisit)> {
    let outcome = outcome.filter(|outcome| outcome.due() == Some(at))?;
    let page = outcome.page()?;
    Some((outcome, page, page.url.revisit.as_deref()?))
}

/// Returns whether the group of one of these URLs is closed here, or being deleted.
fn shut(
    group_rows: &GroupRows,
    jobs: &GroupJobs,
    due: &[DueUrl],
) -> Result<impl Fn(GroupHash) -> bool + use<>, DiskError> {
    let mut groups: Vec<GroupHash> = due.iter().map(|due| due.url.group).collect();
    groups.sort_unstable();
    groups.dedup();
    let mut shut = group_rows.shut(&groups)?;
    shut.extend(groups.into_iter().filter(|group| jobs.is_deleting(*group)));
    Ok(move |group| shut.contains(&group))
}

/// Returns an outcome with another due time.
pub(super) fn with_due(
    outcome: &UrlOutcome,
    page: &FinishedUrl,
    revisit: &Revisit,
    due: Timestamp,
) -> UrlOutcome {
    let revisit = Some(Box::new(Revisit { due, ..revisit.clone() }));
    let url = Queued { revisit, ..page.url.clone() };
    outcome.clone().with_page(Some(Arc::new(FinishedUrl { url, ..page.clone() })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::identity::KeyedHasher;
    use crivello_common::url::CrawlUrl;

    #[test]
    fn a_share_of_the_pages_is_as_large_as_it_says() {
        let hasher = KeyedHasher::with_public_key();
        let key = |n: u32| {
            let url = CrawlUrl::parse(&format!("http://a.example/{n}")).unwrap();
            UrlKey { group: hasher.host_key(url.host()).group, url: hasher.url(&url) }
        };
        for share in [0.01, 0.2, 1.0] {
            let n = (0..20_000).filter(|n| is_in_share(key(*n), share)).count();
            let ratio = n as f64 / (20_000.0 * share);
            assert!((0.8..1.2).contains(&ratio), "{n} of 20000 for a share of {share}");
        }
    }
}
