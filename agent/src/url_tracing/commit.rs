//! Spans of a commit: URLs found here or received, sieved, and pages stored.

use super::{Link, Since, Span, SpanId, Stage, TraceId, Tracer};
use crate::messages::{Found, Page, PageEnd, SieveResult};
use crivello_common::hash::UrlKey;
use crivello_common::politeness::{Retry, retry};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;

/// The origin of a found URL.
#[derive(Clone, Copy, Debug)]
pub enum FoundAt<'a> {
    /// On this page.
    Page(&'a Page),
    /// In the seeds.
    Seed,
}

/// Returns the span of a URL that was found on this agent.
pub fn found_span(trace: TraceId, url: &Found, origin: FoundAt<'_>, now: Timestamp) -> Span {
    let (salt, begin) = match origin {
        FoundAt::Page(page) => (page.at.0 ^ number(page), page.at + page.took),
        FoundAt::Seed => (now.0, now),
    };
    let span = Span::new(trace, (Stage::Found, salt), None, (begin, now))
        .with("url.full", url.url.as_str().to_owned())
        .with("crivello.depth", u64::from(url.depth));
    match origin {
        FoundAt::Page(page) => span.with("crivello.page", page_url(page)),
        FoundAt::Seed => span.with("crivello.seed", true),
    }
}

/// Adds a link to the trace of the page on which the URL was found.
pub fn with_page_link(tracer: &Tracer, span: Span, origin: FoundAt<'_>) -> Span {
    let FoundAt::Page(page) = origin else { return span };
    let Some(trace) = trace_of(tracer, page) else { return span };
    let span_of_page = trace.span(Stage::Assigned, page.at.0);
    let link = page.traced.map(|_| Link { trace, span: span_of_page });
    Span { link, ..span.with("crivello.page.trace_id", trace.to_string()) }
}

/// Returns the span of the assignment of a followed page's links to their owners; `owners` is the
/// result of [`owner_counts`].
pub fn assigned_span(
    tracer: &Tracer,
    page: &Page,
    (owners, n_links): (&str, u64),
    times: (Timestamp, Timestamp),
) -> Option<Span> {
    let trace = trace_of(tracer, page)?;
    let parent = trace.span(Stage::Stored, page.at.0);
    Some(
        Span::new(trace, (Stage::Assigned, page.at.0), Some(parent), times)
            .with("crivello.links", n_links)
            .with("crivello.owners", owners.to_owned()),
    )
}

/// Returns the key of a page's URL; `None` for a robots.txt that is not followed.
fn page_key(page: &Page) -> Option<UrlKey> {
    let url = page.traced.or_else(|| page.row.as_ref().map(|row| row.hash))?;
    Some(UrlKey { group: page.host.group, url })
}

fn trace_of(tracer: &Tracer, page: &Page) -> Option<TraceId> {
    page_key(page).map(|url| tracer.trace(url))
}

/// Returns a number that differs between pages of the same microsecond.
fn number(page: &Page) -> u64 {
    page_key(page).map_or(page.host.host.0, |key| key.url.0)
}

fn page_url(page: &Page) -> String {
    match &page.row {
        Some(row) => CrawlUrl::from_parts(row.origin, &page.name, &row.path).as_str().to_owned(),
        // The origin is not known here.
        None => format!("the robots.txt of {}", page.name),
    }
}

/// The data of a finished commit that its spans are made from.
pub struct CommitTrace<'a> {
    /// Receives the spans.
    pub tracer: &'a Tracer,
    /// The beginning of the commit.
    pub began: Timestamp,
    /// The end of the commit.
    pub ended: Timestamp,
    /// True if the agent crawls alone.
    pub is_alone: bool,
}

impl CommitTrace<'_> {
    /// Records a link of `page`, and the result of the sieve.
    pub fn link(&self, page: &Page, link: &Found, result: Option<SieveResult>) {
        let Some(trace) = self.tracer.found(link) else { return };
        let at = FoundAt::Page(page);
        let found = with_page_link(self.tracer, found_span(trace, link, at, self.began), at);
        let parent = found.id;
        self.tracer.record(found);
        self.sieved(trace, link, (parent, self.began), result);
    }

    /// Records a seed, or a URL that `arrived` from another agent, and the result of the sieve.
    pub fn received(
        &self,
        url: &Found,
        arrived: Option<(AgentId, Timestamp)>,
        result: Option<SieveResult>,
    ) {
        let Some(trace) = self.tracer.found(url) else { return };
        let from = match arrived {
            Some((from, at)) => (trace.span(Stage::Sent, u64::from(from.0)), at),
            None => {
                let found = found_span(trace, url, FoundAt::Seed, self.began);
                let parent = found.id;
                self.tracer.record(found);
                (parent, self.began)
            }
        };
        self.sieved(trace, url, from, result);
    }

    fn sieved(
        &self,
        trace: TraceId,
        url: &Found,
        from: (SpanId, Timestamp),
        result: Option<SieveResult>,
    ) {
        let (parent, begin) = from;
        let times = (begin, self.ended);
        let is_new = result == Some(Ok(true));
        // Later stages derive the id of their parent, the span that let the URL through: its salt
        // is constant.
        let salt = if is_new { 0 } else { self.ended.0 ^ parent.0 };
        let mut span = Span::new(trace, (Stage::Sieved, salt), Some(parent), times)
            .with("url.full", url.url.as_str().to_owned())
            .with("crivello.new", matches!(result, Some(Ok(true) | Err(_))));
        match result {
            Some(Ok(true)) => self.tracer.queued(url.key(), self.ended, Since::Sieved),
            Some(Err(why)) => span = span.with("crivello.discarded", why.name()),
            Some(Ok(false)) | None => {}
        }
        self.tracer.record(span);
    }

    /// Records that a page was stored; `record` is the name of the archive file and the offset in
    /// it.
    pub fn stored(&self, page: &Page, record: Option<(String, u64)>) {
        let Some(url) = page_key(page).filter(|_| page.traced.is_some()) else { return };
        let trace = self.tracer.trace(url);
        if let PageEnd::Failed(kind) = page.end {
            let again = page
                .row
                .as_ref()
                .is_some_and(|row| retry(kind, row.attempts.saturating_add(1)) == Retry::Again);
            if again && self.tracer.sampled(url).is_some() {
                self.tracer.queued(url, self.ended, Since::Retry);
            }
            return;
        }
        let PageEnd::Response { duplicate, .. } = page.end else { return };
        let parent = trace.span(Stage::Parsed, page.at.0);
        let times = (self.began, self.ended);
        let mut span = Span::new(trace, (Stage::Stored, page.at.0), Some(parent), times)
            .with("crivello.duplicate", duplicate);
        if let Some((name, offset)) = record {
            span = span.with("crivello.archive.file", name).with("crivello.archive.offset", offset);
        }
        self.tracer.record(span);
        if self.is_alone {
            let n_links = page.links.len() as u64;
            let times = (self.began, self.began);
            let owners = format!("0:{n_links}");
            let span = assigned_span(self.tracer, page, (&owners, n_links), times);
            span.into_iter().for_each(|span| self.tracer.record(span));
        }
    }
}

/// Formats the number of URLs by the id of their owner, as `1:20 3:4`.
pub fn owner_counts(owners: &std::collections::BTreeMap<AgentId, u64>) -> String {
    let words: Vec<String> = owners.iter().map(|(id, n)| format!("{}:{n}", id.0)).collect();
    words.join(" ")
}
