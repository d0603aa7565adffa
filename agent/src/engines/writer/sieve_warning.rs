//! Warnings about the sieve and other filters, each logged once.

use crate::crawldb::{InlinkCounts, SieveCounts};
use crivello_common::config::State;
use std::mem::replace;

/// The share of lost URLs above which a warning is logged.
const LOSS_RATE_MAX: f64 = 0.001;

/// The warnings that were logged.
#[derive(Debug, Default)]
pub(super) struct SieveReports {
    losses: bool,
    overflow: bool,
    inlinks: bool,
}

impl SieveReports {
    /// Warns once if the sieve loses more than [`LOSS_RATE_MAX`] of new URLs, and once if its filters, or the counts of
    /// links, have too little memory.
    pub(super) fn check(&mut self, sieve: &SieveCounts, inlinks: &InlinkCounts, settings: &State) {
        let (name, memory) = (settings.sieve.name(), settings.sieve_memory);
        let rate = sieve.losses.rate;
        if rate > LOSS_RATE_MAX && !replace(&mut self.losses, true) {
            tracing::warn!(
                "the sieve ({name}) is full: it drops one new URL in {:.0}; restart the crawl with more \
                 than state.sieve-memory={memory}, or with state.sieve=rocksdb, which drops none",
                1.0 / rate,
            );
        }
        if sieve.overflow.is_full && !replace(&mut self.overflow, true) {
            tracing::warn!(
                "the sieve ({name}) is full: some URLs are looked up on disk, which is slower but loses none; \
                 with more than state.sieve-memory={memory}, the next start has room for more of them",
            );
        }
        if inlinks.is_full && !replace(&mut self.inlinks, true) {
            tracing::warn!(
                "the counts of links are full: links to other URLs are not counted; with more than \
                 state.inlinks-memory={}, the next start has room for more of them",
                settings.inlinks_memory,
            );
        }
    }
}
