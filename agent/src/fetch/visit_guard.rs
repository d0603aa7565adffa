//! Guard of a visit, which guarantees exactly one verdict, even if the task panics, is aborted, or
//! never runs.
//!
//! The guard is a value in the task, and sends the verdict when it is dropped. All that the task
//! holds of the visit's connection is dropped earlier, so that the visit has really ended.

use super::FetchContext;
use crate::messages::{
    FetchOutcome, Fetched, HandedOut, Queued, RobotsAnswer, RobotsOutcome, RobotsRequest, Verdict,
    Visit, VisitDeadline, VisitTask,
};
use crivello_common::certificate::CertificateStatus;
use crivello_common::failure::Failure;
use crivello_common::hash::HostKey;
use crivello_common::politeness::VisitSignal;
use crivello_common::robots::{Rules, SiteSignals};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Guard of one visit, with its state.
pub(super) struct VisitGuard {
    pub(super) context: Arc<FetchContext>,
    pub(super) host: HostKey,
    pub(super) name: Arc<str>,
    pub(super) address: IpAddr,
    pub(super) deadline: VisitDeadline,
    handed_out: HandedOut,
    /// URLs that were not tried yet.
    pub(super) rest: std::vec::IntoIter<Queued>,
    /// True once the first of them was taken.
    under_way: bool,
    request: Option<RobotsRequest>,
    /// Signals of the site whose pages are fetched.
    signals: Option<Arc<SiteSignals>>,
    flight: Option<Flight>,
    /// Number of requests so far.
    pub(super) requests: u32,
    /// Number of responses that count as pages.
    pub(super) pages: u32,
    /// True if one of them was a success.
    pub(super) answered: bool,
    /// End of the last request.
    pub(super) ended: Timestamp,
    served: Duration,
    /// Health of the host, for the verdict.
    pub(super) signal: VisitSignal,
    robots: Option<RobotsAnswer>,
    /// True if the last response came over a connection with a valid certificate.
    verified: bool,
    /// True if any response did.
    certified: bool,
}

/// Part of a [`VisitTask`] that is not in the guard.
pub(super) enum VisitPlan {
    Robots(CrawlUrl),
    Pages { rules: Arc<Rules>, requests_max: u32 },
}

/// Request that has begun and not ended.
struct Flight {
    began: Timestamp,
    row: Option<Queued>,
}

impl VisitGuard {
    /// Creates the guard of a visit that begins now, with the visit's plan.
    pub(super) fn open(visit: Visit, context: Arc<FetchContext>) -> (Self, VisitPlan) {
        let Visit { host, name, address, task, deadline, handed_out } = visit;
        let (urls, request, plan) = match task {
            VisitTask::Robots(request) => {
                let plan = VisitPlan::Robots(request.url.clone());
                (Vec::new(), Some(request), plan)
            }
            VisitTask::Pages { rules, urls, requests_max, .. } => {
                (urls, None, VisitPlan::Pages { rules, requests_max })
            }
        };
        let signals = match &plan {
            VisitPlan::Robots(_) => None,
            VisitPlan::Pages { rules, .. } => rules.signals().cloned(),
        };
        let guard = Self {
            ended: context.clock.now(),
            context,
            host,
            name,
            address,
            deadline,
            handed_out,
            rest: urls.into_iter(),
            under_way: false,
            request,
            signals,
            flight: None,
            requests: 0,
            pages: 0,
            answered: false,
            served: Duration::ZERO,
            signal: VisitSignal::Healthy,
            robots: None,
            verified: false,
            certified: false,
        };
        (guard, plan)
    }

    /// Returns true if another request may begin: the deadline has not passed, and the host is
    /// neither blocked nor paused.
    pub(super) fn may_go_on(&self) -> bool {
        let has_turn = self.context.clock.now() < self.deadline.end();
        has_turn && !self.context.block_list.stops(&self.name, self.address)
    }

    /// Returns the next URL, or `None` while the sink has no room for its result. Each URL has a
    /// result, even one that robots.txt disallows. There is always room for the first, see
    /// [`Sink`](super::Sink).
    pub(super) fn take_next(&mut self) -> Option<Queued> {
        let has_room =
            !std::mem::replace(&mut self.under_way, true) || self.context.sink.has_room();
        if has_room { self.rest.next() } else { None }
    }

