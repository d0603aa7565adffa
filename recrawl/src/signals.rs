//! Change signals: a newer `lastmod` in a sitemap, an entry in a feed, a ping.
//!
//! **Model** (arXiv 2502.02430). A page changes at rate `Δ`. Each change is signaled with probability
//! `r` (the recall); false signals come at rate `ν`. So signals come at rate `γ = rΔ + ν`, a signal is
//! true with probability `p = rΔ/γ` (the precision), and changes without a signal come at rate
//! `α = (1 − r)Δ`. After a time `s` and `n` signals, a page has missed `Poisson(αs) + Binomial(n, p)`
//! changes. Its expected penalty is, with `m = αs`,
//!
//! ```text
//! freshness   c(m, n) = 1 − exp(−m)(1 − p)^n
//! harmonic    c(m, n) = Ein(m) + p Σ_{k<n} I_k(m),    I_k(m) = ∫₀¹ exp(−mv)(1 − pv)^k dv
//! ```
//!
//! **Policy.** With signals, the time from fetch to fetch is random. The cost of a page is smallest if
//! it is fetched when its expected penalty reaches a level `c*` (the penalty never decreases between
//! fetches, so the optimal stopping rule is of this kind), where
//!
//! ```text
//! V(c*) = μ E ∫₀^∞ (c* − c(αs, n(s)))⁺ ds = λ,       n(s) ~ Poisson(γs)
//! ```
//! Without signals this is the value of [`crate::objective`]. There are two lower bounds of `V(c*)`:
//! that without signals (by Jensen's inequality, since the penalty has the same mean), which is tight
//! if single signals say little; and the sum over the first few `n` only, which is tight if a few
//! signals are enough for a fetch. This module takes the larger bound, so it reaches `λ` at the
//! smaller of two levels `c*`. The cost of a page is within 2 % of that of the best level (measured in
//! the tests).
//!
//! The rate is the mean of its distribution here, and `λ` is the threshold at which this rate would
//! have the interval of the whole distribution, so that a model with few signals changes little.

use crate::objective::Objective;

/// Terms of the sum over the number of signals.
const TERMS: u32 = 3;
/// Steps of a bisection.
const STEPS: usize = 14;

/// Reliability of the change signals of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SignalModel {
    recall: f64,
    false_rate: f64,
}

impl SignalModel {
    /// The model of a host without signals.
    pub const NONE: Self = Self { recall: 0.0, false_rate: 0.0 };
    /// Upper bound of the recall. Pages without a signal must be fetched at times, since the model
    /// may be wrong.
    const RECALL_MAX: f64 = 0.95;
    /// Recall below which signals are ignored.
    const RECALL_MIN: f64 = 0.02;
    /// Upper bound of the precision.
    const PRECISION_MAX: f64 = 0.999;

    /// Creates a model from the probability that a change is signaled, and the rate of false signals
    /// of a page per second. Values out of range are moved into it; NaN becomes 0.
    #[must_use]
    pub fn new(recall: f64, false_rate: f64) -> Self {
        let positive = |value: f64| if value.is_nan() { 0.0 } else { value.max(0.0) };
        Self {
            recall: positive(recall).min(Self::RECALL_MAX),
            false_rate: positive(false_rate).min(1.0),
        }
    }

    /// Returns the probability that a change is signaled.
    pub fn recall(&self) -> f64 {
        self.recall
    }

    /// Returns the rate of false signals of a page, per second.
    pub fn false_rate(&self) -> f64 {
        self.false_rate
    }

    /// Returns the probability that a signal is true, for a page that changes at this rate per second.
    pub fn precision(&self, change_rate: f64) -> f64 {
        let true_rate = self.recall * change_rate.max(0.0);
        let precision = true_rate / (true_rate + self.false_rate);
        if precision.is_nan() { 0.0 } else { precision.min(Self::PRECISION_MAX) }
    }

    /// Returns whether signals are too rarely true to be of use.
    pub fn is_silent(&self) -> bool {
        self.recall < Self::RECALL_MIN
    }

    /// Returns the time from a fetch to the next, in seconds, after `n_signals` signals, for a page
    /// that changes at this rate per second and that would be fetched each `plain_interval` seconds
    /// if it had no signals.
    pub(crate) fn interval(
        &self,
        objective: Objective,
        change_rate: f64,
        plain_interval: f64,
        n_signals: u32,
    ) -> f64 {
        let page = SignaledPage {
            objective,
            precision: self.precision(change_rate),
            signal_rate: self.recall * change_rate + self.false_rate,
            unsignaled_rate: (1.0 - self.recall) * change_rate,
        };
        let level = page.level(change_rate, plain_interval);
        page.missed_at(level, n_signals) / page.unsignaled_rate
    }
}

/// A page with a known change rate and change signals.
struct SignaledPage {
    objective: Objective,
    precision: f64,
    /// Signals per second, `γ`.
    signal_rate: f64,
    /// Changes without a signal per second, `α`.
    unsignaled_rate: f64,
}

impl SignaledPage {
    /// Returns the expected numbers of changes without a signal at which the page is fetched if no
    /// signal comes. It stands for the level `c*`, which is the penalty at that number.
    fn level(&self, change_rate: f64, plain_interval: f64) -> f64 {
        let plain = change_rate * plain_interval;
        let threshold = self.objective.known_value(plain) / change_rate;
        if self.truncated_value(plain) <= threshold {
            return plain;
        }
        bisect(plain * 1e-4, plain, |level| self.truncated_value(level) < threshold)
    }

