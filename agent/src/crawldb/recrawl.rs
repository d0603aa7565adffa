//! The schedule of finished URLs: evidence of visits, and due times.
//!
//! `crivello_recrawl` has the mathematics. This file has the settings, the threshold in force and what
//! is learned from all pages of this agent. The files below turn a result or a hint into the
//! [`Revisit`](crate::messages::Revisit) of its URL, and move due times.

mod hint;
mod pass;
mod stats;
mod visit;

pub use stats::{RecrawlStats, RevisitCounts};

use crate::messages::{LinkKind, Queued, Revisit};
use crate::storage::{Batch, Database, DiskError, Family, RowReader, RowWriter};
use crivello_common::config::{self, RecrawlObjective, RecrawlPolicy};
use crivello_common::time::Timestamp;
use crivello_recrawl::backoff::FailurePolicy;
use crivello_recrawl::controller::ThresholdController;
use crivello_recrawl::host_evidence::HostEvidence;
use crivello_recrawl::objective::Objective;
use crivello_recrawl::page::VisitContext;
use crivello_recrawl::prior::PriorStats;
use crivello_recrawl::rate::RateDistribution;
use crivello_recrawl::rate_meter::RateMeter;
use crivello_recrawl::signals::SignalModel;
use crivello_recrawl::threshold::ThresholdPolicy;
use crivello_recrawl::threshold_history::{DueRule, ThresholdHistory};
use std::time::Duration;

/// Key in `meta` of what is learned from all pages.
const META_RECRAWL: &[u8] = b"recrawl";
/// Longest wait after a failure, as a multiple of the first one.
const FAILURE_WAITS_MAX: u32 = 64;
/// Time between two fetches of a list that has no interval of its own.
const LISTS_INTERVAL: Duration = Duration::from_secs(86_400);
/// Time over which hinted visits are averaged, as a multiple of that between two fetches of a list.
const HINT_WINDOW_LISTS: f64 = 10.0;
/// Version of the value in `meta`.
const VERSION: u8 = 3;

/// The policy in force, and what is learned from all pages of this agent.
#[derive(Debug)]
pub struct RecrawlState {
    settings: config::Recrawl,
    policy: ThresholdPolicy,
    failures: FailurePolicy,
    /// Threshold for the value of a fetch, in units of weight times seconds.
    threshold: f64,
    past: ThresholdHistory,
    meter: RateMeter,
    prior: PriorStats,
    n_reports: u64,
    stats: RecrawlStats,
}

impl RecrawlState {
    /// Reads the state.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails or the state is damaged.
    pub fn read(disk: &Database, settings: &config::Recrawl) -> Result<Self, DiskError> {
        let change_interval = settings.change_interval.as_secs_f64();
        let threshold = ThresholdController::initial_threshold(change_interval);
        let policy = threshold_policy(settings);
        let mut state = Self {
            settings: settings.clone(),
            policy,
            failures: failure_policy(settings),
            threshold,
            past: ThresholdHistory::new(0.0, threshold, DueRule { policy, threshold }),
            meter: RateMeter::default(),
            prior: PriorStats::default(),
            n_reports: 0,
            stats: RecrawlStats::default(),
        };
        if let Some(value) = disk.get(Family::Meta, META_RECRAWL)? {
            let damaged = DiskError::Row { family: "meta", what: "the recrawl state is malformed" };
            state.decode(&value).ok_or(damaged)?;
        }
        Ok(state)
    }

    /// Applies new settings.
    pub fn reconfigure(&mut self, settings: &config::Recrawl) {
        if *settings != self.settings {
            self.settings = settings.clone();
            self.policy = threshold_policy(settings);
            self.failures = failure_policy(settings);
        }
    }

    /// Returns true if pages are fetched again.
    pub fn is_on(&self) -> bool {
        self.settings.policy != RecrawlPolicy::None
    }

    /// Returns true if a threshold decides when pages are fetched again.
    pub fn is_adaptive(&self) -> bool {
        self.settings.policy == RecrawlPolicy::Adaptive
    }

    /// Sets the threshold that all agents agreed on.
    pub fn set_threshold(&mut self, threshold: f64, now: Timestamp) {
        if threshold.is_finite() && threshold > 0.0 {
            self.threshold = threshold;
            self.past.update(seconds(now), threshold);
        }
    }

    /// Returns the results of visits.
    pub const fn stats(&self) -> &RecrawlStats {
        &self.stats
    }

    /// Returns the threshold in force.
    pub const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns the interval of sitemaps, feeds and seeds, if they have one of their own.
    fn own_interval(&self, row: &Queued, is_list: bool) -> Option<f64> {
        own_interval(&self.settings, row, is_list).map(|(_, interval)| interval.as_secs_f64())
    }

    /// Returns the prior of all pages of this agent.
    fn crawl_prior(&self) -> RateDistribution {
        let change_interval = self.settings.change_interval.as_secs_f64();
        self.prior.prior(&RateDistribution::unknown(change_interval))
    }

    fn context(&self, weight: Option<f64>, prior: RateDistribution) -> VisitContext {
        VisitContext { prior, signals: SignalModel::NONE, weight: weight.unwrap_or(1.0) }
    }

