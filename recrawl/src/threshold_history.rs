//! The thresholds that were in force, and what a change of the threshold means for stored due times.
//!
//! A due time is stored by the threshold of its time. When the threshold has moved by more than a
//! twentieth, or the policy has changed, a **pass** goes through the due times in bounded steps, and
//! scales the time that is left to each by the ratio of the page's intervals ([`rescaled_due`]). So
//! pages that were spread over their old intervals are spread over the new ones: a change of the
//! budget changes the rate of fetches as the pass proceeds, without a burst of overdue pages and
//! without a pause. Between passes a due time stays as it is.
//!
//! The intervals of the last fetches began under older thresholds, so [`crate::rate_meter`] needs these
//! as well.

use crate::threshold::ThresholdPolicy;

/// Ratio of two thresholds above which both are remembered.
const REMEMBERED_RATIO: f64 = 1.02;
/// Ratio to the threshold of the last pass above which another one has to begin.
const PASS_RATIO: f64 = 1.05;
/// Ratio to the threshold of the last pass above which the next one should begin at once.
const FAR_RATIO: f64 = 1.2;
/// Number of thresholds remembered.
const PERIODS_MAX: usize = 64;

/// Returns the due time of a page that is stored under `stored_due`, when its interval changes from
/// `before` to `after` seconds. Times are in seconds since 1970. A page that is overdue stays so.
///
/// The result lies between the stored time and `last_fetch + after`, so a page that was stored by
/// another threshold than that of `before` is not moved too far.
#[must_use]
pub fn rescaled_due(now: f64, last_fetch: f64, stored_due: f64, before: f64, after: f64) -> f64 {
    let (left, ratio) = (stored_due - now, after / before);
    let is_valid = left > 0.0 && ratio > 0.0 && ratio.is_finite();
    if !is_valid {
        return stored_due;
    }
    let (scaled, present) = (now + left * ratio, last_fetch + after);
    if present > stored_due {
        scaled.clamp(stored_due, present)
    } else {
        scaled.clamp(present, stored_due)
    }
}

/// The policy and the threshold by which due times are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DueRule {
    /// The objective and the bounds of intervals.
    pub policy: ThresholdPolicy,
    /// The threshold.
    pub threshold: f64,
}

/// A pass over the due times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DuePass {
    /// When the pass began, in seconds since 1970. Pages fetched since then are left out.
    pub began: f64,
    /// The policy and threshold by which the due times were stored.
    pub before: DueRule,
    /// The policy and threshold by which they are to be stored.
    pub after: DueRule,
}

/// The thresholds that were in force, and since when. Times are in seconds since 1970.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdHistory {
    /// Start and threshold of each period, in order of time. Never empty.
    periods: Vec<(f64, f64)>,
    /// The policy and threshold of the last complete pass.
    passed: DueRule,
}

impl ThresholdHistory {
    /// Starts with a threshold at `now`. Due times are stored by `passed`.
    #[must_use]
    pub fn new(now: f64, threshold: f64, passed: DueRule) -> Self {
        Self { periods: vec![(now, threshold)], passed }
    }

    /// Returns the policy and threshold of the last complete pass. A pass that a restart interrupts begins
    /// again from them.
    pub const fn passed(&self) -> DueRule {
        self.passed
    }

    /// Takes the present threshold.
    pub fn update(&mut self, now: f64, threshold: f64) {
        if is_apart(threshold, self.threshold(), REMEMBERED_RATIO) {
            if self.periods.len() == PERIODS_MAX {
                self.periods.remove(0);
            }
            self.periods.push((now, threshold));
        }
    }

    /// Returns the present threshold, within 2 %.
    pub fn threshold(&self) -> f64 {
        self.periods.last().map_or(0.0, |(_, threshold)| *threshold)
    }

    /// Begins a pass over the due times, if the threshold has moved since the last one, or the policy has
    /// changed. The caller ends a pass before it begins another.
    pub fn begin_pass(&self, now: f64, policy: &ThresholdPolicy) -> Option<DuePass> {
        let (before, after) =
            (self.passed, DueRule { policy: *policy, threshold: self.threshold() });
        let is_due = before.policy != after.policy
            || is_apart(after.threshold, before.threshold, PASS_RATIO);
        is_due.then_some(DuePass { began: now, before, after })
    }

