//! Fetching pages again: queues URLs that are due, and keeps the threshold in force.

use crate::engines::writer::{Writer, WriterError};
use crivello_common::time::Timestamp;
use crivello_recrawl::controller::ThresholdController;
use crivello_recrawl::demand::DemandReport;

impl Writer {
    /// Queues some URLs that are due, and goes on with the pass over all of them.
    pub(super) fn queue_due(&mut self, now: Timestamp) -> Result<(), WriterError> {
        let crawldb = &mut self.stores.crawldb;
        if let Some(threshold) = self.shared.recrawl.take_threshold() {
            crawldb.set_recrawl_threshold(threshold, now);
        }
        if let Some(commit) = crawldb.step_host_requests(now)? {
            self.write(commit, now)?;
        }
        let time = self.shared.clock;
        let clock = || time.now();
        if let Some(commit) = self.stores.crawldb.step_due(now, &clock)? {
            self.write(commit, now)?;
        }
        if self.stores.crawldb.count_overdue(now) {
            self.report_totals();
        }
        if let Some((commit, report)) = self.stores.crawldb.step_due_pass(now, &clock)? {
            self.write(commit, now)?;
            if let Some(report) = report {
                self.on_demand(report, now);
            }
        }
        Ok(())
    }

    /// Takes the demand of all pages here. An agent that is alone has the whole budget.
    fn on_demand(&mut self, report: DemandReport, now: Timestamp) {
        if !self.replication.is_solo() {
            return self.shared.recrawl.set_demand(report);
        }
        self.own_demand = Some(report);
        self.apply_recrawl_rate(now);
    }

    /// Sets the threshold of an agent that is alone, by its last report and the rate in force.
    pub(super) fn apply_recrawl_rate(&mut self, now: Timestamp) {
        let Some(report) = &self.own_demand else { return };
        let mut controller = ThresholdController::default();
        controller.set_members([0]);
        controller.on_report(0, report);
        let rate = self.shared.live.latest().live.recrawl.rate;
        controller.set_budget(rate.per_second(controller.n_pages()));
        if let Some(threshold) = controller.threshold() {
            self.stores.crawldb.set_recrawl_threshold(threshold, now);
        }
    }
}
