//! What agents tell of hosts, URLs and fetches, as JSON.

use super::millis;
use crate::words::wire;
use crivello_proto::v1::{FetchStory, HoldKind, HostStory, OriginRobots, UrlFate, UrlStory};
use crivello_proto::v1::{WaitReason, WhyResponse};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Why nothing is fetched from a host, in a word: `other-agent`.
pub(super) fn reason(host: &HostStory) -> String {
    let reason = WaitReason::try_from(host.reason).unwrap_or_default();
    wire(reason.as_str_name(), "WAIT_REASON_")
}

/// A host without its robots and fetches.
pub(super) fn host(host: &HostStory) -> Value {
    json!({
        "name": host.name,
        "known": host.is_known,
        "in_memory": host.on_workbench,
        "reason": reason(host),
        "detail": host.detail,
        "next": millis(host.next),
        "address": host.address,
        "queued": host.queued,
        "in_window": host.in_window,
        "requests": host.requests,
        "pages": host.pages,
        "last_ended": millis(host.last_ended),
        "failures": host.failures.iter().collect::<BTreeMap<_, _>>(),
    })
}

fn robots(origin: &OriginRobots) -> Value {
    json!({
        "origin": origin.origin,
        "state": origin.state,
        "fetched": millis(origin.fetched),
        "expires": millis(origin.expires),
        "crawl_delay_ms": origin.crawl_delay_ms,
    })
}

/// A fetch.
pub(super) fn fetch(fetch: &FetchStory) -> Value {
    json!({
        "at": millis(fetch.at),
        "url": fetch.url,
        "status": fetch.status,
        "failure": fetch.failure,
        "took_us": fetch.took_us,
        "bytes": fetch.bytes,
        "address": fetch.address,
        "agent": fetch.agent,
    })
}

/// A URL; `asked` is the name of the archive file, or why it cannot be had, where somebody else
/// than who tells the story was asked for it.
fn url(url: &UrlStory, asked: Option<Result<String, String>>) -> Value {
    let (file, no_file) = match asked {
        None => (url.file.clone(), None),
        Some(Ok(name)) => (name, None),
        Some(Err(why)) => (String::new(), Some(why)),
    };
    let fate = UrlFate::try_from(url.fate).unwrap_or_default();
    json!({
        "url": url.url,
        "fate": wire(fate.as_str_name(), "URL_FATE_"),
        "reason": url.reason,
        "meaning": url.meaning,
        "fetched": millis(url.fetched),
        "status": url.status,
        "archived_by": url.archived_by,
        "file": file,
        "no_file": no_file,
        "offset": url.offset,
        "depth": url.depth,
        "attempts": url.attempts,
        "ahead": url.ahead,
    })
}

/// The whole story; see [`url`].
pub(super) fn why(why: &WhyResponse, file: Option<Result<String, String>>) -> Value {
    let hold = HoldKind::try_from(why.hold).unwrap_or_default();
    let whole = |story: &HostStory| {
        let mut value = host(story);
        value["robots"] = story.robots.iter().map(robots).collect();
        value["fetches"] = story.fetches.iter().map(fetch).collect();
        value
    };
    json!({
        "agent": why.agent,
        "now": millis(why.now),
        "group": format!("{:016x}", why.group),
        "group_name": why.group_name,
        "owner": why.owner,
        "hold": wire(hold.as_str_name(), "HOLD_KIND_"),
        "host": why.host.as_ref().map(whole),
        "url": why.url.as_ref().map(|story| url(story, file)),
    })
}
