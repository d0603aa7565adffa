//! Histograms of durations.

use crate::time::{Clock, Timestamp, micros};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Bucket bounds for times that depend on the network or other machines, in microseconds.
pub const NETWORK_BUCKETS: &[u64] = &[
    1_000, 5_000, 20_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 10_000_000, 60_000_000,
];
/// Bucket bounds for work of this machine, in microseconds.
pub const WORK_BUCKETS: &[u64] =
    &[50, 250, 1_000, 5_000, 20_000, 100_000, 500_000, 2_500_000, 10_000_000];

/// Lock-free counts of durations in a few buckets.
#[derive(Debug)]
pub struct Histogram {
    /// Upper bounds of the buckets in microseconds, ascending. The last bucket has no bound.
    bounds: &'static [u64],
    counts: Box<[AtomicU64]>,
    sum_us: AtomicU64,
}

/// Contents of a [`Histogram`] at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct HistogramSnapshot {
    /// Upper bound of each bucket in seconds (the last one infinite), and the bucket's own count.
    pub buckets: Vec<(f64, u64)>,
    /// Sum of all durations, in seconds.
    pub sum: f64,
}

/// A histogram of work of this machine.
impl Default for Histogram {
    fn default() -> Self {
        Self::new(WORK_BUCKETS)
    }
}

impl Histogram {
    /// Creates an empty histogram with these bounds, in microseconds.
    #[must_use]
    pub fn new(bounds: &'static [u64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self { bounds, counts, sum_us: AtomicU64::new(0) }
    }

    /// Adds a duration.
    pub fn observe(&self, took: Duration) {
        let us = micros(took);
        let bucket = self.bounds.iter().take_while(|&&bound| bound < us).count();
        self.counts[bucket].fetch_add(1, Relaxed);
        self.sum_us.fetch_add(us, Relaxed);
    }

    /// Returns the current contents.
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    pub fn snapshot(&self) -> HistogramSnapshot {
        let ends = self.bounds.iter().map(|&us| us as f64 / 1e6).chain([f64::INFINITY]);
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        let sum = self.sum_us.load(Relaxed) as f64 / 1e6;
        HistogramSnapshot { buckets: ends.zip(counts).collect(), sum }
    }
}

/// A clock with a histogram, for code that has no clock of its own and must not base decisions on
/// time.
#[derive(Clone, Debug)]
pub struct Timer {
    clock: Clock,
    times: Arc<Histogram>,
}

impl Timer {
    /// Creates a timer with a new histogram with these bounds.
    #[must_use]
    pub fn new(clock: Clock, bounds: &'static [u64]) -> Self {
        Self { clock, times: Arc::new(Histogram::new(bounds)) }
    }

    /// Starts a measurement.
    pub fn start(&self) -> Timestamp {
        self.clock.now()
    }

    /// Ends the measurement that started at `started`.
    pub fn stop(&self, started: Timestamp) {
        self.times.observe(self.clock.now().since(started));
    }

    /// Returns the measured durations.
    pub fn times(&self) -> &Histogram {
        &self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_the_first_bucket_that_is_long_enough() {
        let times = Histogram::new(WORK_BUCKETS);
        for us in [0, 50, 51, 250, 10_000_000, 10_000_001, u64::MAX / 2] {
            times.observe(Duration::from_micros(us));
        }
        let counted = times.snapshot();
        let counts: Vec<u64> = counted.buckets.iter().map(|&(_, n)| n).collect();
        assert_eq!(counts, [2, 2, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(counted.buckets[1].0, 0.000_25);
        assert_eq!(counted.buckets.last().unwrap().0, f64::INFINITY);
    }

    #[test]
    fn bounds_ascend() {
        for bounds in [NETWORK_BUCKETS, WORK_BUCKETS] {
            assert!(bounds.is_sorted_by(|a, b| a < b), "{bounds:?}");
        }
    }
}
