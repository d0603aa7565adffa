//! A crawl of simulated pages by a simulated clock.

use crate::web::{Changes, DAY, HOUR, Signals, Web, exponential};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Decides when pages are fetched. Times are in seconds since the start.
pub trait Scheduler {
    /// Returns when a page is due that was fetched for the first time, and that last changed `age`
    /// seconds ago.
    fn first(&mut self, page: usize, now: f64, age: f64) -> f64;

    /// Returns when a page is due that was fetched again, and that last changed `age` seconds ago.
    fn visit(&mut self, page: usize, now: f64, is_changed: bool, age: f64) -> f64;

    /// Returns another due time after a change signal.
    fn signal(&mut self, _page: usize, _now: f64) -> Option<f64> {
        None
    }

    /// Called each hour. Returns pages whose due times move.
    fn hour(&mut self, _now: f64) -> Vec<(usize, f64)> {
        Vec::new()
    }

    /// Whether pages are fetched at a constant rate in the order of their due times, late or early,
    /// because the scheduler knows no budget.
    fn is_paced(&self) -> bool {
        true
    }
}

pub struct Setting {
    /// Fetches per second.
    pub budget: f64,
    /// Time in which all pages are fetched first.
    pub discovery: f64,
    /// Start and end of the time that is judged.
    pub judged: (f64, f64),
    pub seed: u64,
    /// Change signals by host.
    pub signals: Vec<Signals>,
}

/// Results of a simulation: averages over pages and time, by weight.
#[derive(Clone, Debug, Default)]
pub struct Judgment {
    /// Harmonic penalty.
    pub harmonic: f64,
    /// Share of fresh copies.
    pub freshness: f64,
    /// Fetches within the judged time, compared with the budget.
    pub spent: f64,
    /// Pages that were not fetched again within the judged time.
    pub unfetched: Vec<usize>,
    /// Fetches by day, from the start.
    pub fetches_by_day: Vec<u64>,
}

#[derive(Clone, Copy, PartialEq)]
struct At<T>(f64, T);

impl<T: PartialEq> Eq for At<T> {}

impl<T: PartialEq> PartialOrd for At<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T: PartialEq> Ord for At<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Event {
    First(usize),
    Change(usize),
    /// A page, and whether the signal is true.
    Signal(usize, bool),
    Hour,
    /// A paced scheduler may fetch a page.
    Turn,
}

struct PageState {
    changes: Changes,
    /// Changes since the last fetch, and their harmonic number.
    missed: u32,
    harmonic: f64,
    last_change: f64,
    /// Time up to which the penalty is counted.
    counted: f64,
    due: f64,
    n_fetches: u64,
    /// Whether a true signal is under way.
    is_signaled: bool,
}

pub struct Crawl<'a> {
    web: &'a Web,
    setting: &'a Setting,
    pages: Vec<PageState>,
    events: BinaryHeap<Reverse<At<Event>>>,
    /// An entry that does not match its page is stale.
    due: BinaryHeap<Reverse<At<usize>>>,
    /// Weighted seconds: harmonic penalty, and staleness.
    penalty: (f64, f64),
    fetches_by_day: Vec<u64>,
    rng: SmallRng,
}

impl<'a> Crawl<'a> {
    fn new(web: &'a Web, setting: &'a Setting) -> Self {
        let mut rng = SmallRng::seed_from_u64(setting.seed);
        let pages = web.pages.iter().map(|page| PageState {
            changes: Changes::new(page),
            missed: 0,
            harmonic: 0.0,
            last_change: -exponential(&mut rng, page.rate),
            counted: 0.0,
            due: f64::INFINITY,
            n_fetches: 0,
            is_signaled: false,
        });
        let pages = pages.collect();
        let n_days = (setting.judged.1 / DAY).ceil() as usize;
        Self {
            web,
            setting,
            pages,
            events: BinaryHeap::new(),
            due: BinaryHeap::new(),
            penalty: (0.0, 0.0),
            fetches_by_day: vec![0; n_days],
            rng,
        }
    }

    fn push(&mut self, at: f64, event: Event) {
        self.events.push(Reverse(At(at, event)));
    }

    fn set_due(&mut self, page: usize, at: f64) {
        self.pages[page].due = at;
        self.due.push(Reverse(At(at, page)));
    }

    /// Counts the changes and the penalty of a page up to a time.
    fn count(&mut self, page: usize, until: f64) {
        let weight = self.web.pages[page].weight;
        let (start, end) = self.setting.judged;
        let state = &mut self.pages[page];
        loop {
            let next = state.changes.next().min(until);
            let seconds = (next.min(end) - state.counted.max(start)).max(0.0);
            if state.missed > 0 {
                self.penalty.0 += weight * state.harmonic * seconds;
                self.penalty.1 += weight * seconds;
            }
            state.counted = next;
            if state.changes.next() > until {
                return;
            }
            state.missed += 1;
            state.harmonic += 1.0 / f64::from(state.missed);
            state.last_change = next;
            state.changes.advance();
        }
    }

