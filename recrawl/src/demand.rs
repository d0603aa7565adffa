//! The demand of an agent: the sum of its pages' fetch rates as a function of the threshold.
//!
//! The interval of a page for any threshold depends on the stored bytes of the page and on the policy.
//! The sums are kept at a fixed grid of thresholds. The agent adds them up in passes over its pages. If
//! there are many pages, it adds up a random share of them, and divides the sums by that share.
//!
//! The grid is fine, because the demand of the freshness objective is steep: a page that is given up
//! at some threshold is fetched often just below it.

use crate::page::PageHistory;
use crate::rate_meter::RateCorrection;
use crate::threshold::ThresholdPolicy;

/// Number of thresholds of the grid.
pub const POINTS: usize = 384;
/// Logarithms to the base 2 of the lowest threshold, and of the ratio of neighbors.
const GRID: (f64, f64) = (-18.0, 0.125);
/// Number of thresholds of a report. They span a factor of eight.
pub const REPORT_POINTS: usize = 24;
/// Bounds of the slope by which a report is continued beyond its thresholds: that of the logarithm of
/// the demand by the logarithm of the threshold.
const SLOPES: (f64, f64) = (-2.0, -0.3);
/// Slope, likewise, for visits that hints bring about. They hardly depend on the threshold, until pages are
/// given up.
const HINTED_SLOPE: f64 = -0.1;
/// Hinted visits for each other one that a report has at most. With more, hints exceed the budget, and the
/// other pages are still fetched at a twentieth of it: without the bound, no threshold would be high
/// enough.
const HINTED_MAX: f64 = 19.0;

/// Returns a threshold of the grid: `2^(point/8 − 18)`, in units of weight times seconds. The lowest is
/// for few pages that hardly change and may be fetched each second, the highest for intervals of
/// decades.
#[must_use]
pub fn grid_threshold(point: usize) -> f64 {
    (GRID.0 + GRID.1 * point as f64).exp2()
}

/// Returns the place of a threshold in the grid, within its bounds.
fn grid_position(threshold: f64) -> f64 {
    let position = (threshold.log2() - GRID.0) / GRID.1;
    if position.is_nan() { 0.0 } else { position.clamp(0.0, (POINTS - 1) as f64) }
}

/// Sums over pages, in fetches per second, at the thresholds of the grid: 3 KiB.
#[derive(Clone, Debug, PartialEq)]
pub struct DemandSums {
    n_pages: u64,
    rates: [f64; POINTS],
}

impl Default for DemandSums {
    fn default() -> Self {
        Self { n_pages: 0, rates: [0.0; POINTS] }
    }
}

impl DemandSums {
    /// Adds a page as it is stored.
    pub fn add(&mut self, policy: &ThresholdPolicy, page: &PageHistory) {
        self.n_pages = self.n_pages.saturating_add(1);
        for (sum, rate) in self.rates.iter_mut().zip(page_rates(policy, page)) {
            *sum += rate;
        }
    }

    /// Subtracts a page as it was stored.
    pub fn remove(&mut self, policy: &ThresholdPolicy, page: &PageHistory) {
        self.n_pages = self.n_pages.saturating_sub(1);
        for (sum, rate) in self.rates.iter_mut().zip(page_rates(policy, page)) {
            *sum = (*sum - rate).max(0.0);
        }
        if self.n_pages == 0 {
            // Rounding errors end here.
            self.rates = [0.0; POINTS];
        }
    }

    /// Returns the number of pages.
    pub fn n_pages(&self) -> u64 {
        self.n_pages
    }

    /// Returns the sums, in fetches per second.
    pub fn rates(&self) -> &[f64; POINTS] {
        &self.rates
    }

    /// Returns what the agent reports to the others: the demand around the present threshold, corrected
    /// by what [`crate::rate_meter::RateMeter`] measured.
    pub fn report(
        &self,
        epoch: u64,
        sequence: u64,
        threshold: f64,
        correction: RateCorrection,
    ) -> DemandReport {
        let first = grid_position(threshold) as usize;
        let first = first.saturating_sub(REPORT_POINTS / 2).min(POINTS - REPORT_POINTS);
        let RateCorrection { factor, hinted } = correction;
        let factor = if factor.is_finite() { factor.max(0.0) } else { 1.0 };
        let hinted = if self.n_pages > 0 && hinted.is_finite() { hinted.max(0.0) } else { 0.0 };
        let rates = std::array::from_fn(|i| {
            let steps = (first + i) as f64 - grid_position(threshold);
            let other = self.rates[first + i] * factor;
            let hinted = hinted * (HINTED_SLOPE * GRID.1 * steps).exp2();
            (other + hinted.min(HINTED_MAX * other)) as f32
        });
        DemandReport { epoch, sequence, n_pages: self.n_pages, first: first as u16, rates }
    }
}