    /// Returns the part of `V(c*)` with few signals, in seconds. The time is `w²` times its upper
    /// limit, with `w` by the midpoint rule, because signals end most intervals early.
    fn truncated_value(&self, level: f64) -> f64 {
        const N: u32 = 8;
        let limit = self.objective.penalty(level);
        let at = |i: u32| {
            let w = (f64::from(i) + 0.5) / f64::from(N);
            let missed = level * w * w;
            let signals = self.signal_rate * missed / self.unsignaled_rate;
            let mut probability = (-signals).exp();
            let mut sum = 0.0;
            for n in 0..TERMS {
                let below = limit - self.penalty(missed, n);
                if below <= 0.0 {
                    break;
                }
                sum += probability * below;
                probability *= signals / f64::from(n + 1);
            }
            2.0 * w * sum
        };
        level / self.unsignaled_rate / f64::from(N) * (0..N).map(at).sum::<f64>()
    }

    /// Returns the expected number of changes without a signal at which a page with `n` signals
    /// reaches the level.
    fn missed_at(&self, level: f64, n: u32) -> f64 {
        if n == 0 {
            return level;
        }
        let limit = self.objective.penalty(level);
        if self.penalty(0.0, n) >= limit {
            return 0.0;
        }
        match self.objective {
            Objective::Freshness => level + f64::from(n) * (-self.precision).ln_1p(),
            Objective::Harmonic => {
                bisect(level * 1e-4, level, |missed| self.penalty(missed, n) < limit)
            }
        }
    }

    /// Returns the expected penalty `c(m, n)`.
    fn penalty(&self, missed: f64, n: u32) -> f64 {
        let plain = self.objective.penalty(missed);
        if n == 0 {
            return plain;
        }
        match self.objective {
            Objective::Freshness => {
                let log = f64::from(n) * (-self.precision).ln_1p() - missed;
                -log.exp_m1()
            }
            Objective::Harmonic => plain + self.signaled_penalty(missed, f64::from(n)),
        }
    }

    /// Returns what `n` signals add to the harmonic penalty: `∫₀¹ exp(−mv)(1 − (1 − pv)^n)/v dv`, with
    /// `v = w²` by Gauss and Legendre's rule of eight points.
    fn signaled_penalty(&self, missed: f64, n: f64) -> f64 {
        let at = |w: f64| {
            let v = w * w;
            let none_true = (n * (-self.precision * v).ln_1p()).exp_m1();
            -2.0 * (-missed * v).exp() * none_true / w
        };
        GAUSS.iter().map(|(x, weight)| weight / 2.0 * (at(0.5 - x / 2.0) + at(0.5 + x / 2.0))).sum()
    }
}

/// Nodes above zero, and weights, of Gauss and Legendre's rule of eight points on −1 to 1.
const GAUSS: [(f64, f64); 4] = [
    (0.183_434_642_495_649_8, 0.362_683_783_378_362),
    (0.525_532_409_916_329, 0.313_706_645_877_887_3),
    (0.796_666_477_413_626_7, 0.222_381_034_453_374_48),
    (0.960_289_856_497_536_3, 0.101_228_536_290_376_26),
];

/// Returns the argument between two positive bounds below which the condition holds.
fn bisect(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..STEPS {
        let middle = (low * high).sqrt();
        if is_below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the cost per second, penalty and fetches at price `λ`, of fetching at a level.
    fn cost(page: &SignaledPage, level: f64, lambda: f64) -> f64 {
        const N: u32 = 400;
        let limit = page.objective.penalty(level);
        let (mut time, mut penalty) = (0.0, 0.0);
        for i in 0..N {
            let w = (f64::from(i) + 0.5) / f64::from(N);
            let missed = level * w * w;
            let step = level / page.unsignaled_rate * 2.0 * w / f64::from(N);
            let signals = page.signal_rate * missed / page.unsignaled_rate;
            let mut log_probability = -signals;
            for n in 0..400 {
                // Terms below this add nothing to a sum of 64-bit numbers.
                let counts = log_probability > -50.0;
                if !counts && f64::from(n) > signals {
                    break;
                }
                if counts {
                    let now = page.penalty(missed, n);
                    if now >= limit {
                        break;
                    }
                    time += step * log_probability.exp();
                    penalty += step * log_probability.exp() * now;
                }
                log_probability += (signals / f64::from(n + 1)).ln();
            }
        }
        (penalty + lambda) / time
    }

    #[test]
    fn levels_are_near_the_best() {
        judge_levels(Objective::Harmonic);
    }

    #[test]
    fn levels_are_near_the_best_for_freshness() {
        judge_levels(Objective::Freshness);
    }

    fn judge_levels(objective: Objective) {
        let mut worst = 1.0_f64;
        for (recall, precision) in
            [(0.1, 0.9), (0.5, 0.5), (0.5, 0.9), (0.9, 0.2), (0.9, 0.9), (0.95, 0.999), (0.3, 0.05)]
        {
            for plain in [0.05, 0.3, 1.0, 3.0, 10.0] {
                let model = SignalModel::new(recall, recall * (1.0 - precision) / precision);
                let page = SignaledPage {
                    objective,
                    precision: model.precision(1.0),
                    signal_rate: recall + model.false_rate(),
                    unsignaled_rate: 1.0 - recall,
                };
                let lambda = objective.known_value(plain);
                let found = cost(&page, page.level(1.0, plain), lambda);
                let levels = (-80..=80).map(|i| plain * (f64::from(i) / 8.0).exp2());
                let best = levels.map(|level| cost(&page, level, lambda)).fold(f64::MAX, f64::min);
                let none = cost(&page, plain, lambda);
                println!(
                    "{objective:?} recall {recall} precision {precision} plain {plain}: {:.4} (plain level {:.4})",
                    found / best,
                    none / best
                );
                worst = worst.max(found / best);
            }
        }
        println!("worst {worst}");
        assert!(worst < 1.03, "{worst}");
    }
}
