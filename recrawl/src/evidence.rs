//! Evidence of the change rate of one page from its visits, in two numbers.
//!
//! The evidence of a page is a Gamma-shaped likelihood of its rate `Δ`: `changes` and `time`, as if so
//! many changes had been seen in so many seconds. With the prior Gamma(`α`, `β`) of its host and path
//! prefix, the distribution of its rate is Gamma(`α + changes`, `β + time`). The prior stays apart, so
//! that a page profits from what is learned later about its neighbors.
//!
//! **Update.** A visit `t` seconds after the last one finds the page unchanged with probability
//! `exp(−Δt)`: the time grows by `t`, which is exact. It finds it changed with probability
//! `1 − exp(−Δt)`; nobody knows how often it changed. The product with the Gamma(`a`, `b`) before the
//! visit is no Gamma distribution, but has closed moments. With `q = ln(1 + t/b)`:
//!
//! ```text
//! E[Δ]  = a/b · (1 − exp(−(a+1)q)) / (1 − exp(−aq))
//! E[Δ²] = a(a+1)/b² · (1 − exp(−(a+2)q)) / (1 − exp(−aq))
//! ```
//! The Gamma distribution with the same mean and variance takes its place (assumed density
//! filtering). A change within a short time counts as one change in no time, as it should. A change
//! within a time in which the page surely changes has no information, and counts as nothing. So, unlike
//! changes per visits, the estimate is not biased towards the rate of visits.
//!
//! If the time of the last change is known (`Last-Modified`), the likelihood `Δ exp(−Δ·age)` is a
//! Gamma density: one change in that time (the estimator with last-modified dates of Cho and
//! Garcia-Molina 2003). If change signals came, the time of the visit depends on changes, and the
//! signals have to be part of the likelihood. For `n` signals with recall `r` and false rate `ν`
//! (see [`crate::signals`]) it is, for a page that has changed,
//!
//! ```text
//! exp(−rΔt)(rΔ + ν)^n − exp(−Δt) ν^n
//! ```
//! a sum of Gamma densities with closed moments, and `exp(−Δt)` as before for one that has not.
//!
//! **Forgetting.** Pages change their habits. Evidence of more than [`CHANGES_MAX`] changes is scaled
//! down to as many, and its weight falls by a factor `e` in [`MEMORY_SECONDS`].
//!
//! The reference for tests is the exact posterior mode for irregular visits, which solves
//! `Σ_changed t/(exp(Δt) − 1) = Σ_unchanged t` (Cho and Garcia-Molina, ACM TOIT 3(3), 2003), with
//! `(α − 1)/Δ − β` added for the prior.

use crate::rate::RateDistribution;
use crate::signals::SignalModel;

/// Number of changes that the evidence of a page remembers. The rate of a page that changes often is
/// known within 15 %, which costs less than a percent of the objective.
pub const CHANGES_MAX: f64 = 48.0;
/// Time in which the weight of evidence falls by a factor `e`: two years, in seconds.
pub const MEMORY_SECONDS: f64 = 63_115_200.0;
/// Largest number of signals of an interval that the likelihood takes into account.
const SIGNALS_MAX: u32 = 64;
/// Shortest age of a `Last-Modified` date that is believed, in seconds. A page that is made for each
/// request is as old as the request.
const AGE_MIN: f64 = 60.0;

/// Evidence of the change rate of one page from its visits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChangeEvidence {
    changes: f64,
    time: f64,
}

/// The change of a page that a visit found, compared with the last one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChangeSeen {
    /// The page is unchanged, or the server answered 304.
    Unchanged,
    /// The page has changed at least once. `age` is the time since its last change in seconds, if the
    /// server gives a date. It is believed, unless it is below a minute, as of pages that are made for each
    /// request, or before the last visit.
    Changed {
        /// Time since the last change, in seconds.
        age: Option<f64>,
    },
}

/// Date and lifetime that the server gives at the first fetch, before any comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FirstHints {
    /// Time since `Last-Modified`, or since the `lastmod` of a sitemap, in seconds.
    pub age: Option<f64>,
    /// Lifetime by `Cache-Control: max-age` or `Expires`, in seconds.
    pub lifetime: Option<f64>,
}

impl FirstHints {
    /// Number of changes for which a date counts. In a steady state the time since the last change is
    /// exponential with the rate of changes, so a true date would count as one.
    const DATE_WEIGHT: f64 = 0.7;
    /// Number of changes for which a lifetime counts. Most are the same for all pages of a server.
    const LIFETIME_WEIGHT: f64 = 0.1;
}

