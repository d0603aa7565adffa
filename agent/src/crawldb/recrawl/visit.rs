//! A result becomes evidence about its page, and a due time.

use super::super::changes::is_limit;
use super::{RecrawlState, seconds, signal_model, timestamp};
use crate::messages::{
    LastCapture, Page, PageEnd, Queued, RecordPlace, Revisit, RevisitData, Validators,
};
use crate::storage::values::{FinishedUrl, UrlOutcome};
use crivello_common::config::RecrawlPolicy;
use crivello_common::discard::Discard;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_recrawl::backoff::NextTry;
use crivello_recrawl::evidence::{ChangeSeen, FirstHints};
use crivello_recrawl::fixed::fixed_interval;
use crivello_recrawl::host_evidence::{HostEvidence, ObservedVisit, PathPrefix};
use crivello_recrawl::page::{PageHistory, VisitContext};
use crivello_recrawl::signals::SignalModel;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Share of an interval of the policy `fixed` by which pages that were fetched together are spread.
const JITTER: f64 = 0.1;

impl RecrawlState {
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
                    self.stats.counts.failed += 1;
                }
                self.after_failure(&before, now, is_gone)
            }
        };
        if before.history.is_some() && before.due > Timestamp::ZERO {
            self.stats.add_lateness(page.at.since(before.due).as_secs_f64());
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
        let holds = matches!(reason, Discard::Blocked | Discard::Forgotten) || is_limit(reason);
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
                self.stats.counts.new += 1;
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
                let counts = &mut self.stats.counts;
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
            None => {
                let record = record.map(RecordPlace::here);
                Some(LastCapture { by: me, at: page.at, status, record })
            }
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
        self.stats.add_copy(earlier.rate().mean(), elapsed);
    }
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

/// Returns the prefix of a path by which rates of changes are learned: its first segment, if there are
/// more.
fn path_prefix(path: &str) -> PathPrefix {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let segment = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let hash = xxh3_64(segment.map_or("", |(segment, _)| segment).as_bytes());
    (hash >> 48) as PathPrefix
}
