//! The best periodic schedule of pages with known change rates: for Poisson changes from the crate, and
//! for the other kinds of change from their own formulas. A page is fetched each `T` seconds with a
//! random phase. As in `crivello_recrawl::objective`, the value of a fetch is `V(T) = (μ/Δ)·v(ΔT)` with
//! `v(x) = ∫₀ˣ u·c′(u) du`, where `c(x)` is the expected penalty after a time in which `x` changes are
//! expected.

use crate::web::{BURST, Kind, PageModel, Web};
use crivello_recrawl::objective::Objective;
use crivello_recrawl::optimum::multiplier;

/// Returns the intervals of the best periodic schedule for a budget in fetches per second.
pub fn best_intervals(web: &Web, objective: Objective, budget: f64) -> Vec<f64> {
    let kind = web.pages[0].kind;
    let table = Table::new(kind, objective);
    let of_all = |lambda: f64| -> Vec<f64> {
        let interval = |page: &PageModel| table.solve(lambda * page.rate / page.weight) / page.rate;
        web.pages.iter().map(interval).collect()
    };
    let lambda = multiplier(budget, |lambda| of_all(lambda).iter().map(|t| 1.0 / t).sum());
    of_all(lambda)
}

/// `v(x)` at increasing `x`.
struct Table {
    xs: Vec<f64>,
    values: Vec<f64>,
}

impl Table {
    fn new(kind: Kind, objective: Objective) -> Self {
        let (mut xs, mut values) = (vec![0.0], vec![0.0]);
        let (mut x, mut value) = (0.0_f64, 0.0_f64);
        while x < 1e5 {
            let step = (0.002 * x).max(1e-4);
            let middle = x + step / 2.0;
            value += step * middle * slope(kind, objective, middle);
            x += step;
            xs.push(x);
            values.push(value);
        }
        Self { xs, values }
    }

    /// Returns the `x` at which `v(x)` passes a value: infinite if it never does, as for a page that is
    /// not worth a fetch.
    fn solve(&self, value: f64) -> f64 {
        let i = self.values.partition_point(|v| *v < value);
        match self.xs.get(i) {
            Some(_) if i > 0 => {
                let (low, high) = (self.values[i - 1], self.values[i]);
                let share = (value - low) / (high - low);
                self.xs[i - 1] + share * (self.xs[i] - self.xs[i - 1])
            }
            Some(x) => *x,
            // Beyond the table, a missed change costs less and less.
            None => f64::INFINITY,
        }
    }
}

/// Returns `c′(x)`.
fn slope(kind: Kind, objective: Objective, x: f64) -> f64 {
    match (kind, objective) {
        (Kind::Poisson, Objective::Freshness) => (-x).exp(),
        (Kind::Poisson, Objective::Harmonic) => -(-x).exp_m1() / x,
        (Kind::Regular, Objective::Freshness) => f64::from(u8::from(x < 1.0)),
        (Kind::Regular, Objective::Harmonic) => 1.0 / (x.floor() + 1.0),
        (Kind::Bursts, _) => {
            let size = f64::from(BURST);
            let bursts = x / size;
            match objective {
                Objective::Freshness => (-bursts).exp() / size,
                // In the mean: ln(n + 4) − ln(n) for many bursts.
                Objective::Harmonic if bursts > 200.0 => 1.0 / x,
                Objective::Harmonic => {
                    let mut probability = (-bursts).exp();
                    let mut sum = 0.0;
                    for n in 0..600_u32 {
                        let more: f64 = (1..=BURST).map(|k| 1.0 / f64::from(n * BURST + k)).sum();
                        sum += probability * more;
                        probability *= bursts / f64::from(n + 1);
                    }
                    sum / size
                }
            }
        }
    }
}
