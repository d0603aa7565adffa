//! Traced URLs that are sent between agents.

use crate::cluster::outbox::LaneKey;
use crate::limits::TRACED_URLS;
use crate::messages::{Fact, Found, Page};
use crate::peers::Lane;
use crate::url_tracing::{
    FoundAt, Since, Span, SpanId, Stage, TraceId, Tracer, assigned_span, found_span, key,
    owner_counts, with_page_link,
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
    rows: HashMap<(LaneKey, u64), Vec<Leaving>>,
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

    /// Records that a URL was found that had been sent to its owner before.
    pub fn sent_before(tracer: &Tracer, url: &Found, page: &Page, now: Timestamp) {
        let Some(trace) = tracer.found(url) else { return };
        let origin = FoundAt::Page(page);
        let span = with_page_link(tracer, found_span(trace, url, origin, now), origin);
        tracer.tell(span.with("crivello.told_before", true));
    }

    /// Assigns the URLs that are sent to `owner` with this commit to these rows.
    pub fn put(&mut self, owner: AgentId, rows: &[u64]) {
        if self.leaving.is_empty() {
            return;
        }
        let all = std::mem::take(&mut self.leaving);
        let (own, rest): (Vec<_>, Vec<_>) = all.into_iter().partition(|(to, _)| *to == owner);
        self.leaving = rest;
        self.lay((owner, Lane::Main), rows, own.into_iter().map(|(_, leaving)| leaving).collect());
    }

    fn lay(&mut self, lane: LaneKey, rows: &[u64], leaving: Vec<Leaving>) {
        if let Some(&last) = rows.last()
            && !leaving.is_empty()
        {
            self.n_rows += leaving.len();
            self.rows.entry((lane, last)).or_default().extend(leaving);
        }
    }

    fn take(&mut self, lane: LaneKey, seq: u64) -> Vec<Leaving> {
        let leaving = self.rows.remove(&(lane, seq)).unwrap_or_default();
        self.n_rows -= leaving.len();
        leaving
    }

    /// Records that an agent other than `me` has acknowledged a row.
    pub fn acknowledged(
        &mut self,
        tracer: &Tracer,
        me: AgentId,
        (lane, seq): (LaneKey, u64),
        now: Timestamp,
    ) {
        if self.rows.is_empty() {
            return;
        }
        for leaving in self.take(lane, seq) {
            let times = (leaving.since, now);
            let stage = (Stage::Sent, u64::from(me.0));
            tracer.tell(
                Span::new(leaving.trace, stage, Some(leaving.found), times)
                    .with("url.full", String::from(leaving.url))
                    .with("crivello.to", u64::from(lane.0.0)),
            );
        }
    }

    /// Records that the facts of a row were moved to these rows for other owners.
    pub fn redirect(
        &mut self,
        (lane, seq): (LaneKey, u64),
        owner: impl Fn(GroupHash) -> Option<AgentId>,
        rows: &BTreeMap<AgentId, Vec<u64>>,
    ) {
        if self.rows.is_empty() {
            return;
        }
        for leaving in self.take(lane, seq) {
            if let Some(to) = owner(leaving.group)
                && let Some(rows) = rows.get(&to)
            {
                self.lay((to, Lane::Main), rows, vec![leaving]);
            }
        }
    }

    /// Records URLs from another agent that were added to the open commit.
    pub fn arrive(&mut self, tracer: &Tracer, urls: &[Found], from: AgentId, now: Timestamp) {
        for url in urls.iter().map(key).filter(|&url| tracer.sampled(url).is_some()) {
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
