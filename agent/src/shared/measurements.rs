//! What the threads of a crawl measure as it happens.

use super::idle_times::IdleTimes;
use crivello_common::metrics::{Histogram, WORK};
use std::sync::atomic::AtomicU64;

/// See the module. Each is written once a page or a batch.
#[derive(Debug)]
pub struct Gauges {
    /// Reading one response: links, digest, records.
    pub parse: Histogram,
    /// Bringing a group's records to the archive, the sync with it.
    pub store: Histogram,
    /// All else of a group's commit.
    pub commit: Histogram,
    /// Syncing the state's log.
    pub state_sync: Histogram,
    /// From the end of a request until a parser takes its result.
    pub parser_wait: Histogram,
    /// From a group's first entry until its commit.
    pub commit_wait: Histogram,
    /// Why the scheduler waited.
    pub idle: IdleTimes,
    /// Visits handed out.
    pub visits: AtomicU64,
    /// Turns at IP addresses that other agents have from this one.
    pub turns_lent: AtomicU64,
    /// Groups handed over to their owners.
    pub groups_out: AtomicU64,
    /// Groups that came with all their rows.
    pub groups_in: AtomicU64,
}

impl Default for Gauges {
    fn default() -> Self {
        let work = || Histogram::new(WORK);
        Self {
            parse: work(),
            store: work(),
            commit: work(),
            state_sync: work(),
            parser_wait: work(),
            commit_wait: work(),
            idle: IdleTimes::default(),
            visits: AtomicU64::new(0),
            turns_lent: AtomicU64::new(0),
            groups_out: AtomicU64::new(0),
            groups_in: AtomicU64::new(0),
        }
    }
}
