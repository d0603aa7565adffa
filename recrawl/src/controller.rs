//! One threshold for a cluster, such that its agents together meet one budget.
//!
//! Each agent sends its demand: the sum of its pages' rates at a grid of thresholds, corrected by its
//! measured rate. The threshold is the one at which the demand of all agents equals the budget. It is
//! a function of the budget and of the last report of each agent, so agents that hold the same reports
//! have the same threshold, without an election or a common clock.
//!
//! **Stability.** A report does not depend on the threshold in force: it has the demand at all
//! thresholds. So there is no feedback from the threshold to the reports, and late reports cannot
//! cause oscillation; an agent that holds an old report is off by what the demand has changed since.
//! The correction compares measured fetches with the demand at the thresholds that were in force when
//! they were made, so it does not depend on the threshold either. Visits that hints brought about are
//! an exception: their measured rate is taken for that at the present threshold. They are at most
//! nineteen for each other visit in a report, so they move the threshold by a bounded amount.
//!
//! When a budget changes, an agent joins or one leaves, the threshold follows at once, and the due times
//! that are stored follow it in a pass (see [`crate::threshold_history`]).

use crate::demand::{DemandReport, POINTS, grid_threshold};
use std::collections::BTreeMap;

/// Bisections to find the threshold: its relative error is below 1e-8.
const STEPS: u32 = 32;

/// The reports of a cluster, and its budget.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThresholdController {
    budget: f64,
    /// The members, with the last report of each.
    reports: BTreeMap<u64, Option<DemandReport>>,
}

impl ThresholdController {
    /// Creates a controller for a budget in fetches per second, without members.
    #[must_use]
    pub fn new(budget: f64) -> Self {
        let mut controller = Self::default();
        controller.set_budget(budget);
        controller
    }

    /// Sets the budget, in fetches per second. Values that are not positive mean 0.
    pub fn set_budget(&mut self, budget: f64) {
        self.budget = if budget.is_nan() { 0.0 } else { budget.clamp(0.0, 1e12) };
    }

    /// Returns the budget, in fetches per second.
    pub fn budget(&self) -> f64 {
        self.budget
    }

    /// Returns the number of pages of all agents. Members without a report count as the average of the
    /// others.
    pub fn n_pages(&self) -> f64 {
        let reports = || self.reports.values().flatten();
        let sum: f64 = reports().map(|report| report.n_pages as f64).sum();
        sum * self.reports.len() as f64 / reports().count().max(1) as f64
    }

    /// Sets the members of the cluster. The reports of others are dropped.
    pub fn set_members(&mut self, members: impl IntoIterator<Item = u64>) {
        let reports = members.into_iter().map(|id| (id, self.reports.get(&id).copied().flatten()));
        self.reports = reports.collect();
    }

    /// Records a report, if it is newer than the last one of this agent, and the agent is a member.
    pub fn on_report(&mut self, agent: u64, report: &DemandReport) {
        if let Some(last) = self.reports.get_mut(&agent) {
            let version = |report: &DemandReport| (report.epoch, report.sequence);
            if last.as_ref().is_none_or(|last| version(report) > version(last)) {
                *last = Some(*report);
            }
        }
    }

    /// Returns the demand of the cluster at a threshold, in fetches per second. Members without a
    /// report count as the average of the others.
    pub fn demand(&self, threshold: f64) -> f64 {
        let reports = || self.reports.values().flatten();
        let n_reports = reports().count();
        let sum: f64 = reports().map(|report| report.at(threshold)).sum();
        sum * self.reports.len() as f64 / n_reports.max(1) as f64
    }

    /// Returns the threshold at which the demand is the budget, in units of weight times seconds. It
    /// lies within the grid: if the pages are too few for the budget it is the lowest. `None` means
    /// that no agent has reported pages.
    pub fn threshold(&self) -> Option<f64> {
        let mut bounds = (grid_threshold(0), grid_threshold(POINTS - 1));
        if self.demand(bounds.0) <= 0.0 {
            return None;
        }
        for _ in 0..STEPS {
            let middle = (bounds.0 * bounds.1).sqrt();
            if self.demand(middle) > self.budget {
                bounds.0 = middle;
            } else {
                bounds.1 = middle;
            }
        }
        Some((bounds.0 * bounds.1).sqrt())
    }

    /// Returns the threshold of an agent that knows no demand, not even its own: an unknown page of
    /// weight 1 is due after a three hundredth of the mean time between changes, in seconds; that is
    /// three quarters of an hour for ten days. The first threshold that is computed counts.
    #[must_use]
    pub fn initial_threshold(change_interval: f64) -> f64 {
        // The value after T seconds is about ΔT²/2.
        change_interval / 216_000.0
    }
}
