//! Results of visits, and what is estimated from them for people.

/// Number of visits after which one counts `1/e` in the estimated freshness.
const FRESHNESS_VISITS: f64 = 10_000.0;
/// Number of visits after which one counts `1/e` in the mean lateness.
const LATENESS_VISITS: f64 = 1_000.0;

/// Results of visits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RevisitCounts {
    /// Pages that were found by a first fetch.
    pub new: u64,
    /// Pages whose content had changed.
    pub changed: u64,
    /// Pages whose content was the same, with a body.
    pub unchanged: u64,
    /// Pages that the server called unmodified (304).
    pub not_modified: u64,
    /// Visits without a page: errors, and pages that are gone.
    pub failed: u64,
}

impl RevisitCounts {
    /// Returns the number of visits after the first.
    const fn again(&self) -> u64 {
        self.changed + self.unchanged + self.not_modified + self.failed
    }
}

/// Results of visits, and means of recent ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecrawlStats {
    /// Results of all visits.
    pub counts: RevisitCounts,
    /// Estimated time for which copies were fresh, and time for which there were copies, in seconds.
    fresh_time: f64,
    copy_time: f64,
    /// Mean time from the due time of a URL to its fetch, in seconds.
    lateness: f64,
}

impl RecrawlStats {
    /// Returns the share of copies that are fresh, by the estimated rates; `None` before any visit. Each
    /// visit counts by the time since the one before, so a page counts the same however often it is
    /// fetched.
    pub fn freshness(&self) -> Option<f64> {
        (self.copy_time > 0.0).then(|| self.fresh_time / self.copy_time)
    }

    /// Returns the mean time from the due time of a URL to its fetch, in seconds; `None` before any visit
    /// after the first.
    pub fn lateness(&self) -> Option<f64> {
        (self.counts.again() > 0).then_some(self.lateness)
    }

    /// Counts a copy that was kept for `elapsed` seconds, of a page with this many changes a second.
    pub fn add_copy(&mut self, rate: f64, elapsed: f64) {
        if elapsed > 0.0 {
            // The time average of exp(-Δt) from 0 to the elapsed time.
            let missed = rate * elapsed;
            let fresh = if missed < 1e-6 { 1.0 } else { -(-missed).exp_m1() / missed };
            let remembered = 1.0 - 1.0 / FRESHNESS_VISITS;
            self.fresh_time = self.fresh_time * remembered + fresh * elapsed;
            self.copy_time = self.copy_time * remembered + elapsed;
        }
    }

    /// Counts a visit that began `late` seconds after it was due. Its result is counted already.
    pub fn add_lateness(&mut self, late: f64) {
        let n_visits = self.counts.again();
        if n_visits > 0 {
            self.lateness += (late - self.lateness) / LATENESS_VISITS.min(n_visits as f64);
        }
    }

    /// Returns the numbers from which the means follow, to be stored.
    pub const fn stored_means(&self) -> [f64; 3] {
        [self.fresh_time, self.copy_time, self.lateness]
    }

    /// Restores the output of [`Self::stored_means`]. Numbers that are impossible are ignored.
    pub fn restore_means(&mut self, [fresh, all, late]: [f64; 3]) {
        if fresh >= 0.0 && all.is_finite() && fresh <= all {
            (self.fresh_time, self.copy_time) = (fresh, all);
        }
        if late >= 0.0 && late.is_finite() {
            self.lateness = late;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_counts_the_same_however_often_it_is_fetched() {
        let mut stats = RecrawlStats::default();
        assert_eq!((stats.freshness(), stats.lateness()), (None, None));
        // One page that never changes, fetched once in 100 s, and one that always has, fetched each second.
        stats.add_copy(0.0, 100.0);
        (0..100).for_each(|_| stats.add_copy(1e9, 1.0));
        let fresh = stats.freshness().unwrap();
        assert!((fresh - 0.5).abs() < 0.01, "{fresh}");
    }

    #[test]
    fn lateness_is_a_mean_of_recent_visits() {
        let mut stats = RecrawlStats::default();
        for late in [2.0, 4.0, 6.0] {
            stats.counts.unchanged += 1;
            stats.add_lateness(late);
        }
        assert_eq!(stats.lateness(), Some(4.0));
        for _ in 0..10_000 {
            stats.counts.failed += 1;
            stats.add_lateness(1.0);
        }
        let late = stats.lateness().unwrap();
        assert!((late - 1.0).abs() < 0.01, "{late}");
    }

    #[test]
    fn means_survive_the_disk_unless_they_are_impossible() {
        let mut stats = RecrawlStats::default();
        stats.add_copy(0.01, 100.0);
        let mut restored = RecrawlStats::default();
        restored.restore_means(stats.stored_means());
        assert_eq!(restored, stats);
        for bad in
            [[2.0, 1.0, -1.0], [f64::NAN, 1.0, f64::NAN], [1.0, f64::INFINITY, f64::INFINITY]]
        {
            restored.restore_means(bad);
            assert_eq!(restored, stats, "{bad:?}");
        }
    }
}
