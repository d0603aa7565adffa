//! The robots errand: one hop on the way to an origin's robots.txt, and what its answer means
//! (RFC 9309 section 2.3.1).

use super::FetchContext;
use super::exchange::{Answer, Ask, asks_to_slow_down, exchange};
use super::lease::Lease;
use super::retry_after::retry_after;
use crate::limits::ROBOTS_SIZE_MAX;
use crate::messages::{FetchOutcome, Response, RobotsOutcome, Signal, Truncation};
use bytes::Bytes;
use crivello_common::failure::Failure;
use crivello_common::robots::Rules;
use crivello_common::url::CrawlUrl;
use flate2::bufread::GzDecoder;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, LOCATION};
use std::io::{ErrorKind, Read};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// Longer bodies are compiled away from the runtime's own threads.
const COMPILED_HERE_MAX: usize = 16 << 10;

/// Asks once, answers once.
pub(super) async fn run(
    lease: &mut Lease,
    context: &FetchContext,
    url: CrawlUrl,
    stop: &CancellationToken,
) {
    let name = Arc::clone(&lease.name);
    let began = lease.begin(None);
    let ask = Ask {
        url: &url,
        host: &name,
        address: lease.address,
        headers: &context.identity.robots,
        follows: false,
        is_last: true,
        after: context.idle.after(lease.host.host, began),
        body_size_max: ROBOTS_SIZE_MAX,
        began,
        stop,
    };
    let response = match exchange(context, &ask).await {
        Answer::Response(response, waited) => {
            lease.excuse(waited);
            response
        }
        Answer::Failed(failure) => {
            let (_, took) = lease.end();
            lease.signal(Signal::Failed(failure));
            lease.answer(RobotsOutcome::Unreachable);
            return lease.tell(None, url, (began, took), FetchOutcome::Failed(failure));
        }
        Answer::Unaskable(_) => {
            lease.unsend();
            return lease.answer(RobotsOutcome::Unreachable);
        }
        // No answer: it is asked again.
        Answer::Stopped => return,
    };
    let (_, took) = lease.end();
    lease.signal(signal(&response, lease));
    let found = found(&response, &url, &context.identity.agent).await;
    lease.answer(found);
    lease.tell(None, url, (began, took), FetchOutcome::Response(response));
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

async fn found(response: &Response, url: &CrawlUrl, agent: &str) -> RobotsOutcome {
    match meaning(response, url) {
        Meaning::File => rules(response, agent).await,
        Meaning::Elsewhere(target) => RobotsOutcome::Redirect(target),
        Meaning::Missing => RobotsOutcome::Missing,
        Meaning::Nowhere | Meaning::Unreachable => RobotsOutcome::Unreachable,
    }
}

/// What a response to a request for a robots.txt means.
pub(super) enum Meaning {
    /// The body is the file.
    File,
    /// It is there.
    Elsewhere(CrawlUrl),
    /// There is none: all is allowed.
    Missing,
    /// A redirect to nowhere: taken as unreachable.
    Nowhere,
    /// Nothing is known: nothing is allowed, or what was last known holds.
    Unreachable,
}

/// The one reading of a status (RFC 9309 section 2.3.1):
/// - 2xx: the file.
/// - 3xx: it is elsewhere. Without a `Location` that can be followed (also 304, which answers
///   a question that was not asked) nothing is known, and the careful reading is unreachable.
/// - 4xx: missing, also 401 and 403 (section 2.3.1.3), but not 429, which asks us to come later.
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

/// The rules compiled, or why there are none.
async fn rules(response: &Response, agent: &str) -> RobotsOutcome {
    let Some(file) = File::of(response) else {
        return RobotsOutcome::Unreachable;
    };
    let agent = agent.to_owned();
    if !is_gzip(&file.body) && file.body.len() <= COMPILED_HERE_MAX {
        return compile(file, &agent);
    }
    let compiled = tokio::task::spawn_blocking(move || compile(file, &agent)).await;
    compiled.unwrap_or(RobotsOutcome::Unreachable)
}

fn compile(file: File, agent: &str) -> RobotsOutcome {
    match file.text() {
        Some(text) => RobotsOutcome::Rules(Rules::parse(&text, agent).without_sitemaps().shared()),
        None => RobotsOutcome::Unreachable,
    }
}

/// The bytes of a robots.txt, at most [`ROBOTS_SIZE_MAX`] of them, with a coding that nobody asked
/// for undone; `None` where what came must not be used.
#[must_use]
pub fn text(response: &Response) -> Option<Bytes> {
    File::of(response)?.text()
}

/// A robots.txt as it was received.
struct File {
    body: Bytes,
    /// Whether it goes on beyond what was read.
    cut: bool,
}

impl File {
    /// A file that broke off may lack the very rule that forbids, and one in an encoding that is
    /// not undone here hides it: they count as unreachable. One that is too long is used as far as
    /// it was read (section 2.5).
    fn of(response: &Response) -> Option<Self> {
        let cut = match response.truncated {
            Some(Truncation::Disconnect | Truncation::Time) => return None,
            Some(Truncation::Length) => true,
            None => false,
        };
        is_readable(&response.headers).then(|| Self { body: response.body.clone(), cut })
    }

    /// At most [`ROBOTS_SIZE_MAX`] bytes. The bytes say whether they are gzip, not the header: the
    /// one may be there without the other, and no rule begins like gzip.
    fn text(self) -> Option<Bytes> {
        if is_gzip(&self.body) {
            gunzip(&self.body, self.cut).map(Bytes::from)
        } else {
            Some(self.body)
        }
    }
}

/// Whether what the server did to the body, although we asked it not to, can be undone.
fn is_readable(headers: &HeaderMap) -> bool {
    let mut codings = headers.get_all(CONTENT_ENCODING).iter();
    let (Some(coding), None) = (codings.next(), codings.next()) else {
        return headers.get(CONTENT_ENCODING).is_none();
    };
    let is = |known: &[u8]| coding.as_bytes().trim_ascii().eq_ignore_ascii_case(known);
    is(b"") || is(b"identity") || is(b"gzip") || is(b"x-gzip")
}

fn is_gzip(bytes: &[u8]) -> bool {
    bytes.starts_with(&[0x1f, 0x8b])
}

/// One member after another (RFC 1952); what follows the last one is not looked at. Of a file that
/// was `cut` as far as it goes; `None` where anything else is wrong with it: half a file may lack
/// the very rule that forbids.
fn gunzip(bytes: &[u8], cut: bool) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let mut rest = bytes;
    while is_gzip(rest) && text.len() < ROBOTS_SIZE_MAX {
        let room = (ROBOTS_SIZE_MAX - text.len()) as u64;
        let mut member = GzDecoder::new(rest);
        match member.by_ref().take(room).read_to_end(&mut text) {
            Ok(_) => rest = member.into_inner(),
            Err(error) if cut && error.kind() == ErrorKind::UnexpectedEof => break,
            Err(_) => return None,
        }
    }
    Some(text)
}

/// The target of a redirect, if there is one that may be crawled.
fn location(headers: &HeaderMap, base: &CrawlUrl) -> Option<CrawlUrl> {
    let target = String::from_utf8_lossy(headers.get(LOCATION)?.as_bytes());
    let base = url::Url::parse(base.as_str()).ok()?;
    CrawlUrl::join(&base, target.trim()).ok()
}
