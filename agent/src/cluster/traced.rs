//! Traced URLs on their way between agents.

use crate::cluster::outbox::Line;
use crate::limits::TRACED_URLS;
use crate::messages::{Fact, Found, Page};
use crate::peers::Class;
use crate::url_tracing::{
    FoundAt, Since, Span, SpanId, Stage, TraceId, Tracer, assigned_span, found_span, key,
    owner_counts, with_page_link,
};
use crivello_common::hash::{GroupHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, HashMap};

/// A URL on its way to its owner.
#[derive(Clone, Debug)]
struct Leaving {
    group: GroupHash,
    trace: TraceId,
    found: SpanId,
    url: Box<str>,
    since: Timestamp,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Traced {
    /// URLs of the commit that is being routed, with their owners.
    leaving: Vec<(AgentId, Leaving)>,
    /// URLs in rows that are not acknowledged. The number of a row stands for the rows before it too.
    rows: HashMap<(Line, u64), Vec<Leaving>>,
    n_rows: usize,
    /// The senders of URLs in the open commit, and when they came.
    arrived: HashMap<UrlKey, (AgentId, Timestamp)>,
}

impl Traced {
    /// A URL is sent to its owner.
    pub fn leave(
        &mut self,
        tracer: &Tracer,
        (url, origin): (&Found, FoundAt<'_>),
        owner: AgentId,
        now: Timestamp,
    ) {
        let Some(trace) = tracer.found(url) else { return };
        let span = with_page_link(tracer, found_span(trace, url, origin, now), origin);
        let text = url.url.as_str().into();
        let group = url.host.group;
        let leaving = Leaving { group, trace, found: span.id, url: text, since: now };
        tracer.tell(span);
        if self.n_rows + self.leaving.len() < TRACED_URLS {
            self.leaving.push((owner, leaving));
        }
    }

    /// A URL was found that was sent to its owner before.
    pub fn sent_before(tracer: &Tracer, url: &Found, page: &Page, now: Timestamp) {
        let Some(trace) = tracer.found(url) else { return };
        let origin = FoundAt::Page(page);
        let span = with_page_link(tracer, found_span(trace, url, origin, now), origin);
        tracer.tell(span.with("crivello.told_before", true));
    }

    /// The URLs that are sent to `owner` with this commit are in these rows.
    pub fn put(&mut self, owner: AgentId, rows: &[u64]) {
        if self.leaving.is_empty() {
            return;
        }
        let all = std::mem::take(&mut self.leaving);
        let (own, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(to, _)| *to == owner);
        self.leaving = rest;
        self.lay((owner, Class::Main), rows, own.into_iter().map(|(_, leaving)| leaving).collect());
    }

    fn lay(&mut self, line: Line, rows: &[u64], leaving: Vec<Leaving>) {
        if let Some(&last) = rows.last()
            && !leaving.is_empty()
        {
            self.n_rows += leaving.len();
            self.rows.entry((line, last)).or_default().extend(leaving);
        }
    }

    fn take(&mut self, line: Line, seq: u64) -> Vec<Leaving> {
        let leaving = self.rows.remove(&(line, seq)).unwrap_or_default();
        self.n_rows -= leaving.len();
        leaving
    }

    /// A row is acknowledged by an agent other than `me`.
    pub fn acknowledged(
        &mut self,
        tracer: &Tracer,
        me: AgentId,
        (line, seq): (Line, u64),
        now: Timestamp,
    ) {
        if self.rows.is_empty() {
            return;
        }
        for leaving in self.take(line, seq) {
            let times = (leaving.since, now);
            let stage = (Stage::Sent, u64::from(me.0));
            tracer.tell(
                Span::new(leaving.trace, stage, Some(leaving.found), times)
                    .with("url.full", String::from(leaving.url))
                    .with("crivello.to", u64::from(line.0.0)),
            );
        }
    }

    /// The facts of a row were moved to these rows for other owners.
    pub fn redirect(
        &mut self,
        (line, seq): (Line, u64),
        owner: impl Fn(GroupHash) -> Option<AgentId>,
        rows: &BTreeMap<AgentId, Vec<u64>>,
    ) {
        if self.rows.is_empty() {
            return;
        }
        for leaving in self.take(line, seq) {
            if let Some(to) = owner(leaving.group)
                && let Some(rows) = rows.get(&to)
            {
                self.lay((to, Class::Main), rows, vec![leaving]);
            }
        }
    }

    /// URLs came from another agent, into the open commit.
    pub fn arrive(&mut self, tracer: &Tracer, urls: &[Found], from: AgentId, now: Timestamp) {
        for url in urls.iter().map(key).filter(|&url| tracer.sampled(url).is_some()) {
            if self.arrived.len() < TRACED_URLS {
                self.arrived.insert(url, (from, now));
            }
        }
    }

    /// The agent from which a URL of the open commit came, and when.
    pub fn arrived(&self, url: &UrlKey) -> Option<(AgentId, Timestamp)> {
        self.arrived.get(url).copied()
    }

    /// The open commit is written.
    pub fn forget_arrived(&mut self) {
        self.arrived.clear();
    }
}

/// Records the owners of the links of a traced page.
pub fn trace_assigned(
    tracer: &Tracer,
    page: &Page,
    owners: &BTreeMap<AgentId, u64>,
    now: Timestamp,
) {
    let n_links = owners.values().sum();
    let owners = (owner_counts(owners), n_links);
    assigned_span(tracer, page, (&owners.0, owners.1), (now, now))
        .into_iter()
        .for_each(|span| tracer.tell(span));
}

/// Records traced URLs among the facts of other agents: they are queued here too, or finished.
pub fn trace_merged(tracer: &Tracer, facts: &[Fact], now: Timestamp) {
    if !tracer.is_on() {
        return;
    }
    for fact in facts {
        match fact {
            Fact::Queued { host, url, .. } => {
                let url = UrlKey { group: host.group, url: url.hash };
                if tracer.sampled(url).is_some() {
                    tracer.queued(url, now, Since::Told);
                }
            }
            Fact::Done { url, .. } => {
                if tracer.sampled(*url).is_some() {
                    tracer.is_done(*url);
                }
            }
            Fact::Host { .. } | Fact::Robots { .. } => {}
        }
    }
}
