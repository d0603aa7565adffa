//! The robots errand: one hop on the way to an origin's robots.txt, and what its answer means
//! (RFC 9309 section 2.3.1).

use super::FetchContext;
use super::exchange::{Answer, Ask, asks_to_slow_down, exchange};
use super::lease::Lease;
use super::retry_after::retry_after;
use crate::flow::{Outcome, Response, RobotsFound, Signal, Truncation};
use crate::limits::ROBOTS_SIZE_MAX;
use bytes::Bytes;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::robots::Rules;
use crivello_common::url::CrawlUrl;
use flate2::read::MultiGzDecoder;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, LOCATION};
use std::io::Read;
use std::sync::Arc;

/// Longer bodies are compiled away from the runtime's own threads.
const COMPILED_HERE_MAX: usize = 16 << 10;

/// Asks once, answers once.
pub(super) async fn run(lease: &mut Lease, context: &FetchContext, url: CrawlUrl) {
    let name = Arc::clone(&lease.name);
    let began = lease.begin(None);
    let ask = Ask {
        url: &url,
        host: &name,
        address: lease.address,
        headers: &context.identity.robots,
        close: false,
        body_size_max: ROBOTS_SIZE_MAX,
        began,
    };
    let answer = exchange(context, &ask).await;
    lease.excuse(answer.waited());
    let response = match answer {
        Answer::Response(response, _) => response,
        Answer::Failed(failure) => {
            let (_, took) = lease.end();
            lease.signal(Signal::Failed(failure));
            lease.answer(RobotsFound::Unreachable);
            return lease.tell(None, url, (began, took), Outcome::Failed(failure));
        }
        Answer::Unaskable(_) => {
            lease.unsend();
            return lease.answer(RobotsFound::Unreachable);
        }
    };
    let (_, took) = lease.end();
    lease.signal(signal(&response, lease));
    let found = found(&response, &url, &context.identity.agent).await;
    lease.answer(found);
    lease.tell(None, url, (began, took), Outcome::Response(response));
}

fn signal(response: &Response, lease: &Lease) -> Signal {
    if asks_to_slow_down(response.status) {
        return Signal::SlowDown(retry_after(&response.headers, lease.ended()));
    }
    match response.truncated {
        Some(Truncation::Disconnect) => Signal::Failed(Failure::Disconnected),
        Some(Truncation::Time) => Signal::Failed(Failure::TotalTimeout),
        Some(Truncation::Length) | None => Signal::Well,
    }
}

async fn found(response: &Response, url: &CrawlUrl, agent: &str) -> RobotsFound {
    match response.status {
        200..=299 => rules(response, agent).await,
        300..=399 => match location(&response.headers, url) {
            Some(Ok(target)) => RobotsFound::Redirect(target),
            Some(Err(_)) | None => RobotsFound::Missing,
        },
        429 => RobotsFound::Unreachable,
        400..=499 => RobotsFound::Missing,
        _ => RobotsFound::Unreachable,
    }
}

/// The rules compiled, or why there are none.
async fn rules(response: &Response, agent: &str) -> RobotsFound {
    let Some((body, coding)) = usable(response) else {
        return RobotsFound::Unreachable;
    };
    let agent = agent.to_owned();
    let compiled = if coding == Coding::Identity && body.len() <= COMPILED_HERE_MAX {
        Some(compile(body, coding, &agent))
    } else {
        tokio::task::spawn_blocking(move || compile(body, coding, &agent)).await.ok()
    };
    compiled.map_or(RobotsFound::Unreachable, RobotsFound::Rules)
}

fn compile(body: Bytes, coding: Coding, agent: &str) -> Arc<Rules> {
    Arc::new(Rules::parse(&coding.undo(body), agent))
}

/// The bytes of a robots.txt, at most [`ROBOTS_SIZE_MAX`] of them, with a coding that nobody asked
/// for undone; `None` where what came must not be used.
#[must_use]
pub fn text(response: &Response) -> Option<Bytes> {
    usable(response).map(|(body, coding)| coding.undo(body))
}

/// A file that broke off may lack the very rule that forbids: it counts as unreachable. One that
/// is too long is used as far as it was read (section 2.5).
fn usable(response: &Response) -> Option<(Bytes, Coding)> {
    if matches!(response.truncated, Some(Truncation::Disconnect | Truncation::Time)) {
        return None;
    }
    Some((response.body.clone(), Coding::of(&response.headers)?))
}

/// What a server did to the body although we asked it not to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Coding {
    Identity,
    Gzip,
}

impl Coding {
    /// `None`: one that is not undone here.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let Some(value) = headers.get(CONTENT_ENCODING) else {
            return Some(Self::Identity);
        };
        match value.to_str().ok()?.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Some(Self::Identity),
            "gzip" | "x-gzip" => Some(Self::Gzip),
            _ => None,
        }
    }

    /// At most [`ROBOTS_SIZE_MAX`] bytes, as far as they can be decoded.
    fn undo(self, body: Bytes) -> Bytes {
        if self == Self::Identity {
            return body;
        }
        let mut decoded = Vec::new();
        let limit = ROBOTS_SIZE_MAX as u64;
        // What was decoded before an error is used, as with a file that is too long.
        let _ = MultiGzDecoder::new(&body[..]).take(limit).read_to_end(&mut decoded);
        decoded.into()
    }
}

/// The target of a redirect; `None` without a `Location`.
pub(super) fn location(headers: &HeaderMap, base: &CrawlUrl) -> Option<Result<CrawlUrl, Discard>> {
    let target = String::from_utf8_lossy(headers.get(LOCATION)?.as_bytes());
    let base = url::Url::parse(base.as_str()).ok()?;
    Some(CrawlUrl::join(&base, target.trim()))
}
