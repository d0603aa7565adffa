//! Hints that a page has changed, and requests of people, move its due time.

use super::{RecrawlState, seconds, signal_model, timestamp};
use crate::messages::{Queued, Revisit, SignalSource, Validators};
use crivello_common::time::Timestamp;
use crivello_recrawl::host_evidence::HostEvidence;

impl RecrawlState {
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
        // Expressions for interval and weight need a body, which a 304 does not have.
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
}
