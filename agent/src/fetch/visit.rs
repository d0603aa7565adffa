//! One visit, from its first request to its verdict.

use super::client::After;
use super::dns::literal;
use super::exchange::{Answer, Ask, asks_to_slow_down, exchange, keeps_connection};
use super::retry_after::retry_after;
use super::robots;
use super::visit_guard::VisitGuard;
use super::{AddressPolicy, FetchContext};
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
    let (guard, plan) = open(visit, context);
    carry_out(guard, plan, stop)
}

pub(super) fn open(visit: Visit, context: Arc<FetchContext>) -> (VisitGuard, VisitPlan) {
    let Visit { host, name, address, task, deadline, handed_out } = visit;
    let party = (host, name, address, deadline, handed_out);
    match task {
        VisitTask::Robots(request) => {
            let origin = request.url.origin();
            let plan = VisitPlan::Robots(request.url.clone());
            (VisitGuard::new(context, party, origin, Vec::new(), Some(request)), plan)
        }
        VisitTask::Pages { origin, rules, urls, requests_max } => (
            VisitGuard::new(context, party, origin, urls, None),
            VisitPlan::Pages { rules, requests_max },
        ),
    }
}

/// Part of a [`VisitTask`] that is not in the guard.
pub(super) enum VisitPlan {
    Robots(crivello_common::url::CrawlUrl),
    Pages { rules: Arc<Rules>, requests_max: u32 },
}

async fn carry_out(mut guard: VisitGuard, plan: VisitPlan, stop: CancellationToken) {
    if !may_connect(&guard.context.address_policy, &guard.name, guard.address) {
        return refuse(&mut guard);
    }
    let context = Arc::clone(&guard.context);
    let _pin = context.clients.pin(&guard.name, guard.address);
    match plan {
        VisitPlan::Robots(url) if !stop.is_cancelled() && guard.may_go_on() => {
            robots::run(&mut guard, &context, url, &stop).await;
        }
        VisitPlan::Robots(_) => {}
        VisitPlan::Pages { rules, requests_max } => {
            pages(&mut guard, &context, &rules, requests_max, &stop).await;
        }
    }
}

/// Returns true if a connection is allowed; this is the last check before a socket is opened. IP
/// literals do not pass through the pinned resolver, so they must equal the address of the visit.
pub(super) fn may_connect(policy: &AddressPolicy, name: &str, address: IpAddr) -> bool {
    policy.admits(address) && literal(name).is_none_or(|literal| literal == address)
}

fn refuse(guard: &mut VisitGuard) {
    guard.answer(RobotsOutcome::Unreachable);
    while let Some(row) = guard.take_next() {
        discard(guard, row, Discard::AddressDenied);
    }
}

async fn pages(
    guard: &mut VisitGuard,
    context: &FetchContext,
    rules: &Rules,
    requests_max: u32,
    stop: &CancellationToken,
) {
    let host = guard.host.host;
    let after = context.idle_limit.after(host, context.clock.now());
    while guard.requests() < requests_max && !stop.is_cancelled() && guard.may_go_on() {
        let Some(row) = guard.take_next() else { return };
        if !rules.allows(&row.path) {
            discard(guard, row, Discard::Robots);
            // A check against hostile rules takes about a millisecond.
            tokio::task::yield_now().await;
            continue;
        }
        if guard.requests() > 0 && after == After::Kept {
            context.idle_limit.extend_to(host, context.clock.now());
        }
        let is_last = guard.requests() + 1 == requests_max || guard.rest.len() == 0;
        if !page(guard, context, row, (is_last, after), stop).await {
            return;
        }
    }
}

/// Fetches one page. Returns true if another may follow on the same connection.
async fn page(
    guard: &mut VisitGuard,
    context: &FetchContext,
    row: Queued,
    (is_last, after): (bool, After),
    stop: &CancellationToken,
) -> bool {
    let url = guard.url(&row);
    let name = Arc::clone(&guard.name);
    let began = guard.begin(Some(row));
    let ask = Ask {
        url: &url,
        host: &name,
        address: guard.address,
        headers: &context.request_headers.pages,
        follows: guard.requests() > 1,
        is_last,
        after,
        body_size_max: context.caps.body_size,
        began,
        stop,
    };
    let answer = match exchange(context, &ask).await {
        Answer::Response(response, waited) => {
            guard.exclude_wait(waited);
            Ok(response)
        }
        Answer::Failed(failure) => Err(failure),
        Answer::Unaskable(reason) => {
            if let Some(row) = guard.undo_send() {
                discard(guard, row, reason);
            }
            return true;
        }
        // The URL is still in flight, so the guard returns it.
        Answer::Stopped => return false,
    };
    let (row, took) = guard.end();
    let (outcome, goes_on) = match answer {
        Ok(response) => settle(guard, response),
        Err(failure) => fail(guard, failure),
    };
    guard.report(row, url, (began, took), outcome);
    goes_on
}

fn settle(guard: &mut VisitGuard, response: Box<Response>) -> (FetchOutcome, bool) {
    if asks_to_slow_down(response.status) {
        guard.signal(Signal::SlowDown(retry_after(&response.headers, guard.ended())));
        return (FetchOutcome::Failed(Failure::SlowDown), false);
    }
    guard.count_page();
    let goes_on = keeps_connection(&response);
    (FetchOutcome::Response(response), goes_on)
}

fn fail(guard: &mut VisitGuard, failure: Failure) -> (FetchOutcome, bool) {
    guard.signal(Signal::Failed(failure));
    (FetchOutcome::Failed(failure), false)
}

fn discard(guard: &VisitGuard, row: Queued, reason: Discard) {
    let url = guard.url(&row);
    let at = guard.context.clock.now();
    guard.report(Some(row), url, (at, Duration::ZERO), FetchOutcome::Discarded(reason));
}
