//! Optimal rates of pages whose change rates are known, and the multiplier `λ` of a budget.
//!
//! **Periodic** fetches (each `T = 1/ρ` seconds) cost least for a budget, because a fetch soon after
//! another one is worth little. Their condition is `V(T) = λ` (see [`crate::objective`]). The periodic
//! optimum is the yardstick of the tests, and the threshold policy reaches it.
//!
//! The sum of rates decreases with `λ`, so [`multiplier`] finds the `λ` of a budget by bisection.

use crate::objective::Objective;

/// A page whose weight and change rate are known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KnownPage {
    /// Weight `μ`.
    pub weight: f64,
    /// Change rate `Δ`, in changes per second.
    pub change_rate: f64,
}

impl KnownPage {
    /// Returns the optimal interval of periodic fetches, in seconds, for the multiplier `λ`. It is
    /// infinite for a page that is not worth a fetch, and for arguments that are not positive.
    pub fn periodic_interval(&self, objective: Objective, multiplier: f64) -> f64 {
        let (mu, delta) = (self.weight, self.change_rate);
        if !(mu > 0.0 && delta > 0.0 && multiplier > 0.0) {
            return f64::INFINITY;
        }
        let target = multiplier * delta / mu;
        if objective == Objective::Freshness && target >= 1.0 {
            return f64::INFINITY;
        }
        let (mut low, mut high) = (1e-12_f64, 1e12_f64);
        for _ in 0..50 {
            let middle = (low * high).sqrt();
            if objective.known_value(middle) < target {
                low = middle;
            } else {
                high = middle;
            }
        }
        (low * high).sqrt() / delta
    }

    /// Returns the weighted penalty per second of the page if it is fetched each `interval` seconds.
    /// The penalty of a page that is never fetched is infinite for the harmonic objective.
    pub fn periodic_cost(&self, objective: Objective, interval: f64) -> f64 {
        if interval.is_infinite() {
            return match objective {
                Objective::Harmonic => f64::INFINITY,
                Objective::Freshness => self.weight,
            };
        }
        self.weight * objective.mean_penalty(self.change_rate * interval)
    }
}

/// Returns the `λ` at which a total rate that decreases with `λ` meets `budget` (fetches per second),
/// within 1e-9 of its logarithm. A budget that no `λ` between 1e-15 and 1e18 meets yields the nearer
/// of the two.
pub fn multiplier(budget: f64, total_rate: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (1e-15_f64, 1e18_f64);
    for _ in 0..50 {
        let middle = (low * high).sqrt();
        if total_rate(middle) > budget {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}
