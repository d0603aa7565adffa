//! The policy of this crate, as a cluster of agents would use it: histories of pages, priors and
//! signals by host, and for each agent a demand and a controller. Reports arrive late.

use crate::simulation::Scheduler;
use crate::web::{HOUR, Web};
use crivello_recrawl::controller::ThresholdController;
use crivello_recrawl::demand::{DemandReport, DemandSums};
use crivello_recrawl::evidence::{ChangeSeen, FirstHints};
use crivello_recrawl::page::{PageHistory, VisitContext};
use crivello_recrawl::prior::PriorStats;
use crivello_recrawl::rate::RateDistribution;
use crivello_recrawl::rate_meter::{RateCorrection, RateMeter};
use crivello_recrawl::signal_stats::SignalStats;
use crivello_recrawl::signals::SignalModel;
use crivello_recrawl::threshold::ThresholdPolicy;
use crivello_recrawl::threshold_history::{DuePass, DueRule, ThresholdHistory, rescaled_due};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Time at which the simulation starts, in seconds since 1970.
const START: f64 = 1_700_000_000.0;
/// Steps of a pass over all due times, one each hour.
const RESCAN_STEPS: usize = 24;

/// One agent.
pub struct Agent {
    id: u64,
    controller: ThresholdController,
    sums: DemandSums,
    meter: RateMeter,
    threshold: f64,
    sequence: u64,
    past: ThresholdHistory,
    /// A pass over the due times, and its next step.
    pass: Option<(DuePass, usize)>,
}

impl Agent {
    fn new(id: u64, (policy, budget): (ThresholdPolicy, f64), now: f64) -> Self {
        let threshold = ThresholdController::initial_threshold(10.0 * 24.0 * HOUR);
        let passed = DueRule { policy, threshold };
        Self {
            id,
            controller: ThresholdController::new(budget),
            sums: DemandSums::default(),
            meter: RateMeter::default(),
            threshold,
            sequence: 0,
            past: ThresholdHistory::new(START + now, threshold, passed),
            pass: None,
        }
    }

    fn report(&mut self, epoch: u64) -> DemandReport {
        self.sequence += 1;
        let correction = RateCorrection { factor: self.meter.factor(), hinted: 0.0 };
        self.sums.report(epoch, self.sequence, self.threshold, correction)
    }

    fn update_threshold(&mut self, now: f64) {
        if let Some(threshold) = self.controller.threshold() {
            self.threshold = threshold;
        }
        self.past.update(START + now, self.threshold);
        if self.pass.is_none() {
            let policy = self.past.passed().policy;
            self.pass = self.past.begin_pass(START + now, &policy).map(|pass| (pass, 0));
        }
    }
}

/// Data that the pages of a host share. Recomputed each hour.
#[derive(Clone)]
struct Host {
    priors: PriorStats,
    signals: SignalStats,
    prior: RateDistribution,
    model: SignalModel,
}

pub struct Adaptive {
    policy: ThresholdPolicy,
    pub agents: Vec<Agent>,
    epoch: u64,
    /// Reports under way: time of arrival, sender, receiver.
    messages: Vec<(f64, u64, u64, DemandReport)>,
    /// Longest delay of a report, in seconds.
    delay: f64,
    rng: SmallRng,
    /// Host, weight and agent by page.
    pages: Vec<(usize, f64, u64)>,
    histories: Vec<Option<PageHistory>>,
    stored_due: Vec<f64>,
    hosts: Vec<Host>,
    root: PriorStats,
    uses_signals: bool,
    uses_dates: bool,
    /// Lowest and highest threshold of the agents, by hour.
    pub thresholds: Vec<(f64, f64)>,
}

impl Adaptive {
    pub fn new(web: &Web, policy: ThresholdPolicy, budget: f64) -> Self {
        Self::cluster(web, policy, budget, 1, 0.0)
    }

