//! The times at which one page changes. They are a function of a seed. Any of them is found without
//! the ones before it, so a page with millions of changes costs no more than one with a few.

use crate::draw::{hash, unit};
use std::f64::consts::TAU;

/// Changes of a burst.
pub const BURST_CHANGES: u64 = 5;
/// Duration of a burst, as a fraction 1/n of the time from the beginning of a cycle to the next one.
/// The pause after it is at least 9 times as long.
pub const BURST_FRACTION: u64 = 20;

/// Mean number of changes in a block of a Poisson process.
const BLOCK_CHANGES: u64 = 1 << 20;
/// Number of changes up to which their times are drawn one by one.
const LEAF_CHANGES: u64 = 16;
/// Number of changes up to which a binomial draw is exact. Beyond it the normal distribution is not
/// distinguishable.
const EXACT_MAX: u64 = 512;
/// Limits of the mean interval, in microseconds: a millisecond and about 35 years.
const INTERVAL_US_MIN: u64 = 1_000;
const INTERVAL_US_MAX: u64 = 1 << 50;

/// The pattern of the times at which a page changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangePattern {
    /// Never.
    Never,
    /// At the times of a Poisson process.
    Poisson,
    /// At equal intervals.
    Regular,
    /// [`BURST_CHANGES`] times close together, then not for long.
    Bursts,
}

/// The times at which a page changes, in microseconds from the beginning of its history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeTimes {
    pattern: ChangePattern,
    interval_us: u64,
    seed: u64,
}

impl ChangeTimes {
    /// Creates times with this mean interval, in microseconds.
    #[must_use]
    pub fn new(pattern: ChangePattern, interval_us: u64, seed: u64) -> Self {
        let interval_us = interval_us.clamp(INTERVAL_US_MIN, INTERVAL_US_MAX);
        Self { pattern, interval_us, seed }
    }

    /// Returns the pattern.
    pub const fn pattern(&self) -> ChangePattern {
        self.pattern
    }

    /// Returns the mean interval, in microseconds. It has no meaning if the page never changes.
    pub const fn interval_us(&self) -> u64 {
        self.interval_us
    }

    /// Returns the number of changes up to and including a time.
    pub fn count(&self, at_us: u64) -> u64 {
        match self.pattern {
            ChangePattern::Never => 0,
            ChangePattern::Regular => at_us / self.interval_us,
            ChangePattern::Bursts => {
                let cycle = at_us / self.cycle_us();
                let n_in_burst = self.burst(cycle).iter().filter(|&&time| time <= at_us).count();
                cycle * BURST_CHANGES + n_in_burst as u64
            }
            ChangePattern::Poisson => {
                let block = at_us / self.block_us();
                let n_before: u64 = (0..block).map(|block| self.block(block).n).sum();
                n_before + self.block(block).count(at_us)
            }
        }
    }

    /// Returns the time of the change that `n` changes precede. Returns `None` if there is none, or
    /// if it is too late for a number.
    pub fn nth(&self, mut n: u64) -> Option<u64> {
        match self.pattern {
            ChangePattern::Never => None,
            ChangePattern::Regular => n.checked_add(1)?.checked_mul(self.interval_us),
            ChangePattern::Bursts => {
                let cycle = n / BURST_CHANGES;
                cycle.checked_mul(self.cycle_us())?;
                self.burst(cycle).get((n % BURST_CHANGES) as usize).copied()
            }
            ChangePattern::Poisson => {
                for block in 0..=u64::MAX / self.block_us() {
                    let block = self.block(block);
                    if n < block.n {
                        return Some(block.nth(n));
                    }
                    n -= block.n;
                }
                None
            }
        }
    }

    const fn cycle_us(&self) -> u64 {
        self.interval_us * BURST_CHANGES
    }

    /// Returns the times of a burst, in order. It begins in the first half of its cycle.
    fn burst(&self, cycle: u64) -> [u64; BURST_CHANGES as usize] {
        let cycle_us = self.cycle_us();
        let draw = |what, max_us| scale(hash(self.seed, &[cycle, what]), max_us);
        let start = (cycle * cycle_us).saturating_add(draw(0, cycle_us / 2));
        let time = |k| start.saturating_add(draw(k, cycle_us / BURST_FRACTION));
        let mut times = [1, 2, 3, 4, 5].map(time);
        times.sort_unstable();
        times
    }