    /// Returns the seconds over which hinted visits are averaged.
    fn hint_window(&self) -> f64 {
        let between_lists = match self.settings.sitemaps_interval {
            Duration::ZERO => LISTS_INTERVAL,
            interval => interval.max(self.settings.interval_min),
        };
        HINT_WINDOW_LISTS * between_lists.as_secs_f64()
    }

    /// Returns true if the due time of a page follows from the threshold.
    pub fn follows_threshold(&self, revisit: &Revisit, row: &Queued) -> bool {
        let failed = revisit.history.is_none_or(|history| history.failures() > 0);
        self.settings.policy == RecrawlPolicy::Adaptive
            && !failed
            && self.own_interval(row, revisit.is_list).is_none()
    }

    /// Adds the state to a batch.
    pub fn write(&self, batch: &mut Batch) {
        if !self.is_on() {
            return;
        }
        let RevisitCounts { new, changed, unchanged, not_modified, failed } = self.stats.counts;
        let mut w = RowWriter::versioned(VERSION);
        w.rest(&self.threshold.to_be_bytes()).rest(&self.prior.to_bytes());
        for n in [new, changed, unchanged, not_modified, failed, self.n_reports] {
            w.number(n);
        }
        for number in self.stats.stored_means() {
            w.rest(&number.to_be_bytes());
        }
        let DueRule { policy, threshold } = self.past.passed();
        let (least, most) = policy.bounds();
        w.byte(u8::from(policy.objective() == Objective::Freshness));
        for number in [threshold, least, most] {
            w.rest(&number.to_be_bytes());
        }
        batch.put(Family::Meta, META_RECRAWL, &w.finish());
    }

    fn decode(&mut self, value: &[u8]) -> Option<()> {
        let mut r = RowReader(value);
        if r.byte()? != VERSION {
            return None;
        }
        let threshold = f64::from_be_bytes(r.array()?);
        self.prior = PriorStats::from_bytes(&r.array()?);
        self.stats.counts = RevisitCounts {
            new: r.number()?,
            changed: r.number()?,
            unchanged: r.number()?,
            not_modified: r.number()?,
            failed: r.number()?,
        };
        self.n_reports = r.number()?;
        let number = |r: &mut RowReader<'_>| r.array().map(f64::from_be_bytes);
        self.stats.restore_means([number(&mut r)?, number(&mut r)?, number(&mut r)?]);
        let objective = match r.byte()? {
            0 => Objective::Harmonic,
            _ => Objective::Freshness,
        };
        let (passed, least, most) = (number(&mut r)?, number(&mut r)?, number(&mut r)?);
        if [threshold, passed].iter().all(|threshold| threshold.is_finite() && *threshold > 0.0) {
            self.threshold = threshold;
            let policy = ThresholdPolicy::new(objective, least, most);
            self.past =
                ThresholdHistory::new(0.0, threshold, DueRule { policy, threshold: passed });
        }
        Some(())
    }
}

/// Setting that gives a page an interval of its own, whatever the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OwnInterval {
    /// `recrawl.sitemaps-interval`, also for feeds.
    Lists,
    /// `recrawl.seeds-interval`.
    Seeds,
}

/// Returns the interval of sitemaps, feeds and seeds, if they have one of their own. For a seed that is a
/// feed the shorter one counts.
pub fn own_interval(
    settings: &config::Recrawl,
    row: &Queued,
    is_list: bool,
) -> Option<(OwnInterval, Duration)> {
    let is_list = is_list || row.kind == LinkKind::Sitemap;
    let is_seed = row.depth == 0 && row.redirects == 0;
    let of_lists = is_list.then_some((OwnInterval::Lists, settings.sitemaps_interval));
    let of_seeds = is_seed.then_some((OwnInterval::Seeds, settings.seeds_interval));
    let own = [of_lists, of_seeds].into_iter().flatten();
    own.filter(|(_, interval)| !interval.is_zero()).min_by_key(|(_, interval)| *interval)
}

fn threshold_policy(settings: &config::Recrawl) -> ThresholdPolicy {
    let objective = match settings.objective {
        RecrawlObjective::Harmonic => Objective::Harmonic,
        RecrawlObjective::Freshness => Objective::Freshness,
    };
    let [least, most] = [settings.interval_min, settings.interval_max].map(|d| d.as_secs_f64());
    ThresholdPolicy::new(objective, least, most)
}

fn failure_policy(settings: &config::Recrawl) -> FailurePolicy {
    let first = settings.errors_interval;
    let longest = first.saturating_mul(FAILURE_WAITS_MAX).min(settings.interval_max.max(first));
    let seconds = |duration: Duration| duration.as_secs_f64();
    FailurePolicy::new(seconds(first), seconds(longest), seconds(settings.gone_after))
}

/// Returns the reliability of the signals of a host.
fn signal_model(evidence: Option<&HostEvidence>, crawl: &RateDistribution) -> SignalModel {
    evidence.map_or(SignalModel::NONE, |evidence| evidence.signals(crawl))
}

fn seconds(at: Timestamp) -> f64 {
    at.0 as f64 / 1e6
}

/// Returns a time in whole seconds, but not zero, which means never.
fn timestamp(seconds: f64) -> Timestamp {
    Timestamp::from_secs((seconds.ceil() as u64).max(1))
}
