//! Intervals that are known in advance: equal ones, or those of an optimum with known change rates.

use crate::simulation::Scheduler;

pub struct Periodic(pub Vec<f64>);

impl Scheduler for Periodic {
    fn first(&mut self, page: usize, now: f64, _age: f64) -> f64 {
        // A different phase for each page, so that intervals do not begin together.
        let phase = (page as f64 * 0.618_033_988_749_895).fract();
        now + self.0[page].min(1e12) * phase
    }

    fn visit(&mut self, page: usize, now: f64, _is_changed: bool, _age: f64) -> f64 {
        now + self.0[page].min(1e12)
    }

    fn is_paced(&self) -> bool {
        false
    }
}
