//! StormCrawler's `AdaptiveScheduler` with its defaults: whole minutes from 60 to 20,160, 1,440 at
//! first; half as much again if a page is unchanged; half way to the minimum if it has changed.

use crate::simulation::Scheduler;

const START: i64 = 1_440;
const MIN: i64 = 60;
const MAX: i64 = 20_160;
const INCREMENT: f32 = 0.5;
const DECREMENT: f32 = 0.5;

pub struct StormCrawler {
    /// Interval by page, in minutes.
    pages: Vec<i64>,
}

impl StormCrawler {
    pub fn new(n_pages: usize) -> Self {
        Self { pages: vec![START; n_pages] }
    }
}

impl Scheduler for StormCrawler {
    fn first(&mut self, _page: usize, now: f64, _age: f64) -> f64 {
        now + START as f64 * 60.0
    }

    fn visit(&mut self, page: usize, now: f64, is_changed: bool, _age: f64) -> f64 {
        let interval = &mut self.pages[page];
        *interval = if is_changed {
            ((1.0 - DECREMENT) * *interval as f32 + DECREMENT * MIN as f32) as i64
        } else {
            ((*interval as f32 * (1.0 + INCREMENT)) as i64).min(MAX)
        };
        now + *interval as f64 * 60.0
    }
}
