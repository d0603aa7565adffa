//! Durations and counts that the threads of a crawl measure as they work.

use super::idle_times::IdleTimes;
use crivello_common::metrics::Histogram;
use std::sync::atomic::AtomicU64;

/// Durations and counts. Each is updated once a page or once a batch.
#[derive(Debug, Default)]
pub struct Measurements {
    /// Time to process one response: links, digest, records.
    pub parse: Histogram,
    /// Time to append the records of a commit to the archive, including the sync.
    pub store: Histogram,
    /// Time of the rest of a commit.
    pub commit: Histogram,
    /// Time to sync the state's log.
    pub state_sync: Histogram,
    /// Time from the end of a request until a parser processes its result; other agents may be asked in it.
    pub parser_wait: Histogram,
    /// Time from the first message of a commit until the commit begins.
    pub commit_wait: Histogram,
    /// Idle times of the scheduler.
    pub idle: IdleTimes,
    /// Visits handed out.
    pub visits: AtomicU64,
    /// IP leases that this agent has granted and that are in use.
    pub ip_leases_lent: AtomicU64,
    /// Files of the archive that were deleted by `archive.keep-age` or `archive.keep-size`.
    pub archive_files_deleted: AtomicU64,
    /// Pages in the agent's index.
    pub indexed_pages: AtomicU64,
    /// Bytes of the index on disk.
    pub index_bytes: AtomicU64,
    /// Updates of the index that failed.
    pub index_failures: AtomicU64,
    /// Damaged places of archive files that the index leaves out.
    pub index_damage: AtomicU64,
    /// Payloads that other agents have archived.
    pub payloads: PayloadCounts,
    /// Groups handed off to their owners.
    pub groups_out: AtomicU64,
    /// Groups received with all their rows.
    pub groups_in: AtomicU64,
}

/// Counts of payloads that other agents have archived (`store.peer-revisits`).
#[derive(Debug, Default)]
pub struct PayloadCounts {
    /// Questions to which an agent had the payload.
    pub found: AtomicU64,
    /// Questions to which no agent had the payload, though its set did.
    pub false_positives: AtomicU64,
    /// Questions without an answer.
    pub failed: AtomicU64,
    /// Digests in the sets of this agent.
    pub own_digests: AtomicU64,
    /// Bytes of these sets.
    pub own_bytes: AtomicU64,
    /// Digests of this agent for which there was no room.
    pub own_left_out: AtomicU64,
    /// Digests in the sets of other agents.
    pub peer_digests: AtomicU64,
    /// Bytes of these sets.
    pub peer_bytes: AtomicU64,
    /// Digests of other agents for which there is no room.
    pub peer_left_out: AtomicU64,
    /// Sets of other agents that were damaged.
    pub damaged: AtomicU64,
}
