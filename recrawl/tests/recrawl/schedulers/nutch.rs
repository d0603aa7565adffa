//! Apache Nutch's `AdaptiveFetchSchedule`, with the settings of `nutch-default.xml`: an interval of 30
//! days, made longer by 40 % if a page is unchanged and shorter by 20 % if it has changed, between a
//! minute and 365 days; `sync_delta` with a rate of 0.3; and 90 days as the longest time ahead.

use crate::simulation::Scheduler;
use crate::web::DAY;

const INC_RATE: f64 = 0.4;
const DEC_RATE: f64 = 0.2;
const SYNC_DELTA_RATE: f64 = 0.3;
const INTERVAL: f64 = 30.0 * DAY;
const BOUNDS: (f64, f64) = (60.0, 365.0 * DAY);
const AHEAD_MAX: f64 = 90.0 * DAY;

pub struct Nutch {
    /// Interval and time of the last change that a fetch found, by page.
    pages: Vec<(f64, f64)>,
}

impl Nutch {
    pub fn new(n_pages: usize) -> Self {
        Self { pages: vec![(INTERVAL, 0.0); n_pages] }
    }
}

impl Scheduler for Nutch {
    fn first(&mut self, page: usize, now: f64, _age: f64) -> f64 {
        self.pages[page].1 = now;
        now + INTERVAL
    }

    fn visit(&mut self, page: usize, now: f64, is_changed: bool, _age: f64) -> f64 {
        let (interval, modified) = &mut self.pages[page];
        if is_changed {
            *interval *= 1.0 - DEC_RATE;
            *modified = now;
        } else {
            *interval *= 1.0 + INC_RATE;
        }
        let delta = now - *modified;
        *interval = interval.max(delta).clamp(BOUNDS.0, BOUNDS.1);
        let due = now - delta * SYNC_DELTA_RATE + *interval;
        if due - now > AHEAD_MAX {
            if *interval > AHEAD_MAX {
                *interval = AHEAD_MAX * 0.9;
            }
            return now + AHEAD_MAX;
        }
        due
    }
}
