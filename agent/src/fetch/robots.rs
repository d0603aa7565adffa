//! Robots visits: one hop on the way to an origin's robots.txt, or its TDM file, and the meaning of the
//! response (RFC 9309 section 2.3.1).

use super::FetchContext;
use super::client::After;
use super::exchange::{Answer, Ask, asks_to_slow_down, exchange};
use super::retry_after::retry_after;
use super::target::RequestTarget;
use super::tdm_file;
use super::visit_guard::VisitGuard;
use crate::limits::ROBOTS_SIZE_MAX;
use crate::messages::{FetchOutcome, Response, RobotsOutcome, Truncation};
use crivello_common::failure::Failure;
use crivello_common::politeness::VisitSignal;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_html::RobotsTxt;
use http::HeaderMap;
use http::header::LOCATION;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// Maximum length in bytes of a file that is compiled on a thread of the runtime; longer ones are
/// compiled on a blocking thread.
const COMPILED_HERE_MAX: usize = 16 << 10;

/// Sends one request and records its answer in the guard.
pub(super) async fn run(
    guard: &mut VisitGuard,
    context: &FetchContext,
    url: CrawlUrl,
    stop: &CancellationToken,
) {
    let Ok(target) = context.connect_policy.target(&url, &guard.name, guard.address) else {
        return guard.answer(RobotsOutcome::Unreachable);
    };
    let began = guard.begin(None);
    let after = context.idle_limit.after(guard.host.host, began);
    let ask = ask(context, &target, after, began, stop);
    let (response, waited) = match exchange(context, &ask).await {
        Answer::Response(response, waited) => (response, waited),
        Answer::Failed(failure) => {
            let (_, took) = guard.end(Duration::ZERO);
            guard.signal = VisitSignal::Failed(failure);
            guard.answer(RobotsOutcome::Unreachable);
            return guard.report(None, url, (began, took), FetchOutcome::Failed(failure));
        }
        Answer::Unaskable(_) => {
            guard.undo_send();
            return guard.answer(RobotsOutcome::Unreachable);
        }
        // There is no answer, so it is requested again later.
        Answer::Stopped => return,
    };
    let (_, took) = guard.end(waited);
    guard.signal = signal(&response, guard.ended);
    guard.note_certificate(response.certificate);
    let found = match guard.rules_found() {
        Some(rules) => tdm_file::found(&response, &url, &rules),
        None => found(&response, &url, &context.request_headers.agent).await,
    };
    guard.answer(found);
    guard.report(None, url, (began, took), FetchOutcome::Response(response));
}

/// Returns the only request on its connection, for the robots.txt at `target`.
pub(super) fn ask<'a>(
    context: &'a FetchContext,
    target: &'a RequestTarget,
    after: After,
    began: Timestamp,
    stop: &'a CancellationToken,
) -> Ask<'a> {
    let headers = &context.request_headers.robots;
    let (follows, is_last, body_size_max) = (false, true, ROBOTS_SIZE_MAX);
    Ask { target, headers, validators: None, follows, is_last, after, body_size_max, began, stop }
}

fn signal(response: &Response, ended: Timestamp) -> VisitSignal {
    if asks_to_slow_down(response.status) {
        return VisitSignal::SlowDown(retry_after(&response.headers, ended));
    }
    match response.truncated {
        Some(Truncation::Disconnect) => VisitSignal::Failed(Failure::Disconnected),
        Some(Truncation::Time) => VisitSignal::Failed(Failure::TotalTimeout),
        Some(Truncation::Length) | None => VisitSignal::Healthy,
    }
}

async fn found(response: &Response, url: &CrawlUrl, agent: &str) -> RobotsOutcome {
    match meaning(response, url) {
        Meaning::File => rules(response, url.host(), agent).await,
        Meaning::Elsewhere(target) => RobotsOutcome::Redirect(target),
        Meaning::Missing => RobotsOutcome::Missing,
        Meaning::Nowhere | Meaning::Unreachable => RobotsOutcome::Unreachable,
    }
}

/// Meaning of a response to a request for a robots.txt.
pub(super) enum Meaning {
    /// The body is the file.
    File,
    /// The file is at this URL.
    Elsewhere(CrawlUrl),
    /// There is no file: all is allowed.
    Missing,
    /// Redirect without a usable target: handled as unreachable.
    Nowhere,
    /// Nothing is known: nothing is allowed, or last-known-good applies.
    Unreachable,
}

/// Returns the meaning of a response by its status (RFC 9309 section 2.3.1):
/// - 2xx: the file.
/// - 3xx: it is elsewhere. Without a `Location` that can be followed nothing is known, and the safe
///   interpretation is unreachable. This includes 304: the request was not conditional.
/// - 4xx: missing, also for 401 and 403 (section 2.3.1.3), but not for 429, which asks to retry
///   later.
/// - all else: unreachable.
pub(super) fn meaning(response: &Response, url: &CrawlUrl) -> Meaning {
    match response.status {
        200..=299 => Meaning::File,
        304 => Meaning::Nowhere,
        300..=399 => location(&response.headers, url).map_or(Meaning::Nowhere, Meaning::Elsewhere),
        400..=428 | 430..=499 => Meaning::Missing,
        _ => Meaning::Unreachable,
    }
}

/// Returns the compiled rules of the file on `host`, or the outcome if there are none.
async fn rules(response: &Response, host: &str, agent: &str) -> RobotsOutcome {
    let Some(file) = response.robots_txt() else {
        return RobotsOutcome::Unreachable;
    };
    if file.plain_len().is_some_and(|len| len <= COMPILED_HERE_MAX) {
        return compile(file, host, agent);
    }
    let (host, agent) = (host.to_owned(), agent.to_owned());
    let compiled = tokio::task::spawn_blocking(move || compile(file, &host, &agent)).await;
    compiled.unwrap_or(RobotsOutcome::Unreachable)
}

fn compile(file: RobotsTxt, host: &str, agent: &str) -> RobotsOutcome {
    match file.text() {
        Some(text) => {
            let rules = Rules::parse(&text, agent).with_foreign_sitemaps(host);
            RobotsOutcome::Rules(rules.shared())
        }
        None => RobotsOutcome::Unreachable,
    }
}

/// Returns the target of a redirect, if there is one that may be crawled.
fn location(headers: &HeaderMap, base: &CrawlUrl) -> Option<CrawlUrl> {
    let target = String::from_utf8_lossy(headers.get(LOCATION)?.as_bytes());
    let base = url::Url::parse(base.as_str()).ok()?;
    CrawlUrl::join(&base, target.trim()).ok()
}
