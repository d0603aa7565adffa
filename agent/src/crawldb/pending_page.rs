//! Pages that are archived, and whose links are not acknowledged by their owners yet.
//!
//! This agent does not fetch such a page again; for other agents it is still queued. Its row stays in
//! `frontier` behind all queued URLs and takes no memory. If this agent is
//! lost, another one fetches the page again and finds its links again.

use super::frontier::Frontier;
use crate::messages::{PendingPage, QueueKey, Queued};
use crate::storage::values::{Seen, UrlOutcome};
use crate::storage::{Batch, DiskError, Family, Row, keys};
use crivello_common::hash::HostKey;

/// Moves a page behind the queue of its host until its links are acknowledged.
pub fn hold_until_acked(
    frontier: &mut Frontier,
    batch: &mut Batch,
    host: HostKey,
    row: &Queued,
    outcome: UrlOutcome,
) -> Result<PendingPage, DiskError> {
    let queue_key = QueueKey::pending(frontier.next_seq());
    let behind = Queued { queue_key, ..row.clone() };
    batch.delete(Family::Frontier, &keys::frontier(host, row.queue_key));
    frontier.write_queued(batch, host, &behind);
    frontier.take_from_queue(host, row)?;
    Ok(PendingPage { host, queue_key, hash: row.hash, outcome })
}

/// Finishes pages whose links are acknowledged, unless a merge has finished them before.
pub fn release_acked(
    frontier: &mut Frontier,
    batch: &mut Batch,
    pages: &[PendingPage],
) -> Result<(), DiskError> {
    let mut pages: Vec<&PendingPage> = pages.iter().collect();
    pages.sort_unstable_by_key(|page| page.key());
    pages.dedup_by_key(|page| page.key());
    let rows: Vec<_> = pages.iter().map(|page| keys::seen(page.key())).collect();
    let mut waiting = Vec::new();
    frontier.disk.get_sorted(Family::Seen, &rows, |i, value| {
        if let Some(Seen::Queued(Some(at))) = value.map(Seen::decode).transpose()?
            && at == (pages[i].host.host, pages[i].queue_key)
        {
            waiting.push(pages[i]);
        }
        Ok(())
    })?;
    for page in waiting {
        let url = (page.queue_key, page.hash);
        frontier.finish_pending(batch, page.host, url, &page.outcome);
    }
    Ok(())
}
