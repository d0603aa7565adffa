//! What a commit tells of URLs that are followed: found here, sieved, stored.

use crate::engines::writer::Writer;
use crate::messages::{Found, Page, PageEnd};
use crate::observe::trace_collector::{self, Tracer};
use crate::store::Archive;
use crate::url_tracing::{Link, Since, Span, SpanId, Stage, TraceId};
use crivello_common::discard::Discard;
use crivello_common::hash::UrlKey;
use crivello_common::politeness::{Retry, retry};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;

/// Where a URL was found.
#[derive(Clone, Copy, Debug)]
pub enum Origin<'a> {
    /// On this page.
    Page(&'a Page),
    /// Somebody named it.
    Seed,
}

/// A span of a URL that was found on this agent.
pub fn found(trace: TraceId, url: &Found, origin: Origin<'_>, now: Timestamp) -> Span {
    let (salt, begin) = match origin {
        Origin::Page(page) => (page.at.0 ^ number(page), page.at + page.took),
        Origin::Seed => (now.0, now),
    };
    let mut span = Span::new(trace, (Stage::Found, salt), None, (begin, now))
        .with("url.full", url.url.as_str().to_owned())
        .with("crivello.depth", u64::from(url.depth));
    match origin {
        Origin::Page(page) => span = span.with("crivello.page", page_url(page)),
        Origin::Seed => span = span.with("crivello.seed", true),
    }
    span
}

/// The same, with the trace of the page as a link.
pub fn linked(tracer: &Tracer, span: Span, origin: Origin<'_>) -> Span {
    let Origin::Page(page) = origin else { return span };
    let Some(trace) = trace_of(tracer, page) else { return span };
    let span_of_page = trace.span(Stage::Assigned, page.at.0);
    let link = page.traced.map(|_| Link { trace, span: span_of_page });
    Span { link, ..span.with("crivello.page.trace_id", trace.to_string()) }
}

/// Who owns the links of a page that is followed, with how many each, in words.
pub fn assigned(
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

/// What a page's URL is known by; `None` for a robots.txt that is not followed.
fn key(page: &Page) -> Option<UrlKey> {
    let url = page.traced.or_else(|| page.row.as_ref().map(|row| row.hash))?;
    Some(UrlKey { group: page.host.group, url })
}

fn trace_of(tracer: &Tracer, page: &Page) -> Option<TraceId> {
    key(page).map(|url| tracer.trace(url))
}

/// Tells pages of one moment apart.
fn number(page: &Page) -> u64 {
    key(page).map_or(page.host.host.0, |key| key.url.0)
}

fn page_url(page: &Page) -> String {
    match &page.row {
        Some(row) => CrawlUrl::from_parts(row.origin, &page.name, &row.path).as_str().to_owned(),
        // Of which of its origins is not known here.
        None => format!("the robots.txt of {}", page.name),
    }
}

impl Writer {
    /// Tells what the commit has done that began then.
    pub(super) fn trace(&self, began: Timestamp) {
        let tracer = &self.shared.tracer;
        if !tracer.is_on() && !self.group.pages.iter().any(|(page, _)| page.traced.is_some()) {
            return;
        }
        let commit = Commit {
            tracer,
            began,
            ended: self.shared.clock.now(),
            archive: &self.books.archive,
            is_alone: self.member.is_none(),
        };
        let arrived = |url: &UrlKey| self.member.as_ref()?.arrived(url);
        let mut fates = self.books.ledger.sieved();
        for (page, record) in &self.group.pages {
            for link in &page.links {
                let fate = fates.next();
                if let Some(trace) = tracer.found(link) {
                    let origin = Origin::Page(page);
                    let found = linked(tracer, found(trace, link, origin, began), origin);
                    let parent = found.id;
                    tracer.tell(found);
                    commit.sieved(trace, link, (parent, began), fate);
                }
            }
            commit.stored(page, *record);
        }
        for url in &self.group.found {
            let fate = fates.next();
            let Some(trace) = tracer.found(url) else { continue };
            let from = match arrived(&trace_collector::key(url)) {
                Some((from, at)) => (trace.span(Stage::Sent, u64::from(from.0)), at),
                None => {
                    let found = found(trace, url, Origin::Seed, began);
                    let parent = found.id;
                    tracer.tell(found);
                    (parent, began)
                }
            };
            commit.sieved(trace, url, from, fate);
        }
    }
}

/// What the sieve did with a URL; see [`Sieved`](crate::crawldb::Sieved).
type Fate = Option<Result<bool, Discard>>;

/// A commit that has happened.
struct Commit<'a> {
    tracer: &'a Tracer,
    began: Timestamp,
    ended: Timestamp,
    archive: &'a Archive,
    is_alone: bool,
}

impl Commit<'_> {
    fn sieved(&self, trace: TraceId, url: &Found, from: (SpanId, Timestamp), fate: Fate) {
        let (parent, begin) = from;
        let times = (begin, self.ended);
        let is_new = fate == Some(Ok(true));
        // Whoever goes on with it knows the id of the one that let it through.
        let salt = if is_new { 0 } else { self.ended.0 ^ parent.0 };
        let mut span = Span::new(trace, (Stage::Sieved, salt), Some(parent), times)
            .with("url.full", url.url.as_str().to_owned())
            .with("crivello.new", matches!(fate, Some(Ok(true) | Err(_))));
        match fate {
            Some(Ok(true)) => {
                self.tracer.queued(trace_collector::key(url), self.ended, Since::Sieved)
            }
            Some(Err(why)) => span = span.with("crivello.discarded", why.name()),
            Some(Ok(false)) | None => {}
        }
        self.tracer.tell(span);
    }

    fn stored(&self, page: &Page, record: Option<(u32, u64)>) {
        let Some(url) = key(page).filter(|_| page.traced.is_some()) else { return };
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
        if let Some((file, offset)) = record {
            let name = self.archive.file_name(file).unwrap_or_default();
            span = span.with("crivello.archive.file", name).with("crivello.archive.offset", offset);
        }
        self.tracer.tell(span);
        if self.is_alone {
            let n_links = page.links.len() as u64;
            let times = (self.began, self.began);
            let owners = format!("0:{n_links}");
            assigned(self.tracer, page, (&owners, n_links), times)
                .into_iter()
                .for_each(|span| self.tracer.tell(span));
        }
    }
}

/// How many URLs go to whom, as `1:20 3:4`: the agents' ids.
pub fn in_words(owners: &std::collections::BTreeMap<AgentId, u64>) -> String {
    let words: Vec<String> = owners.iter().map(|(id, n)| format!("{}:{n}", id.0)).collect();
    words.join(" ")
}
