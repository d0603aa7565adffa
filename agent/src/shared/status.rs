//! The state of a run, as its engines last reported it.

use crate::crawldb::{InlinkCounts, SieveCounts, Totals};
use crate::explain::RecentFetches;
use crate::workbench::WorkbenchStats;
use crivello_proto::v1::RecrawlProgress;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// State of a run. Each field has one writer.
#[derive(Debug, Default)]
pub struct CrawlStatus {
    /// True if the disk has too little free space: no visit begins. Set by the writer.
    pub disk_full: AtomicBool,
    /// True if no host can be reached. Set by the scheduler.
    pub offline: AtomicBool,
    /// True if the name servers do not answer. Set by the scheduler.
    pub dns_silent: AtomicBool,
    /// True if the page limit is reached. Set by the scheduler.
    pub limit_reached: AtomicBool,
    /// True if only pages are fetched that were answered before: the page limit is reached, and the crawl
    /// comes back to its pages. Set by the scheduler.
    pub only_again: AtomicBool,
    /// True if people paused the crawl. Set by the cluster.
    pub paused: AtomicBool,
    /// Last epoch in which all rows of this agent were on all agents that must hold them. Set by
    /// the cluster.
    pub settled_in: AtomicU64,
    /// Last epoch in which this agent announced which groups it will send. Set by the cluster.
    pub scanned_in: AtomicU64,
    /// Epoch since which the coordinator wants a check that all groups are copied; 0 if it wants
    /// none. Set by the heartbeats.
    pub copies_wanted: AtomicU64,
    /// Epoch in which the last complete check began. Set by the cluster.
    pub copied_since: AtomicU64,
    /// Number of rounds and writes of the writer: it makes progress while this rises.
    pub writer_rounds: AtomicU64,
    /// Number of rounds of the scheduler.
    pub scheduler_rounds: AtomicU64,
    /// Number of visits in flight. Set by the scheduler.
    pub visits: AtomicUsize,
    /// Number of results of requests in this run. Set by the parsers.
    pub results: AtomicU64,
    /// The last fetches. Set by the fetchers.
    pub recent: RecentFetches,
    /// Totals of the crawl and of its sieve, as of the last commit. Set by the writer.
    pub totals: Mutex<(Totals, SieveCounts)>,
    /// Counts of links, as of the last commit. Set by the writer.
    pub inlinks: Mutex<InlinkCounts>,
    /// Pages that are fetched again. Set by the writer.
    pub recrawl: Mutex<Option<RecrawlProgress>>,
    /// Statistics of the workbench, renewed by the scheduler.
    pub workbench: Mutex<WorkbenchStats>,
}
