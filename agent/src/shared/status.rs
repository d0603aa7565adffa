//! The state of a run, as its engines last reported it.

use crate::crawldb::{SieveCounts, Totals};
use crate::explain::RecentFetches;
use crate::workbench::Census;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};

/// The state of a run. Each field has one writer.
#[derive(Debug, Default)]
pub struct CrawlStatus {
    /// The disk has less room than it should: no visit begins. Set by the writer.
    pub disk_full: AtomicBool,
    /// No host can be reached. Set by the scheduler.
    pub offline: AtomicBool,
    /// The name servers do not answer. Set by the scheduler.
    pub dns_silent: AtomicBool,
    /// The page limit is reached. Set by the scheduler.
    pub limit_reached: AtomicBool,
    /// People paused the crawl. Set by the cluster.
    pub paused: AtomicBool,
    /// The last epoch in which everything that this agent has was with all that must hold it. Set by
    /// the cluster.
    pub settled_in: AtomicU64,
    /// Visits in flight. Set by the scheduler.
    pub visits: AtomicUsize,
    /// Results of requests in this run. Set by the parsers.
    pub results: AtomicU64,
    /// The last fetches. Set by the fetchers.
    pub recent: RecentFetches,
    /// Totals of the crawl and of its sieve, as of the last commit. Set by the writer.
    pub totals: Mutex<(Totals, SieveCounts)>,
    /// Statistics of the workbench, as of the scheduler's last census.
    pub census: Mutex<Census>,
}
