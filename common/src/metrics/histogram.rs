//! How long things take.

use crate::time::{Clock, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Bounds for what the network and other machines take, in microseconds.
pub const NETWORK: &[u64] = &[
    1_000, 5_000, 20_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000, 60_000_000,
];
/// Bounds for work of this machine, in microseconds.
pub const WORK: &[u64] = &[50, 250, 1_000, 5_000, 20_000, 100_000, 500_000, 2_500_000, 10_000_000];

/// Counts durations in a few buckets. Who counts waits for nobody.
#[derive(Debug)]
pub struct Histogram {
    /// Upper ends of the buckets, in microseconds, rising; what is longer goes into one more.
    bounds: &'static [u64],
    counts: Box<[AtomicU64]>,
    sum_us: AtomicU64,
}

/// A [`Histogram`] as it was at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    /// Upper ends in seconds, the last of them infinite, and how many fell into each bucket alone.
    pub buckets: Vec<(f64, u64)>,
    /// All of them together, in seconds.
    pub sum: f64,
}

impl Histogram {
    /// An empty one with these bounds, in microseconds.
    #[must_use]
    pub fn new(bounds: &'static [u64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum_us: AtomicU64::new(0) }
    }

    /// Something took so long.
    pub fn observe(&self, took: Duration) {
        let us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = self.bounds.iter().take_while(|&&bound| bound < us).count();
        self.counts[bucket].fetch_add(1, Relaxed);
        self.sum_us.fetch_add(us, Relaxed);
    }

    /// What was counted so far.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    pub fn counted(&self) -> Counted {
        let ends = self.bounds.iter().map(|&us| us as f64 / 1e6).chain([f64::INFINITY]);
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        let sum = self.sum_us.load(Relaxed) as f64 / 1e6;
        Counted { buckets: ends.zip(counts).collect(), sum }
    }
}

/// A clock with a histogram to write its times to, for those who know no clock: it measures, and
/// nothing is decided by it.
#[derive(Clone, Debug)]
pub struct Stopwatch {
    clock: Clock,
    times: Arc<Histogram>,
}

impl Stopwatch {
    /// Counts in a new histogram with these bounds.
    #[must_use]
    pub fn new(clock: Clock, bounds: &'static [u64]) -> Self {
        Self { clock, times: Arc::new(Histogram::new(bounds)) }
    }

    /// Something begins.
    #[must_use]
    pub fn begin(&self) -> Timestamp {
        self.clock.now()
    }

    /// What began then is over.
    pub fn end(&self, began: Timestamp) {
        self.times.observe(self.clock.now().since(began));
    }

    /// What was measured.
    #[must_use]
    pub fn times(&self) -> &Histogram {
        &self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_falls_into_the_first_bucket_that_is_long_enough() {
        let times = Histogram::new(WORK);
        for us in [0, 50, 51, 250, 10_000_000, 10_000_001, u64::MAX / 2] {
            times.observe(Duration::from_micros(us));
        }
        let counted = times.counted();
        let counts: Vec<u64> = counted.buckets.iter().map(|&(_, n)| n).collect();
        assert_eq!(counts, [2, 2, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(counted.buckets[1].0, 0.000_25);
        assert_eq!(counted.buckets.last().unwrap().0, f64::INFINITY);
    }

    #[test]
    fn bounds_rise() {
        for bounds in [NETWORK, WORK] {
            assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
        }
    }
}
