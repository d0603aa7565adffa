//! The distribution of a page's change rate: a Gamma distribution.
//!
//! A page changes as a Poisson process of rate `Δ`. What is known of `Δ` is a Gamma distribution with
//! a shape `a` (a number of changes) and a time `b` (seconds), as if `a` changes had been seen in `b`
//! seconds: density `∝ Δ^(a−1) exp(−bΔ)`, mean `a/b`, variance `a/b²`. It is conjugate: a time `t` without a
//! change yields `(a, b + t)`; a change whose time is known yields `(a + 1, b + t)`.

use crate::special::{digamma, trigamma};

/// A Gamma distribution of a page's change rate. Both parameters are finite and positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateDistribution {
    shape: f64,
    time: f64,
}

impl RateDistribution {
    /// Bounds of the shape.
    const SHAPES: (f64, f64) = (1e-3, 1e9);
    /// Bounds of the time, in seconds.
    const TIMES: (f64, f64) = (1e-3, 1e18);
    /// Shape of the distribution for a page of which nothing is known: about two decades to each side
    /// of the mean.
    const UNKNOWN_SHAPE: f64 = 0.8;
    /// The distribution for a page of which nothing is known: a mean of one change in ten days.
    pub const UNKNOWN: Self =
        Self { shape: Self::UNKNOWN_SHAPE, time: Self::UNKNOWN_SHAPE * 864_000.0 };

    /// Returns the distribution for a page of which only the mean time between changes of such pages is
    /// known, in seconds.
    #[must_use]
    pub fn unknown(change_interval: f64) -> Self {
        Self::new(Self::UNKNOWN_SHAPE, Self::UNKNOWN_SHAPE * change_interval)
    }

    /// Creates a distribution from a shape (changes) and a time (seconds). Values out of range are
    /// moved into it; NaN becomes the value of [`Self::UNKNOWN`].
    #[must_use]
    pub fn new(shape: f64, time: f64) -> Self {
        let or = |value: f64, other| if value.is_nan() { other } else { value };
        Self {
            shape: or(shape, Self::UNKNOWN.shape).clamp(Self::SHAPES.0, Self::SHAPES.1),
            time: or(time, Self::UNKNOWN.time).clamp(Self::TIMES.0, Self::TIMES.1),
        }
    }

    /// Returns the shape, in changes.
    pub fn shape(&self) -> f64 {
        self.shape
    }

    /// Returns the time, in seconds.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Returns the mean rate, in changes per second.
    pub fn mean(&self) -> f64 {
        self.shape / self.time
    }

    /// Returns the mode of the rate, in changes per second: the MAP estimate.
    pub fn mode(&self) -> f64 {
        (self.shape - 1.0).max(0.0) / self.time
    }

    /// Returns the mean of the natural logarithm of the rate.
    pub fn log_mean(&self) -> f64 {
        digamma(self.shape) - self.time.ln()
    }

    /// Returns the variance of the natural logarithm of the rate.
    pub fn log_variance(&self) -> f64 {
        trigamma(self.shape)
    }

    /// Returns the distribution whose logarithm has this mean and this variance, with a shape within
    /// `shapes`.
    #[must_use]
    pub fn from_log_moments(log_mean: f64, log_variance: f64, shapes: (f64, f64)) -> Self {
        let shape = inverse_trigamma(log_variance, shapes);
        Self::new(shape, (digamma(shape) - log_mean).exp())
    }
}

/// Returns the shape within `range` whose trigamma function is nearest to `value`, by bisection: the
/// function decreases.
fn inverse_trigamma(value: f64, (mut low, mut high): (f64, f64)) -> f64 {
    for _ in 0..24 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > value {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}
