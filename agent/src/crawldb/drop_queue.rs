//! Discarding of a host's queue: its limit is reached, its address may not be visited, its name
//! does not exist, or it is blocked.

use super::blocked_hosts::BlockedHosts;
use super::changes::is_limit;
use super::frontier::Frontier;
use super::recrawl::RecrawlState;
use super::serve::walk_queue;
use crate::messages::{QueueKind, Queued};
use crate::storage::values::{UrlOutcome, decode_queued};
use crate::storage::{Batch, DiskError};
use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;

/// Maximum number of rows discarded per commit; small in tests, so that some wait for the next one.
const ROWS_AT_ONCE: usize = if cfg!(test) { 40 } else { 10_000 };

/// Returns the outcome of a discarded URL at this agent.
type OutcomeOf<'a> = &'a dyn Fn(&Queued, AgentId) -> UrlOutcome;

/// Discards the queues of hosts whose pages in flight have all arrived.
pub fn drop_queues(
    frontier: &mut Frontier,
    (blocked, recrawl): (&mut BlockedHosts, &RecrawlState),
    now: Timestamp,
    batch: &mut Batch,
) -> Result<(), DiskError> {
    let mut room = ROWS_AT_ONCE;
    for host in std::mem::take(&mut frontier.dropping) {
        let Some(entry) = frontier.hosts.get(host) else { continue };
        let Some((reason, forever)) = entry.dropping else { continue };
        if !entry.checked_out.is_empty() || room == 0 {
            frontier.dropping.push(host);
            continue;
        }
        let name = entry.row.name.clone();
        let Some(reason) = reached(frontier, blocked, host, reason)? else {
            if reason == Discard::Blocked {
                blocked.spare(host);
            }
            frontier.hosts.change(host, |entry| {
                entry.dropping = None;
                entry.reschedule = true;
            });
            continue;
        };
        let outcome = |url: &Queued, by| recrawl.discarded(url, (&name, by), reason, now);
        let (n_rows, done) = drop_rows(frontier, batch, host, (reason, &outcome), room)?;
        room -= n_rows;
        if reason == Discard::Blocked {
            blocked.count_discarded(host, &name, n_rows as u64, done);
        }
        frontier.hosts.change(host, |entry| {
            if done {
                entry.dropping = None;
                // While it was being dropped, `serve` may have passed its key in `schedule`.
                entry.reschedule = true;
                entry.row.closed = forever.then_some(reason).or(entry.row.closed);
            }
        });
        if !done {
            frontier.dropping.push(host);
        }
    }
    Ok(())
}

/// Returns the reason that applies now that all pages in flight are counted, if any. The workbench
/// knows only how many pages it was given, so another limit may be reached, or none. A host that is
/// not blocked any more is not dropped further.
fn reached(
    frontier: &mut Frontier,
    blocked: &BlockedHosts,
    host: HostKey,
    reason: Discard,
) -> Result<Option<Discard>, DiskError> {
    let Frontier { hosts, groups, limits, .. } = frontier;
    let Some(entry) = hosts.get(host) else { return Ok(None) };
    if reason == Discard::Blocked {
        return Ok(blocked.still_has(host, &entry.row.name).then_some(reason));
    }
    // Another agent may have closed the host.
    if !is_limit(reason) || entry.row.closed == Some(reason) {
        return Ok(Some(reason));
    }
    if limits.pages_per_host_max.is_some_and(|max| entry.row.pages >= max) {
        return Ok(Some(Discard::HostLimit));
    }
    if let Some(max) = limits.pages_per_domain_max
        && groups.row(host.group)?.pages >= max
    {
        return Ok(Some(Discard::DomainLimit));
    }
    Ok(None)
}

/// Moves at most `room` rows of a host from `frontier` to `seen` with their reason. Returns the
/// number of rows, and true if none is left. It begins at the cursors of the queues, because no URL of
/// the host is handed out, and it moves them, so that it never reads rows that it has deleted.
fn drop_rows(
    frontier: &mut Frontier,
    batch: &mut Batch,
    host: HostKey,
    (reason, outcome): (Discard, OutcomeOf<'_>),
    room: usize,
) -> Result<(usize, bool), DiskError> {
    // Pages that are counted already are fetched again.
    let queues: &[QueueKind] =
        if is_limit(reason) { &[QueueKind::New] } else { &[QueueKind::New, QueueKind::Again] };
    let (mut rows, mut done) = (Vec::new(), true);
    let cursors = frontier.hosts.get(host).map(|entry| entry.cursors).unwrap_or_default();
    for &queue in queues {
        walk_queue(&frontier.disk, host, (queue, cursors), |queue_key, value| {
            done = rows.len() < room;
            if done {
                rows.push(decode_queued(queue_key, value)?);
            }
            Ok(done)
        })?;
    }
    let me = frontier.me.unwrap_or_default();
    for url in &rows {
        frontier.finish_url(batch, host, url, &outcome(url, me))?;
        if let Some(entry) = frontier.hosts.get_mut(host) {
            entry.cursors.pass(url.queue_key);
        }
    }
    frontier.totals.discards.add(reason, rows.len() as u64);
    Ok((rows.len(), done))
}