    /// Returns the complete URL of one of the visit's rows.
    pub(super) fn url(&self, row: &Queued) -> CrawlUrl {
        CrawlUrl::from_parts(row.origin, &self.name, &row.path)
    }

    /// Begins a request, for this row of the frontier or for robots.txt. Returns the time.
    pub(super) fn begin(&mut self, row: Option<Queued>) -> Timestamp {
        let began = self.context.clock.now();
        self.requests = self.requests.saturating_add(1);
        self.flight = Some(Flight { began, row });
        began
    }

    /// Ends the request. Returns its row and its duration, without the time `waited` for which the
    /// site had to wait for us.
    pub(super) fn end(&mut self, waited: Duration) -> (Option<Queued>, Duration) {
        let Some(flight) = self.flight.take() else {
            return (None, Duration::ZERO);
        };
        self.ended = self.context.clock.now();
        let took = self.ended.since(flight.began).saturating_sub(waited);
        self.served += took;
        (flight.row, took)
    }

    /// Cancels a request that was never sent, so that it does not count. Returns its row.
    pub(super) fn undo_send(&mut self) -> Option<Queued> {
        self.requests = self.requests.saturating_sub(1);
        self.flight.take().and_then(|flight| flight.row)
    }

    /// Returns the rules that were found before, if the request is for a TDM file.
    pub(super) fn rules_found(&self) -> Option<Arc<Rules>> {
        self.request.as_ref().and_then(|request| request.found.clone())
    }

    /// Records the answer to the robots request.
    pub(super) fn answer(&mut self, found: RobotsOutcome) {
        let verified = self.verified;
        self.robots = self.request.take().map(|request| RobotsAnswer { request, found, verified });
    }

    /// Records the status of the certificate of a response.
    pub(super) fn note_certificate(&mut self, certificate: Option<CertificateStatus>) {
        self.verified = certificate == Some(CertificateStatus::Valid);
        self.certified |= self.verified;
    }

    /// Sends a result to the sink.
    pub(super) fn report(
        &self,
        row: Option<Queued>,
        url: CrawlUrl,
        (at, took): (Timestamp, Duration),
        outcome: FetchOutcome,
    ) {
        let timings = &self.context.timings;
        match (&outcome, &row) {
            (FetchOutcome::Discarded(_), _) => {}
            (_, Some(_)) => timings.request.observe(took),
            (_, None) => timings.robots.observe(took),
        }
        self.context.sink.fetched(Fetched {
            host: self.host,
            name: Arc::clone(&self.name),
            row,
            url,
            address: self.address,
            at,
            took,
            outcome,
            signals: self.signals.clone(),
            handed_out: self.handed_out,
            traced: None,
            payload: None,
        });
    }

    /// Ends the request that was in flight when the task ended. A row that caused a panic counts as
    /// a failed attempt, so that it is not retried forever; any other row is returned.
    fn settle(&mut self, returned: &mut Vec<Queued>) {
        if std::thread::panicking() {
            self.answer(RobotsOutcome::Unreachable);
        }
        let Some(began) = self.flight.as_ref().map(|flight| flight.began) else {
            return;
        };
        let (row, took) = self.end(Duration::ZERO);
        if !std::thread::panicking() {
            returned.extend(row);
            return;
        }
        self.signal = VisitSignal::Failed(Failure::Disconnected);
        if let Some(row) = row {
            let url = self.url(&row);
            self.report(Some(row), url, (began, took), FetchOutcome::Failed(Failure::Disconnected));
        }
    }
}

impl Drop for VisitGuard {
    fn drop(&mut self) {
        let mut returned = Vec::new();
        self.settle(&mut returned);
        returned.extend(self.rest.by_ref());
        self.context.sink.verdict(Verdict {
            host: self.host,
            address: self.address,
            requests: self.requests,
            ended: self.ended,
            served: self.served,
            signal: self.signal,
            returned,
            pages: self.pages,
            answered: self.answered,
            robots: self.robots.take(),
            certified: self.certified,
        });
    }
}
