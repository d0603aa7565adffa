//! The story in plain words.

use super::Story;
use crate::format::{bytes, count, duration, table};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_proto::v1::{
    FetchStory, HoldKind, HostStory, OriginRobots, UrlFate, UrlStory, WaitReason, WhyResponse,
};
use std::fmt::Write as _;
use std::time::Duration;

impl Story<'_> {
    /// Some lines.
    pub fn text(&self) -> String {
        let asked = self.about.url().map_or(self.about.host(), |url| url.as_str());
        let mut text = format!("{asked}\n");
        let Some(told) = self.teller() else { return text };
        let now = Timestamp(told.now);
        let _ = writeln!(text, "  {}", self.whose(told));
        if let Some(url) = &told.url {
            line(&mut text, "URL", &fate(url));
            if let Some(archive) = self.archive(url) {
                line(&mut text, "archive", &archive);
            }
        }
        if let Some(host) = &told.host {
            host_lines(&mut text, host, now);
        }
        for (id, answer) in self.known {
            if let Err(why) = answer {
                let _ = writeln!(text, "  agent {} (id {id}) {why}", self.name(*id));
            }
        }
        text
    }

    /// Who has it, and who else.
    fn whose(&self, told: &WhyResponse) -> String {
        let teller = AgentId(told.agent);
        let me = format!("agent {} (id {teller})", self.name(teller));
        let group = format!("group {} ({:016x})", told.group_name, told.group);
        if self.is_at_rest {
            return format!("{group}, as it was when the crawl ended{}", self.copies(told));
        }
        let owner = self.owner().filter(|&owner| owner != teller);
        let owner = owner.map(|id| format!("agent {} (id {id})", self.name(id)));
        let owner_or_nobody = owner.clone().unwrap_or_else(|| "nobody".to_owned());
        match (told.hold(), owner) {
            (HoldKind::Authority, _) => format!("{me} has it: {group}{}", self.copies(told)),
            (HoldKind::Leaving, _) => format!(
                "{me} has it, and hands it over to {owner_or_nobody}: {group}{}",
                self.copies(told)
            ),
            (HoldKind::Pending, _) => {
                format!("{me} owns it, and waits for its rows: {group}{}", self.copies(told))
            }
            (HoldKind::Copy, _) => format!(
                "{owner_or_nobody} has it{}; this is what the copy at {me} knows: {group}{}",
                self.owners_trouble(),
                self.copies(told)
            ),
            (HoldKind::None | HoldKind::Unspecified, Some(owner)) => {
                format!("{owner} owns it{}: {group}", self.owners_trouble())
            }
            (HoldKind::None | HoldKind::Unspecified, None) => {
                format!("{me} owns it, and has nothing of it: {group}")
            }
        }
    }

    /// Why the owner does not speak for itself.
    fn owners_trouble(&self) -> String {
        match self.owner().and_then(|owner| self.known.get(&owner)) {
            Some(Err(why)) => format!(", and {why}"),
            _ => String::new(),
        }
    }

    /// Who else holds copies.
    fn copies(&self, told: &WhyResponse) -> String {
        let others = self.known.values().flatten().filter(|answer| answer.agent != told.agent);
        let holders: Vec<String> = others
            .filter(|answer| matches!(answer.hold(), HoldKind::Copy | HoldKind::Pending))
            .map(|answer| self.name(AgentId(answer.agent)))
            .collect();
        match holders.len() {
            0 => String::new(),
            1 => format!(", 1 copy at {}", holders[0]),
            n => format!(", {n} copies at {}", holders.join(", ")),
        }
    }

    /// Where the record is.
    fn archive(&self, url: &UrlStory) -> Option<String> {
        if url.fate() != UrlFate::Fetched {
            return None;
        }
        let Some(by) = url.archived_by.map(AgentId) else {
            return Some("it was not archived".to_owned());
        };
        let serial = url.file_serial.unwrap_or_default();
        let file = match &self.file {
            _ if !url.file.is_empty() => format!("warc/{}", url.file),
            Some(Ok(name)) => format!("warc/{name}"),
            Some(Err(why)) => format!("file {serial} (what it is called is not known: {why})"),
            None => format!("file {serial}"),
        };
        let place = format!("{file}, offset {}", url.offset);
        let alone = self.is_at_rest && self.view.agents.len() < 2;
        Some(if alone { place } else { format!("of agent {}: {place}", self.name(by)) })
    }
}

fn line(text: &mut String, label: &str, what: &str) {
    let _ = writeln!(text, "  {label:<8} {what}");
}

