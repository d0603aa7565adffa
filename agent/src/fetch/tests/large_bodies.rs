//! Goal: large bodies share their memory budget: none waits forever, above all not for a slow site.

use super::kit::{
    Ended, Recorder, Server, Step, context_of, ok, robots_visit, send, serve, settings, visit,
};
use crate::fetch::body_budget::{BodyBudget, Reservation};
use crate::fetch::{FetchContext, Sink, run};
use crate::limits::{BODY_FREE, BODY_UNIT};
use crate::messages::{FetchOutcome, Fetched, Truncation, Verdict, Visit};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

/// Timeout that detects endless waits; no test takes as long.
const FOR_EVER: Duration = Duration::from_secs(60);

/// Sink that records results and releases their reservations at once, as parsers do.
struct Parsed(Arc<Recorder>);

impl Sink for Parsed {
    fn fetched(&self, mut fetched: Fetched) {
        if let FetchOutcome::Response(response) = &mut fetched.outcome {
            response.reservation = None;
        }
        self.0.fetched(fetched);
    }
    fn verdict(&self, verdict: Verdict) {
        self.0.verdict(verdict);
    }
}

/// Creates a context with this many units, in which only units are scarce.
fn with_units(n_units: usize, recorder: &Arc<Recorder>) -> FetchContext {
    let mut settings = settings();
    settings.fixed.fetch.total_timeout = Duration::from_secs(3_600);
    let sink = Arc::new(Parsed(Arc::clone(recorder)));
    let mut context = context_of(&settings, sink).unwrap();
    context.body_budget = BodyBudget::with_units(n_units);
    context.caps.held_window = Duration::from_millis(200);
    context
}

/// Starts a server that sends one byte more than [`BODY_FREE`], then continues very slowly.
async fn dripping() -> Server {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n";
    let body = "x".repeat(BODY_FREE + 1);
    serve(vec![Step::Read, send(format!("{head}{body}")), Step::Drip]).await
}

fn start(visit: Visit, context: &Arc<FetchContext>, stop: &CancellationToken) -> JoinHandle<()> {
    tokio::spawn(run(visit, Arc::clone(context), stop.clone()))
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let wait = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(FOR_EVER, wait).await.expect("the condition holds in time");
}

/// Reserves all units and the pass.
async fn take_all(budget: &BodyBudget, n_units: usize) -> [Reservation; 2] {
    let mut held = [Reservation::default(), Reservation::default()];
    budget.grow(&mut held[0], n_units * BODY_UNIT).await;
    budget.grow(&mut held[1], BODY_UNIT).await;
    held
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_holds_memory_and_needs_more_gets_it_at_last() {
    let budget = Arc::new(BodyBudget::with_units(10));
    let mut tasks = JoinSet::new();
    for _ in 0..20 {
        let budget = Arc::clone(&budget);
        tasks.spawn(async move {
            let mut reservation = Reservation::default();
            for n_units in 1..=8 {
                budget.grow(&mut reservation, n_units * BODY_UNIT).await;
                assert!(reservation.has(n_units * BODY_UNIT));
                tokio::task::yield_now().await;
            }
        });
    }
    let all = tokio::time::timeout(FOR_EVER, tasks.join_all()).await;
    assert_eq!(all.expect("no deadlock").len(), 20);
    assert!(!budget.is_short());
    let held = take_all(&budget, 10).await;
    assert!(!held[0].is_empty() && !held[1].is_empty(), "all memory was released");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_bodies_that_hold_room_give_way() {
    let recorder = Arc::new(Recorder::default());
    let context = Arc::new(with_units(4, &recorder));
    let stop = CancellationToken::new();
    let slow = dripping().await;
    let tasks: Vec<_> =
        (0..12).map(|_| start(visit(slow.address, &["/slow"]), &context, &stop)).collect();
    until(|| context.body_budget.is_short()).await;

    let body = "y".repeat(BODY_FREE + 3 * BODY_UNIT);
    let quick = serve(vec![Step::Read, ok(&body)]).await;
    let quick = start(visit(quick.address, &["/quick"]), &context, &stop);
    tokio::time::timeout(FOR_EVER, quick)
        .await
        .expect("slow bodies do not block a fast one")
        .unwrap();
    let fetched = std::mem::take(&mut *recorder.fetched.lock());
    let ended = Ended { fetched, verdict: recorder.verdicts.lock().pop().unwrap() };
    for n in 0..ended.fetched.len() {
        let response = ended.response(n);
        match ended.fetched[n].url.path() {
            "/quick" => assert_eq!((response.body.len(), response.truncated), (body.len(), None)),
            _ => {
                assert_eq!(response.truncated, Some(Truncation::Time));
                assert!(response.body.len() > BODY_FREE);
            }
        }
    }
    assert!(ended.fetched.iter().any(|fetched| fetched.url.path() == "/quick"));
    tasks.iter().for_each(JoinHandle::abort);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_body_goes_on_where_nobody_waits() {
    let recorder = Arc::new(Recorder::default());
    let context = Arc::new(with_units(4, &recorder));
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", BODY_FREE + 102);
    let server = serve(vec![
        Step::Read,
        send(format!("{head}{}", "x".repeat(BODY_FREE + 1))),
        Step::Pause(Duration::from_millis(600)),
        send("y".repeat(101)),
    ])
    .await;
    run(visit(server.address, &["/"]), context, CancellationToken::new()).await;
    let ended = Ended::of(&recorder);
    assert_eq!(
        (ended.response(0).body.len(), ended.response(0).truncated),
        (BODY_FREE + 102, None)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_room() {
    for robots in [false, true] {
        let recorder = Arc::new(Recorder::default());
        let context = Arc::new(with_units(1, &recorder));
        let _held = take_all(&context.body_budget, 1).await;
        let server = dripping().await;
        let visit = match robots {
            true => robots_visit(server.address),
            false => visit(server.address, &["/a", "/b"]),
        };
        let stop = CancellationToken::new();
        let task = start(visit, &context, &stop);
        until(|| context.body_budget.is_short()).await;
        stop.cancel();
        tokio::time::timeout(FOR_EVER, task).await.expect("the visit ends").unwrap();
        let ended = Ended::of(&recorder);
        assert_eq!((ended.verdict.requests, ended.fetched.len()), (1, 0));
        assert_eq!(ended.verdict.returned.len(), if robots { 0 } else { 2 });
        assert!(ended.verdict.robots.is_none());
        assert!(!context.body_budget.is_short());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_room_has_an_end() {
    let recorder = Arc::new(Recorder::default());
    let mut context = with_units(1, &recorder);
    context.caps.total = Duration::from_millis(500);
    let context = Arc::new(context);
    let _held = take_all(&context.body_budget, 1).await;
    let server = dripping().await;
    let task = start(visit(server.address, &["/"]), &context, &CancellationToken::new());
    tokio::time::timeout(FOR_EVER, task).await.expect("the visit ends").unwrap();
    let ended = Ended::of(&recorder);
    let response = ended.response(0);
    assert_eq!(response.truncated, Some(Truncation::Time));
    assert!((1..=BODY_FREE).contains(&response.body.len()));
}