/// Returns the rate of a page at each threshold of the grid. A page that failed has none, because
/// failures have a schedule of their own.
fn page_rates(policy: &ThresholdPolicy, page: &PageHistory) -> [f64; POINTS] {
    if page.failures() > 0 {
        return [0.0; POINTS];
    }
    policy
        .intervals(page.weight(), &page.rate(), grid_threshold)
        .map(|interval: f64| 1.0 / interval)
}

/// A report of an agent's demand, which it sends to the others: about 120 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DemandReport {
    /// Epoch of the agent's view of the cluster.
    pub epoch: u64,
    /// Number of the report. It increases within an epoch.
    pub sequence: u64,
    /// Number of pages of the agent.
    pub n_pages: u64,
    /// Index in the grid of the first threshold.
    pub first: u16,
    /// Expected fetches per second at the first threshold and those that follow.
    pub rates: [f32; REPORT_POINTS],
}

impl DemandReport {
    /// Returns the expected fetches per second at a threshold. Between two thresholds it is
    /// interpolated; beyond the first and the last it is continued as a power law. It is finite, and
    /// never increases with the threshold, whatever the report has.
    pub fn at(&self, threshold: f64) -> f64 {
        let last = REPORT_POINTS - 1;
        let position = grid_position(threshold) - f64::from(self.first);
        if position < 0.0 {
            return self.continued(0, position);
        }
        if position >= last as f64 {
            return self.continued(last, position - last as f64);
        }
        let i = position as usize;
        let share = position - i as f64;
        (1.0 - share) * self.rate(i) + share * self.rate(i + 1)
    }

    /// Returns the rate at a threshold of the report: the least of those that are not above it.
    fn rate(&self, i: usize) -> f64 {
        let rates = self.rates[..=i].iter().map(|rate| f64::from(rate.max(0.0)));
        rates.fold(1e30, |least, rate| if rate < least { rate } else { least })
    }

    /// Continues the rate at an end of the report, `steps` of the grid beyond it.
    fn continued(&self, end: usize, steps: f64) -> f64 {
        let last = REPORT_POINTS - 1;
        let (start, stop) = (self.rate(0), self.rate(last));
        if self.rate(end) <= 0.0 {
            return 0.0;
        }
        let step = GRID.1 * std::f64::consts::LN_2;
        let slope = (stop / start).max(1e-30).ln() / (step * last as f64);
        let slope = slope.clamp(SLOPES.0, SLOPES.1);
        (self.rate(end) * (slope * step * steps).exp()).min(1e30)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::ThresholdController;
    use crate::evidence::FirstHints;
    use crate::objective::Objective;
    use crate::page::VisitContext;
    use crate::rate::RateDistribution;
    use crate::signals::SignalModel;

    #[test]
    fn hinted_visits_above_the_budget_leave_a_twentieth_of_it_to_the_others() {
        let policy = ThresholdPolicy::new(Objective::Harmonic, 60.0, 3e7);
        let (prior, signals) = (RateDistribution::unknown(864_000.0), SignalModel::NONE);
        let page = PageHistory::first(
            1e9,
            &FirstHints::default(),
            &VisitContext { prior, signals, weight: 1.0 },
        );
        let mut sums = DemandSums::default();
        (0..1_000).for_each(|_| sums.add(&policy, &page));
        let budget = 1_000.0 / 864_000.0;
        let mut controller = ThresholdController::new(budget);
        controller.set_members([0]);
        let mut threshold = 1.0;
        for hinted in [0.0, 0.5 * budget, 100.0 * budget] {
            for n in 0..200 {
                let correction = RateCorrection { factor: 1.0, hinted };
                controller.on_report(0, &sums.report(0, n + 1, threshold, correction));
                threshold = controller.threshold().unwrap();
            }
            let others = sums.report(0, 0, threshold, RateCorrection { factor: 1.0, hinted: 0.0 });
            let expected = (budget - hinted).max(budget / 20.0);
            let ratio = others.at(threshold) / expected;
            assert!((0.95..1.05).contains(&ratio), "{ratio} with {hinted} hinted");
            controller = ThresholdController::new(budget);
            controller.set_members([0]);
        }
    }
}
