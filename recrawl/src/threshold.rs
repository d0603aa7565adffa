//! The threshold policy: a page is fetched when the value of a fetch passes a threshold `λ` that is
//! common to all pages and all agents.
//!
//! The value of a page grows with the time since its last fetch (see [`crate::objective`]). Without
//! change signals, it is a function of that time only, so the time at which it passes `λ` is known as
//! soon as the page was fetched: its due time. Nothing has to be compared with other pages.
//!
//! **Equivalence.** The value at time `T` after a fetch is the marginal value `−dJ/dρ` of a page that
//! is fetched each `T` seconds. A page that is always fetched when its value passes `λ` is fetched
//! periodically, with the interval at which its marginal value equals `λ`. If all pages do so with one
//! `λ`, the marginal values of all pages are equal, which is the condition of the periodic optimum for
//! the budget `Σ 1/T`. So fetching by a common threshold *is* the periodic optimum, and only `λ` has
//! to be agreed on (Busa-Fekete, Zimmert, György and others, arXiv 2502.02430, 2025).
//!
//! For an estimated rate, the value is that of the expected penalty under the Gamma distribution of
//! the rate. For a large shape it is the value of the known rate.
//!
//! The equation `V(T) = λ` is solved by Newton's method on the logarithms, where it is nearly linear,
//! within a bracket. It takes about four steps, and never more than `STEPS_MAX`.

use crate::objective::Objective;
use crate::rate::RateDistribution;
use crate::signals::SignalModel;

/// Bound of the steps of a solution. A step that leaves the bracket is replaced by a bisection.
const STEPS_MAX: usize = 60;
/// Relative error of an interval.
const PRECISION: f64 = 1e-10;

/// The objective, and the bounds of intervals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ThresholdPolicy {
    objective: Objective,
    interval_min: f64,
    interval_max: f64,
}

impl ThresholdPolicy {
    /// Lowest and highest bound, in seconds: a second and a hundred years.
    const BOUNDS: (f64, f64) = (1.0, 3_155_760_000.0);
    /// Bounds within which an interval is solved where the policy's own bounds do not hold.
    const SOLVED: (f64, f64) = (1e-3, 1e15);

    /// Creates a policy whose intervals lie between two bounds, in seconds. Bounds are moved into the
    /// range of a second to a hundred years; a maximum below the minimum is raised to it.
    #[must_use]
    pub fn new(objective: Objective, interval_min: f64, interval_max: f64) -> Self {
        let bounded = |value: f64, or: f64| {
            let value = if value.is_nan() { or } else { value };
            value.clamp(Self::BOUNDS.0, Self::BOUNDS.1)
        };
        let interval_min = bounded(interval_min, Self::BOUNDS.0);
        let interval_max = bounded(interval_max, Self::BOUNDS.1).max(interval_min);
        Self { objective, interval_min, interval_max }
    }

    /// Returns the objective.
    pub fn objective(&self) -> Objective {
        self.objective
    }

    /// Returns the bounds of intervals, in seconds.
    pub fn bounds(&self) -> (f64, f64) {
        (self.interval_min, self.interval_max)
    }

    /// Returns the time from a fetch to the next, in seconds, of a page without change signals. It is
    /// finite and within the bounds for all arguments: a weight that is not positive yields the
    /// maximum, and so does a threshold that is NaN; a threshold that is not positive yields the
    /// minimum.
    pub fn interval(&self, weight: f64, rate: &RateDistribution, threshold: f64) -> f64 {
        self.solve(weight, rate, threshold, (self.interval_min, self.interval_max))
    }

    /// Returns the time from a fetch to the next, in seconds, of a page for which `n_signals` change
    /// signals came since the fetch. It is within the bounds for all arguments. Each signal makes it
    /// shorter. A page without a signal may wait longer than [`Self::interval`], if the model says
    /// that most changes are signaled.
    pub fn interval_with_signals(
        &self,
        weight: f64,
        rate: &RateDistribution,
        threshold: f64,
        n_signals: u32,
        model: &SignalModel,
    ) -> f64 {
        if model.is_silent() {
            return self.interval(weight, rate, threshold);
        }
        let interval = self.solve(weight, rate, threshold, Self::SOLVED);
        let is_given_up = interval >= Self::SOLVED.1;
        if is_given_up {
            return self.interval_max;
        }
        let signaled = model.interval(self.objective, rate.mean(), interval, n_signals);
        signaled.clamp(self.interval_min, self.interval_max)
    }

