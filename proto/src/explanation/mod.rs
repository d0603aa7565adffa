//! Explanations as text: the only place that converts the facts and reasons of `explanation.proto`
//! to sentences, for the command line and the dashboard.

pub(crate) mod json;
mod reason;
mod url;

#[cfg(test)]
mod tests;

use crate::v1::agent_answer::Result as AgentResult;
use crate::v1::{AgentAnswer, ExplainResponse, Explanation, FetchSummary, HoldKind, HostStatus};
use crate::v1::{RobotsState, RobotsStatus, UrlFate, UrlStatus, explanation};
use crivello_common::format::{bytes, count, duration, exact_delay, plural, table, times};
use crivello_common::time::Timestamp;
use crivello_common::view::Agent;
use reason::failure_list;
use serde::Serialize;
use std::fmt::Write as _;
use std::time::Duration;

/// A line of an explanation: its label and its text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LabeledLine {
    /// A single word, such as `robots`.
    pub label: &'static str,
    /// A sentence or a list.
    pub text: String,
}

impl Explanation {
    /// Combines the answers of the agents, or the reasons why they did not answer.
    #[must_use]
    pub fn new<'a, E: ToString + 'a>(
        subject: &str,
        stopped: bool,
        answers: impl IntoIterator<Item = (&'a Agent, Result<ExplainResponse, E>)>,
    ) -> Self {
        let agent = |(agent, result): (&Agent, Result<ExplainResponse, E>)| AgentAnswer {
            id: agent.id.0,
            name: agent.name.clone(),
            result: Some(match result {
                Ok(answer) => AgentResult::Answer(answer),
                Err(error) => AgentResult::Error(error.to_string()),
            }),
        };
        let mut agents: Vec<AgentAnswer> = answers.into_iter().map(agent).collect();
        agents.sort_by_key(|agent| agent.id);
        let mut explanation =
            Self { subject: subject.to_owned(), stopped, agents, ..Self::default() };
        let source = explanation.answers().min_by_key(|answer| rank(answer));
        let (source, owner) = source.map(|source| (source.agent, source.owner)).unzip();
        let known = explanation.answers().any(is_known);
        explanation.known = known;
        (explanation.source, explanation.owner) = (source, owner.flatten());
        let own_file = explanation.url().map(|url| url.file.clone()).filter(|f| !f.is_empty());
        explanation.archive_file = own_file.map(explanation::ArchiveFile::FileName);
        explanation
    }

    /// Returns the answer that counts.
    pub fn source_answer(&self) -> Option<&ExplainResponse> {
        self.answers().find(|answer| Some(answer.agent) == self.source)
    }

    /// Returns the status of the URL, if the subject is a URL, from the answer that counts.
    pub fn url(&self) -> Option<&UrlStatus> {
        self.source_answer()?.url.as_ref()
    }

    /// Returns the agents that did not answer, each with the reason.
    pub fn errors(&self) -> impl Iterator<Item = (&AgentAnswer, &str)> {
        self.agents.iter().filter_map(|agent| match &agent.result {
            Some(AgentResult::Error(error)) => Some((agent, &**error)),
            _ => None,
        })
    }

    fn answers(&self) -> impl Iterator<Item = &ExplainResponse> {
        self.agents.iter().filter_map(|agent| match &agent.result {
            Some(AgentResult::Answer(answer)) => Some(answer),
            _ => None,
        })
    }

    /// Returns the explanation without the last fetches, as lines.
    pub fn lines(&self) -> Vec<LabeledLine> {
        let Some(source) = self.source_answer() else { return self.error_lines() };
        let now = Timestamp(source.now);
        let mut lines = vec![line("group", self.holders(source))];
        if let Some(url) = &source.url {
            if !url.rewritten_from.is_empty() {
                let text = format!("to {} by links.rewrite or links.drop-parameters", url.url);
                lines.push(line("rewritten", text));
            }
            lines.push(line("URL", url.text()));
            lines.extend(self.archive(url).map(|text| line("archive", text)));
        }
        if let Some(host) = &source.host {
            lines.push(line("host", host.text()));
            lines.push(line("next", host.wait_text(now, |id| self.agent(id))));
            lines.extend(host.robots.iter().map(|robots| line("robots", robots.text(now))));
            if !host.failures.is_empty() {
                lines.push(line("failures", format!("{} in a row", failure_list(&host.failures))));
            }
        }
        lines.extend(self.error_lines());
        lines
    }

    /// Returns the whole explanation, for a terminal.
    pub fn text(&self) -> String {
        let mut lines = self.lines();
        if let Some(host) = self.source_answer().and_then(|source| source.host.as_ref()) {
            let fetches: Vec<_> = host.fetches.iter().map(|f| f.columns(&host.name)).collect();
            lines.extend(table(&fetches).lines().map(|row| line("last", row.to_owned())));
        }
        let mut text = format!("{}\n", self.subject);
        let mut last = "";
        for LabeledLine { label, text: content } in &lines {
            let shown = if *label == last { "" } else { label };
            let _ = writeln!(text, "  {shown:<8} {content}");
            last = label;
        }
        text
    }

    fn error_lines(&self) -> Vec<LabeledLine> {
        let text = |(agent, error): (&AgentAnswer, &str)| {
            line("agent", format!("{} (id {}) {error}", agent.name, agent.id))
        };
        self.errors().map(text).collect()
    }

    /// Formats an agent, as in `agent two (id 1)`.
    fn agent(&self, id: u32) -> String {
        match self.agents.iter().find(|agent| agent.id == id) {
            Some(agent) => format!("agent {} (id {id})", agent.name),
            None => format!("agent {id}"),
        }
    }

    /// Returns the agents that have the group, and the group's name.
    fn holders(&self, source: &ExplainResponse) -> String {
        let group = format!("{} ({:016x})", source.group_name, source.group);
        let copies = self.replicas(source);
        if self.stopped {
            return format!("{group}, as it was when the crawl ended{copies}");
        }
        let answering = self.agent(source.agent);
        let owner = self.owner.filter(|&owner| owner != source.agent);
        let owner_or_none = owner.map_or_else(|| "no agent".to_owned(), |id| self.agent(id));
        match (source.holding(), owner) {
            (HoldKind::Authority, _) => format!("{group}, fetched by {answering}{copies}"),
            (HoldKind::Leaving, _) => {
                format!("{group}, being handed over by {answering} to {owner_or_none}{copies}")
            }
            (HoldKind::Pending, _) => {
                format!("{group}, owned by {answering}, which waits for its rows{copies}")
            }
            (HoldKind::Replica, _) => format!(
                "{group}, fetched by {owner_or_none}{}; this is what the replica at {answering} \
                 knows{copies}",
                self.owner_error()
            ),
            (HoldKind::None | HoldKind::Unspecified, Some(_)) => {
                format!("{group}, owned by {owner_or_none}{}", self.owner_error())
            }
            (HoldKind::None | HoldKind::Unspecified, None) => {
                format!("{group}, owned by {answering}, which has nothing of it")
            }
        }
    }

    /// Returns the reason why the owner did not answer.
    fn owner_error(&self) -> String {
        let error = self.errors().find(|(agent, _)| Some(agent.id) == self.owner);
        error.map_or_else(String::new, |(_, error)| format!(", which {error}"))
    }

    /// Returns the other agents that hold replicas.
    fn replicas(&self, source: &ExplainResponse) -> String {
        let is_replica = |answer: &&ExplainResponse| {
            answer.agent != source.agent
                && matches!(answer.holding(), HoldKind::Replica | HoldKind::Pending)
        };
        let replicas: Vec<u32> = self.answers().filter(is_replica).map(|a| a.agent).collect();
        let names = self.agents.iter().filter(|agent| replicas.contains(&agent.id));
        let names: Vec<&str> = names.map(|agent| &*agent.name).collect();
        match names.len() as u64 {
            0 => String::new(),
            n => format!(", {} at {}", plural(n, "replica"), names.join(", ")),
        }
    }

    /// Returns the location of a URL's record.
    fn archive(&self, url: &UrlStatus) -> Option<String> {
        if url.fate() != UrlFate::Fetched {
            return None;
        }
        let Some(by) = url.archived_by else {
            return Some("not archived (pages.keep)".to_owned());
        };
        let Some(serial) = url.file_serial else {
            return Some(format!("{}, if pages.keep kept it", self.agent(by)));
        };
        let file = match &self.archive_file {
            Some(explanation::ArchiveFile::FileName(name)) => format!("warc/{name}"),
            Some(explanation::ArchiveFile::FileError(error)) => {
                format!("file {serial} (its name is not known: {error})")
            }
            None => format!("file {serial}"),
        };
        let place = format!("{file}, offset {}", url.offset);
        let alone = self.stopped && self.agents.len() < 2;
        Some(if alone { place } else { format!("{}: {place}", self.agent(by)) })
    }
}

/// Returns the rank of an answer. An agent that fetches the group comes first, then the agent that
/// knows most.
fn rank(answer: &ExplainResponse) -> u8 {
    match answer.holding() {
        HoldKind::Authority => 0,
        HoldKind::Leaving => 1,
        HoldKind::Pending => 2,
        HoldKind::Replica => 3,
        // Its owner knows the rules as well as any other agent.
        _ if answer.owner == Some(answer.agent) => 4,
        HoldKind::None | HoldKind::Unspecified => 5,
    }
}

fn is_known(answer: &ExplainResponse) -> bool {
    let host = answer.host.as_ref().is_some_and(|host| host.on_disk || host.in_memory);
    let fate = answer.url.as_ref().map(UrlStatus::fate);
    host || fate.is_some_and(|fate| fate != UrlFate::Unknown)
}

const fn line(label: &'static str, text: String) -> LabeledLine {
    LabeledLine { label, text }
}

impl HostStatus {
    /// Returns the host's address, queue and pages.
    fn text(&self) -> String {
        let mut text = self.name.clone();
        if !self.address.is_empty() {
            let _ = write!(text, " at {}", self.address);
        }
        if !self.on_disk && !self.in_memory {
            return format!("{text}, not known");
        }
        let _ = write!(text, ", {} queued", count(self.queued));
        if self.in_memory {
            let _ = write!(text, " ({} in memory)", count(self.queued_in_memory));
        }
        let (pages, requests) = (plural(self.pages, "page"), plural(self.requests, "request"));
        let _ = write!(text, ", {pages} of {requests}");
        if self.rank > 0 {
            let _ = write!(text, ", rank {} of 255", self.rank);
        }
        text
    }
}

impl RobotsStatus {
    fn text(&self, now: Timestamp) -> String {
        let failed = times(self.failures.into());
        let unreachable = |effect: &str| format!("unreachable, {failed} in a row: {effect}");
        let mut text = format!("{}: ", self.origin);
        text.push_str(&match self.state() {
            RobotsState::Unspecified => "not known".to_owned(),
            RobotsState::Requested => "requested, no answer yet".to_owned(),
            RobotsState::AllAllowed => "everything is allowed".to_owned(),
            RobotsState::Rules => "rules known".to_owned(),
            RobotsState::LastRules => unreachable("the last known rules still apply"),
            RobotsState::Unreachable => unreachable("nothing is allowed meanwhile"),
            RobotsState::GivenUp => unreachable("given up, its URLs are discarded"),
        });
        let (fetched, expires) = (Timestamp(self.fetched), Timestamp(self.expires));
        if fetched > Timestamp::ZERO {
            let _ = write!(text, ", fetched {} ago", duration(now.since(fetched)));
        }
        let _ = match expires.since(now) {
            Duration::ZERO => write!(text, ", requested again when needed"),
            left => write!(text, ", requested again in {}", duration(left)),
        };
        if let Some(delay) = self.crawl_delay_ms {
            let _ = write!(text, ", Crawl-delay {}", exact_delay(Duration::from_millis(delay)));
        }
        text
    }
}

impl FetchSummary {
    /// Returns time of day, result, URL without its host, duration, size, address.
    fn columns(&self, host: &str) -> Vec<String> {
        let is_answered = self.failure.is_empty();
        let result = if is_answered { self.status.to_string() } else { self.failure.clone() };
        let size = if is_answered { bytes(self.bytes) } else { String::new() };
        let at = Timestamp(self.at).to_string();
        let (_, url) = self.url.split_once("://").unwrap_or(("", &self.url));
        let path = url.strip_prefix(host).and_then(|rest| rest.find('/').map(|at| &rest[at..]));
        vec![
            at.get(11..19).unwrap_or(&at).to_owned(),
            result,
            path.unwrap_or(&self.url).to_owned(),
            duration(Duration::from_micros(self.took_us)),
            size,
            self.address.clone(),
        ]
    }
}