    const fn block_us(&self) -> u64 {
        self.interval_us.saturating_mul(BLOCK_CHANGES)
    }

    fn block(&self, block: u64) -> Span {
        let seed = hash(self.seed, &[block]);
        let mean = self.block_us() as f64 / self.interval_us as f64;
        let n = normal(seed, mean, mean.sqrt());
        Span { seed, path: 1, start: block * self.block_us(), len: self.block_us(), n }
    }
}

/// A span of time of a Poisson process with its number of changes. Given this number, each change
/// is in either half with the same probability, independently of the others.
struct Span {
    seed: u64,
    /// Number of the span in the tree of all halves.
    path: u64,
    start: u64,
    len: u64,
    n: u64,
}

impl Span {
    /// Returns the number of changes up to and including a time within the span.
    fn count(mut self, at_us: u64) -> u64 {
        let mut n_before = 0;
        while self.n > LEAF_CHANGES {
            let [first, second] = self.halves();
            if at_us < second.start {
                self = first;
            } else {
                n_before += first.n;
                self = second;
            }
        }
        n_before + self.times().iter().filter(|&&time| time <= at_us).count() as u64
    }

    /// Returns the time of the change that `n` changes of the span precede.
    fn nth(mut self, mut n: u64) -> u64 {
        while self.n > LEAF_CHANGES {
            let [first, second] = self.halves();
            if n < first.n {
                self = first;
            } else {
                n -= first.n;
                self = second;
            }
        }
        self.times().get(n as usize).copied().unwrap_or(self.start)
    }

    fn halves(&self) -> [Self; 2] {
        let half = self.len / 2;
        let n = binomial(hash(self.seed, &[self.path]), self.n);
        let path = self.path.wrapping_mul(2);
        let (seed, start, middle) = (self.seed, self.start, self.start.saturating_add(half));
        let (path_of_second, rest) = (path.wrapping_add(1), self.len - half);
        [
            Self { seed, path, start, len: half, n },
            Self { seed, path: path_of_second, start: middle, len: rest, n: self.n - n },
        ]
    }

    /// Returns the times of the changes of a small span, in order.
    fn times(&self) -> Vec<u64> {
        let offset = |k| scale(hash(self.seed, &[self.path, k]), self.len);
        let time = |k| self.start.saturating_add(offset(k));
        let mut times: Vec<u64> = (1..=self.n).map(time).collect();
        times.sort_unstable();
        times
    }
}

/// Returns a hash as a number below `max`; zero if `max` is zero.
fn scale(h: u64, max: u64) -> u64 {
    ((u128::from(h) * u128::from(max)) >> 64) as u64
}

/// Returns the number of successes in `n` trials that succeed with probability 1/2.
fn binomial(seed: u64, n: u64) -> u64 {
    if n > EXACT_MAX {
        return normal(seed, n as f64 / 2.0, (n as f64).sqrt() / 2.0).min(n);
    }
    let whole: u32 = (0..n / 64).map(|k| hash(seed, &[k]).count_ones()).sum();
    let rest = hash(seed, &[n]) & !(u64::MAX << (n % 64));
    u64::from(whole + rest.count_ones())
}

