//! The objective of a schedule: the penalty of a stored copy, and the value of a fetch.
//!
//! A page of weight `μ` changes at rate `Δ`. A copy that has missed `n` changes costs `μ·C(n)` per
//! second:
//!
//! | objective | `C(n)` | expected at age `s`, with `x = Δs` | |
//! | --- | --- | --- | --- |
//! | harmonic | `H(n) = 1 + 1/2 + … + 1/n` | `c(s) = Ein(x)` | Kolobov, Peres, Lu, Horvitz, NeurIPS 2019 |
//! | freshness | 1 if `n > 0` | `c(s) = 1 − exp(−x)` | Azar, Horvitz, Lubetzky, Peres, Shahaf, PNAS 2018 |
//!
//! `Ein` is the mean of the harmonic number of a Poisson variable. Fetched every `T` seconds, the page
//! costs `J = (μ/T) ∫₀ᵀ c(s) ds`: with `ρ = 1/T`, that is `μρ ∫₀^(1/ρ) Ein(Δs) ds` for the harmonic
//! objective, and `μ(1 − (ρ/Δ)(1 − exp(−Δ/ρ)))` for freshness. One more fetch per second reduces the
//! cost by the **value**
//!
//! ```text
//! V(T) = −dJ/dρ = μ(T·c(T) − ∫₀ᵀ c(s) ds) = μ ∫₀ᵀ s·c′(s) ds
//!
//! harmonic    V(T) = (μ/Δ)(x − 1 + exp(−x))         grows without bound: no page starves
//! freshness   V(T) = (μ/Δ)(1 − (1 + x) exp(−x))     never above μ/Δ: fast pages may be given up
//! ```
//! `V` increases with `T`, so `J` is convex in `ρ`. A schedule is optimal for a budget if all pages
//! have the same value, which is the multiplier `λ` of the budget.
//!
//! If `Δ` is not known but Gamma(`a`, `b`), the expected penalty takes the place of `c`. Let
//! `q = ln(1 + T/b)` and `φ(k) = (1 − exp(−kq))/k`:
//!
//! ```text
//! harmonic    c′(s) = (1 − (b/(b+s))^a)/s           V(T) = μ(T − b·φ(a−1))
//! freshness   c(s) = 1 − (b/(b+s))^a                V(T) = μ(b·φ(a−1) − T·exp(−aq))
//! ```
//! These are the formulas for a known rate in the limit of a large shape.

use crate::rate::RateDistribution;
use crate::special::{decay_integral, ein};

/// The quantity that a schedule minimizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Objective {
    /// The harmonic number of missed changes. Each page is fetched again and again.
    Harmonic,
    /// The share of time in which a copy is stale. Pages that change too fast for the budget are
    /// given up.
    Freshness,
}

impl Objective {
    /// Returns the expected penalty of a copy that has missed a Poisson number of changes with this
    /// mean.
    pub fn penalty(self, missed: f64) -> f64 {
        match self {
            Self::Harmonic => ein(missed),
            Self::Freshness => -(-missed.max(0.0)).exp_m1(),
        }
    }

    /// Returns `h(x)`, where `V(T) = (μ/Δ)·h(ΔT)` is the value of a fetch of a page with a known rate.
    pub fn known_value(self, x: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        if x < 1e-3 {
            let (first, second) = self.small_terms();
            return x * x / 2.0 * (1.0 - first * x + second * x * x);
        }
        match self {
            Self::Harmonic => x + (-x).exp_m1(),
            Self::Freshness => -(-x).exp_m1() - x * (-x).exp(),
        }
    }

    /// Returns the time average of the expected penalty of a page with a known rate that is fetched
    /// each time that `x` changes are expected: `J/μ`.
    pub fn mean_penalty(self, x: f64) -> f64 {
        if x < 1e-6 { x.max(0.0) / 2.0 } else { self.penalty(x) - self.known_value(x) / x }
    }

    /// Returns the value of a fetch, `elapsed` seconds after the last one, of a page with weight 1 and
    /// this distribution of its rate. The unit is the penalty times seconds.
    pub fn value(self, rate: &RateDistribution, elapsed: f64) -> f64 {
        self.value_and_slope(rate, elapsed).0
    }

    /// Returns [`Self::value`] and its derivative by the elapsed time.
    pub(crate) fn value_and_slope(self, rate: &RateDistribution, elapsed: f64) -> (f64, f64) {
        let (a, b, t) = (rate.shape(), rate.time(), elapsed.max(0.0));
        let ratio = t / b;
        let q = ratio.ln_1p();
        let unchanged = (-a * q).exp();
        let slope = match self {
            Self::Harmonic if a * q < 1e-3 => -(-a * q).exp_m1(),
            Self::Harmonic => 1.0 - unchanged,
            Self::Freshness => a * ratio / (1.0 + ratio) * unchanged,
        };
        // The formulas below cancel for small times, where the series is exact enough.
        if (a + 2.0) * ratio < 1e-3 {
            let (first, second) = self.small_terms();
            let rest =
                1.0 - first * (a + 1.0) * ratio + second * (a + 1.0) * (a + 2.0) * ratio * ratio;
            return (a * ratio * t / 2.0 * rest, slope);
        }
        let k = a - 1.0;
        let integral = if (k * q).abs() < 1e-2 {
            b * decay_integral(k, q)
        } else {
            b * (1.0 - (1.0 + ratio) * unchanged) / k
        };
        let value = match self {
            Self::Harmonic => t - integral,
            Self::Freshness => integral - t * unchanged,
        };
        (value.max(0.0), slope)
    }

    /// Coefficients of the series of the value, relative to its first term.
    fn small_terms(self) -> (f64, f64) {
        match self {
            Self::Harmonic => (1.0 / 3.0, 1.0 / 12.0),
            Self::Freshness => (2.0 / 3.0, 1.0 / 4.0),
        }
    }
}