    /// Returns the intervals for thresholds that increase, within 1e-4. It takes less time than to
    /// solve for each of them alone.
    pub(crate) fn intervals<const N: usize>(
        &self,
        weight: f64,
        rate: &RateDistribution,
        thresholds: impl Fn(usize) -> f64,
    ) -> [f64; N] {
        let mut intervals = [self.interval_max; N];
        let is_positive = weight > 0.0 && weight.is_finite();
        if !is_positive {
            return intervals;
        }
        let (interval_min, interval_max) = (self.interval_min, self.interval_max);
        let lowest = self.objective.value(rate, interval_min);
        let highest = self.objective.value(rate, interval_max);
        // Interval, target and d ln T / d ln V of the last threshold.
        let mut last: Option<(f64, f64, f64)> = None;
        for (i, to) in intervals.iter_mut().enumerate() {
            let target = thresholds(i) / weight;
            if target >= highest {
                break;
            }
            if target <= lowest {
                *to = interval_min;
                continue;
            }
            let guess = match last {
                Some((interval, before, slope)) => interval * (target / before).powf(slope),
                None => {
                    let guess = self.first_guess(rate, target);
                    self.newton(rate, target, guess, (interval_min, interval_max), 1e-4)
                }
            };
            let guess = guess.clamp(interval_min, interval_max);
            let (value, by_time) = self.objective.value_and_slope(rate, guess);
            let (missing, slope) = (target / value - 1.0, value / (guess * by_time));
            let step = missing * slope;
            *to = if missing.abs() < 0.01 && step.abs() < 0.01 {
                guess * (1.0 + step)
            } else {
                self.newton(rate, target, guess, (interval_min, interval_max), 1e-4)
            };
            *to = to.clamp(interval_min, interval_max);
            last = Some((*to, target, slope));
        }
        intervals
    }

    /// Returns the interval within two bounds at which the value passes the threshold.
    fn solve(
        &self,
        weight: f64,
        rate: &RateDistribution,
        threshold: f64,
        (interval_min, interval_max): (f64, f64),
    ) -> f64 {
        let target = threshold / weight;
        if weight.is_nan() || weight <= 0.0 || target.is_nan() {
            return interval_max;
        }
        if self.objective.value(rate, interval_min) >= target {
            return interval_min;
        }
        if self.objective.value(rate, interval_max) <= target {
            return interval_max;
        }
        let guess = self.first_guess(rate, target);
        self.newton(rate, target, guess, (interval_min, interval_max), PRECISION)
    }

    /// Returns the interval at which the value is `target`, which lies between those of the bounds.
    fn newton(
        &self,
        rate: &RateDistribution,
        target: f64,
        guess: f64,
        bounds: (f64, f64),
        precision: f64,
    ) -> f64 {
        let (mut low, mut high) = bounds;
        let mut at = if guess.is_finite() { guess.clamp(low, high) } else { (low * high).sqrt() };
        for _ in 0..STEPS_MAX {
            let (value, slope) = self.objective.value_and_slope(rate, at);
            if value < target {
                low = at;
            } else {
                high = at;
            }
            // Newton's step for ln V as a function of ln T.
            let newton = at * ((target / value).ln() * value / (at * slope)).exp();
            let is_inside = newton > low && newton < high;
            let next = if is_inside { newton } else { (low * high).sqrt() };
            let moved = (next / at - 1.0).abs();
            at = next;
            // The error after a step is about the square of the step.
            if moved * moved < precision {
                break;
            }
        }
        at.clamp(bounds.0, bounds.1)
    }

    /// Returns a guess from the interval of small times, where `V ≈ T²·a/(2b)`, and that of large
    /// times, where `V ≈ T`.
    fn first_guess(&self, rate: &RateDistribution, target: f64) -> f64 {
        let small = (2.0 * target / rate.mean()).sqrt();
        match self.objective {
            Objective::Harmonic => small + target,
            Objective::Freshness => small,
        }
    }
}
