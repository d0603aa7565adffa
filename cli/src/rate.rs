//! Rates: pages and bytes per second over the last ten seconds, and a short history.

use crivello_proto::v1::Progress;
use std::collections::VecDeque;
use std::time::Duration;

/// Period of a rate.
const RECENT: Duration = Duration::from_secs(10);
/// Maximum number of samples, one per second.
const SAMPLES_MAX: usize = 64;

/// Samples of the counters, one per second, and their growth rates.
#[derive(Debug, Default)]
pub struct Rates {
    samples: VecDeque<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Duration,
    pages: u64,
    bytes: u64,
    again: u64,
    left: Option<u64>,
}

impl Rates {
    /// Records the counters of `snapshot`, unless the last sample is less than a second old.
    pub fn observe(&mut self, snapshot: &Progress) {
        let at = Duration::from_millis(snapshot.elapsed_ms);
        let last = self.samples.back();
        if last.is_none_or(|last| at.saturating_sub(last.at) >= Duration::from_secs(1)) {
            if self.samples.len() == SAMPLES_MAX {
                self.samples.pop_front();
            }
            let Progress { pages, bytes, pages_left: left, recrawl, .. } = *snapshot;
            let again = recrawl.map_or(0, |recrawl| recrawl.visits());
            self.samples.push_back(Sample { at, pages, bytes, again, left });
        }
    }

    /// Returns the pages per second.
    pub fn pages(&self) -> f64 {
        self.recent(|then, now| now.pages.saturating_sub(then.pages))
    }

    /// Returns the bytes per second.
    pub fn bytes(&self) -> f64 {
        self.recent(|then, now| now.bytes.saturating_sub(then.bytes))
    }

    /// Returns the visits per second to pages that were fetched before.
    pub fn again(&self) -> f64 {
        self.recent(|then, now| now.again.saturating_sub(then.again))
    }

    #[expect(clippy::cast_precision_loss, reason = "only three digits are shown")]
    fn recent(&self, gained: impl Fn(&Sample, &Sample) -> u64) -> f64 {
        let Some(last) = self.samples.back() else {
            return 0.0;
        };
        let since = last.at.saturating_sub(RECENT);
        let Some(first) = self.samples.iter().find(|s| s.at >= since) else {
            return 0.0;
        };
        let time = last.at.saturating_sub(first.at).as_secs_f64();
        if time > 0.0 { gained(first, last) as f64 / time } else { 0.0 }
    }

    /// Returns the time until the page limit is reached at the current rate of all agents; `None`
    /// without a limit or a rate.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub fn time_left(&self, snapshot: &Progress) -> Option<Duration> {
        let rate = self.recent(|then, now| match (then.left, now.left) {
            (Some(then), Some(now)) => then.saturating_sub(now),
            _ => 0,
        });
        let left = snapshot.pages_left?;
        (rate > 0.0).then(|| Duration::try_from_secs_f64(left as f64 / rate).ok()).flatten()
    }

    /// Returns the pages per sample, oldest first, for the last `width` samples.
    pub fn history(&self, width: usize) -> Vec<u64> {
        let steps = self.samples.len().saturating_sub(1);
        let pairs = self.samples.iter().zip(self.samples.iter().skip(1));
        pairs
            .skip(steps.saturating_sub(width))
            .map(|(a, b)| b.pages - a.pages.min(b.pages))
            .collect()
    }
}

/// Returns a bar for each number, scaled to the largest.
pub fn sparkline(values: &[u64], unicode: bool) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const ASCII: [char; 8] = ['_', '_', '.', '.', '-', '-', '=', '#'];
    let bars = if unicode { BLOCKS } else { ASCII };
    let max = values.iter().copied().max().unwrap_or(0).max(1);
    let bar =
        |v: u64| bars[usize::try_from(u128::from(v) * 7 / u128::from(max)).unwrap_or(7).min(7)];
    values.iter().map(|&v| bar(v)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64, pages: u64) -> Progress {
        Progress { elapsed_ms: secs * 1_000, pages, bytes: pages * 100, ..Progress::default() }
    }

    #[test]
    fn the_rate_is_that_of_the_last_ten_seconds() {
        let mut rates = Rates::default();
        assert!(rates.pages() == 0.0);
        for s in 0..=60 {
            rates.observe(&at(s, if s < 30 { s * 100 } else { 3_000 + (s - 30) * 5 }));
        }
        assert!((rates.pages() - 5.0).abs() < 0.001, "{}", rates.pages());
        assert!((rates.bytes() - 500.0).abs() < 0.1);
    }

    #[test]
    fn time_left_follows_the_limit_and_the_rate() {
        let mut rates = Rates::default();
        // The other agents fetch three times as many pages as this one.
        let limited = |secs, left| Progress { pages_left: Some(left), ..at(secs, secs) };
        rates.observe(&limited(0, 90));
        rates.observe(&limited(10, 50));
        let limited = limited(10, 50);
        assert_eq!(rates.time_left(&limited), Some(Duration::from_millis(12_500)));
        assert_eq!(rates.time_left(&at(10, 100)), None);
        let stalled = Rates::default();
        assert_eq!(stalled.time_left(&limited), None);
    }

    #[test]
    fn the_history_is_bounded_and_its_newest_part_is_shown() {
        let mut rates = Rates::default();
        for s in 0..500 {
            rates.observe(&at(s, s * s));
        }
        assert_eq!(rates.samples.len(), SAMPLES_MAX);
        assert_eq!(rates.history(3), [2 * 497 - 1, 2 * 498 - 1, 2 * 499 - 1]);
        assert_eq!(rates.history(1_000).len(), SAMPLES_MAX - 1);
    }

    #[test]
    fn the_tallest_bar_is_the_largest_number() {
        assert_eq!(sparkline(&[0, 7, 14], true), "▁▄█");
        assert_eq!(sparkline(&[0, 0], false), "__");
        assert_eq!(sparkline(&[u64::MAX, 1], true), "█▁");
    }
}
