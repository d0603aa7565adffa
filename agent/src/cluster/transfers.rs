//! Rows of whole groups on their way to another agent, a chunk at a time.

use crate::cluster::{ReplicationEngine, Sent};
use crate::crawldb::{CrawlDb, ExportCursor};
use crate::ownership::TransferKind;
use crate::peers::{Body, Rejected, Why};
use crate::storage::{DiskError, facts};
use bytes::Bytes;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of rows in one packet.
const CHUNK_BYTES: usize = 256 << 10;
/// Packets of one group that are on their way.
const CHUNKS_MAX: usize = 8;

/// See the module.
#[derive(Debug)]
pub struct Transfer {
    to: AgentId,
    group: GroupHash,
    end: TransferKind,
    /// Where to go on; `None` when all has been read.
    cursor: Option<ExportCursor>,
    /// Read, and not yet taken by the peers' queue.
    ready: Option<Body>,
    on_their_way: HashSet<u64>,
}

impl Transfer {
    pub fn new(to: AgentId, group: GroupHash, end: TransferKind) -> Self {
        let cursor = Some(ExportCursor::default());
        Self { to, group, end, cursor, ready: None, on_their_way: HashSet::new() }
    }
}

impl ReplicationEngine {
    /// Sends more of the groups that are under way. What ownership said before it must be on its way.
    /// Rows wait while some may still count pages that only a lost archive has.
    pub(super) fn move_rows(&mut self, ledger: &CrawlDb) -> Result<(), DiskError> {
        if ledger.is_refetching() {
            return Ok(());
        }
        // Only one chunk for each agent is read before there is room for it.
        let mut full: Vec<AgentId> = self.outgoing_messages.keys().copied().collect();
        for transfer in &mut self.transfers {
            if full.contains(&transfer.to) {
                continue;
            }
            while transfer.on_their_way.len() < CHUNKS_MAX {
                let body = match (transfer.ready.take(), transfer.cursor.take()) {
                    (Some(body), cursor) => {
                        transfer.cursor = cursor;
                        body
                    }
                    (None, Some(cursor)) => {
                        let (rows, rest) = ledger.export(transfer.group, cursor, CHUNK_BYTES)?;
                        let facts = rows.iter().map(|fact| Bytes::from(facts::encode(fact)));
                        let (group, end, last) = (transfer.group, transfer.end, rest.is_none());
                        transfer.cursor = rest;
                        Body::Rows { group, facts: facts.collect(), end, last }
                    }
                    (None, None) => break,
                };
                match self.outgoing.offer(transfer.to, body) {
                    Ok(id) => {
                        self.status.worked(1);
                        transfer.on_their_way.insert(id);
                        self.sent.insert(id, Sent::Rows(transfer.group, transfer.to));
                    }
                    Err(Rejected { why, body }) => {
                        if why == Why::TooLong {
                            tracing::error!("rows of a group are too long to be sent");
                        }
                        transfer.ready = Some(body);
                        full.push(transfer.to);
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// A chunk is stored there, and with all who copy it.
    pub(super) fn brought(
        &mut self,
        ledger: &mut CrawlDb,
        group: GroupHash,
        to: AgentId,
        id: u64,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        let (mut over, mut handed_over) = (false, false);
        self.transfers.retain_mut(|transfer| {
            if transfer.group != group || transfer.to != to {
                return true;
            }
            transfer.on_their_way.remove(&id);
            let all_sent = transfer.cursor.is_none() && transfer.ready.is_none();
            let is_over = all_sent && transfer.on_their_way.is_empty();
            over |= is_over;
            handed_over |= is_over && matches!(transfer.end, TransferKind::Handoff { .. });
            !is_over
        });
        if handed_over {
            self.shared.measured.groups_out.fetch_add(1, Relaxed);
        }
        if over {
            let floor = self.floor(now);
            self.decide(ledger, floor, |ownership, tags, effects| {
                ownership.transferred(group, to, tags, effects);
            })?;
        }
        Ok(())
    }
}
