//! A visit: the errand of one lease, from its first request to its verdict.

use super::client::After;
use super::dns::literal;
use super::exchange::{Answer, Ask, asks_to_slow_down, exchange, keeps_connection};
use super::lease::Lease;
use super::retry_after::retry_after;
use super::robots;
use super::{FetchContext, Guard};
use crate::messages::{FetchOutcome, Queued, Response, RobotsOutcome, Signal, Visit, VisitTask};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::robots::Rules;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Carries a visit out. Results go to the context's [`Sink`](super::Sink) as they come; the
/// verdict when the returned future is done or dropped, also before it ever ran.
///
/// Once `stop` is cancelled no further request is begun: the one in flight is finished (unless it
/// waits for room here: then it is returned like the rest) and the rest is returned with the
/// verdict; likewise when the visit's turn has ended, or its host is blocked or paused. Dropping the future closes the connection in the middle and
/// returns the URL in flight as well.
pub fn run(
    visit: Visit,
    context: Arc<FetchContext>,
    stop: CancellationToken,
) -> impl Future<Output = ()> + Send + 'static {
    let (lease, todo) = open(visit, context);
    carry_out(lease, todo, stop)
}

pub(super) fn open(visit: Visit, context: Arc<FetchContext>) -> (Lease, Todo) {
    let Visit { host, name, address, task, deadline, handed_out } = visit;
    let party = (host, name, address, deadline, handed_out);
    match task {
        VisitTask::Robots(request) => {
            let origin = request.url.origin();
            let todo = Todo::Robots(request.url.clone());
            (Lease::new(context, party, origin, Vec::new(), Some(request)), todo)
        }
        VisitTask::Pages { origin, rules, urls, requests_max } => {
            (Lease::new(context, party, origin, urls, None), Todo::Pages { rules, requests_max })
        }
    }
}

/// What is left of an [`VisitTask`] beside its lease.
pub(super) enum Todo {
    Robots(crivello_common::url::CrawlUrl),
    Pages { rules: Arc<Rules>, requests_max: u32 },
}

async fn carry_out(mut lease: Lease, todo: Todo, stop: CancellationToken) {
    if !may_connect(&lease.context.guard, &lease.name, lease.address) {
        return refuse(&mut lease);
    }
    let context = Arc::clone(&lease.context);
    let _pin = context.clients.pin(&lease.name, lease.address);
    match todo {
        Todo::Robots(url) if !stop.is_cancelled() && lease.may_go_on() => {
            robots::run(&mut lease, &context, url, &stop).await;
        }
        Todo::Robots(_) => {}
        Todo::Pages { rules, requests_max } => {
            pages(&mut lease, &context, &rules, requests_max, &stop).await;
        }
    }
}

/// The last check before a socket is opened. IP literals do not pass through the pinned
/// resolver, so they must be the address of the lease themselves.
pub(super) fn may_connect(guard: &Guard, name: &str, address: IpAddr) -> bool {
    guard.admits(address) && literal(name).is_none_or(|literal| literal == address)
}

fn refuse(lease: &mut Lease) {
    lease.answer(RobotsOutcome::Unreachable);
    while let Some(row) = lease.take_next() {
        discard(lease, row, Discard::AddressDenied);
    }
}

async fn pages(
    lease: &mut Lease,
    context: &FetchContext,
    rules: &Rules,
    requests_max: u32,
    stop: &CancellationToken,
) {
    let host = lease.host.host;
    let after = context.idle.after(host, context.clock.now());
    while lease.requests() < requests_max && !stop.is_cancelled() && lease.may_go_on() {
        let Some(row) = lease.take_next() else { return };
        if !rules.allows(&row.path) {
            discard(lease, row, Discard::Robots);
            // Judging by hostile rules takes about a millisecond.
            tokio::task::yield_now().await;
            continue;
        }
        if lease.requests() > 0 && after == After::Kept {
            context.idle.extend_to(host, context.clock.now());
        }
        let is_last = lease.requests() + 1 == requests_max || lease.rest.len() == 0;
        if !page(lease, context, row, (is_last, after), stop).await {
            return;
        }
    }
}

/// Fetches one page; says whether another may follow on the same connection.
async fn page(
    lease: &mut Lease,
    context: &FetchContext,
    row: Queued,
    (is_last, after): (bool, After),
    stop: &CancellationToken,
) -> bool {
    let url = lease.url(&row);
    let name = Arc::clone(&lease.name);
    let began = lease.begin(Some(row));
    let ask = Ask {
        url: &url,
        host: &name,
        address: lease.address,
        headers: &context.identity.pages,
        follows: lease.requests() > 1,
        is_last,
        after,
        body_size_max: context.caps.body_size,
        began,
        stop,
    };
    let answer = match exchange(context, &ask).await {
        Answer::Response(response, waited) => {
            lease.excuse(waited);
            Ok(response)
        }
        Answer::Failed(failure) => Err(failure),
        Answer::Unaskable(reason) => {
            if let Some(row) = lease.unsend() {
                discard(lease, row, reason);
            }
            return true;
        }
        // Still in flight, it is returned.
        Answer::Stopped => return false,
    };
    let (row, took) = lease.end();
    let (outcome, goes_on) = match answer {
        Ok(response) => settle(lease, response),
        Err(failure) => fail(lease, failure),
    };
    lease.tell(row, url, (began, took), outcome);
    goes_on
}

fn settle(lease: &mut Lease, response: Box<Response>) -> (FetchOutcome, bool) {
    if asks_to_slow_down(response.status) {
        lease.signal(Signal::SlowDown(retry_after(&response.headers, lease.ended())));
        return (FetchOutcome::Failed(Failure::SlowDown), false);
    }
    lease.count_page();
    let goes_on = keeps_connection(&response);
    (FetchOutcome::Response(response), goes_on)
}

fn fail(lease: &mut Lease, failure: Failure) -> (FetchOutcome, bool) {
    lease.signal(Signal::Failed(failure));
    (FetchOutcome::Failed(failure), false)
}

fn discard(lease: &Lease, row: Queued, reason: Discard) {
    let url = lease.url(&row);
    let at = lease.context.clock.now();
    lease.tell(Some(row), url, (at, Duration::ZERO), FetchOutcome::Discarded(reason));
}
