//! The policy with estimated rates is near the best periodic schedule of its objective with known
//! rates, at the same budget, and better than other rules.

use crate::schedulers::{Adaptive, Nutch, Periodic, StormCrawler};
use crate::seed::seed;
use crate::simulation::{Judgment, Scheduler, Setting, simulate};
use crate::web::{DAY, HOUR, Kind, Signals, Web};
use crate::yardstick::best_intervals;
use crivello_recrawl::objective::Objective;
use crivello_recrawl::threshold::ThresholdPolicy;

/// Each page may be fetched each ten days in the mean, which is how often half of them change.
const MEAN_INTERVAL: f64 = 10.0 * DAY;
/// Longest interval: of the harmonic objective longer than the judged time, so that it keeps no page from
/// starving; of freshness it is that of the pages that are given up.
const fn interval_max(objective: Objective) -> f64 {
    match objective {
        Objective::Harmonic => 300.0 * DAY,
        Objective::Freshness => 150.0 * DAY,
    }
}

struct Case {
    web: Web,
    setting: Setting,
}

impl Case {
    fn new(kind: Kind) -> Self {
        let seed = seed();
        let web = Web::new(seed, 40, 50, kind);
        let setting = Setting {
            budget: web.pages.len() as f64 / MEAN_INTERVAL,
            discovery: 10.0 * DAY,
            judged: (100.0 * DAY, 260.0 * DAY),
            seed,
            signals: vec![Signals::NONE; web.n_hosts],
        };
        Self { web, setting }
    }

    fn run(&self, name: &str, scheduler: &mut dyn Scheduler) -> Judgment {
        let judgment = simulate(&self.web, &self.setting, scheduler);
        println!(
            "{name:24} penalty {:.4}, fresh {:.4}, budget spent {:.4}, pages not fetched {}",
            judgment.harmonic,
            judgment.freshness,
            judgment.spent,
            judgment.unfetched.len(),
        );
        judgment
    }

    fn adaptive(&self, objective: Objective) -> Adaptive {
        let policy = ThresholdPolicy::new(objective, HOUR, interval_max(objective));
        Adaptive::new(&self.web, policy, self.setting.budget)
    }

    /// Runs the policy, its optimum and the other rules with both objectives, and checks what holds
    /// for all kinds of change. Returns the penalty compared with the optimum, and the freshness.
    fn judge(&self) -> (f64, f64) {
        let n = self.web.pages.len();
        let others = [
            self.run("uniform", &mut Periodic(vec![MEAN_INTERVAL; n])),
            self.run("Nutch", &mut Nutch::new(n)),
            self.run("StormCrawler", &mut StormCrawler::new(n)),
        ];
        let [harmonic, freshness] = [Objective::Harmonic, Objective::Freshness].map(|objective| {
            let best = best_intervals(&self.web, objective, self.setting.budget);
            let optimum = self.run(&format!("optimum, {objective:?}"), &mut Periodic(best.clone()));
            let ours = self.run(&format!("adaptive, {objective:?}"), &mut self.adaptive(objective));
            (optimum, ours, best)
        });
        for other in others {
            assert!(other.spent > 0.99, "another rule did not spend the budget");
            assert!(harmonic.1.harmonic < 0.95 * other.harmonic);
            assert!(freshness.1.freshness > 1.05 * other.freshness);
        }
        // Pages that hardly change are not fetched in this time by the optimum either.
        let judged = self.setting.judged.1 - self.setting.judged.0;
        let starves = |page: &&usize| harmonic.2[**page] < judged / 4.0;
        let starved: Vec<_> = harmonic.1.unfetched.iter().filter(starves).collect();
        assert!(starved.is_empty(), "pages starve: {starved:?}");
        for (_, ours, _) in [&harmonic, &freshness] {
            assert!((ours.spent - 1.0).abs() < 0.02, "the budget is not met: {}", ours.spent);
        }
        let ratios = (
            harmonic.1.harmonic / harmonic.0.harmonic,
            freshness.1.freshness / freshness.0.freshness,
        );
        println!("penalty {:.4} of the optimum, freshness {:.4}", ratios.0, ratios.1);
        ratios
    }
}

