//! One visit, from its first request to its verdict.

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

/// Performs a visit. Each result goes to the context's [`Sink`](super::Sink) at once. The verdict
/// follows when the returned future completes or is dropped, even before it was first polled.
///
/// No request begins after `stop` is cancelled, after the visit's deadline, or while its host is
/// blocked or paused. The request in flight is finished, and the remaining URLs are returned with
/// the verdict. A request that waits for memory for its body when `stop` is cancelled is not
/// finished; its URL is returned too. Dropping the future closes the connection at once and also
/// returns the URL in flight.
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

/// Part of a [`VisitTask`] that is not in the lease.
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

/// Returns true if a connection is allowed; this is the last check before a socket is opened. IP
/// literals do not pass through the pinned resolver, so they must equal the address of the lease.
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
            // A check against hostile rules takes about a millisecond.
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

/// Fetches one page. Returns true if another may follow on the same connection.
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
        // The URL is still in flight, so the lease returns it.
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
