//! One visit, from its first request to its verdict.

use super::FetchContext;
use super::client::After;
use super::exchange::{Answer, Ask, asks_to_slow_down, exchange, keeps_connection};
use super::retry_after::retry_after;
use super::robots;
use super::visit_guard::{VisitGuard, VisitPlan};
use crate::messages::{FetchOutcome, OldestOriginal, Queued, RobotsOutcome, Validators, Visit};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::VisitSignal;
use crivello_common::robots::Rules;
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
    let (guard, plan) = VisitGuard::open(visit, context);
    carry_out(guard, plan, stop)
}

async fn carry_out(mut guard: VisitGuard, plan: VisitPlan, stop: CancellationToken) {
    if !guard.context.connect_policy.admits_host(&guard.name, guard.address) {
        return refuse(&mut guard);
    }
    let context = Arc::clone(&guard.context);
    let _pin = context.clients.pins.pin(&guard.name, guard.address);
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
    while guard.requests < requests_max && !stop.is_cancelled() && guard.may_go_on() {
        let Some(row) = guard.take_next() else { return };
        if !rules.allows(&row.path) {
            discard(guard, row, Discard::Robots);
            // A check against hostile rules takes about a millisecond.
            tokio::task::yield_now().await;
            continue;
        }
        if guard.requests > 0 && after == After::Kept {
            context.idle_limit.extend_to(host, context.clock.now());
        }
        let is_last = guard.requests + 1 == requests_max || guard.rest.len() == 0;
        if !page(guard, context, row, (is_last, after), stop).await {
            return;
        }
    }
}

/// Forgets the validators of a capture that no new revisit may refer to: the request is unconditional.
fn without_old_validators(mut row: Queued, oldest: &OldestOriginal) -> Queued {
    if let Some(revisit) = &mut row.revisit
        && revisit.capture.is_some_and(|capture| !oldest.permits_capture(&capture))
    {
        revisit.validators = Validators::default();
    }
    row
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
    let target = match context.connect_policy.target(&url, &guard.name, guard.address) {
        Ok(target) => target,
        Err(reason) => {
            discard(guard, row, reason);
            return true;
        }
    };
    let row = without_old_validators(row, &context.oldest_original);
    let (revisit, is_new) = (row.revisit.as_ref(), !row.was_answered());
    let validators = revisit.map(|revisit| revisit.validators.clone()).filter(|v| !v.is_empty());
    let began = guard.begin(Some(row));
    let ask = Ask {
        target: &target,
        headers: &context.request_headers.pages,
        validators: validators.as_ref(),
        follows: guard.requests > 1,
        is_last,
        after,
        body_size_max: context.caps.body_size,
        began,
        stop,
    };
    let (answer, waited) = match exchange(context, &ask).await {
        Answer::Response(response, waited) => (Ok(response), waited),
        Answer::Failed(failure) => (Err(failure), Duration::ZERO),
        Answer::Unaskable(reason) => {
            if let Some(row) = guard.undo_send() {
                discard(guard, row, reason);
            }
            return true;
        }
        // The URL is still in flight, so the guard returns it.
        Answer::Stopped => return false,
    };
    let (row, took) = guard.end(waited);
    let (outcome, goes_on) = match answer {
        Ok(response) if asks_to_slow_down(response.status) => {
            let wait = retry_after(&response.headers, guard.ended);
            guard.signal = VisitSignal::SlowDown(wait);
            (FetchOutcome::Failed(Failure::SlowDown), false)
        }
        Ok(response) => {
            guard.pages += u32::from(is_new);
            guard.note_certificate(response.certificate);
            guard.answered |= matches!(response.status, 200..=299);
            let goes_on = keeps_connection(&response);
            (FetchOutcome::Response(response), goes_on)
        }
        Err(failure) => {
            guard.signal = VisitSignal::Failed(failure);
            (FetchOutcome::Failed(failure), false)
        }
    };
    guard.report(row, url, (began, took), outcome);
    goes_on
}

fn discard(guard: &VisitGuard, row: Queued, reason: Discard) {
    let url = guard.url(&row);
    let at = guard.context.clock.now();
    guard.report(Some(row), url, (at, Duration::ZERO), FetchOutcome::Discarded(reason));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{
        Finder, LastCapture, LinkKind, PRIORITY_DEFAULT, QueueKey, RecordPlace, Revisit,
    };
    use crivello_common::hash::UrlHash;
    use crivello_common::time::Timestamp;
    use crivello_common::url::{Origin, Scheme};
    use crivello_common::view::AgentId;

    /// The capture stays: it says that the page is counted already.
    #[test]
    fn a_page_whose_capture_is_too_old_is_requested_unconditionally() {
        let at = Timestamp::from_secs(5);
        let capture = LastCapture {
            by: AgentId(1),
            at,
            status: 200,
            record: Some(RecordPlace::here((2, 9))),
        };
        let validators = Validators { etag: Some("\"a\"".into()), last_modified: None };
        let revisit = Revisit { capture: Some(capture), validators, ..Revisit::default() };
        let row = Queued {
            queue_key: QueueKey { priority: PRIORITY_DEFAULT, ..QueueKey::default() },
            hash: UrlHash::from_bytes([1; 8]),
            origin: Origin { scheme: Scheme::Http, port: 80 },
            path: "/".into(),
            depth: 0,
            redirects: 0,
            attempts: 0,
            kind: LinkKind::Page,
            finder: Finder::SEED,
            revisit: Some(Box::new(revisit)),
        };
        let oldest = OldestOriginal::default();
        assert_eq!(without_old_validators(row.clone(), &oldest), row);
        oldest.set(Timestamp::from_secs(9), 3);
        let asked = without_old_validators(row, &oldest).revisit.unwrap();
        assert!(asked.validators.is_empty());
        assert_eq!(asked.capture, Some(capture));
    }
}
