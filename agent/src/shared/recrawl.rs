//! The budget of fetching pages again in a cluster: what this agent would fetch, and the threshold that
//! all agents follow.

use crivello_recrawl::demand::DemandReport;
use parking_lot::Mutex;

/// The demand of this agent, and the threshold of all agents.
#[derive(Debug, Default)]
pub struct RecrawlBudget {
    demand: Mutex<Option<DemandReport>>,
    /// A threshold that the writer has not taken yet.
    threshold: Mutex<Option<f64>>,
}

impl RecrawlBudget {
    /// Sets the demand of this agent, for the next heartbeats.
    pub fn set_demand(&self, report: DemandReport) {
        *self.demand.lock() = Some(report);
    }

    /// Returns the last report of the demand.
    pub fn demand(&self) -> Option<DemandReport> {
        *self.demand.lock()
    }

    /// Sets the threshold of the cluster.
    pub fn set_threshold(&self, threshold: f64) {
        *self.threshold.lock() = Some(threshold);
    }

    /// Returns a new threshold, once.
    #[must_use]
    pub fn take_threshold(&self) -> Option<f64> {
        self.threshold.lock().take()
    }
}
