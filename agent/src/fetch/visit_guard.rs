//! Guard of a visit, which guarantees exactly one verdict, even if the task panics, is aborted, or
//! never runs.
//!
//! The guard is a value in the task, and sends the verdict when it is dropped. All that the task
//! holds of the visit's connection is dropped earlier, so that the visit has really ended.

use super::FetchContext;
use crate::messages::{
    FetchOutcome, Fetched, HandedOut, Queued, RobotsAnswer, RobotsOutcome, RobotsRequest, Signal,
    Verdict, VisitDeadline,
};
use crivello_common::failure::Failure;
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin};
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
    origin: Origin,
    request: Option<RobotsRequest>,
    flight: Option<Flight>,
    requests: u32,
    pages: u32,
    ended: Timestamp,
    served: Duration,
    signal: Signal,
    robots: Option<RobotsAnswer>,
}

/// Request that has begun and not ended.
struct Flight {
    began: Timestamp,
    row: Option<Queued>,
    /// Time for which the site had to wait for us.
    waited: Duration,
}

impl VisitGuard {
    /// Creates the guard of a visit that begins now.
    pub(super) fn new(
        context: Arc<FetchContext>,
        (host, name, address, deadline, handed_out): (
            HostKey,
            Arc<str>,
            IpAddr,
            VisitDeadline,
            HandedOut,
        ),
        origin: Origin,
        urls: Vec<Queued>,
        request: Option<RobotsRequest>,
    ) -> Self {
        let ended = context.clock.now();
        Self {
            context,
            host,
            name,
            address,
            deadline,
            handed_out,
            rest: urls.into_iter(),
            under_way: false,
            origin,
            request,
            flight: None,
            requests: 0,
            pages: 0,
            ended,
            served: Duration::ZERO,
            signal: Signal::Well,
            robots: None,
        }
    }

    /// Returns the number of requests so far.
    pub(super) const fn requests(&self) -> u32 {
        self.requests
    }

    /// Returns true if another request may begin: the deadline has not passed, and the host is
    /// neither blocked nor paused.
    pub(super) fn may_go_on(&self) -> bool {
        let has_turn = self.context.clock.now() < self.deadline.end();
        has_turn && !self.context.barred.stops(&self.name, self.address)
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
        self.flight = Some(Flight { began, row, waited: Duration::ZERO });
        began
    }

    /// Excludes the time for which we kept the site waiting from the duration of the request.
    pub(super) const fn exclude_wait(&mut self, waited: Duration) {
        if let Some(flight) = &mut self.flight {
            flight.waited = waited;
        }
    }

    /// Ends the request. Returns its row and its duration.
    pub(super) fn end(&mut self) -> (Option<Queued>, Duration) {
        let Some(flight) = self.flight.take() else {
            return (None, Duration::ZERO);
        };
        self.ended = self.context.clock.now();
        let took = self.ended.since(flight.began).saturating_sub(flight.waited);
        self.served += took;
        (flight.row, took)
    }

    /// Returns the end of the last request.
    pub(super) const fn ended(&self) -> Timestamp {
        self.ended
    }

    /// Cancels a request that was never sent, so that it does not count. Returns its row.
    pub(super) fn undo_send(&mut self) -> Option<Queued> {
        self.requests = self.requests.saturating_sub(1);
        self.flight.take().and_then(|flight| flight.row)
    }

    /// Counts a response as a page.
    pub(super) const fn count_page(&mut self) {
        self.pages += 1;
    }

    /// Sets the signal about the host's health for the verdict.
    pub(super) const fn signal(&mut self, signal: Signal) {
        self.signal = signal;
    }

    /// Records the answer to the robots request.
    pub(super) fn answer(&mut self, found: RobotsOutcome) {
        self.robots = self.request.take().map(|request| RobotsAnswer { request, found });
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
        let (host, name, address) = (self.host, Arc::clone(&self.name), self.address);
        let (handed_out, traced) = (self.handed_out, None);
        self.context.sink.fetched(Fetched {
            host,
            name,
            row,
            url,
            address,
            at,
            took,
            outcome,
            handed_out,
            traced,
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
        let (row, took) = self.end();
        if !std::thread::panicking() {
            returned.extend(row);
            return;
        }
        self.signal = Signal::Failed(Failure::Disconnected);
        if let Some(row) = row {
            let url = CrawlUrl::from_parts(self.origin, &self.name, &row.path);
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
            robots: self.robots.take(),
        });
    }
}
