//! A sieve that has become too full is told of, once.

use crate::engines::writer::Writer;

/// The share of new URLs beyond which one who chose a filter should know that it is lost.
const LOSS_RATE_MAX: f64 = 0.001;

impl Writer {
    /// The sieve loses this share of new URLs.
    pub(super) fn tell_losses(&mut self, rate: f64) {
        if rate <= LOSS_RATE_MAX || std::mem::replace(&mut self.losses_told, true) {
            return;
        }
        let state = &self.shared.settings.state;
        tracing::warn!(
            "the sieve ({}) is full: it takes one new URL in {:.0} for known, and that one is not \
             fetched; start the crawl again with more than state.sieve-memory={}, or with \
             state.sieve=rocksdb, which loses none",
            state.sieve.name(),
            1.0 / rate,
            state.sieve_memory,
        );
    }
}
