//! Months, and minutes, of a crawl in simulated time: the crawl database, with all that it stores, scans and passes,
//! comes near the best periodic schedule of pages whose change rates it has to find out.

use super::recrawl::{TestCrawlDb, found, ok, revisit_data};
use crate::messages::{ChangeSignal, Commit, RevisitData, SignalSource};
use crivello_common::time::Timestamp;
use crivello_recrawl::controller::ThresholdController;
use crivello_recrawl::objective::Objective;
use crivello_recrawl::optimum::{KnownPage, multiplier};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;

const DAY: f64 = 86_400.0;

/// A page that changes at random times.
struct ChangingPage {
    url: String,
    known: KnownPage,
    rng: StdRng,
    /// Number of changes, and the time of the next.
    version: u64,
    next_change: f64,
    /// Time of the last change.
    changed: f64,
    /// Version at the last fetch.
    fetched: Option<u64>,
    /// Seconds since the start of the judged time in which the copy was fresh, and the harmonic
    /// penalty in seconds.
    fresh: f64,
    penalty: f64,
}

impl ChangingPage {
    fn new(seed: u64, n: usize, change_interval: f64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed ^ (n as u64 + 1).wrapping_mul(0x9e37_79b9));
        // Log-normal: 95 % lie within four decades. Half of the variance is between hosts.
        let mut host = StdRng::seed_from_u64(seed ^ (n as u64 / PAGES_PER_HOST as u64));
        let sigma = 10.0_f64.ln() / 2.0_f64.sqrt();
        let log = sigma * (normal(&mut host) + normal(&mut rng));
        let change_rate = log.exp() / change_interval;
        let known = KnownPage { weight: 1.0, change_rate };
        let next_change = exponential(&mut rng, change_rate);
        let url = format!("http://h{}.example/{n}", n / PAGES_PER_HOST);
        let (changed, fetched) = (0.0, None);
        let (version, fresh, penalty) = (0, 0.0, 0.0);
        Self { url, known, rng, version, next_change, changed, fetched, fresh, penalty }
    }

    /// Lets time pass until `now`, and counts what is judged from `judged` on.
    fn advance(&mut self, from: f64, now: f64, judged: f64) {
        let mut at = from;
        while at < now {
            let until = self.next_change.min(now);
            if let Some(version) = self.fetched {
                let seconds = until - at.max(judged).min(until);
                let missed = self.version - version;
                self.fresh += if missed == 0 { seconds } else { 0.0 };
                self.penalty += seconds * (1..=missed).map(|k| 1.0 / k as f64).sum::<f64>();
            }
            if self.next_change <= now {
                self.version += 1;
                self.changed = self.next_change;
                self.next_change += exponential(&mut self.rng, self.known.change_rate);
            }
            at = until;
        }
    }
}

const PAGES_PER_HOST: usize = 20;