    pub fn cluster(
        web: &Web,
        policy: ThresholdPolicy,
        budget: f64,
        n_agents: u64,
        delay: f64,
    ) -> Self {
        let host = Host {
            priors: PriorStats::default(),
            signals: SignalStats::default(),
            prior: RateDistribution::UNKNOWN,
            model: SignalModel::NONE,
        };
        let agent_of = |host: usize| 1 + host as u64 % n_agents;
        let pages = web.pages.iter().map(|page| (page.host, page.weight, agent_of(page.host)));
        let mut cluster = Self {
            policy,
            agents: (1..=n_agents).map(|id| Agent::new(id, (policy, budget), 0.0)).collect(),
            epoch: 1,
            messages: Vec::new(),
            delay,
            rng: SmallRng::seed_from_u64(1),
            pages: pages.collect(),
            histories: vec![None; web.pages.len()],
            stored_due: vec![0.0; web.pages.len()],
            hosts: vec![host; web.n_hosts],
            root: PriorStats::default(),
            uses_signals: true,
            uses_dates: false,
            thresholds: Vec::new(),
        };
        cluster.set_members();
        cluster
    }

    /// Learns from `Last-Modified` dates, which are true.
    pub fn with_dates(mut self) -> Self {
        self.uses_dates = true;
        self
    }

    pub fn set_budget(&mut self, budget: f64) {
        for agent in &mut self.agents {
            agent.controller.set_budget(budget);
        }
    }

    /// Adds an agent, which takes its share of the pages from the others.
    pub fn join(&mut self, id: u64, budget: f64, now: f64) {
        let n = self.agents.len() as u64 + 1;
        self.agents.push(Agent::new(id, (self.policy, budget), now));
        self.set_members();
        for page in 0..self.pages.len() {
            if (self.pages[page].0 as u64).is_multiple_of(n) {
                self.hand_over(page, id);
            }
        }
    }

    /// Removes an agent, whose pages go to the others.
    pub fn leave(&mut self, id: u64) {
        let others: Vec<u64> =
            self.agents.iter().map(|agent| agent.id).filter(|other| *other != id).collect();
        for page in 0..self.pages.len() {
            if self.pages[page].2 == id {
                self.hand_over(page, others[self.pages[page].0 % others.len()]);
            }
        }
        self.agents.retain(|agent| agent.id != id);
        self.set_members();
    }

    fn set_members(&mut self) {
        self.epoch += 1;
        let ids: Vec<u64> = self.agents.iter().map(|agent| agent.id).collect();
        for agent in &mut self.agents {
            agent.controller.set_members(ids.iter().copied());
        }
    }

    fn hand_over(&mut self, page: usize, to: u64) {
        let policy = self.policy;
        if let Some(history) = self.histories[page] {
            self.agent(page).sums.remove(&policy, &history);
            self.pages[page].2 = to;
            self.agent(page).sums.add(&policy, &history);
        }
        self.pages[page].2 = to;
    }

    fn agent(&mut self, page: usize) -> &mut Agent {
        let id = self.pages[page].2;
        self.agents.iter_mut().find(|agent| agent.id == id).expect("the agent of a page")
    }

    fn context(&self, page: usize) -> VisitContext {
        let (host, weight, _) = self.pages[page];
        let Host { prior, model: signals, .. } = self.hosts[host];
        VisitContext { prior, signals, weight }
    }

    fn due(&mut self, page: usize) -> f64 {
        let model = self.hosts[self.pages[page].0].model;
        let threshold = self.agent(page).threshold;
        let history = self.histories[page].expect("a fetched page");
        history.due(&self.policy, threshold, &model) - START
    }

    /// Returns the due time of a page by the present threshold, and stores the page under it.
    fn store(&mut self, page: usize) -> f64 {
        self.stored_due[page] = self.due(page);
        self.stored_due[page]
    }

    /// Sends the report of each agent to all agents, and delivers those that are due.
    fn exchange(&mut self, now: f64) {
        let ids: Vec<u64> = self.agents.iter().map(|agent| agent.id).collect();
        for agent in &mut self.agents {
            let report = agent.report(self.epoch);
            for id in &ids {
                let delay = if *id == agent.id { 0.0 } else { self.delay };
                let arrival = now + delay * self.rng.random::<f64>();
                self.messages.push((arrival, agent.id, *id, report));
            }
        }
        self.messages.retain(|(arrival, from, to, report)| {
            let is_due = *arrival <= now;
            if is_due && let Some(agent) = self.agents.iter_mut().find(|agent| agent.id == *to) {
                agent.controller.on_report(*from, report);
            }
            !is_due
        });
    }

