//! The fetchers: an asynchronous runtime in which each visit is a task.

use crate::fetch::{self, Dns, FetchContext, Sink};
use crate::messages::{
    Fetched, FetcherReply, Resolution, ResolveError, SchedulerQueues, Turn, Verdict,
};
use crate::report::Ended;
use crate::shared::panic_guard::Watch;
use crate::shared::run::Shared;
use crate::url_tracing::LookedUp;
use crivello_common::hash::HostKey;
use crivello_common::time::{Clock, Timestamp};
use crossbeam::channel::Sender;
use std::sync::Arc;
use std::time::Duration;

/// Takes what the visits bring to the queues behind them.
pub struct Outlet {
    shared: Arc<Shared>,
    desk: Arc<SchedulerQueues>,
    results: Sender<Box<Fetched>>,
}

impl Outlet {
    /// Between the visits and the queues.
    #[must_use]
    pub const fn new(
        shared: Arc<Shared>,
        desk: Arc<SchedulerQueues>,
        results: Sender<Box<Fetched>>,
    ) -> Self {
        Self { shared, desk, results }
    }
}

impl Sink for Outlet {
    fn fetched(&self, mut fetched: Fetched) {
        self.shared.tracer.visited(&mut fetched);
        let body = fetched.body_len();
        self.shared.recent.push(&fetched);
        self.shared.pipeline.enter(body);
        // There is room, see `limits::results_max`; fails once the parsers have left because the
        // crawl is over. A result that is lost otherwise would be waited for without end.
        if self.results.try_send(Box::new(fetched)).is_err() {
            self.shared.end(Ended::Failed, Some("the parsers' queue is full".to_owned()));
        }
    }

    fn verdict(&self, verdict: Verdict) {
        self.desk.reply(FetcherReply::Verdict(verdict));
    }

    fn has_room(&self) -> bool {
        self.shared.pipeline.has_room()
    }
}

/// Starts a task for each visit and each name, until the crawl is over.
pub async fn run(
    shared: Arc<Shared>,
    desk: Arc<SchedulerQueues>,
    context: Arc<FetchContext>,
    dns: Arc<Dns>,
) {
    let _watch = Watch::over(&shared, "fetchers");
    while !shared.is_over() {
        while let Some(visit) = desk.visits.pop() {
            let (cut, stop) = (shared.fence.cut(), shared.stop.clone());
            let turn = visit.turn.clone();
            let visit = fetch::run(visit, context.clone(), stop);
            if !shared.fence.is_open(shared.clock.now()) {
                continue; // Between the scheduler's look and this one it closed.
            }
            let clock = shared.clock;
            tokio::spawn(async move {
                // A visit that is dropped closes its connection and returns what it had left.
                tokio::select! {
                    biased;
                    () = cut.cancelled() => {}
                    () = ended(&turn, clock) => {}
                    () = visit => {}
                }
            });
        }
        while let Some((host, name)) = desk.names.pop() {
            let (shared, dns) = (shared.clone(), dns.clone());
            let look_up = LookUp::of(host, desk.clone());
            tokio::spawn(async move {
                let begin = shared.clock.now();
                let resolution = dns.resolve(host, &name, begin).await;
                let looked_up = LookedUp { begin, end: shared.clock.now() };
                let error = resolution.answer.as_ref().err().map(|error| error.name());
                shared.tracer.looked_up(host, &name, error, looked_up);
                look_up.answer(resolution);
            });
        }
        desk.fetchers.notified().await;
    }
}

/// A visit's end is looked at again after this.
const LOOK_UP: Duration = Duration::from_secs(1);

/// Returns when a turn has ended.
async fn ended(turn: &Turn, clock: Clock) {
    loop {
        match turn.end() {
            Timestamp::MAX => std::future::pending().await,
            end => match end.since(clock.now()) {
                Duration::ZERO => return,
                // The runtime's clock may stand still where this one does not.
                left => tokio::time::sleep(left.min(LOOK_UP)).await,
            },
        }
    }
}

/// A name that is being looked up: whatever becomes of the task, the scheduler gets an answer.
struct LookUp {
    desk: Arc<SchedulerQueues>,
    resolution: Resolution,
}

impl LookUp {
    const fn of(host: HostKey, desk: Arc<SchedulerQueues>) -> Self {
        Self { desk, resolution: Resolution { host, answer: Err(ResolveError::Unavailable) } }
    }

    fn answer(mut self, resolution: Resolution) {
        self.resolution = resolution;
    }
}

impl Drop for LookUp {
    fn drop(&mut self) {
        self.desk.reply(FetcherReply::Resolved(self.resolution.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawldb::Totals;
    use crate::messages::{HandedOut, Outcome};
    use crivello_common::config::{AssignBy, Settings};
    use crivello_common::discard::Discard;
    use crivello_common::time::{Clock, Timestamp};
    use crivello_common::url::CrawlUrl;
    use std::time::Duration;

    #[tokio::test]
    async fn a_look_up_that_panics_is_answered_all_the_same() {
        let desk = Arc::new(SchedulerQueues::new(1, 1));
        let host = CrawlUrl::parse("http://a.test/").unwrap().host_key(AssignBy::Domain);
        let look_up = LookUp::of(host, desk.clone());
        let task = tokio::spawn(async move {
            let _look_up = look_up;
            panic!("a bug");
        });
        assert!(task.await.unwrap_err().is_panic());
        let Some(FetcherReply::Resolved(resolution)) = desk.replies.pop() else {
            panic!("no answer")
        };
        assert_eq!((resolution.host, resolution.answer), (host, Err(ResolveError::Unavailable)));
    }

    #[test]
    fn a_result_that_finds_no_room_ends_the_run() {
        let shared = Shared::new(Settings::default(), Clock::start(), Totals::default(), None);
        let shared = Arc::new(shared);
        let (results, _parsers) = crossbeam::channel::bounded(1);
        let outlet = Outlet::new(shared.clone(), Arc::new(SchedulerQueues::new(1, 1)), results);
        let url = CrawlUrl::parse("http://a.test/").unwrap();
        let tell = || {
            outlet.fetched(Fetched {
                host: url.host_key(AssignBy::Domain),
                name: url.host().into(),
                row: None,
                url: url.clone(),
                address: std::net::Ipv4Addr::LOCALHOST.into(),
                at: Timestamp::ZERO,
                took: Duration::ZERO,
                outcome: Outcome::Discarded(Discard::Robots),
                handed_out: HandedOut::default(),
                traced: None,
            });
        };
        tell();
        assert!(!shared.is_over());
        tell();
        assert_eq!(shared.wait(Duration::ZERO).map(|end| end.how), Some(Ended::Failed));
    }
}
