//! Encoding of the outbox rows.
//!
//! ```text
//! 0 agent(4) seq(8)   pending pages of the commit with number seq; agent is 0
//! 1 agent(4) seq(8)   commit(8), facts for the owner of their groups, which may be this agent
//! 2 agent(4) seq(8)   facts for a replica, of groups that this agent owns
//! ```

use crate::messages::{CommitNumber, PendingPage};
use crate::peers::Lane;
use crate::storage::{DiskError, RowReader, RowWriter};
use bytes::Bytes;
use crivello_common::view::AgentId;

pub(super) fn key(lane: u8, agent: AgentId, seq: u64) -> Vec<u8> {
    let mut key = vec![lane];
    key.extend(agent.0.to_be_bytes());
    key.extend(seq.to_be_bytes());
    key
}

pub(super) fn read_key(key: &[u8]) -> Option<(u8, AgentId, u64)> {
    let (&lane, rest) = key.split_first()?;
    let agent = AgentId(u32::from_be_bytes(*rest.first_chunk()?));
    Some((lane, agent, u64::from_be_bytes(rest.get(4..)?.try_into().ok()?)))
}

/// First byte of the keys of pending pages.
pub(super) const PAGES: u8 = 0;

pub(super) fn row_key((to, lane): (AgentId, Lane), seq: u64) -> Vec<u8> {
    let code = match lane {
        Lane::Main => 1,
        Lane::Replicas => 2,
    };
    key(code, to, seq)
}

pub(super) fn encode_row(lane: Lane, commit: Option<CommitNumber>, facts: &[Bytes]) -> Vec<u8> {
    let n_bytes = facts.iter().map(|fact| fact.len() + 4).sum::<usize>();
    let mut w = RowWriter(Vec::with_capacity(n_bytes + 8));
    if lane == Lane::Main {
        w.rest(&commit.unwrap_or(0).to_be_bytes());
    }
    facts.iter().for_each(|fact| {
        w.bytes(fact);
    });
    w.finish()
}

pub(super) fn damaged() -> DiskError {
    DiskError::Row { family: "outbox", what: "too short or malformed" }
}

pub(super) fn read_pages(value: &[u8]) -> Result<Vec<PendingPage>, DiskError> {
    let mut r = RowReader(value);
    let n = r.number().ok_or_else(damaged)?;
    (0..n).map(|_| PendingPage::read(&mut r).ok_or_else(damaged)).collect()
}