    /// Moves due times to the present threshold, for a part of the pages of each agent whose threshold
    /// has moved.
    fn rescan(&mut self, now: f64) -> Vec<(usize, f64)> {
        let mut moved = Vec::new();
        for i in 0..self.agents.len() {
            let agent = &mut self.agents[i];
            let Some((pass, step)) = agent.pass else { continue };
            agent.pass = (step + 1 < RESCAN_STEPS).then_some((pass, step + 1));
            if agent.pass.is_none() {
                agent.past.end_pass(&pass);
            }
            let id = agent.id;
            for page in (step..self.pages.len()).step_by(RESCAN_STEPS) {
                if let Some(history) = self.histories[page]
                    && self.pages[page].2 == id
                    && history.last_fetch() < pass.began
                {
                    let model = self.hosts[self.pages[page].0].model;
                    let [before, after] = [pass.before, pass.after].map(|passed| {
                        let due = history.due(&passed.policy, passed.threshold, &model);
                        due - history.last_fetch()
                    });
                    let (last_fetch, stored) =
                        (history.last_fetch() - START, self.stored_due[page]);
                    let due = rescaled_due(now, last_fetch, stored, before, after);
                    self.stored_due[page] = due;
                    moved.push((page, due));
                }
            }
        }
        moved
    }
}

impl Scheduler for Adaptive {
    fn first(&mut self, page: usize, now: f64, age: f64) -> f64 {
        let hints = FirstHints { age: self.uses_dates.then_some(age), lifetime: None };
        let history = PageHistory::first(START + now, &hints, &self.context(page));
        self.histories[page] = Some(history);
        let policy = self.policy;
        self.agent(page).sums.add(&policy, &history);
        self.store(page)
    }

    fn visit(&mut self, page: usize, now: f64, is_changed: bool, age: f64) -> f64 {
        let (context, policy) = (self.context(page), self.policy);
        let mut history = self.histories[page].expect("a fetched page");
        let before = history;
        let elapsed = before.age(START + now);
        let seen = if is_changed {
            ChangeSeen::Changed { age: self.uses_dates.then_some(age) }
        } else {
            ChangeSeen::Unchanged
        };
        history.record_visit(START + now, seen, &context);
        history = PageHistory::from_bytes(&history.to_bytes());
        self.histories[page] = Some(history);

        let stored = START + self.stored_due[page];
        let agent = self.agent(page);
        let (meter, past) = (&mut agent.meter, &agent.past);
        meter.record_visit(&policy, &before, &context.signals, past, (stored, false), START + now);
        agent.sums.remove(&policy, &before);
        agent.sums.add(&policy, &history);

        let (rate, is_second) = (history.rate(), before.visits().0 == 0);
        let host = &mut self.hosts[self.pages[page].0];
        host.priors.add_visit(&rate, elapsed, is_second);
        self.root.add_visit(&rate, elapsed, is_second);
        let (mean, n_signals) = (before.rate().mean(), before.signals());
        host.signals.add_visit(&context.signals, mean, elapsed, n_signals, is_changed);
        self.store(page)
    }

    fn signal(&mut self, page: usize, _now: f64) -> Option<f64> {
        if !self.uses_signals {
            return None;
        }
        self.histories[page].as_mut()?.record_signal();
        Some(self.store(page))
    }

    fn hour(&mut self, now: f64) -> Vec<(usize, f64)> {
        let above = self.root.prior(&RateDistribution::UNKNOWN);
        for host in &mut self.hosts {
            host.prior = host.priors.prior(&above);
            host.model = host.signals.model(host.prior.mean());
        }
        self.exchange(now);
        for agent in &mut self.agents {
            agent.update_threshold(now);
        }
        let thresholds = || self.agents.iter().map(|agent| agent.threshold);
        let range = (thresholds().fold(f64::MAX, f64::min), thresholds().fold(0.0, f64::max));
        self.thresholds.push(range);
        debug_assert_eq!(self.thresholds.len(), (now / HOUR).round() as usize);
        self.rescan(now)
    }

    fn is_paced(&self) -> bool {
        false
    }
}
