//! Transfers of all rows of groups to other agents, in chunks.

use crate::cluster::packet_queue::PacketQueue;
use crate::messages::{ExportCursor, ReplicaStore, TransferKind};
use crate::peers::{Body, RejectReason, Rejected};
use crate::storage::{DiskError, facts};
use bytes::Bytes;
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use std::collections::HashSet;

/// Approximate bytes of rows in one packet.
const CHUNK_BYTES: usize = 256 << 10;
/// Maximum number of unacknowledged packets of one transfer.
const CHUNKS_MAX: usize = 8;

#[derive(Debug)]
pub struct Transfer {
    to: AgentId,
    group: GroupHash,
    kind: TransferKind,
    /// Position of the next chunk; `None` when all rows have been read.
    cursor: Option<ExportCursor>,
    /// Chunk that was read but not accepted by the packet queue.
    ready: Option<Body>,
    unacknowledged: HashSet<u64>,
}

/// All transfers of this epoch.
#[derive(Debug, Default)]
pub struct Transfers(pub Vec<Transfer>);

impl Transfers {
    pub fn begin(&mut self, to: AgentId, group: GroupHash, kind: TransferKind) {
        let cursor = Some(ExportCursor::default());
        let unacknowledged = HashSet::new();
        self.0.push(Transfer { to, group, kind, cursor, ready: None, unacknowledged });
    }

    /// Sends more chunks, except to the agents in `full`. At most one chunk for each agent is read
    /// that the packet queue cannot accept yet, and none once `has_time` returns false after the
    /// first. Returns the accepted packets, with their groups and receivers.
    pub fn send(
        &mut self,
        store: &dyn ReplicaStore,
        queue: &mut impl PacketQueue,
        mut full: Vec<AgentId>,
        has_time: &dyn Fn() -> bool,
    ) -> Result<Vec<(u64, GroupHash, AgentId)>, DiskError> {
        let mut sent = Vec::new();
        for transfer in &mut self.0 {
            if full.contains(&transfer.to) {
                continue;
            }
            while transfer.unacknowledged.len() < CHUNKS_MAX {
                let Some(body) = transfer.next_chunk(store)? else { break };
                match queue.offer(transfer.to, body) {
                    Ok(packet) => {
                        transfer.unacknowledged.insert(packet);
                        sent.push((packet, transfer.group, transfer.to));
                        if !has_time() {
                            return Ok(sent);
                        }
                    }
                    Err(Rejected { reason, body }) => {
                        if reason == RejectReason::TooLong {
                            tracing::error!(
                                "a chunk of group rows exceeds the packet size; its transfer \
                                 cannot continue"
                            );
                        }
                        transfer.ready = Some(body);
                        full.push(transfer.to);
                        break;
                    }
                }
            }
        }
        Ok(sent)
    }

    /// Handles the acknowledgement of a chunk: the receiver and its replicas have stored it.
    /// Returns the kind of the transfer if it is complete now.
    pub fn acknowledged(
        &mut self,
        group: GroupHash,
        to: AgentId,
        packet: u64,
    ) -> Option<TransferKind> {
        let at = self.0.iter().position(|transfer| (transfer.group, transfer.to) == (group, to))?;
        let transfer = &mut self.0[at];
        transfer.unacknowledged.remove(&packet);
        let all_sent = transfer.cursor.is_none() && transfer.ready.is_none();
        let is_complete = all_sent && transfer.unacknowledged.is_empty();
        is_complete.then(|| self.0.remove(at).kind)
    }
}

impl Transfer {
    fn next_chunk(&mut self, store: &dyn ReplicaStore) -> Result<Option<Body>, DiskError> {
        if let Some(body) = self.ready.take() {
            return Ok(Some(body));
        }
        let Some(cursor) = self.cursor.take() else { return Ok(None) };
        let (rows, rest) = store.export(self.group, cursor, CHUNK_BYTES)?;
        let facts = rows.iter().map(|fact| Bytes::from(facts::encode(fact))).collect();
        let last = rest.is_none();
        self.cursor = rest;
        Ok(Some(Body::Rows { group: self.group, facts, kind: self.kind, last }))
    }
}
