//! A pass over all pages adds up their demand, and moves their due times to the threshold and the policy in
//! force.

use super::{RecrawlState, seconds, timestamp};
use crate::messages::Revisit;
use crivello_common::time::Timestamp;
use crivello_recrawl::demand::{DemandReport, DemandSums};
use crivello_recrawl::page::PageHistory;
use crivello_recrawl::rate_meter::RateCorrection;
use crivello_recrawl::signals::SignalModel;
use crivello_recrawl::threshold_history::{DuePass, DueRule, rescaled_due};
use std::time::Duration;

/// Maximum pause between two passes over all due times that `DueScan` does not lengthen, and the pause as a
/// multiple of the shortest interval.
const PASS_PAUSE_MAX: Duration = Duration::from_secs(60);
const PASS_INTERVALS: u32 = 5;
/// Ratio of an interval to that by the threshold in force above which it is clearly too long.
const LATE_RATIO: f64 = 1.05;

impl RecrawlState {
    /// Returns the due time of a page by the threshold in force.
    pub fn due_now(&self, revisit: &Revisit) -> Option<Timestamp> {
        let history = revisit.history.filter(|_| !revisit.is_set_by_hint())?;
        Some(timestamp(history.due(&self.policy, self.threshold, &SignalModel::NONE)))
    }

    /// Counts a page in the sums of a pass.
    pub fn count(&self, revisit: &Revisit, sums: &mut DemandSums) {
        if let Some(history) = &revisit.history {
            sums.add(&self.policy, history);
        }
    }

    /// Takes the sums of a pass, multiplied by `factor` for the pages that were queued meanwhile, and
    /// returns the report for the other agents.
    pub fn take_sums(&mut self, sums: &DemandSums, factor: f64, now: Timestamp) -> DemandReport {
        self.n_reports += 1;
        let factor = self.meter.factor() * factor;
        let hinted = self.meter.hinted_rate(seconds(now), self.hint_window());
        let correction = RateCorrection { factor, hinted };
        sums.report(0, self.n_reports, self.threshold, correction)
    }

    /// Returns the minimum pause between two passes: five times the shortest interval, within 1 s to 60 s.
    /// `DueScan` lengthens it if passes take long.
    pub fn pass_pause(&self) -> Duration {
        (PASS_INTERVALS * self.settings.interval_min).clamp(Duration::from_secs(1), PASS_PAUSE_MAX)
    }

    /// Returns the mark of the next pass.
    pub const fn next_pass(&self) -> u16 {
        Revisit::pass_mark((self.n_reports as u32).wrapping_add(1))
    }

    /// Returns true if the threshold or the policy has changed so much that a pass should not wait for the
    /// end of its pause.
    pub fn is_rule_far_off(&self) -> bool {
        self.past.is_far_off(&self.policy)
    }

    /// Begins to move due times to the threshold and the policy in force, if these have changed.
    pub fn begin_pass(&self, now: Timestamp) -> Option<DuePass> {
        self.past.begin_pass(seconds(now), &self.policy)
    }

    /// Ends a pass that moved due times.
    pub fn end_pass(&mut self, pass: &DuePass) {
        self.past.end_pass(pass);
    }

    /// Returns the due time of a page in a pass that moves due times.
    pub fn moved_due(
        &self,
        pass: &DuePass,
        revisit: &Revisit,
        now: Timestamp,
    ) -> Option<Timestamp> {
        let is_older = |history: &PageHistory| history.last_fetch() < pass.began;
        let history = revisit.history.filter(is_older).filter(|_| !revisit.is_set_by_hint())?;
        let [before, after] = [pass.before, pass.after].map(|DueRule { policy, threshold }| {
            history.due(&policy, threshold, &SignalModel::NONE) - history.last_fetch()
        });
        let stored = seconds(revisit.due);
        let due = rescaled_due(seconds(now), history.last_fetch(), stored, before, after);
        Some(timestamp(due)).filter(|due| *due != revisit.due)
    }

    /// Returns a sooner due time of a page whose stored one is clearly later than by the threshold in force:
    /// another agent stored it, which had another one. What is left of the wait becomes shorter in
    /// proportion, so that pages do not fall due all at once.
    pub fn sooner_due(&self, revisit: &Revisit, now: Timestamp) -> Option<Timestamp> {
        let history = revisit.history.filter(|_| !revisit.is_set_by_hint())?;
        let last = history.last_fetch();
        let (stored, present) =
            (seconds(revisit.due) - last, seconds(self.due_now(revisit)?) - last);
        let due =
            || timestamp(rescaled_due(seconds(now), last, seconds(revisit.due), stored, present));
        (stored > present * LATE_RATIO).then(due).filter(|due| *due < revisit.due)
    }
}
