//! The fetchers: an asynchronous runtime in which each visit is a task.

use crate::fetch::{self, DnsResolver, FetchContext, Sink};
use crate::limits::visits_max;
use crate::messages::{
    Fetched, FetcherReply, NameRequest, Resolution, ResolveError, SchedulerQueues, Verdict, Visit,
    VisitDeadline,
};
use crate::report::Ended;
use crate::shared::Shared;
use crate::shared::panic_guard::PanicGuard;
use crate::url_tracing::LookedUp;
use crivello_common::config::Settings;
use crivello_common::hash::HostKey;
use crivello_common::runtime::open_files;
use crivello_common::time::{Clock, Timestamp};
use crossbeam::channel::Sender;
use std::sync::Arc;
use std::time::Duration;

/// Lowers `fetch.visits-max` if the system does not let this process open enough files.
pub fn within_open_files(mut settings: Settings) -> Settings {
    let files = open_files();
    let wanted = settings.fixed.fetch.visits_max;
    let most = visits_max(&settings, files);
    if u64::from(wanted) > most {
        settings.fixed.fetch.visits_max = u32::try_from(most).unwrap_or(wanted);
        tracing::warn!(
            "fetch.visits-max is {most} in this run, not {wanted}: this process may open only \
             {files} files (see `ulimit -n`)"
        );
    }
    settings
}

/// Sends the results of visits to the parsers and to the scheduler.
pub struct FetchSink {
    /// The shared state.
    pub shared: Shared,
    /// Queues of replies to the scheduler.
    pub queues: Arc<SchedulerQueues>,
    /// Queue to the parsers.
    pub results: Sender<Box<Fetched>>,
}

impl Sink for FetchSink {
    fn fetched(&self, mut fetched: Fetched) {
        self.shared.tracer.visited(&mut fetched);
        let body = fetched.body_len();
        self.shared.status.recent.push(&fetched);
        self.shared.pipeline.enter(body);
        // Never full, see `limits::results_max`. Fails once the parsers have ended because the
        // crawl is over. If a result was lost for another reason, the crawl would wait for it
        // forever.
        if self.results.try_send(Box::new(fetched)).is_err() {
            let why = "the parsers' queue is full".to_owned();
            self.shared.lifecycle.end(Ended::Failed, Some(why));
        }
    }

    fn verdict(&self, verdict: Verdict) {
        self.queues.reply(FetcherReply::Verdict(verdict));
    }

    fn has_room(&self) -> bool {
        self.shared.pipeline.has_room()
    }
}

/// The engine that starts a task for each visit and for each name to resolve.
pub struct Fetchers {
    /// The shared state; the engine stops once the run is over.
    pub shared: Shared,
    /// Queues of visits, names and replies.
    pub queues: Arc<SchedulerQueues>,
    /// Client, with everything that visits need.
    pub context: Arc<FetchContext>,
    /// The resolver.
    pub dns: Arc<DnsResolver>,
}

impl Fetchers {
    /// Runs until the crawl is over.
    pub async fn run(self) {
        let _guard = PanicGuard::new(&self.shared.lifecycle, "fetchers");
        while !self.shared.lifecycle.is_over() {
            while let Some(visit) = self.queues.visits.pop() {
                self.start_visit(visit);
            }
            while let Some(NameRequest { host, name, .. }) = self.queues.names.pop() {
                self.start_look_up(host, name);
            }
            self.queues.fetchers.notified().await;
        }
    }

    fn start_visit(&self, visit: Visit) {
        let Shared { clock, lifecycle, fetch_deadline, .. } = &self.shared;
        let (stop, clock) = (lifecycle.stop.clone(), *clock);
        let (fetch_deadline, cut) = (fetch_deadline.clone(), fetch_deadline.cut());
        let deadline = visit.deadline.clone();
        let visit = fetch::run(visit, self.context.clone(), stop);
        if !fetch_deadline.is_open(clock.now()) {
            return; // Passed since the scheduler checked it; the drop returns the visit.
        }
        tokio::spawn(async move {
            // Dropping a visit closes its connection and returns its remaining URLs.
            tokio::select! {
                biased;
                () = fetch_deadline.passed(&cut, clock) => {}
                () = ended(&deadline, clock) => {}
                () = visit => {}
            }
        });
    }

