//! The schedule of finished URLs: evidence of visits, and due times.
//!
//! `crivello_recrawl` has the mathematics. This file has the settings, the threshold in force and what
//! is learned from all pages of this agent, and turns a result into the [`Revisit`] of its URL.

use super::changes::is_limit;
use crate::messages::{
    LastCapture, LinkKind, Page, PageEnd, Queued, Revisit, RevisitData, SignalSource, Validators,
};
use crate::storage::values::{FinishedUrl, UrlOutcome};
use crate::storage::{Batch, Database, DiskError, Family, RowReader, RowWriter};
use crivello_common::config::{self, RecrawlObjective, RecrawlPolicy};
use crivello_common::discard::Discard;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_recrawl::backoff::{FailurePolicy, NextTry};
use crivello_recrawl::controller::ThresholdController;
use crivello_recrawl::demand::{DemandReport, DemandSums};
use crivello_recrawl::evidence::{ChangeSeen, FirstHints};
use crivello_recrawl::fixed::fixed_interval;
use crivello_recrawl::host_evidence::{HostEvidence, ObservedVisit, PathPrefix};
use crivello_recrawl::objective::Objective;
use crivello_recrawl::page::{PageHistory, VisitContext};
use crivello_recrawl::prior::PriorStats;
use crivello_recrawl::rate::RateDistribution;
use crivello_recrawl::rate_meter::{RateCorrection, RateMeter};
use crivello_recrawl::signals::SignalModel;
use crivello_recrawl::threshold::ThresholdPolicy;
use crivello_recrawl::threshold_history::{DuePass, DueRule, ThresholdHistory, rescaled_due};
use std::sync::Arc;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// Key in `meta` of what is learned from all pages.
const META_RECRAWL: &[u8] = b"recrawl";
/// Share of an interval of the policy `fixed` by which pages that were fetched together are spread.
const JITTER: f64 = 0.1;
/// Longest wait after a failure, as a multiple of the first one.
const FAILURE_WAITS_MAX: u32 = 64;
/// Maximum pause between two passes over all due times that `DueScan` does not lengthen, and the pause as a
/// multiple of the shortest interval.
const PASS_PAUSE_MAX: Duration = Duration::from_secs(60);
const PASS_INTERVALS: u32 = 5;
/// Ratio of an interval to that by the threshold in force above which it is clearly too long.
const LATE_RATIO: f64 = 1.05;
/// Time between two fetches of a list that has no interval of its own.
const LISTS_INTERVAL: Duration = Duration::from_secs(86_400);
/// Time over which hinted visits are averaged, as a multiple of that between two fetches of a list.
const HINT_WINDOW_LISTS: f64 = 10.0;
/// Number of visits after which one counts `1/e` in the estimated freshness.
const FRESHNESS_VISITS: f64 = 10_000.0;
/// Number of visits after which one counts `1/e` in the mean lateness.
const LATENESS_VISITS: f64 = 1_000.0;
/// Version of the value in `meta`.
const VERSION: u8 = 3;

/// Results of visits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RevisitCounts {
    /// Pages that were found by a first fetch.
    pub new: u64,
    /// Pages whose content had changed.
    pub changed: u64,
    /// Pages whose content was the same, with a body.
    pub unchanged: u64,
    /// Pages that the server called unmodified (304).
    pub not_modified: u64,
    /// Visits without a page: errors, and pages that are gone.
    pub failed: u64,
}