    /// Returns true if the threshold is far from that of the last pass, or the policy has changed.
    pub fn is_far_off(&self, policy: &ThresholdPolicy) -> bool {
        self.passed.policy != *policy
            || is_apart(self.threshold(), self.passed.threshold, FAR_RATIO)
    }

    /// Ends a pass.
    pub const fn end_pass(&mut self, pass: &DuePass) {
        self.passed = pass.after;
    }

    /// Returns the thresholds that were in force from `start` to `end`, each with the seconds. `None`
    /// means that what was in force at the start is not known.
    pub fn between(&self, start: f64, end: f64) -> Option<impl Iterator<Item = (f64, f64)>> {
        let ends = self.periods[1..].iter().map(|(since, _)| *since).chain([f64::INFINITY]);
        let periods = self.periods.iter().zip(ends);
        let is_known = self.periods.first().is_some_and(|(since, _)| *since <= start);
        is_known.then(|| {
            periods.filter_map(move |((since, threshold), until)| {
                let seconds = until.min(end) - since.max(start);
                (seconds > 0.0).then_some((*threshold, seconds))
            })
        })
    }
}

fn is_apart(one: f64, other: f64, ratio: f64) -> bool {
    !(1.0 / ratio..=ratio).contains(&(one / other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objective::Objective;

    fn between(history: &ThresholdHistory, start: f64, end: f64) -> Option<Vec<(f64, f64)>> {
        history.between(start, end).map(Iterator::collect)
    }

    #[test]
    fn periods_are_remembered() {
        let policy = ThresholdPolicy::new(Objective::Harmonic, 1.0, 1e6);
        let passed = |threshold| DueRule { policy, threshold };
        let mut history = ThresholdHistory::new(100.0, 1.0, passed(1.0));
        history.update(150.0, 1.01);
        history.update(200.0, 1.05);
        assert_eq!(history.begin_pass(200.0, &policy), None);
        history.update(300.0, 2.0);
        let pass = DuePass { began: 310.0, before: passed(1.0), after: passed(2.0) };
        assert_eq!(history.begin_pass(310.0, &policy), Some(pass));
        // It has not ended: after a restart it begins again.
        assert_eq!(history.passed(), passed(1.0));
        history.end_pass(&pass);
        assert_eq!(history.begin_pass(320.0, &policy), None);
        let shorter = ThresholdPolicy::new(Objective::Harmonic, 1.0, 1e5);
        let after = DueRule { policy: shorter, threshold: 2.0 };
        let pass = DuePass { began: 330.0, before: passed(2.0), after };
        assert_eq!(history.begin_pass(330.0, &shorter), Some(pass));

        let all = vec![(1.0, 50.0), (1.05, 100.0), (2.0, 50.0)];
        assert_eq!(between(&history, 150.0, 350.0), Some(all));
        assert_eq!(between(&history, 250.0, 260.0), Some(vec![(1.05, 10.0)]));
        assert_eq!(between(&history, 260.0, 250.0), Some(vec![]));
        assert_eq!(between(&history, 99.0, 250.0), None);
        for i in 0..100 {
            history.update(400.0 + f64::from(i), f64::from(i));
        }
        assert_eq!(between(&history, 400.0, 500.0), None);
        let seconds: f64 =
            between(&history, 450.0, 500.0).into_iter().flatten().map(|(_, seconds)| seconds).sum();
        assert_eq!(seconds, 50.0);
    }

    #[test]
    fn the_time_that_is_left_is_scaled() {
        assert_eq!(rescaled_due(100.0, 60.0, 160.0, 100.0, 50.0), 130.0);
        assert_eq!(rescaled_due(100.0, 60.0, 160.0, 100.0, 200.0), 220.0);
        // Overdue, and arguments of no meaning.
        assert_eq!(rescaled_due(100.0, 60.0, 90.0, 30.0, 15.0), 90.0);
        assert_eq!(rescaled_due(100.0, 60.0, 160.0, 0.0, 15.0), 160.0);
        assert_eq!(rescaled_due(100.0, 60.0, 160.0, f64::NAN, 15.0), 160.0);
        // Stored by another threshold.
        assert_eq!(rescaled_due(100.0, 60.0, 160.0, 1.0, 200.0), 260.0);
        assert_eq!(rescaled_due(100.0, 60.0, 160.0, 1_000.0, 80.0), 140.0);
    }
}
