//! Traced URLs that are sent between agents.

use crate::cluster::outbox::RowsByAgent;
use crate::limits::TRACED_URLS;
use crate::messages::{Fact, Found, Page};
use crate::url_tracing::{
    FoundAt, Since, Span, SpanId, Stage, TraceId, Tracer, assigned_span, found_span, owner_counts,
    with_page_link,
};
use crivello_common::hash::{GroupHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, HashMap};

/// Traced URL that is being sent to its owner.
#[derive(Clone, Debug)]
struct Leaving {
    group: GroupHash,
    trace: TraceId,
    found: SpanId,
    url: Box<str>,
    since: Timestamp,
}

/// Traced URLs that are being sent to their owners, or were received from other agents.
#[derive(Debug, Default)]
pub struct Traced {
    /// URLs of the commit that is being routed, with their owners.
    leaving: Vec<(AgentId, Leaving)>,
    /// URLs in unacknowledged rows, by the last of the rows that were enqueued together: rows are
    /// acknowledged in order.
    rows: HashMap<u64, Vec<Leaving>>,
    n_rows: usize,
    /// Senders of URLs in the open commit, and times of arrival.
    arrived: HashMap<UrlKey, (AgentId, Timestamp)>,
}

impl Traced {
    /// Records that a URL is sent to its owner.
    pub fn leave(
        &mut self,
        tracer: &Tracer,
        (url, origin): (&Found, FoundAt<'_>),
        owner: AgentId,
        now: Timestamp,
    ) {
        let Some((trace, span)) = begin_span(tracer, url, origin, now) else { return };
        let (group, text) = (url.host.group, url.url.as_str().into());
        let leaving = Leaving { group, trace, found: span.id, url: text, since: now };
        tracer.record(span);
        if self.n_rows + self.leaving.len() < TRACED_URLS {
            self.leaving.push((owner, leaving));
        }
    }

    /// Records that a URL was found that had been sent to its owner before.
    pub fn sent_before(tracer: &Tracer, url: &Found, page: &Page, now: Timestamp) {
        if let Some((_, span)) = begin_span(tracer, url, FoundAt::Page(page), now) {
            tracer.record(span.with("crivello.sent_before", true));
        }
    }

    /// Assigns the URLs that are sent with this commit to these rows.
    pub fn assign_rows(&mut self, rows: &RowsByAgent) {
        for (owner, leaving) in std::mem::take(&mut self.leaving) {
            self.attach(owner, leaving, rows);
        }
    }

    fn attach(&mut self, owner: AgentId, leaving: Leaving, rows: &RowsByAgent) {
        if let Some(&last) = rows.get(&owner).and_then(|rows| rows.last()) {
            self.n_rows += 1;
            self.rows.entry(last).or_default().push(leaving);
        }
    }

    fn take(&mut self, seq: u64) -> Vec<Leaving> {
        let leaving = self.rows.remove(&seq).unwrap_or_default();
        self.n_rows -= leaving.len();
        leaving
    }

    /// Records that agent `to` has acknowledged a row of agent `me`.
    pub fn acknowledged(
        &mut self,
        tracer: &Tracer,
        me: AgentId,
        to: AgentId,
        seq: u64,
        now: Timestamp,
    ) {
        for leaving in self.take(seq) {
            let times = (leaving.since, now);
            let stage = (Stage::Sent, u64::from(me.0));
            tracer.record(
                Span::new(leaving.trace, stage, Some(leaving.found), times)
                    .with("url.full", String::from(leaving.url))
                    .with("crivello.to", u64::from(to.0)),
            );
        }
    }

    /// Records that the facts of a row were moved to these rows for other owners.
    pub fn redirect(
        &mut self,
        seq: u64,
        owner: impl Fn(GroupHash) -> Option<AgentId>,
        rows: &RowsByAgent,
    ) {
        for leaving in self.take(seq) {
            if let Some(to) = owner(leaving.group) {
                self.attach(to, leaving, rows);
            }
        }
    }

    /// Records URLs from another agent that were added to the open commit.
    pub fn arrive(&mut self, tracer: &Tracer, urls: &[Found], from: AgentId, now: Timestamp) {
        for url in urls.iter().map(Found::key).filter(|&url| tracer.sampled(url).is_some()) {
            if self.arrived.len() < TRACED_URLS {
                self.arrived.insert(url, (from, now));
            }
        }
    }

    /// Returns the sender of a traced URL in the open commit, and the time of its arrival.
    pub fn arrived(&self, url: &UrlKey) -> Option<(AgentId, Timestamp)> {
        self.arrived.get(url).copied()
    }

    /// Clears the received URLs, because the open commit is written.
    pub fn forget_arrived(&mut self) {
        self.arrived.clear();
    }
}

/// Begins the trace of a URL that was found, if it is sampled.
fn begin_span(
    tracer: &Tracer,
    url: &Found,
    origin: FoundAt<'_>,
    now: Timestamp,
) -> Option<(TraceId, Span)> {
    let trace = tracer.found(url)?;
    Some((trace, with_page_link(tracer, found_span(trace, url, origin, now), origin)))
}

/// Records the owners of the links of a traced page.
pub fn trace_assigned(
    tracer: &Tracer,
    page: &Page,
    owners: &BTreeMap<AgentId, u64>,
    now: Timestamp,
) {
    let (counts, n_links) = (owner_counts(owners), owners.values().sum());
    if let Some(span) = assigned_span(tracer, page, (&counts, n_links), (now, now)) {
        tracer.record(span);
    }
}

/// Records traced URLs among merged facts: they are queued here too, or finished.
pub fn trace_merged(tracer: &Tracer, facts: &[Fact], now: Timestamp) {
    if !tracer.is_on() {
        return;
    }
    for fact in facts {
        match fact {
            Fact::Queued { host, url, .. } => {
                let url = UrlKey { group: host.group, url: url.hash };
                if tracer.sampled(url).is_some() {
                    tracer.queued(url, now, Since::Reported);
                }
            }
            Fact::Done { url, .. } if tracer.sampled(*url).is_some() => tracer.is_done(*url),
            Fact::Done { .. } | Fact::Host { .. } | Fact::Robots { .. } => {}
            Fact::Listed { .. } | Fact::Signal(_) | Fact::HostRequest(_) => {}
        }
    }
}
