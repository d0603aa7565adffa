//! A one-time warning when the sieve has become too full.

use crate::engines::writer::Writer;

/// The share of lost URLs above which a warning is logged.
const LOSS_RATE_MAX: f64 = 0.001;

impl Writer {
    /// Warns once if the sieve loses more than [`LOSS_RATE_MAX`] of new URLs.
    pub(super) fn warn_of_losses(&mut self, rate: f64) {
        if rate <= LOSS_RATE_MAX || std::mem::replace(&mut self.sieve_reported, true) {
            return;
        }
        let state = &self.shared.settings.state;
        tracing::warn!(
            "the sieve ({}) is full: it drops one new URL in {:.0}; restart the crawl with more \
             than state.sieve-memory={}, or with state.sieve=rocksdb, which drops none",
            state.sieve.name(),
            1.0 / rate,
            state.sieve_memory,
        );
    }
}
