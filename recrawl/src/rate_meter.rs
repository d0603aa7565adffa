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

use crate::page::PageHistory;
use crate::signals::SignalModel;
use crate::threshold::ThresholdPolicy;
use crate::threshold_history::ThresholdHistory;

/// Visits in which the weight of a measurement falls by a factor `e`, or seconds if these take longer.
/// Fewer visits do not tell the rate within 2 %; in less time, some hosts may count for all.
const WINDOW_VISITS: f64 = 1_500.0;
const WINDOW_SECONDS: f64 = 21_600.0;
/// Visits for which the model counts.
const MODEL_VISITS: f64 = 50.0;
/// Bounds of the correction.
const CORRECTIONS: (f64, f64) = (1.0 / 16.0, 16.0);

/// Compares measured intervals with those of the model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateMeter {
    visits: f64,
    expected: f64,
    /// Time of the last visit, in seconds since 1970.
    last: f64,
}

impl RateMeter {
    /// Records a visit at `now` of a page as it was stored before, under `stored_due`. Times are in
    /// seconds since 1970. `signals` is the model of the host's change signals.
    pub fn record_visit(
        &mut self,
        policy: &ThresholdPolicy,
        page: &PageHistory,
        signals: &SignalModel,
        thresholds: &ThresholdHistory,
        stored_due: f64,
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
            let remembered = (-windows).exp();
            self.last = now;
            self.visits = self.visits * remembered + 1.0;
            // One visit after a long break says little about the others.
            self.expected = self.expected * remembered + expected.min(CORRECTIONS.1);
        }
    }

    /// Returns the factor by which the demand has to be multiplied to yield the measured rate.
    #[must_use]
    pub fn correction(&self) -> f64 {
        let factor = (self.visits + MODEL_VISITS) / (self.expected + MODEL_VISITS);
        factor.clamp(CORRECTIONS.0, CORRECTIONS.1)
    }
}
