//! Agents with late reports agree on one threshold, and together meet one budget.

use crate::schedulers::Adaptive;
use crate::seed::seed;
use crate::simulation::{Scheduler, Setting, simulate};
use crate::web::{DAY, HOUR, Kind, Signals, Web};
use crivello_recrawl::objective::Objective;
use crivello_recrawl::threshold::ThresholdPolicy;

/// Days at which the budget is doubled, an agent joins, and another leaves.
const DOUBLED: f64 = 100.0;
const JOINED: f64 = 130.0;
const LEFT: f64 = 150.0;
const HALVED: f64 = 170.0;
const END: f64 = 200.0;
/// Days after a change until the cluster has adapted.
const SETTLING: f64 = 2.0;

/// Changes the budget and the agents at given times.
struct Story {
    cluster: Adaptive,
    budget: f64,
}

impl Scheduler for Story {
    fn first(&mut self, page: usize, now: f64, age: f64) -> f64 {
        self.cluster.first(page, now, age)
    }

    fn visit(&mut self, page: usize, now: f64, is_changed: bool, age: f64) -> f64 {
        self.cluster.visit(page, now, is_changed, age)
    }

    fn hour(&mut self, now: f64) -> Vec<(usize, f64)> {
        let hour = (now / HOUR).round();
        if hour == DOUBLED * 24.0 {
            self.cluster.set_budget(2.0 * self.budget);
        }
        if hour == JOINED * 24.0 {
            self.cluster.join(9, 2.0 * self.budget, now);
        }
        if hour == LEFT * 24.0 {
            self.cluster.leave(2);
        }
        if hour == HALVED * 24.0 {
            self.cluster.set_budget(self.budget);
        }
        self.cluster.hour(now)
    }

    fn is_paced(&self) -> bool {
        false
    }
}

#[test]
fn agents_agree_and_meet_the_budget_through_changes() {
    let seed = seed();
    let web = Web::new(seed, 60, 30, Kind::Poisson);
    let budget = web.pages.len() as f64 / (5.0 * DAY);
    let setting = Setting {
        budget,
        discovery: 5.0 * DAY,
        judged: (0.0, END * DAY),
        seed,
        signals: vec![Signals::NONE; web.n_hosts],
    };
    let policy = ThresholdPolicy::new(Objective::Harmonic, HOUR, 365.0 * DAY);
    let cluster = Adaptive::cluster(&web, policy, budget, 5, 3.0 * HOUR);
    let mut story = Story { cluster, budget };
    let judgment = simulate(&web, &setting, &mut story);

    let phases = [
        ("start", 60.0, DOUBLED, 1.0),
        ("doubled", DOUBLED + SETTLING, JOINED, 2.0),
        ("joined", JOINED + SETTLING, LEFT, 2.0),
        ("left", LEFT + SETTLING, HALVED, 2.0),
        ("halved", HALVED + SETTLING, END, 1.0),
    ];
    for d in 165..185 {
        let f = judgment.fetches_by_day[d] as f64 / (DAY * budget);
        print!("{d}:{f:.2}/{:.0} ", story.cluster.thresholds[d * 24].0);
    }
    println!();
    for (name, start, end, share) in phases {
        let fetches: u64 = judgment.fetches_by_day[start as usize..end as usize].iter().sum();
        let spent = fetches as f64 / ((end - start) * DAY * budget * share);
        let hours = &story.cluster.thresholds[start as usize * 24..end as usize * 24 - 1];
        let apart = hours.iter().map(|(low, high)| high / low - 1.0).fold(0.0, f64::max);
        let low = hours.iter().map(|(low, _)| *low).fold(f64::MAX, f64::min);
        let high = hours.iter().map(|(_, high)| *high).fold(0.0, f64::max);
        println!(
            "{name:8} budget spent {spent:.4}, thresholds {:.2} % apart, within {:.2} %",
            100.0 * apart,
            100.0 * (high / low - 1.0)
        );
        assert!((spent - 1.0).abs() < 0.02, "the budget is not met");
        assert!(apart < 0.02, "the agents do not agree");
        assert!(high / low < 1.15, "the threshold does not settle");
    }
    for event in [DOUBLED, JOINED, LEFT, HALVED] {
        let hours = &story.cluster.thresholds[event as usize * 24 - 1..];
        let middles: Vec<f64> =
            hours[..480.min(hours.len())].iter().map(|(low, high)| (low * high).sqrt()).collect();
        println!("day {event}: turns by more than 3 %: {}", turns(&middles, 1.03));
        assert!(turns(&middles, 1.03) <= 2, "the threshold oscillates");
    }
}

/// Returns how often a series turns by more than a factor.
fn turns(series: &[f64], factor: f64) -> usize {
    let (mut extreme, mut is_rising, mut n) = (series[0], None, 0);
    for value in series {
        let moves_on = match is_rising {
            Some(true) => *value >= extreme,
            Some(false) => *value <= extreme,
            None => false,
        };
        if moves_on {
            extreme = *value;
        } else if value / extreme > factor || extreme / value > factor {
            n += usize::from(is_rising.is_some());
            is_rising = Some(*value > extreme);
            extreme = *value;
        }
    }
    n
}