impl ChangeEvidence {
    /// Creates evidence from its two numbers: changes, and seconds. NaN and negative values become 0.
    #[must_use]
    pub fn new(changes: f64, time: f64) -> Self {
        let positive = |value: f64| if value.is_nan() { 0.0 } else { value.clamp(0.0, 1e18) };
        Self { changes: positive(changes), time: positive(time) }
    }

    /// Returns the evidence of a first fetch.
    #[must_use]
    pub fn from_hints(hints: &FirstHints) -> Self {
        let usable = |value: &f64| value.is_finite() && *value >= AGE_MIN;
        let of = |weight: f64, seconds: Option<f64>| match seconds.filter(usable) {
            Some(seconds) => (weight, weight * seconds.min(MEMORY_SECONDS * 10.0)),
            None => (0.0, 0.0),
        };
        let date = of(FirstHints::DATE_WEIGHT, hints.age);
        let lifetime = of(FirstHints::LIFETIME_WEIGHT, hints.lifetime);
        Self::new(date.0 + lifetime.0, date.1 + lifetime.1)
    }

    /// Returns the number of changes.
    pub fn changes(&self) -> f64 {
        self.changes
    }

    /// Returns the time in which they were seen, in seconds.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Returns the distribution of the rate of a page with this prior.
    pub fn posterior(&self, prior: &RateDistribution) -> RateDistribution {
        RateDistribution::new(prior.shape() + self.changes, prior.time() + self.time)
    }

    /// Returns the evidence after a visit, `elapsed` seconds after the last one, before which
    /// `n_signals` change signals came. Nothing is learned if the elapsed time is not positive and
    /// finite.
    #[must_use]
    pub fn after_visit(
        &self,
        prior: &RateDistribution,
        elapsed: f64,
        seen: ChangeSeen,
        n_signals: u32,
        model: &SignalModel,
    ) -> Self {
        if !(elapsed > 0.0 && elapsed.is_finite()) {
            return *self;
        }
        let remembered = (-elapsed / MEMORY_SECONDS).exp();
        let old = Self::new(self.changes * remembered, self.time * remembered);
        let added = match seen {
            ChangeSeen::Unchanged => Self { changes: 0.0, time: elapsed },
            ChangeSeen::Changed { age: Some(age) }
                if n_signals == 0 && (AGE_MIN..=elapsed).contains(&age) =>
            {
                let share = model.recall();
                Self { changes: 1.0, time: share * elapsed + (1.0 - share) * age }
            }
            ChangeSeen::Changed { .. } => {
                let n_signals = if model.is_silent() { 0 } else { n_signals.min(SIGNALS_MAX) };
                changed(&old.posterior(prior), elapsed, n_signals, model)
            }
        };
        let (changes, time) = (old.changes + added.changes, old.time + added.time);
        let scale = (CHANGES_MAX / changes).min(1.0);
        Self::new(changes * scale, time * scale)
    }
}

/// Returns what a visit that finds a change adds to the shape and the time of a distribution.
fn changed(
    before: &RateDistribution,
    elapsed: f64,
    n_signals: u32,
    model: &SignalModel,
) -> ChangeEvidence {
    let a = before.shape();
    // Without signals, a model of signals says that changes are rarer.
    let b = before.time() + model.recall() * elapsed;
    let q = ((1.0 - model.recall()) * elapsed / b).ln_1p();
    // Terms of the difference without a true signal.
    let mut moments = [0.0, 1.0, 2.0].map(|j: f64| -(-(a + j) * q).exp_m1());
    // Terms with k true signals, relative to the term without one.
    let mut term = 1.0;
    let odds = model.recall() / model.false_rate().max(1e-15);
    for k in 0..n_signals {
        let k = f64::from(k);
        term *= (f64::from(n_signals) - k) / (k + 1.0) * odds * (a + k) / b;
        let shape = a + k + 1.0;
        moments[0] += term;
        moments[1] += term * shape / a;
        moments[2] += term * shape * (shape + 1.0) / (a * (a + 1.0));
        if term > 1e100 {
            term *= 1e-100;
            moments = moments.map(|moment| moment * 1e-100);
        }
    }
    let mean = a / b * moments[1] / moments[0];
    let square = a * (a + 1.0) / (b * b) * moments[2] / moments[0];
    let variance = square - mean * mean;
    let (shape, time) = (mean * mean / variance, mean / variance);
    if !(shape.is_finite() && time.is_finite()) {
        return ChangeEvidence::default();
    }
    ChangeEvidence::new(shape - before.shape(), time - before.time())
}