    fn start_look_up(&self, host: HostKey, name: Arc<str>) {
        let (clock, tracer) = (self.shared.clock, self.shared.tracer.clone());
        let dns = self.dns.clone();
        let snapshot = LookUp::of(host, self.queues.clone());
        tokio::spawn(async move {
            let begin = clock.now();
            let resolution = dns.resolve(host, &name, begin).await;
            let looked_up = LookedUp { begin, end: clock.now() };
            let error = resolution.answer.as_ref().err().map(|error| error.name());
            tracer.looked_up(host, &name, error, looked_up);
            snapshot.answer(resolution);
        });
    }
}

/// Longest pause between two checks of a visit's deadline.
const LOOK_UP: Duration = Duration::from_secs(1);

/// Returns once the IP lease of a visit has ended.
async fn ended(deadline: &VisitDeadline, clock: Clock) {
    loop {
        match deadline.end() {
            Timestamp::MAX => std::future::pending().await,
            end => match end.since(clock.now()) {
                Duration::ZERO => return,
                // The runtime's clock may stand still while this one does not.
                left => tokio::time::sleep(left.min(LOOK_UP)).await,
            },
        }
    }
}

/// Pending name look-up: the scheduler gets an answer even if the task panics.
struct LookUp {
    queues: Arc<SchedulerQueues>,
    resolution: Resolution,
}

impl LookUp {
    const fn of(host: HostKey, queues: Arc<SchedulerQueues>) -> Self {
        Self { queues, resolution: Resolution { host, answer: Err(ResolveError::Unavailable) } }
    }

    fn answer(mut self, resolution: Resolution) {
        self.resolution = resolution;
    }
}

impl Drop for LookUp {
    fn drop(&mut self) {
        self.queues.reply(FetcherReply::Resolved(self.resolution.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawldb::Totals;
    use crate::messages::{FetchOutcome, HandedOut};
    use crivello_common::config::Settings;
    use crivello_common::discard::Discard;
    use crivello_common::identity::KeyedHasher;
    use crivello_common::time::{Clock, Timestamp};
    use crivello_common::url::CrawlUrl;
    use std::time::Duration;

    #[tokio::test]
    async fn a_look_up_that_panics_is_answered_all_the_same() {
        let queues = Arc::new(SchedulerQueues::new(1, 1));
        let host = KeyedHasher::with_public_key()
            .host_key(CrawlUrl::parse("http://a.test/").unwrap().host());
        let snapshot = LookUp::of(host, queues.clone());
        let task = tokio::spawn(async move {
            let _look_up = snapshot;
            panic!("simulated bug");
        });
        assert!(task.await.unwrap_err().is_panic());
        let Some(FetcherReply::Resolved(resolution)) = queues.replies.pop() else {
            panic!("expected a resolution")
        };
        assert_eq!((resolution.host, resolution.answer), (host, Err(ResolveError::Unavailable)));
    }

    #[test]
    fn a_result_that_finds_no_room_ends_the_run() {
        let shared = Shared::new(
            &Settings::default(),
            Clock::start(),
            ("crawl", KeyedHasher::with_public_key()),
            Totals::default(),
            None,
        );
        let (results, _parsers) = crossbeam::channel::bounded(1);
        let sink = FetchSink {
            shared: shared.clone(),
            queues: SchedulerQueues::new(1, 1).into(),
            results,
        };
        let url = CrawlUrl::parse("http://a.test/").unwrap();
        let report = || {
            sink.fetched(Fetched {
                host: KeyedHasher::with_public_key().host_key(url.host()),
                name: url.host().into(),
                row: None,
                url: url.clone(),
                address: std::net::Ipv4Addr::LOCALHOST.into(),
                at: Timestamp::ZERO,
                took: Duration::ZERO,
                outcome: FetchOutcome::Discarded(Discard::Robots),
                handed_out: HandedOut::default(),
                signals: None,
                traced: None,
                payload: None,
            });
        };
        report();
        assert!(!shared.lifecycle.is_over());
        report();
        assert_eq!(shared.lifecycle.wait(Duration::ZERO).map(|end| end.how), Some(Ended::Failed));
    }
}
