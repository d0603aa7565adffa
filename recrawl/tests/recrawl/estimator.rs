//! The estimate of a change rate, compared with the exact posterior of the same visits, and with the truth.

use crate::seed::seed;
use crivello_recrawl::evidence::{ChangeEvidence, ChangeSeen};
use crivello_recrawl::rate::RateDistribution;
use crivello_recrawl::signals::SignalModel;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const DAY: f64 = 86_400.0;

/// Returns the prior of a site whose pages change at this rate, within a factor of about three.
fn prior(rate: f64) -> RateDistribution {
    const SHAPE: f64 = 1.0;
    RateDistribution::new(SHAPE, SHAPE / rate)
}

/// A visit: time since the last one, and whether the page had changed.
type Visit = (f64, bool);

/// Returns visits at unequal times of a page that changes at this rate.
fn visits(rng: &mut SmallRng, rate: f64, n: usize) -> Vec<Visit> {
    let visit = |_| {
        let elapsed = DAY * 2.0_f64.powf(rng.random_range(-3.0..4.0));
        (elapsed, rng.random::<f64>() < -(-rate * elapsed).exp_m1())
    };
    (0..n).map(visit).collect()
}

fn estimate(visits: &[Visit], prior: &RateDistribution) -> RateDistribution {
    let mut evidence = ChangeEvidence::default();
    for &(elapsed, is_changed) in visits {
        let seen = match is_changed {
            true => ChangeSeen::Changed { age: None },
            false => ChangeSeen::Unchanged,
        };
        evidence = evidence.after_visit(prior, elapsed, seen, 0, &SignalModel::NONE);
    }
    evidence.posterior(prior)
}

/// Returns the mean of the exact posterior, by integration over the logarithm of the rate:
/// `∝ Δ^(a−1) exp(−bΔ) ∏_changed (1 − exp(−Δt)) ∏_unchanged exp(−Δt)`.
fn exact_mean(visits: &[Visit], prior: &RateDistribution) -> f64 {
    let (shape, time) = (prior.shape(), prior.time());
    let log_density = |log_rate: f64| {
        let rate = log_rate.exp();
        let likelihood = visits.iter().map(|&(elapsed, is_changed)| match is_changed {
            true => (-(-rate * elapsed).exp_m1()).max(1e-300).ln(),
            false => -rate * elapsed,
        });
        // One power more, because the integral is over the logarithm.
        shape * log_rate - time * rate + likelihood.sum::<f64>()
    };
    let grid: Vec<f64> = (0..4_000).map(|i| -25.0 + 20.0 * f64::from(i) / 4_000.0).collect();
    let most = grid.iter().map(|&x| log_density(x)).fold(f64::MIN, f64::max);
    let weights: Vec<f64> = grid.iter().map(|&x| (log_density(x) - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    grid.iter().zip(&weights).map(|(x, weight)| x.exp() * weight).sum::<f64>() / sum
}

#[test]
fn estimates_are_near_the_mean_of_the_exact_posterior() {
    let mut rng = SmallRng::seed_from_u64(seed());
    let (prior, mut worst) = (prior(1.0 / (4.0 * DAY)), 1.0_f64);
    for _ in 0..300 {
        let rate = 2.0_f64.powf(rng.random_range(-4.0..3.0)) / DAY;
        let n = rng.random_range(1..40);
        let visits = visits(&mut rng, rate, n);
        let ratio = estimate(&visits, &prior).mean() / exact_mean(&visits, &prior);
        worst = worst.max(ratio).max(1.0 / ratio);
    }
    println!("worst ratio {worst:.3}");
    assert!(worst < 1.25, "{worst}");
}

/// Changes per visits would say that a page that changed at each visit changes as often as it is visited.
#[test]
fn the_estimate_is_not_biased_towards_the_rate_of_visits() {
    let mut rng = SmallRng::seed_from_u64(seed());
    for factor in [0.25, 1.0, 3.0] {
        let rate = factor / DAY;
        let n_pages = 400;
        let mean = (0..n_pages)
            .map(|_| {
                let visits: Vec<Visit> =
                    (0..40).map(|_| (DAY, rng.random::<f64>() < -(-factor).exp_m1())).collect();
                estimate(&visits, &prior(rate)).mean()
            })
            .sum::<f64>()
            / f64::from(n_pages);
        let ratio = mean / rate;
        println!("{factor} changes a visit: estimated {ratio:.3} of the truth");
        assert!((0.75..1.25).contains(&ratio), "{factor}: {ratio}");
    }
}

#[test]
fn a_date_that_is_true_teaches_more_than_a_change_alone() {
    let mut rng = SmallRng::seed_from_u64(seed());
    let rate = 6.0 / DAY;
    // The site changes less often than this page.
    let prior = prior(rate / 6.0);
    let (mut with, mut without) = (0.0, 0.0);
    for _ in 0..200 {
        let (mut dated, mut plain) = (ChangeEvidence::default(), ChangeEvidence::default());
        for _ in 0..20 {
            // The time since the last of the changes; the page changes six times between two visits.
            let age = -rng.random::<f64>().max(1e-9).ln() / rate;
            let seen = ChangeSeen::Changed { age: Some(age) };
            let undated = ChangeSeen::Changed { age: None };
            dated = dated.after_visit(&prior, DAY, seen, 0, &SignalModel::NONE);
            plain = plain.after_visit(&prior, DAY, undated, 0, &SignalModel::NONE);
        }
        let error =
            |evidence: &ChangeEvidence| (evidence.posterior(&prior).mean() / rate).ln().powi(2);
        with += error(&dated);
        without += error(&plain);
    }
    println!("squared error of the logarithm: {with:.2} with dates, {without:.2} without");
    assert!(with < without / 2.0, "{with} {without}");
}