/// What became of a URL.
fn fate(url: &UrlStory) -> String {
    let mut words = match url.fate() {
        UrlFate::Unspecified => "nothing can be said of it".to_owned(),
        UrlFate::Unknown if url.meaning.is_empty() => "never seen; it would be let in".to_owned(),
        UrlFate::Unknown => format!("never seen; {}", url.meaning),
        UrlFate::NotLetIn => {
            return format!(
                "never seen, and it would not be let in: {} ({})",
                url.meaning, url.reason
            );
        }
        UrlFate::Queued => "queued".to_owned(),
        UrlFate::InFlight if url.meaning.is_empty() => "being fetched".to_owned(),
        UrlFate::InFlight | UrlFate::Unsettled => url.meaning.clone(),
        UrlFate::Fetched => {
            format!("fetched {} with status {}", seconds(Timestamp(url.fetched)), url.status)
        }
        UrlFate::Failed => return format!("given up: {}: {}", url.reason, url.meaning),
        UrlFate::Discarded => return format!("set aside: {} ({})", url.meaning, url.reason),
    };
    if url.fate() == UrlFate::Unsettled && url.status > 0 {
        let _ = write!(words, " ({})", url.status);
    }
    if !matches!(url.fate(), UrlFate::Unknown | UrlFate::Unspecified) {
        let _ = write!(words, ", depth {}", url.depth);
    }
    if matches!(url.fate(), UrlFate::Queued | UrlFate::InFlight) && url.attempts > 0 {
        let _ = write!(words, ", attempt {}", url.attempts + 1);
    }
    if url.fate() == UrlFate::Queued {
        let ahead = match url.ahead {
            Some(0) => "the first in the queue".to_owned(),
            Some(n) => format!("{} before it in the queue", count(n)),
            None => "with more before it in the queue than are counted".to_owned(),
        };
        let _ = write!(words, ", {ahead}");
        if !url.meaning.is_empty() {
            let _ = write!(words, "; {}", url.meaning);
        }
    }
    words
}

fn host_lines(text: &mut String, host: &HostStory, now: Timestamp) {
    line(text, "host", &standing(host));
    line(text, "next", &next(host, now));
    for (i, origin) in host.robots.iter().enumerate() {
        line(text, if i == 0 { "robots" } else { "" }, &robots(origin, now));
    }
    let mut failures: Vec<_> = host.failures.iter().collect();
    failures.sort();
    let failures: Vec<String> = failures.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    if !failures.is_empty() {
        line(text, "failures", &format!("{} in a row", failures.join(", ")));
    }
    let fetches: Vec<Vec<String>> = host.fetches.iter().map(|f| fetch(f, &host.name)).collect();
    for (i, row) in table(&fetches).lines().enumerate() {
        line(text, if i == 0 { "last" } else { "" }, row);
    }
}

fn standing(host: &HostStory) -> String {
    let mut words = host.name.clone();
    if !host.address.is_empty() {
        let _ = write!(words, " at {}", host.address);
    }
    if !host.is_known && !host.on_workbench {
        return format!("{words}, of which nothing is known");
    }
    let _ = write!(words, ", {} queued", count(host.queued));
    if host.on_workbench {
        let _ = write!(words, " ({} in memory)", count(host.in_window));
    }
    let of = |n: u64, one: &str| format!("{} {one}{}", count(n), if n == 1 { "" } else { "s" });
    let _ = write!(words, ", {} of {}", of(host.pages, "page"), of(host.requests, "request"));
    words
}

/// What it waits for, and how long.
fn next(host: &HostStory, now: Timestamp) -> String {
    let left = Timestamp(host.next).since(now);
    let detail = &host.detail;
    let sets_the_time = matches!(
        host.reason(),
        WaitReason::Rule | WaitReason::Address | WaitReason::Turn | WaitReason::Due
    );
    match (left.is_zero(), host.reason()) {
        (_, WaitReason::UnknownHost | WaitReason::Empty | WaitReason::InFlight) => detail.clone(),
        (true, _) => detail.clone(),
        (false, _) if sets_the_time => format!("in {}: {detail}", duration(left)),
        (false, _) => format!("{detail} (and not before {} have passed)", duration(left)),
    }
}

fn robots(origin: &OriginRobots, now: Timestamp) -> String {
    let mut words = format!("{}: {}", origin.origin, origin.state);
    let (fetched, expires) = (Timestamp(origin.fetched), Timestamp(origin.expires));
    if fetched > Timestamp::ZERO {
        let _ = write!(words, ", of {} ago", duration(now.since(fetched)));
    }
    let _ = match expires.since(now) {
        Duration::ZERO => write!(words, ", to be asked for anew"),
        left => write!(words, ", asked for anew in {}", duration(left)),
    };
    if let Some(delay) = origin.crawl_delay_ms {
        let _ = write!(words, ", Crawl-delay {}", duration(Duration::from_millis(delay)));
    }
    words
}

/// Time of day, what came, URL without its host, time taken, size.
fn fetch(fetch: &FetchStory, host: &str) -> Vec<String> {
    let came =
        if fetch.failure.is_empty() { fetch.status.to_string() } else { fetch.failure.clone() };
    let size = if fetch.failure.is_empty() { bytes(fetch.bytes) } else { String::new() };
    let at = seconds(Timestamp(fetch.at));
    let (_, url) = fetch.url.split_once("://").unwrap_or(("", &fetch.url));
    let path = url.strip_prefix(host).and_then(|rest| rest.find('/').map(|at| &rest[at..]));
    vec![
        at.get(11..19).unwrap_or(&at).to_owned(),
        came,
        path.unwrap_or(&fetch.url).to_owned(),
        duration(Duration::from_micros(fetch.took_us)),
        size,
        fetch.address.clone(),
    ]
}

/// A point in time to the second, in UTC.
pub(super) fn seconds(at: Timestamp) -> String {
    let text = at.to_string();
    text.get(..19).map_or_else(|| text.clone(), |text| format!("{text}Z"))
}
