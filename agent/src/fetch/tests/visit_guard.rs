//! Goal: each visit has one verdict that accounts for each URL, however the visit ends.

use super::kit::{
    Ended, HOST, LOOPBACK, Recorder, Step, context, context_of, ok, robots_visit, send, serve,
    settings, visit,
};
use crate::fetch::{Sink, run};
use crate::messages::{FetchOutcome, Fetched, Verdict, VisitTask};
use crivello_common::failure::Failure;
use crivello_common::politeness::VisitSignal;
use crivello_common::robots::Rules;
use std::sync::Arc;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_that_never_ran_returns_everything() {
    let recorder = Arc::new(Recorder::default());
    let context = Arc::new(context(&settings(), &recorder));
    let server = (LOOPBACK, 9).into();
    drop(run(visit(server, &["/a", "/b"]), Arc::clone(&context), CancellationToken::new()));
    let ended = Ended::of(&recorder);
    assert_eq!((ended.verdict.returned.len(), ended.verdict.requests), (2, 0));
    assert_eq!(ended.verdict.signal, VisitSignal::Healthy);
    drop(run(robots_visit(server), context, CancellationToken::new()));
    assert!(Ended::of(&recorder).verdict.robots.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_visit_aborted_in_flight_returns_the_url_too() {
    let server = serve(vec![Step::Read, send("HTTP/1.1 200 OK\r\n\r\nabc"), Step::Silence]).await;
    let recorder = Arc::new(Recorder::default());
    let context = Arc::new(context(&settings(), &recorder));
    let visit = visit(server.address, &["/a", "/b"]);
    let task = tokio::spawn(run(visit, context, CancellationToken::new()));
    while server.heads.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    task.abort();
    assert!(task.await.is_err());
    let ended = Ended::of(&recorder);
    let paths: Vec<_> = ended.verdict.returned.iter().map(|row| &*row.path).collect();
    assert_eq!(paths, ["/a", "/b"]);
    assert_eq!(ended.verdict.requests, 1, "the sent request is missing from the verdict");
    assert!(ended.fetched.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gentle_stop_finishes_the_request_in_flight_and_returns_the_rest() {
    let server = serve([vec![Step::Read, ok("a")], vec![Step::Read, ok("b")]].concat()).await;
    let stop = CancellationToken::new();
    let recorder = Arc::new(StopAtFirst { inner: Recorder::default(), stop: stop.clone() });
    let sink = Arc::clone(&recorder) as Arc<dyn Sink>;
    let context = context_of(&settings(), sink).unwrap();
    run(visit(server.address, &["/a", "/b"]), Arc::new(context), stop).await;
    let ended = Ended::of(&recorder.inner);
    assert_eq!((ended.fetched.len(), ended.verdict.returned.len()), (1, 1));
    assert_eq!(&ended.response(0).body[..], b"a");
}

/// Sink that cancels the visit at its first result.
struct StopAtFirst {
    inner: Recorder,
    stop: CancellationToken,
}

impl Sink for StopAtFirst {
    fn fetched(&self, fetched: Fetched) {
        self.inner.fetched(fetched);
        self.stop.cancel();
    }
    fn verdict(&self, verdict: Verdict) {
        self.inner.verdict(verdict);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_before_the_start_sends_nothing() {
    let server = serve(vec![Step::Read, ok("a")]).await;
    let stop = CancellationToken::new();
    stop.cancel();
    for visit in [visit(server.address, &["/a"]), robots_visit(server.address)] {
        let recorder = Arc::new(Recorder::default());
        let context = Arc::new(context(&settings(), &recorder));
        run(visit, context, stop.clone()).await;
        assert_eq!(Ended::of(&recorder).verdict.requests, 0);
    }
    assert_eq!(*server.connections.lock(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_costs_the_url_an_attempt_and_the_host_a_failure() {
    let recorder = Arc::new(Recorder::default());
    let context = Arc::new(context(&settings(), &recorder));
    let notify = Arc::new(Notify::new());
    let panicking = {
        let notify = Arc::clone(&notify);
        async move {
            let visit = visit((LOOPBACK, 9).into(), &["/a", "/b"]);
            let (mut guard, _plan) = crate::fetch::visit_guard::VisitGuard::open(visit, context);
            let row = guard.rest.next();
            guard.begin(row);
            notify.notified().await;
            panic!("simulated bug");
        }
    };
    let task = tokio::spawn(panicking);
    notify.notify_one();
    assert!(task.await.unwrap_err().is_panic());
    let ended = Ended::of(&recorder);
    assert_eq!(ended.verdict.signal, VisitSignal::Failed(Failure::Disconnected));
    assert_eq!(ended.verdict.returned.len(), 1);
    assert_eq!(ended.fetched[0].url.host(), HOST);
    assert!(matches!(ended.fetched[0].outcome, FetchOutcome::Failed(Failure::Disconnected)));
}

/// Disallowed and denied URLs cause no requests, but each has a result that needs room in the sink.
#[tokio::test(flavor = "multi_thread")]
async fn a_visit_returns_what_there_is_no_room_for() {
    let closed = Rules::parse(b"User-agent: *\nDisallow: /\n", "crivello");
    let mut denied = settings();
    denied.fixed.fetch.allow_networks.clear();
    for (settings, rules) in [(settings(), closed), (denied, Rules::default())] {
        let paths: Vec<String> = (0..300).map(|n| format!("/{n}")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let mut visit = visit((LOOPBACK, 9).into(), &paths);
        if let VisitTask::Pages { rules: of_visit, .. } = &mut visit.task {
            *of_visit = Arc::new(rules);
        }
        let recorder = Arc::new(Recorder { room: Some(7), ..Recorder::default() });
        let context = Arc::new(context(&settings, &recorder));
        run(visit, context, CancellationToken::new()).await;
        let ended = Ended::of(&recorder);
        assert_eq!((ended.fetched.len(), ended.verdict.returned.len()), (7, 293));
        assert_eq!(ended.verdict.requests, 0);
    }
}
