//! Measured intervals between fetches, compared with those of the model.
//!
//! The demand of an agent is what the model expects of pages without change signals on hosts that
//! answer in time. A visit ends an interval `τ` in which some number of fetches was expected: `τ/T` for
//! a page without signals that was stored to be due after `T`, and `∫ dt/T` for one with signals,
//! where `T` is the interval that it would have without them at the threshold of that time. The rate
//! of fetches, compared with the demand, is the number of visits divided by the sum of these. It is 1
//! if pages are fetched when they are due, above 1 if change signals make them due earlier, and below
//! 1 if signals allow to wait or if hosts are too slow. Neither a growing number of pages nor a change
//! of the threshold disturbs it, as they would disturb a measured rate.
//!
//! Visits that a hint brought about come when pages change, whatever the threshold is. A factor would
//! follow them only slowly: with each change of the threshold their share of the demand is another one.
//! So they are measured as a rate of their own.

use crate::page::PageHistory;
use crate::signals::SignalModel;
use crate::threshold::ThresholdPolicy;
use crate::threshold_history::ThresholdHistory;

/// Visits in which the weight of a measurement falls by a factor `e`, or seconds if these take longer.
/// Fewer visits do not determine the rate within 2 %; in less time, some hosts may count for all.
const WINDOW_VISITS: f64 = 1_500.0;
const WINDOW_SECONDS: f64 = 21_600.0;
/// Factor by which the window is shorter if hints bring about all visits. The share of intervals that they
/// cut short grows as their worth is learned, which a long window finds too late.
const HINTED_WINDOWS: f64 = 7.0;
/// Visits for which the model counts at first, and those in which that falls by a factor `e`.
const MODEL_VISITS: f64 = 50.0;
const MODEL_WINDOW: f64 = 300.0;
/// Bounds of the factor.
const CORRECTIONS: (f64, f64) = (1.0 / 16.0, 16.0);

/// Compares measured intervals with those of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateMeter {
    /// Visits that no hint brought about, those that are expected, and all visits; recent ones have more
    /// weight.
    visits: f64,
    expected: f64,
    all: f64,
    /// Number of all visits.
    n_visits: f64,
    /// Time of the first and of the last visit, in seconds since 1970; 0 before the first one.
    first: f64,
    last: f64,
    /// Hinted visits per second, where recent ones have more weight, as of the last one.
    hinted: f64,
    last_hinted: f64,
}

/// Correction of the demand of the model, as measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateCorrection {
    /// Factor by which the demand has to be multiplied to yield the measured rate of other visits.
    pub factor: f64,
    /// Hinted visits per second.
    pub hinted: f64,
}

impl RateMeter {
    /// Records a visit at `now` of a page as it was stored before, under `stored_due`; for a visit that a
    /// hint brought about, the time at which it would be due without the hint. Times are in seconds since
    /// 1970. `signals` is the model of the host's change signals.
    pub fn record_visit(
        &mut self,
        policy: &ThresholdPolicy,
        page: &PageHistory,
        signals: &SignalModel,
        thresholds: &ThresholdHistory,
        (stored_due, is_hinted): (f64, bool),
        now: f64,
    ) {
        let expected = if signals.is_silent() {
            page.age(now) / (stored_due - page.last_fetch()).max(1.0)
        } else {
            // Nothing is known of a page that another agent handed over.
            let Some(periods) = thresholds.between(page.last_fetch(), now) else { return };
            let (weight, rate) = (page.weight(), page.rate());
            periods
                .map(|(threshold, seconds)| seconds / policy.interval(weight, &rate, threshold))
                .sum()
        };
        if expected.is_finite() {
            let windows = ((now - self.last).max(0.0) / WINDOW_SECONDS).min(1.0 / WINDOW_VISITS);
            let hinted = 1.0 - self.visits / self.all.max(1.0);
            let remembered = (-windows * (1.0 + hinted * (HINTED_WINDOWS - 1.0))).exp();
            if self.first == 0.0 {
                self.first = now;
            }
            self.last = now;
            self.all = self.all * remembered + 1.0;
            self.n_visits += 1.0;
            self.visits = self.visits * remembered + if is_hinted { 0.0 } else { 1.0 };
            // One visit after a long break says little about the others.
            self.expected = self.expected * remembered + expected.min(CORRECTIONS.1);
        }
    }

    /// Records that a visit at `now` was brought about by a hint. The weight of hinted visits falls by a
    /// factor `e` within `window` seconds, which should be several times as long as lists of changes take
    /// to come again: they come in bursts.
    pub fn record_hinted(&mut self, now: f64, window: f64) {
        self.hinted = self.hinted_at(now, window) + 1.0 / window;
        self.last_hinted = now;
    }

    fn hinted_at(&self, now: f64, window: f64) -> f64 {
        self.hinted * (-(now - self.last_hinted).max(0.0) / window).exp()
    }

    /// Returns the factor by which the demand has to be multiplied to yield the measured rate of visits
    /// that no hint brought about.
    pub fn factor(&self) -> f64 {
        let model = MODEL_VISITS * (-self.n_visits / MODEL_WINDOW).exp() + 1.0;
        let factor = (self.visits + model) / (self.expected + model);
        factor.clamp(CORRECTIONS.0, CORRECTIONS.1)
    }

    /// Returns the hinted visits per second. Those of the first tenth of `window` count as if it had
    /// taken that whole time, so a first burst counts for little.
    pub fn hinted_rate(&self, now: f64, window: f64) -> f64 {
        let measured = (now - self.first).max(window / 10.0);
        self.hinted_at(now, window) / -(-measured / window).exp_m1()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_of_hinted_visits_count_as_their_mean_rate() {
        let (day, window) = (86_400.0, 864_000.0);
        let mut meter = RateMeter { first: 1.0, ..RateMeter::default() };
        for n in 0..500_u32 {
            // A thousand an hour each day.
            (0..1_000)
                .for_each(|k| meter.record_hinted(f64::from(n) * day + 3.6 * f64::from(k), window));
        }
        let rate = meter.hinted_rate(500.0 * day, window) * day;
        assert!((950.0..1_050.0).contains(&rate), "{rate} a day");
        let later = meter.hinted_rate(540.0 * day, window) * day;
        assert!(later < 30.0, "{later} a day");
        // The first burst does not count as a rate of a thousand an hour.
        let mut first = RateMeter { first: 1.0, ..RateMeter::default() };
        (0..1_000).for_each(|k| first.record_hinted(3.6 * f64::from(k), window));
        let rate = first.hinted_rate(3_600.0, window) * day;
        assert!(rate < 1_100.0, "{rate} a day");
        assert_eq!(RateMeter::default().hinted_rate(0.0, window), 0.0);
    }
}