/// The case of the model. `docs/design/recrawl.md` has what was measured.
#[test]
fn random_changes_are_within_five_percent_of_the_optimum() {
    let (penalty, freshness) = Case::new(Kind::Poisson).judge();
    assert!(penalty < 1.05);
    assert!(freshness > 0.95);
}

#[test]
fn regular_changes_are_within_five_percent_for_the_harmonic_objective() {
    let (penalty, freshness) = Case::new(Kind::Regular).judge();
    assert!(penalty < 1.05);
    // The optimum of this kind fetches a page at least once an interval of its changes, or never.
    // Under a model of random changes, some pages are between.
    assert!(freshness > 0.92);
}

#[test]
fn bursts_of_changes_are_within_a_few_percent() {
    let (penalty, freshness) = Case::new(Kind::Bursts).judge();
    assert!(penalty < 1.08);
    assert!(freshness > 0.95);
}

/// Sitemaps are read twice a day.
const POLL: f64 = 0.5 * DAY;

#[test]
fn true_signals_help_and_lies_cost_little() {
    judge_signals(Objective::Harmonic);
}

#[test]
fn true_signals_help_and_lies_cost_little_for_freshness() {
    judge_signals(Objective::Freshness);
}

fn judge_signals(objective: Objective) {
    let mut case = Case::new(Kind::Poisson);
    case.web = Web::new(case.setting.seed, 30, 30, Kind::Poisson);
    case.setting.budget = case.web.pages.len() as f64 / MEAN_INTERVAL;
    case.setting.judged = (150.0 * DAY, 270.0 * DAY);
    let mut run = |name: &str, of_host: &dyn Fn(usize, f64) -> Signals| {
        let of_host = |host: usize| {
            let pages = || case.web.pages.iter().filter(|page| page.host == host);
            let mean = pages().map(|page| page.rate).sum::<f64>() / pages().count() as f64;
            of_host(host, mean)
        };
        case.setting.signals = (0..case.web.n_hosts).map(of_host).collect();
        case.run(&format!("{name}, {objective:?}"), &mut case.adaptive(objective))
    };
    // Nine of ten changes are signaled, and nine of ten signals are true.
    let honest = |_, rate: f64| Signals { recall: 0.9, false_rate: 0.1 * rate, poll: POLL };
    // The sitemap says each day that each page has changed.
    let lying = |_, _| Signals { recall: 0.0, false_rate: 1.0 / DAY, poll: POLL };
    let mixed = |host: usize, rate: f64| match host % 3 {
        0 => honest(host, rate),
        1 => lying(host, rate),
        _ => Signals::NONE,
    };
    let without = run("no signals", &|_, _| Signals::NONE);
    let with_honest = run("honest", &honest);
    let with_lies = run("lying", &lying);
    let with_mixed = run("mixed", &mixed);
    for judgment in [&with_honest, &with_lies, &with_mixed] {
        assert!((judgment.spent - 1.0).abs() < 0.03, "the budget is not met");
    }
    match objective {
        Objective::Harmonic => {
            let ratio = |judgment: &Judgment| judgment.harmonic / without.harmonic;
            assert!(ratio(&with_honest) < 0.9);
            assert!(ratio(&with_mixed) < 0.98);
            assert!(ratio(&with_lies) < 1.05);
        }
        Objective::Freshness => {
            let ratio = |judgment: &Judgment| judgment.freshness / without.freshness;
            assert!(ratio(&with_honest) > 1.05);
            assert!(ratio(&with_mixed) > 1.01);
            assert!(ratio(&with_lies) > 0.96);
        }
    }
}

/// A host that gives true `Last-Modified` dates is learned faster.
#[test]
fn dates_of_changes_help() {
    let mut case = Case::new(Kind::Poisson);
    case.web = Web::new(case.setting.seed, 20, 50, Kind::Poisson);
    case.setting.budget = case.web.pages.len() as f64 / MEAN_INTERVAL;
    // The time in which rates are learned.
    case.setting.judged = (10.0 * DAY, 80.0 * DAY);
    let without = case.run("no dates", &mut case.adaptive(Objective::Harmonic));
    let with = case.run("dates", &mut case.adaptive(Objective::Harmonic).with_dates());
    assert!(with.harmonic < without.harmonic);
}
