//! One threshold for fetching pages again, from the demands that agents report with their heartbeats.
//!
//! It is in memory only: after a restart the agents keep the threshold that they have until all have
//! reported again, within minutes.

use crivello_common::config::{self, Settings};
use crivello_common::view::{AgentId, AgentState, View};
use crivello_proto::v1;
use crivello_recrawl::controller::ThresholdController;
use crivello_recrawl::demand::{DemandReport, POINTS, REPORT_POINTS};
use parking_lot::Mutex;

/// The demands of all agents, and the budget.
#[derive(Debug, Default)]
pub(crate) struct RecrawlRate {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    controller: ThresholdController,
    /// Revision of the settings, and their rate.
    budget: Option<(u64, config::RevisitRate)>,
    epoch: Option<u64>,
    members: Vec<AgentId>,
    /// Members that have reported.
    reported: Vec<AgentId>,
}

impl RecrawlRate {
    /// Takes the demand of an agent. Returns the threshold for all agents once all of `view` have
    /// reported.
    pub(crate) fn on_report(
        &self,
        agent: AgentId,
        demand: &v1::RecrawlDemand,
        view: &View,
        settings: &v1::CrawlSettings,
    ) -> Option<f64> {
        let joined_epoch = view.agent(agent)?.joined_epoch;
        let report = DemandReport { epoch: joined_epoch, ..read(demand)? };
        let mut inner = self.inner.lock();
        let budget = match inner.budget {
            Some((revision, budget)) if revision == settings.revision => budget,
            _ => Settings::from_toml("settings", &settings.toml).ok()?.live.recrawl.rate,
        };
        inner.budget = Some((settings.revision, budget));
        if inner.epoch != Some(view.epoch) {
            inner.epoch = Some(view.epoch);
            let living = view.agents.iter().filter(|agent| agent.state != AgentState::Dead);
            inner.members = living.map(|agent| agent.id).collect();
            let members = inner.members.clone();
            inner.controller.set_members(members.iter().map(|id| u64::from(id.0)));
            inner.reported.retain(|id| members.contains(id));
        }
        if inner.members.contains(&agent) && !inner.reported.contains(&agent) {
            inner.reported.push(agent);
        }
        inner.controller.on_report(u64::from(agent.0), &report);
        let n_pages = inner.controller.n_pages();
        inner.controller.set_budget(budget.per_second(n_pages));
        let complete = inner.reported.len() == inner.members.len();
        complete.then(|| inner.controller.threshold()).flatten()
    }
}

/// Reads a report; `None` if it is malformed.
fn read(demand: &v1::RecrawlDemand) -> Option<DemandReport> {
    let rates: [f32; REPORT_POINTS] = demand.rates.as_slice().try_into().ok()?;
    let first = u16::try_from(demand.first).ok()?;
    let fits = usize::from(first) <= POINTS - REPORT_POINTS && rates.iter().all(|r| r.is_finite());
    let report =
        DemandReport { epoch: 0, sequence: demand.sequence, n_pages: demand.pages, first, rates };
    fits.then_some(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::view::Agent;

    fn demand(rate: f32) -> v1::RecrawlDemand {
        let rates = (0..REPORT_POINTS).map(|i| rate / (i + 1) as f32).collect();
        v1::RecrawlDemand { sequence: 1, pages: 10, first: 40, rates }
    }

    fn view(epoch: u64, ids: &[u32]) -> View {
        let agents = ids.iter().map(|&id| Agent { id: AgentId(id), ..Agent::default() }).collect();
        View { epoch, agents, ..View::default() }
    }

    fn settings(rate: f64, revision: u64) -> v1::CrawlSettings {
        settings_of(&format!("{rate:?}"), revision)
    }

    fn settings_of(rate: &str, revision: u64) -> v1::CrawlSettings {
        let toml = format!("[recrawl]\nrate = {rate}\n");
        v1::CrawlSettings { revision, toml }
    }

    #[test]
    fn all_agents_get_one_threshold_once_all_have_reported() {
        let rate = RecrawlRate::default();
        let (two, settings) = (view(1, &[1, 2]), settings(4.0, 1));
        assert_eq!(rate.on_report(AgentId(1), &demand(10.0), &two, &settings), None);
        let both = rate.on_report(AgentId(2), &demand(10.0), &two, &settings);
        assert_eq!(rate.on_report(AgentId(1), &demand(10.0), &two, &settings), both);
        // One agent has half of the demand, so the threshold may be lower.
        let alone = rate.on_report(AgentId(1), &demand(10.0), &view(2, &[1]), &settings);
        assert!(alone.unwrap() < both.unwrap(), "{alone:?} {both:?}");
    }

    #[test]
    fn a_larger_budget_lowers_the_threshold() {
        let rate = RecrawlRate::default();
        let one = view(1, &[1]);
        let small = rate.on_report(AgentId(1), &demand(10.0), &one, &settings(1.0, 1)).unwrap();
        let large = rate.on_report(AgentId(1), &demand(10.0), &one, &settings(5.0, 2)).unwrap();
        assert!(large < small, "{large} {small}");
    }

    #[test]
    fn a_percentage_is_a_budget_that_grows_with_the_pages() {
        let rate = RecrawlRate::default();
        let one = view(1, &[1]);
        let share = settings_of("\"864000%\"", 1);
        let reported = |sequence, pages| {
            let demand = v1::RecrawlDemand { sequence, pages, ..demand(10.0) };
            rate.on_report(AgentId(1), &demand, &one, &share).unwrap()
        };
        let few = reported(1, 10);
        let twice = reported(2, 20);
        assert!(twice < few, "{twice} {few}");
        let fixed = RecrawlRate::default();
        let fixed = fixed.on_report(AgentId(1), &demand(10.0), &one, &settings(1.0, 1));
        assert_eq!(fixed, Some(few), "a tenth of ten pages a second");
    }

    #[test]
    fn malformed_reports_are_ignored() {
        let rate = RecrawlRate::default();
        let (one, settings) = (view(1, &[1]), settings(1.0, 1));
        for bad in [
            v1::RecrawlDemand { first: 400, ..demand(1.0) },
            v1::RecrawlDemand { rates: vec![1.0], ..demand(1.0) },
            v1::RecrawlDemand { rates: vec![f32::NAN; REPORT_POINTS], ..demand(1.0) },
        ] {
            assert_eq!(rate.on_report(AgentId(1), &bad, &one, &settings), None);
        }
    }
}