impl RevisitCounts {
    /// Returns the number of visits after the first.
    const fn again(&self) -> u64 {
        self.changed + self.unchanged + self.not_modified + self.failed
    }
}

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
    counts: RevisitCounts,
    /// Estimated time for which copies were fresh, and time for which there were copies, in seconds; of
    /// recent visits.
    fresh_time: f64,
    copy_time: f64,
    /// Mean time from the due time of a URL to its fetch, in seconds; of recent visits.
    lateness: f64,
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
            counts: RevisitCounts::default(),
            fresh_time: 0.0,
            copy_time: 0.0,
            lateness: 0.0,
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

    /// Returns the results of visits of pages that were fetched before.
    pub const fn counts(&self) -> RevisitCounts {
        self.counts
    }

    /// Returns the threshold in force.
    pub const fn threshold(&self) -> f64 {
        self.threshold
    }

    /// Returns the share of copies that are fresh, by the estimated rates; `None` before any visit. Each
    /// visit counts by the time since the one before, so a page counts the same however often it is
    /// fetched.
    pub fn freshness(&self) -> Option<f64> {
        (self.copy_time > 0.0).then(|| self.fresh_time / self.copy_time)
    }

    /// Returns the mean time from the due time of a URL to its fetch, in seconds; `None` before any visit
    /// after the first.
    pub fn lateness(&self) -> Option<f64> {
        (self.counts.again() > 0).then_some(self.lateness)
    }

    /// Returns the recrawl state of a URL after a visit; `None` if pages are fetched once.
    pub fn after_visit(
        &mut self,
        page: &Page,
        row: &Queued,
        record: Option<(u32, u64)>,
        me: AgentId,
        evidence: &mut Option<Box<HostEvidence>>,
    ) -> Option<Box<Revisit>> {
        if !self.is_on() {
            // Other agents must still be able to tell this fetch from earlier ones.
            let revisit = row.revisit.as_ref()?;
            return Some(Box::new(Revisit { due: Timestamp::ZERO, ..Revisit::clone(revisit) }));
        }
        let before = row.revisit.as_deref().cloned().unwrap_or_default();
        let now = seconds(page.at);
        let seen = match &page.end {
            PageEnd::Response { status, .. } => {
                VisitResult::of(*status, page.revisit_data.as_deref())
            }
            PageEnd::Failed(_) | PageEnd::Discarded(_) => VisitResult::Failed { is_gone: false },
        };
        let after = match seen {
            VisitResult::Page(data) => {
                self.after_page(&before, (page, row), data, (record, me), evidence)
            }
            VisitResult::Failed { is_gone } => {
                if before.history.is_some() {
                    self.counts.failed += 1;
                }
                self.after_failure(&before, now, is_gone)
            }
        };
        let n_visits = self.counts.again();
        if before.history.is_some() && before.due > Timestamp::ZERO && n_visits > 0 {
            let late = page.at.since(before.due).as_secs_f64();
            self.lateness += (late - self.lateness) / LATENESS_VISITS.min(n_visits as f64);
        }
        Some(Box::new(after))
    }

    /// Returns the recrawl state of a URL after a visit without a page.
    fn after_failure(&self, before: &Revisit, now: f64, is_gone: bool) -> Revisit {
        let context = self.context(None, self.crawl_prior());
        let mut history = before
            .history
            .unwrap_or_else(|| PageHistory::first(now, &FirstHints::default(), &context));
        history.record_failure(now, is_gone);
        let due = match self.failures.next_try(now, &history, is_gone) {
            NextTry::At(due) => timestamp(due),
            NextTry::Forget => Timestamp::ZERO,
        };
        // The next answer must not be compared with what the error hides.
        let validators = Validators::default();
        Revisit { due, moved_in: 0, history: Some(history), validators, ..before.clone() }
    }

    /// Returns the outcome of a queued URL that is discarded. It is queued again after a while, unless
    /// pages are fetched once, or the reason holds for good.
    pub fn discarded(
        &self,
        row: &Queued,
        (name, by): (&Arc<str>, AgentId),
        reason: Discard,
        now: Timestamp,
    ) -> UrlOutcome {
        let holds = reason == Discard::Blocked || is_limit(reason);
        if !self.is_on() || holds {
            return UrlOutcome::Discarded(reason, None);
        }
        let before = row.revisit.as_deref().cloned().unwrap_or_default();
        let revisit = Some(Box::new(self.after_failure(&before, seconds(now), false)));
        let url = Queued { revisit, ..row.clone() };
        let page = Some(Arc::new(FinishedUrl { by, name: name.clone(), url }));
        UrlOutcome::Discarded(reason, page)
    }

    fn after_page(
        &mut self,
        before: &Revisit,
        (page, row): (&Page, &Queued),
        data: &RevisitData,
        (record, me): (Option<(u32, u64)>, AgentId),
        evidence: &mut Option<Box<HostEvidence>>,
    ) -> Revisit {
        let now = seconds(page.at);
        let prefix = path_prefix(&row.path);
        let crawl = self.crawl_prior();
        let prior = evidence.as_ref().map_or(crawl, |evidence| evidence.prior(prefix, &crawl));
        let model = signal_model(evidence.as_deref(), &crawl);
        let context = VisitContext { signals: model, ..self.context(data.weight, prior) };
        let is_changed = before.content != Some(data.content);
        let age = data.modified.map(|at| now - seconds(at)).filter(|age| *age >= 0.0);
        // A page that only failed so far has a history, but no content.
        let history = match before.history.filter(|_| before.content.is_some()) {
            None => {
                self.counts.new += 1;
                let lifetime = data.lifetime.map(|lifetime| lifetime.as_secs_f64());
                PageHistory::first(now, &FirstHints { age, lifetime }, &context)
            }
            Some(earlier) => {
                let mut history = earlier;
                let is_not_modified = data.is_not_modified;
                let seen = match is_changed {
                    true => ChangeSeen::Changed { age },
                    false => ChangeSeen::Unchanged,
                };
                history.record_visit(now, seen, &context);
                let counts = &mut self.counts;
                match (is_changed, is_not_modified) {
                    (_, true) => counts.not_modified += 1,
                    (true, false) => counts.changed += 1,
                    (false, false) => counts.unchanged += 1,
                }
                // Lists change at nearly each visit, and are fetched at intervals of their own.
                if self.own_interval(row, data.is_list).is_none() {
                    self.learn(&earlier, &history, before, now);
                    let visit = ObservedVisit {
                        prefix,
                        elapsed: earlier.age(now),
                        rates: (earlier.rate(), history.rate()),
                        n_signals: earlier.signals(),
                        is_changed,
                        is_second: earlier.visits().0 == 0,
                    };
                    evidence.get_or_insert_default().add_visit(&visit, &model);
                }
                history
            }
        };
        let (status, is_copy) = match page.end {
            PageEnd::Response { status, duplicate, .. } => (status, duplicate),
            PageEnd::Failed(_) | PageEnd::Discarded(_) => (0, false),
        };
        let last = before.capture.filter(|last| page.original == Some(last.at));
        let capture = match last {
            _ if data.is_not_modified => before.capture,
            // It is a copy of the last capture.
            Some(_) => last,
            None if page.records.is_empty() && record.is_none() => None,
            None => Some(LastCapture { by: me, at: page.at, status, record }),
        };
        // A 304 refers to the last capture. If that is a copy of another one, it is a revisit itself, and
        // replay does not follow a revisit to another revisit.
        let is_revisit = is_copy && last.is_none();
        let validators = if is_revisit { Validators::default() } else { data.validators.clone() };
        let due = timestamp(history.last_fetch() + self.interval((before, row), data, &history));
        Revisit {
            generation: before.generation,
            was_answered: before.was_answered,
            is_counted: before.is_counted,
            due,
            moved_in: 0,
            history: Some(history),
            content: Some(data.content),
            is_list: data.is_list,
            capture,
            validators,
        }
    }

    /// Returns the interval of sitemaps, feeds and seeds, if they have one of their own.
    fn own_interval(&self, row: &Queued, is_list: bool) -> Option<f64> {
        own_interval(&self.settings, row, is_list).map(|(_, interval)| interval.as_secs_f64())
    }

    /// Returns the time from a fetch to the next, in seconds.
    fn interval(
        &self,
        (before, row): (&Revisit, &Queued),
        data: &RevisitData,
        history: &PageHistory,
    ) -> f64 {
        let (least, most) = self.policy.bounds();
        let interval = match (self.own_interval(row, data.is_list), self.settings.policy) {
            (Some(interval), _) => interval,
            (None, RecrawlPolicy::Adaptive) => {
                let no_signals = SignalModel::NONE;
                history.due(&self.policy, self.threshold, &no_signals) - history.last_fetch()
            }
            (None, _) => match (data.interval, before.history) {
                (Some(interval), _) => fixed_interval(interval, JITTER, row.hash.0),
                (None, Some(earlier)) if data.is_not_modified => {
                    seconds(before.due) - earlier.last_fetch()
                }
                (None, _) => most,
            },
        };
        interval.clamp(least, most)
    }

    /// Learns from a visit of a page that was fetched before.
    fn learn(&mut self, earlier: &PageHistory, history: &PageHistory, before: &Revisit, now: f64) {
        let elapsed = earlier.age(now);
        let rate = history.rate();
        self.prior.add_visit(&rate, elapsed, earlier.visits().0 == 0);
        let no_signals = SignalModel::NONE;
        let stored_due = match before.is_set_by_hint() {
            true => earlier.due(&self.policy, self.threshold, &no_signals),
            false => seconds(before.due),
        };
        // Requests of people are not evidence of future visits.
        let is_hinted = before.moved_in == Revisit::SIGNALED;
        let due = (stored_due, is_hinted);
        if is_hinted {
            self.meter.record_hinted(now, self.hint_window());
        }
        self.meter.record_visit(&self.policy, earlier, &no_signals, &self.past, due, now);
        if elapsed > 0.0 {
            // The time average of exp(-Δt) from 0 to the elapsed time.
            let missed = earlier.rate().mean() * elapsed;
            let fresh = if missed < 1e-6 { 1.0 } else { -(-missed).exp_m1() / missed };
            let remembered = 1.0 - 1.0 / FRESHNESS_VISITS;
            self.fresh_time = self.fresh_time * remembered + fresh * elapsed;
            self.copy_time = self.copy_time * remembered + elapsed;
        }
    }

    /// Returns the prior of all pages of this agent.
    fn crawl_prior(&self) -> RateDistribution {
        let change_interval = self.settings.change_interval.as_secs_f64();
        self.prior.prior(&RateDistribution::unknown(change_interval))
    }

    fn context(&self, weight: Option<f64>, prior: RateDistribution) -> VisitContext {
        VisitContext { prior, signals: SignalModel::NONE, weight: weight.unwrap_or(1.0) }
    }

    /// Returns the recrawl state of a finished URL after a hint that it has changed; `None` if the hint
    /// changes nothing. `evidence` is that of its host.
    pub fn after_signal(
        &self,
        url: &Queued,
        source: SignalSource,
        evidence: Option<&HostEvidence>,
        now: Timestamp,
    ) -> Option<Revisit> {
        if !self.is_on() {
            return None;
        }
        let mut revisit = url.revisit.as_deref().cloned().unwrap_or_default();
        let (due, mark) = match source {
            SignalSource::Person => (self.requested_due(&revisit, now), Revisit::REQUESTED),
            SignalSource::List { modified } => {
                let is_known = revisit.history.is_none_or(|history| {
                    seconds(modified) <= history.last_fetch() || history.signals() > 0
                });
                if is_known || !self.follows_threshold(&revisit, url) {
                    return None;
                }
                let history = revisit.history.as_mut()?;
                history.record_signal();
                let model = signal_model(evidence, &self.crawl_prior());
                let due = history.due(&self.policy, self.threshold, &model);
                (timestamp(due.max(seconds(now))), Revisit::SIGNALED)
            }
        };
        let is_request = mark == Revisit::REQUESTED;
        let is_sooner = revisit.due == Timestamp::ZERO || due < revisit.due;
        if is_request && !is_sooner && revisit.moved_in == mark {
            return None;
        }
        if is_sooner {
            revisit.due = due;
        }
        // A page that is due at once by an old threshold must not be put off by the one in force.
        if is_sooner || is_request {
            revisit.moved_in = mark;
        }
        // A 304 would not tell the interval and weight by an expression.
        if is_request && is_sooner {
            revisit.validators = Validators::default();
        }
        Some(revisit)
    }

    /// Returns the due time of a page that a person requests. Repeated requests do not make it due sooner
    /// than the shortest interval after its last fetch or, if it fails, than the first wait after errors.
    fn requested_due(&self, revisit: &Revisit, now: Timestamp) -> Timestamp {
        let (now, shortest) = (seconds(now), self.policy.bounds().0);
        timestamp(match revisit.history {
            Some(history) if history.failures() > 0 => {
                now + shortest.max(self.settings.errors_interval.as_secs_f64())
            }
            Some(history) => (history.last_fetch() + shortest).max(now),
            None => now,
        })
    }

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

    /// Returns the seconds over which hinted visits are averaged.
    fn hint_window(&self) -> f64 {
        let between_lists = match self.settings.sitemaps_interval {
            Duration::ZERO => LISTS_INTERVAL,
            interval => interval.max(self.settings.interval_min),
        };
        HINT_WINDOW_LISTS * between_lists.as_secs_f64()
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
        let RevisitCounts { new, changed, unchanged, not_modified, failed } = self.counts;
        let mut w = RowWriter::versioned(VERSION);
        w.rest(&self.threshold.to_be_bytes()).rest(&self.prior.to_bytes());
        for n in [new, changed, unchanged, not_modified, failed, self.n_reports] {
            w.number(n);
        }
        for number in [self.fresh_time, self.copy_time, self.lateness] {
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
        self.counts = RevisitCounts {
            new: r.number()?,
            changed: r.number()?,
            unchanged: r.number()?,
            not_modified: r.number()?,
            failed: r.number()?,
        };
        self.n_reports = r.number()?;
        let number = |r: &mut RowReader<'_>| r.array().map(f64::from_be_bytes);
        let (fresh, all, late) = (number(&mut r)?, number(&mut r)?, number(&mut r)?);
        if fresh >= 0.0 && all.is_finite() && fresh <= all {
            (self.fresh_time, self.copy_time) = (fresh, all);
        }
        if late >= 0.0 && late.is_finite() {
            self.lateness = late;
        }
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

/// Result of a fetch, for the schedule.
enum VisitResult<'a> {
    /// The page is there.
    Page(&'a RevisitData),
    /// It is not. `is_gone` means 404 or 410.
    Failed { is_gone: bool },
}

impl<'a> VisitResult<'a> {
    fn of(status: u16, data: Option<&'a RevisitData>) -> Self {
        match (status, data) {
            (404 | 410, _) => Self::Failed { is_gone: true },
            (200..=399, Some(data)) => Self::Page(data),
            _ => Self::Failed { is_gone: false },
        }
    }
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

/// Returns the prefix of a path by which rates of changes are learned: its first segment, if there are
/// more.
fn path_prefix(path: &str) -> PathPrefix {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let segment = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let hash = xxh3_64(segment.map_or("", |(segment, _)| segment).as_bytes());
    (hash >> 48) as PathPrefix
}

fn seconds(at: Timestamp) -> f64 {
    at.0 as f64 / 1e6
}

/// Returns a time in whole seconds, but not zero, which means never.
fn timestamp(seconds: f64) -> Timestamp {
    Timestamp::from_secs((seconds.ceil() as u64).max(1))
}