/// Returns a draw from a normal distribution (Box and Muller 1958), rounded and not negative.
fn normal(seed: u64, mean: f64, deviation: f64) -> u64 {
    let radius = (-2.0 * (1.0 - unit(hash(seed, &[u64::MAX]))).ln()).sqrt();
    let angle = TAU * unit(hash(seed, &[u64::MAX - 1]));
    (mean + deviation * radius * angle.cos()).round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: u64 = 1_000_000;
    const CHANGING: [ChangePattern; 3] =
        [ChangePattern::Poisson, ChangePattern::Regular, ChangePattern::Bursts];

    fn pattern() -> impl Strategy<Value = ChangePattern> {
        prop::sample::select(CHANGING.to_vec())
    }

    proptest! {
        #[test]
        fn counts_and_times_agree(
            pattern in pattern(),
            interval_us in INTERVAL_US_MIN..INTERVAL_US_MAX,
            seed: u64,
            intervals in 0.0..3e6_f64,
        ) {
            let times = ChangeTimes::new(pattern, interval_us, seed);
            let at = (interval_us as f64 * intervals) as u64;
            let n = times.count(at);
            if let Some(last) = n.checked_sub(1) {
                let last = times.nth(last).expect("a change that has been counted");
                prop_assert!(last <= at);
                prop_assert!(times.count(last) <= n);
            }
            if let Some(next) = times.nth(n) {
                prop_assert!(next > at, "{next} is not after {at}");
                prop_assert!(times.count(next) > n);
                prop_assert_eq!(times.count(next - 1), n);
            }
        }

        #[test]
        fn times_never_decrease(pattern in pattern(), seed: u64, first in 0..2_000_000_u64) {
            let times = ChangeTimes::new(pattern, SECOND, seed);
            let some: Vec<_> = (first..first + 40).map(|n| times.nth(n)).collect();
            prop_assert!(some.is_sorted() && some.iter().all(Option::is_some));
        }
    }

    #[test]
    fn rates_are_what_was_asked_for() {
        for pattern in CHANGING {
            for interval_us in [1_000, SECOND, 86_400 * SECOND] {
                let n_changes = |seed, intervals| {
                    ChangeTimes::new(pattern, interval_us, seed).count(interval_us * intervals)
                };
                let few: u64 = (0..4_000).map(|seed| n_changes(seed, 25)).sum();
                assert!((98_500..101_500).contains(&few), "{pattern:?}: {few} of 100000");
                let many: u64 = (0..4).map(|seed| n_changes(seed, 2_500_000)).sum();
                assert!((9_980_000..10_020_000).contains(&many), "{pattern:?}: {many} of 10000000");
            }
        }
    }

    /// The variance of the counts of a Poisson process is its mean, in spans of any length.
    #[test]
    fn poisson_counts_vary_as_they_should() {
        for (first, intervals) in [(0, 1), (7, 10), (1_000, 400), (1_048_570, 12), (30_000, 9_000)]
        {
            let counts: Vec<f64> = (0..3_000)
                .map(|seed| {
                    let times = ChangeTimes::new(ChangePattern::Poisson, SECOND, seed);
                    let end = times.count((first + intervals) * SECOND);
                    (end - times.count(first * SECOND)) as f64
                })
                .collect();
            let mean = counts.iter().sum::<f64>() / 3_000.0;
            let variance = counts.iter().map(|n| (n - mean).powi(2)).sum::<f64>() / 3_000.0;
            let wanted = intervals as f64;
            assert!((mean / wanted - 1.0).abs() < 0.08, "mean {mean} of {wanted}");
            assert!((variance / wanted - 1.0).abs() < 0.12, "variance {variance} of {wanted}");
        }
    }

    #[test]
    fn regular_pages_change_at_equal_intervals() {
        let times = ChangeTimes::new(ChangePattern::Regular, SECOND, 5);
        for n in 0..100 {
            assert_eq!(times.nth(n), Some((n + 1) * SECOND));
        }
    }

    #[test]
    fn bursts_are_short_and_the_pauses_long() {
        let times = ChangeTimes::new(ChangePattern::Bursts, SECOND, 5);
        let cycle = BURST_CHANGES * SECOND;
        for burst in 0..200 {
            let nth = |k| times.nth(burst * BURST_CHANGES + k).expect("a change");
            let (first, last, next) = (nth(0), nth(BURST_CHANGES - 1), nth(BURST_CHANGES));
            assert!(last - first <= cycle / BURST_FRACTION);
            assert!(next - last >= 9 * (cycle / BURST_FRACTION), "{} after {}", next - last, burst);
        }
    }

    #[test]
    fn a_page_that_never_changes_has_no_times() {
        let times = ChangeTimes::new(ChangePattern::Never, SECOND, 5);
        assert_eq!((times.count(u64::MAX), times.nth(0)), (0, None));
    }

    #[test]
    fn times_beyond_all_numbers_are_none() {
        for pattern in CHANGING {
            let times = ChangeTimes::new(pattern, INTERVAL_US_MAX, 5);
            let n = times.count(u64::MAX);
            assert!(n > 8_000, "{n}");
            assert_eq!(times.nth(n + 10), None, "{pattern:?}");
        }
    }
}