    /// Fetches a page, and returns whether it has changed, and its age.
    fn fetch(&mut self, page: usize, now: f64) -> (bool, f64) {
        self.count(page, now);
        let state = &mut self.pages[page];
        let is_changed = state.missed > 0;
        (state.missed, state.harmonic) = (0, 0.0);
        (is_changed, now - state.last_change)
    }

    /// Fetches the page that is due first, if its due time has not moved.
    fn fetch_due(&mut self, now: f64, scheduler: &mut dyn Scheduler) {
        self.drop_stale();
        let Some(Reverse(At(_, page))) = self.due.pop() else { return };
        if now >= self.setting.judged.0 {
            self.pages[page].n_fetches += 1;
        }
        self.fetches_by_day[(now / DAY) as usize] += 1;
        let (is_changed, age) = self.fetch(page, now);
        let at = scheduler.visit(page, now, is_changed, age);
        self.set_due(page, at);
    }

    fn drop_stale(&mut self) {
        while let Some(Reverse(At(at, page))) = self.due.peek()
            && *at != self.pages[*page].due
        {
            self.due.pop();
        }
    }

    fn handle(&mut self, event: Event, now: f64, scheduler: &mut dyn Scheduler) {
        match event {
            Event::First(page) => {
                let (_, age) = self.fetch(page, now);
                let at = scheduler.first(page, now, age);
                self.set_due(page, at);
                let signals = self.setting.signals[self.web.pages[page].host];
                if signals.recall > 0.0 {
                    self.push(self.pages[page].changes.next(), Event::Change(page));
                }
                self.push_false_signal(page, now);
            }
            Event::Change(page) => {
                self.count(page, now);
                self.push(self.pages[page].changes.next(), Event::Change(page));
                let signals = self.setting.signals[self.web.pages[page].host];
                let is_signaled = self.rng.random::<f64>() < signals.recall;
                if is_signaled && !self.pages[page].is_signaled {
                    self.pages[page].is_signaled = true;
                    let at = (now / signals.poll).ceil() * signals.poll;
                    self.push(at, Event::Signal(page, true));
                }
            }
            Event::Signal(page, is_true) => {
                if is_true {
                    self.pages[page].is_signaled = false;
                } else {
                    self.push_false_signal(page, now);
                }
                if let Some(at) = scheduler.signal(page, now) {
                    self.set_due(page, at);
                }
            }
            Event::Hour => {
                for (page, at) in scheduler.hour(now) {
                    self.set_due(page, at);
                }
                self.push(now + HOUR, Event::Hour);
            }
            Event::Turn => {
                self.push(now + 1.0 / self.setting.budget, Event::Turn);
                self.fetch_due(now, scheduler);
            }
        }
    }

    fn push_false_signal(&mut self, page: usize, now: f64) {
        let rate = self.setting.signals[self.web.pages[page].host].false_rate;
        if rate > 0.0 {
            let wait = exponential(&mut self.rng, rate);
            self.push(now + wait, Event::Signal(page, false));
        }
    }

    fn run(&mut self, scheduler: &mut dyn Scheduler) {
        for page in 0..self.pages.len() {
            let at = self.rng.random::<f64>() * self.setting.discovery;
            self.push(at, Event::First(page));
        }
        self.push(HOUR, Event::Hour);
        if scheduler.is_paced() {
            self.push(1.0 / self.setting.budget, Event::Turn);
        }
        while let Some(Reverse(At(at, event))) = self.events.peek().copied() {
            self.drop_stale();
            let due = self.due.peek().map_or(f64::INFINITY, |Reverse(At(due, _))| *due);
            let falls_due = !scheduler.is_paced() && due <= at;
            let now = if falls_due { due } else { at };
            if now >= self.setting.judged.1 {
                break;
            }
            if falls_due {
                self.fetch_due(now, scheduler);
            } else {
                self.events.pop();
                self.handle(event, now, scheduler);
            }
        }
    }

    fn judge(mut self) -> Judgment {
        let (start, end) = self.setting.judged;
        for page in 0..self.pages.len() {
            self.count(page, end);
        }
        let weights: f64 = self.web.pages.iter().map(|page| page.weight).sum();
        let scale = 1.0 / (weights * (end - start));
        let fetches: u64 = self.pages.iter().map(|page| page.n_fetches).sum();
        Judgment {
            harmonic: self.penalty.0 * scale,
            freshness: 1.0 - self.penalty.1 * scale,
            spent: fetches as f64 / ((end - start) * self.setting.budget),
            unfetched: (0..self.pages.len()).filter(|&n| self.pages[n].n_fetches == 0).collect(),
            fetches_by_day: self.fetches_by_day,
        }
    }
}

pub fn simulate(web: &Web, setting: &Setting, scheduler: &mut dyn Scheduler) -> Judgment {
    let mut crawl = Crawl::new(web, setting);
    crawl.run(scheduler);
    crawl.judge()
}
