//! The story as JSON: all that each agent says.

use super::Story;
use crivello_proto::v1::{FetchStory, HostStory, OriginRobots, UrlStory, WhyResponse};
use serde_json::{Value, json};

impl Story<'_> {
    /// The story of whoever tells it, and what the other agents say of it.
    pub fn json(&self) -> String {
        let asked = self.about.url().map_or(self.about.host(), |url| url.as_str());
        let file = match &self.file {
            Some(Ok(name)) => Value::from(name.as_str()),
            _ => Value::Null,
        };
        let agents = self.known.iter().map(|(id, answer)| {
            let name = self.name(*id);
            match answer {
                Ok(answer) => agent(&name, answer),
                Err(why) => json!({ "agent": id.0, "name": name, "unreachable": why }),
            }
        });
        let all = json!({
            "asked": asked,
            "known": self.is_known(),
            "owner": self.owner().map(|owner| owner.0),
            "told_by": self.teller().map(|told| told.agent),
            "archive_file": file,
            "agents": agents.collect::<Vec<_>>(),
        });
        format!("{all:#}\n")
    }
}

/// The name of a value without that of its type: `WAIT_REASON_RULE` as `rule`.
fn word(name: &str, of: &str) -> String {
    name.strip_prefix(of).unwrap_or(name).to_lowercase().replace('_', "-")
}

fn agent(name: &str, a: &WhyResponse) -> Value {
    json!({
        "agent": a.agent,
        "name": name,
        "now_us": a.now,
        "group": format!("{:016x}", a.group),
        "group_name": a.group_name,
        "owner": a.owner,
        "hold": word(a.hold().as_str_name(), "HOLD_KIND_"),
        "host": a.host.as_ref().map(host),
        "url": a.url.as_ref().map(url),
    })
}

fn host(h: &HostStory) -> Value {
    json!({
        "name": h.name,
        "known": h.is_known,
        "in_memory": h.on_workbench,
        "reason": word(h.reason().as_str_name(), "WAIT_REASON_"),
        "detail": h.detail,
        "next_us": h.next,
        "address": h.address,
        "queued": h.queued,
        "in_window": h.in_window,
        "requests": h.requests,
        "pages": h.pages,
        "last_ended_us": h.last_ended,
        "failures": h.failures,
        "robots": h.robots.iter().map(robots).collect::<Vec<_>>(),
        "fetches": h.fetches.iter().map(fetch).collect::<Vec<_>>(),
    })
}

fn robots(r: &OriginRobots) -> Value {
    json!({
        "origin": r.origin,
        "state": r.state,
        "fetched_us": r.fetched,
        "expires_us": r.expires,
        "crawl_delay_ms": r.crawl_delay_ms,
    })
}

fn fetch(f: &FetchStory) -> Value {
    json!({
        "at_us": f.at,
        "url": f.url,
        "status": f.status,
        "failure": f.failure,
        "took_us": f.took_us,
        "bytes": f.bytes,
        "address": f.address,
        "agent": f.agent,
    })
}

fn url(u: &UrlStory) -> Value {
    json!({
        "url": u.url,
        "fate": word(u.fate().as_str_name(), "URL_FATE_"),
        "reason": u.reason,
        "meaning": u.meaning,
        "fetched_us": u.fetched,
        "status": u.status,
        "archived_by": u.archived_by,
        "file": u.file,
        "file_serial": u.file_serial,
        "offset": u.offset,
        "depth": u.depth,
        "attempts": u.attempts,
        "ahead": u.ahead,
    })
}