fn normal(rng: &mut StdRng) -> f64 {
    let (u, v) = (1.0 - rng.random::<f64>(), rng.random::<f64>());
    (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
}

fn exponential(rng: &mut StdRng, rate: f64) -> f64 {
    -(1.0 - rng.random::<f64>()).ln() / rate
}

/// A crawl and its web. Times are in seconds since its start.
struct Months {
    n_pages: usize,
    /// Mean time between two fetches of a page, and between two changes in the middle of the pages.
    interval: f64,
    change_interval: f64,
    step: f64,
    /// Start and end of the judged time.
    judged: (f64, f64),
    objective: Objective,
    sets: Vec<String>,
    /// Time between two lists of changed pages; none if there are no lists. The lists of each second
    /// host are true, and those of the others name all pages.
    lists: Option<f64>,
    /// Factor by which the budget changes when the judged time begins.
    budget_factor: f64,
    /// Time between two passes, at least.
    pass_interval: f64,
}

/// Averages over the judged time.
#[derive(Debug)]
struct Outcome {
    fresh: f64,
    penalty: f64,
    /// Fetches, compared with the budget.
    spent: f64,
    n_starved: usize,
}

impl Months {
    fn budget(&self) -> f64 {
        self.n_pages as f64 / self.interval
    }

    fn pages(&self, seed: u64) -> Vec<ChangingPage> {
        let page = |n| ChangingPage::new(seed, n, self.change_interval);
        (0..self.n_pages).map(page).collect()
    }

    /// Lets the crawl database decide.
    fn run(&self, seed: u64) -> Outcome {
        let objective = match self.objective {
            Objective::Harmonic => "harmonic",
            Objective::Freshness => "freshness",
        };
        let mut sets = vec![
            "recrawl.policy=adaptive".to_owned(),
            format!("recrawl.rate={}", self.budget()),
            format!("recrawl.objective={objective}"),
        ];
        sets.extend(self.sets.iter().cloned());
        let sets: Vec<&str> = sets.iter().map(String::as_str).collect();
        let mut db = TestCrawlDb::new(&sets);
        let start = db.now;
        let mut controller = ThresholdController::new(self.budget());
        controller.set_members([0]);
        let mut pages = self.pages(seed);
        let by_url: std::collections::HashMap<_, _> =
            pages.iter().enumerate().map(|(n, page)| (found(&page.url).hash, n)).collect();
        let (mut n_found, mut n_fetches, mut n_judged) = (0, vec![0_u64; pages.len()], 0_u64);
        let mut last = 0.0;
        while last < self.judged.1 {
            let now = last + self.step;
            if now >= self.judged.0 {
                controller.set_budget(self.budget_factor * self.budget());
            }
            db.now = start + Duration::from_secs_f64(now);
            pages.iter_mut().for_each(|page| page.advance(last, now, self.judged.0));
            // All pages are found within their mean interval.
            let n = ((now / self.interval * self.n_pages as f64) as usize).min(self.n_pages);
            let found = pages[n_found..n].iter().map(|page| found(&page.url)).collect();
            db.commit(Commit { found, ..Commit::default() });
            n_found = n;
            if self.lists.is_some_and(|interval| now % interval < self.step) {
                let signals = self.signals(&pages[..n], now, start + Duration::from_secs_f64(now));
                db.commit(Commit { signals, ..Commit::default() });
            }
            db.queue_due();
            while db.n_queued() > 0 {
                db.fetch_each(|row| {
                    let n = by_url[&row.hash];
                    let page = &mut pages[n];
                    let is_same = page.fetched.replace(page.version) == Some(page.version);
                    if now >= self.judged.0 && row.generation() > 0 {
                        n_fetches[n] += 1;
                        n_judged += 1;
                    }
                    // Hosts with validators; with dates, which are true, or of each request; without both.
                    let revisit = row.revisit.as_ref();
                    let is_asked = revisit.is_some_and(|revisit| !revisit.validators.is_empty());
                    let kind = n / PAGES_PER_HOST % 4;
                    let modified = match kind {
                        1 => Some(page.changed),
                        2 => Some(now),
                        _ => None,
                    };
                    let is_not_modified = kind == 0 && is_asked && is_same;
                    let data = RevisitData {
                        interval: None,
                        is_not_modified,
                        modified: modified.map(|at| start + Duration::from_secs_f64(at)),
                        ..revisit_data(page.version)
                    };
                    (ok(if is_not_modified { 304 } else { 200 }), Some(data))
                });
            }
            let passes = self.pass_interval == 0.0 || now % self.pass_interval < self.step;
            while passes
                && let Some((commit, report)) =
                    db.crawldb.step_due_pass(db.now, &|| db.now).unwrap()
            {
                db.disk.commit(&commit.batch).unwrap();
                if let Some(report) = report {
                    controller.on_report(0, &report);
                    let threshold = controller.threshold().unwrap_or(1.0);
                    db.crawldb.set_recrawl_threshold(threshold, db.now);
                    break;
                }
            }
            last = now;
        }
        db.recount();
        let fetches = |page: &&u64| **page == 0;
        let n_starved = n_fetches.iter().filter(fetches).count();
        self.outcome(&pages, n_judged, n_starved)
    }

    /// Returns the changes since the last list.
    fn signals(&self, pages: &[ChangingPage], now: f64, at: Timestamp) -> Vec<ChangeSignal> {
        let is_listed = |n: usize, page: &ChangingPage| {
            let lies = n / PAGES_PER_HOST % 2 == 1;
            lies || page.changed > now - self.lists.unwrap_or_default()
        };
        let listed = pages.iter().enumerate().filter(|(n, page)| is_listed(*n, page));
        let signal = |page: &ChangingPage| ChangeSignal {
            url: found(&page.url).key(),
            source: SignalSource::List { modified: at },
        };
        listed.map(|(_, page)| signal(page)).collect()
    }

    fn outcome(&self, pages: &[ChangingPage], fetches: u64, n_starved: usize) -> Outcome {
        let seconds = self.judged.1 - self.judged.0;
        let mean = |of: fn(&ChangingPage) -> f64| {
            pages.iter().map(of).sum::<f64>() / (pages.len() as f64 * seconds)
        };
        let spent = fetches as f64 / (seconds * self.budget_factor * self.budget());
        Outcome { fresh: mean(|p| p.fresh), penalty: mean(|p| p.penalty), spent, n_starved }
    }

    /// Fetches each page at its interval.
    fn periodic(&self, seed: u64, intervals: &[f64]) -> Outcome {
        let mut pages = self.pages(seed);
        let mut phases = StdRng::seed_from_u64(seed);
        let (mut n_judged, mut n_starved) = (0, 0);
        for (page, interval) in pages.iter_mut().zip(intervals) {
            page.fetched = Some(0);
            let (mut last, mut at) = (0.0, interval.min(1e12) * phases.random::<f64>());
            let mut fetches = 0;
            while at < self.judged.1 {
                page.advance(last, at, self.judged.0);
                page.fetched = Some(page.version);
                fetches += u64::from(at >= self.judged.0);
                (last, at) = (at, at + interval);
            }
            page.advance(last, self.judged.1, self.judged.0);
            n_judged += fetches;
            n_starved += usize::from(fetches == 0);
        }
        self.outcome(&pages, n_judged, n_starved)
    }

    /// Fetches each page at the best interval for its known rate.
    fn best(&self, seed: u64) -> Outcome {
        let pages = self.pages(seed);
        let intervals = |lambda: f64| -> Vec<f64> {
            pages.iter().map(|page| page.known.periodic_interval(self.objective, lambda)).collect()
        };
        let lambda =
            multiplier(self.budget(), |lambda| intervals(lambda).iter().map(|t| 1.0 / t).sum());
        self.periodic(seed, &intervals(lambda))
    }

    fn uniform(&self, seed: u64) -> Outcome {
        self.periodic(seed, &vec![self.interval; self.n_pages])
    }
}

fn seed() -> u64 {
    let seed = std::env::var("CRIVELLO_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(|| rand::rng().random());
    println!("CRIVELLO_TEST_SEED={seed}");
    seed
}

fn months(objective: Objective) -> Months {
    Months {
        n_pages: 300,
        interval: 10.0 * DAY,
        change_interval: 10.0 * DAY,
        step: DAY / 24.0,
        judged: (60.0 * DAY, 120.0 * DAY),
        objective,
        sets: vec!["recrawl.interval-min=1h".to_owned(), "recrawl.interval-max=80d".to_owned()],
        lists: None,
        budget_factor: 1.0,
        pass_interval: 0.0,
    }
}

/// Pages of a news site: minutes instead of months.
fn minutes(objective: Objective) -> Months {
    Months {
        n_pages: 100,
        interval: 60.0,
        change_interval: 60.0,
        step: 1.0,
        judged: (600.0, 1_800.0),
        objective,
        sets: vec![
            "recrawl.interval-min=1s".to_owned(),
            "recrawl.interval-max=15m".to_owned(),
            "recrawl.change-interval=1m".to_owned(),
        ],
        lists: None,
        budget_factor: 1.0,
        pass_interval: 0.0,
    }
}

fn is_near_the_optimum(crawl: impl Fn(Objective) -> Months) {
    let seed = seed();
    for objective in [Objective::Harmonic, Objective::Freshness] {
        let crawl = crawl(objective);
        let (ours, best, uniform) = (crawl.run(seed), crawl.best(seed), crawl.uniform(seed));
        println!("{objective:?}\nours    {ours:?}\nbest    {best:?}\nuniform {uniform:?}");
        // The worth of lists is learned while the crawl is judged.
        let slack = if crawl.lists.is_some() { 0.15 } else { 0.04 };
        assert!((ours.spent - 1.0).abs() < slack, "the budget is not met");
        match objective {
            Objective::Harmonic => {
                assert!(ours.penalty < 1.1 * best.penalty, "far from the optimum");
                assert!(ours.penalty < 0.98 * uniform.penalty, "hardly better than uniform");
                assert_eq!(ours.n_starved, 0);
            }
            Objective::Freshness => {
                assert!(ours.fresh > 0.85 * best.fresh, "far from the optimum");
                assert!(ours.fresh > 0.97 * uniform.fresh, "worse than uniform");
            }
        }
    }
}

/// Also with what is lost in rows, passes and whole seconds. The bounds are wide, because a few hundred
/// pages differ much from seed to seed. (With 2,000 pages and half a year, the policy alone is within
/// 5 %: see the tests of the crate.)
#[test]
fn pages_are_fetched_nearly_as_by_the_best_schedule_with_known_rates() {
    is_near_the_optimum(months);
}

#[test]
fn so_are_pages_that_change_each_minute() {
    is_near_the_optimum(minutes);
}

/// True lists help, lies cost little, and the budget is met with both.
#[test]
fn so_are_pages_of_which_lists_tell_changes() {
    is_near_the_optimum(|objective| Months { lists: Some(0.5 * DAY), ..months(objective) });
}

/// Neither a pause nor a burst follows. With 300 pages chance alone would miss the budget by a third every few runs.
#[test]
fn another_budget_is_met_within_days() {
    let seed = seed();
    for budget_factor in [0.5, 2.0] {
        let judged = (30.0 * DAY, 35.0 * DAY);
        let (pass_interval, n_pages) = (DAY / 2.0, 4_000);
        let months = months(Objective::Harmonic);
        let crawl = Months { n_pages, judged, budget_factor, pass_interval, ..months };
        let outcome = crawl.run(seed);
        println!("budget times {budget_factor}: {outcome:?}");
        assert!((outcome.spent - 1.0).abs() < 0.35, "budget times {budget_factor}");
    }
}
