//! The optimum over periodic rates, compared with a search that knows nothing of its condition.

use crate::seed::seed;
use crivello_recrawl::objective::Objective;
use crivello_recrawl::optimum::{KnownPage, multiplier};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

const N_PAGES: usize = 6;

fn cost(pages: &[KnownPage], objective: Objective, rates: &[f64]) -> f64 {
    let costs = pages.iter().zip(rates);
    costs.map(|(page, rate)| page.periodic_cost(objective, 1.0 / rate)).sum()
}

/// Moves budget between pairs of pages for as long as that lowers the cost.
fn searched(pages: &[KnownPage], objective: Objective, budget: f64) -> f64 {
    let mut rates = vec![budget / N_PAGES as f64; N_PAGES];
    let mut best = cost(pages, objective, &rates);
    let mut step = 0.5;
    while step > 1e-4 {
        let mut improved = false;
        for from in 0..N_PAGES {
            for to in (0..N_PAGES).filter(|&to| to != from) {
                let mut moved = rates.clone();
                let part = moved[from] * step;
                (moved[from], moved[to]) = (moved[from] - part, moved[to] + part);
                let now = cost(pages, objective, &moved);
                if now < best {
                    (best, rates, improved) = (now, moved, true);
                }
            }
        }
        if !improved {
            step /= 2.0;
        }
    }
    best
}

#[test]
fn no_search_finds_better_periodic_rates() {
    let mut rng = SmallRng::seed_from_u64(seed());
    for objective in [Objective::Harmonic, Objective::Freshness] {
        for _ in 0..20 {
            let pages: Vec<KnownPage> = (0..N_PAGES)
                .map(|_| KnownPage {
                    weight: rng.random_range(0.2..3.0),
                    change_rate: 10.0_f64.powf(rng.random_range(-2.0..1.0)),
                })
                .collect();
            let budget = rng.random_range(0.5..4.0);
            let total = |lambda| {
                pages.iter().map(|page| 1.0 / page.periodic_interval(objective, lambda)).sum()
            };
            let lambda = multiplier(budget, total);
            let rates: Vec<f64> =
                pages.iter().map(|page| 1.0 / page.periodic_interval(objective, lambda)).collect();
            let spent: f64 = rates.iter().sum();
            assert!(spent < budget * 1.01, "{spent} of {budget}");
            let (ours, theirs) =
                (cost(&pages, objective, &rates), searched(&pages, objective, budget));
            assert!(ours < theirs * 1.001, "{objective:?} {pages:?}: {ours}, search {theirs}");
        }
    }
}
