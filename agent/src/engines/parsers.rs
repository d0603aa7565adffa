//! The parser threads: CPU work. Each takes results from the fetchers, reads them, compresses
//! them, and passes them on to the accountant.

use crate::duplicates::{Claim, Duplicates, First};
use crate::fetch::robots_text;
use crate::messages::{
    ContentDigest, FetchOutcome, Fetched, Found, LinkKind, Page, PageEnd, Response, WarcRecord,
    WriterMsg,
};
use crate::shared::Shared;
use crate::shared::live_settings::{Revised, RulesInForce};
use crate::storage::values::ContentRow;
use crate::url_tracing::{Span, Stage, TraceId};
use crivello_archive::{Capture, Digests, OriginalCapture, RecordBuilder, WarcDigest};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::failure::Failure;
use crivello_common::hash::UrlKey;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_html::{ParseInput, Parser};
use crossbeam::channel::{Receiver, Sender};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A parser that waits for room looks up this often whether the crawl is over.
const LOOK_UP: Duration = Duration::from_millis(100);

/// What a result says: its end, its records, its links, and the links that were not taken.
type Reading = (PageEnd, Vec<WarcRecord>, Vec<Found>, DiscardTally);

/// One parser thread.
pub struct ParserThread {
    shared: Shared,
    results: Receiver<Box<Fetched>>,
    ledger: Sender<WriterMsg>,
    rules: RulesInForce,
    duplicates: Arc<Duplicates>,
    /// The page at hand is the first with its payload: others wait until it is handed over.
    first: Option<First>,
    /// The settings that the parser was made by.
    revised: Arc<Revised>,
    parser: Parser,
    records: RecordBuilder,
    /// The encoding of the page at hand.
    charset: Option<&'static str>,
}

impl ParserThread {
    /// A thread with buffers of its own.
    #[must_use]
    pub fn new(
        shared: Shared,
        results: Receiver<Box<Fetched>>,
        ledger: Sender<WriterMsg>,
        rules: RulesInForce,
        duplicates: Arc<Duplicates>,
    ) -> Self {
        let revised = shared.live.latest();
        Self {
            parser: Parser::new(&revised.settings),
            revised,
            records: RecordBuilder::new(&shared.settings.store),
            shared,
            results,
            ledger,
            rules,
            duplicates,
            first: None,
            charset: None,
        }
    }

    /// Works until the fetchers or the accountant are gone.
    pub fn run(mut self) {
        while let Ok(fetched) = self.results.recv() {
            while !self.shared.pipeline.wait_for_room(LOOK_UP) && !self.shared.lifecycle.is_over() {
            }
            self.keep_up();
            let body = fetched.body_len();
            let trace = self.trace(&fetched);
            let began = trace.map(|_| self.shared.clock.now());
            let page = self.measured(*fetched);
            if let (Some(began), Some(trace)) = (began, trace) {
                self.tell(trace, &page, began);
            }
            self.shared.pipeline.parsed(body, page.held_bytes());
            self.shared.status.results.fetch_add(1, Relaxed);
            if self.ledger.send(WriterMsg::Page(Box::new(page))).is_err() {
                return;
            }
            if let Some(first) = self.first.take() {
                first.handed_over();
            }
        }
    }

    /// Reads a result, and measures how long it waited and took.
    fn measured(&mut self, fetched: Fetched) -> Page {
        let shared = self.shared.clone();
        let (gauges, began) = (&shared.measured, shared.clock.now());
        gauges.parser_wait.observe(began.since(fetched.at + fetched.took));
        let is_response = matches!(fetched.outcome, FetchOutcome::Response(_));
        let page = self.page(fetched, Self::read);
        if is_response {
            gauges.parse.observe(shared.clock.now().since(began));
        }
        page
    }

    /// Reads the next page by the latest settings.
    fn keep_up(&mut self) {
        if self.shared.live.revision() != self.revised.revision {
            self.revised = self.shared.live.latest();
            self.parser = Parser::new(&self.revised.settings);
        }
    }

    /// What `read` makes of a result. Should it panic, that is a bug of ours which this page brings
    /// out: the page is a failure, and the crawl goes on.
    fn page(&mut self, fetched: Fetched, read: fn(&mut Self, &Fetched) -> Reading) -> Page {
        let reading = catch_unwind(AssertUnwindSafe(|| read(self, &fetched)));
        let (end, records, links, discards) = reading.unwrap_or_else(|_| {
            let trace_id = self.trace(&fetched).map(|trace| trace.to_string());
            let url = fetched.url.as_str();
            tracing::error!(url, trace_id, "a page made its parser panic: a bug");
            // In whatever state the panic left them.
            self.parser = Parser::new(&self.revised.settings);
            self.records = RecordBuilder::new(&self.shared.settings.store);
            self.first = None;
            without_records(PageEnd::Failed(Failure::Unreadable))
        });
        Page {
            host: fetched.host,
            name: fetched.name,
            row: fetched.row,
            at: fetched.at,
            took: fetched.took,
            end,
            records,
            links,
            discards,
            traced: fetched.traced,
        }
    }

    /// The trace of a result that is followed.
    fn trace(&self, fetched: &Fetched) -> Option<TraceId> {
        let url = fetched.traced?;
        Some(self.shared.tracer.trace(UrlKey { group: fetched.host.group, url }))
    }

    /// Tells how a page was read.
    fn tell(&self, trace: TraceId, page: &Page, began: Timestamp) {
        if !matches!(page.end, PageEnd::Response { .. }) {
            return;
        }
        let (parent, times) =
            (trace.span(Stage::Fetched, page.at.0), (began, self.shared.clock.now()));
        self.shared.tracer.tell(
            Span::new(trace, (Stage::Parsed, page.at.0), Some(parent), times)
                .with("crivello.links", page.links.len() as u64)
                .with("crivello.links.refused", page.discards.iter().map(|(_, n)| n).sum::<u64>())
                .with("crivello.charset", self.charset.unwrap_or("none")),
        );
    }

    fn read(&mut self, fetched: &Fetched) -> Reading {
        match &fetched.outcome {
            FetchOutcome::Failed(kind) => without_records(PageEnd::Failed(*kind)),
            FetchOutcome::Discarded(why) => without_records(PageEnd::Discarded(*why)),
            FetchOutcome::Response(response) => self.respond(fetched, response),
        }
    }

    fn respond(&mut self, fetched: &Fetched, response: &Response) -> Reading {
        self.charset = None;
        let (links, discards) = match &fetched.row {
            Some(row) => self.links(fetched, response, row.kind, row.depth),
            None => self.sitemaps(fetched, response),
        };
        let capture = Capture {
            url: &fetched.url,
            at: fetched.at,
            took: fetched.took,
            ip: response.address.ip(),
            status: response.status,
            version: response.version,
            headers: &response.headers,
            request_head: &response.request_head,
            body: &response.body,
            truncated: response.truncated,
        };
        let digests = Digests::of(&capture, self.shared.settings.store.digest);
        let (known, first) = self.identify(fetched, response, &digests.payload);
        let original = first.as_ref().map(|f| OriginalCapture { url: &f.url, at: f.at });
        let outlinks = links.iter().map(|link| link.url.as_str());
        let records = self.records.build(&capture, &digests, original.as_ref(), outlinks);
        let end = PageEnd::Response {
            status: response.status,
            bytes: response.body.len() as u64,
            digest: known,
            duplicate: first.is_some(),
            truncated: response.truncated.is_some(),
        };
        (end, records, links, discards)
    }

    fn links(
        &mut self,
        fetched: &Fetched,
        response: &Response,
        kind: LinkKind,
        depth: u16,
    ) -> (Vec<Found>, DiscardTally) {
        let extract = self.parser.parse(ParseInput {
            url: &fetched.url,
            status: response.status,
            headers: &response.headers,
            body: &response.body,
            kind,
        });
        self.charset = extract.charset;
        let hrefs = extract.links.map(|link| (link.href, link.kind, link.nofollow));
        let (links, mut discards) = self.rules.load().collect(&extract.base, hrefs, (kind, depth));
        discards.add(Discard::TooManyLinks, extract.links_over);
        (links, discards)
    }

    /// The sitemaps that a robots.txt names: one link away from nowhere. Its text is what the
    /// fetchers took its rules from.
    fn sitemaps(&self, fetched: &Fetched, response: &Response) -> (Vec<Found>, DiscardTally) {
        let wanted = self.revised.settings.links.sitemaps && matches!(response.status, 200..=299);
        let text = wanted.then(|| robots_text(response)).flatten();
        let (Some(text), Ok(base)) = (text, url::Url::parse(fetched.url.as_str())) else {
            return <_>::default();
        };
        let rules = Rules::parse(&text, &self.shared.settings.identity.user_agent_name);
        let hrefs = rules.sitemaps().iter().map(|href| (href.as_ref(), LinkKind::Sitemap, false));
        self.rules.load().collect(&base, hrefs, (LinkKind::Page, 0))
    }

    /// The digest by which duplicates of this payload are known, if they are, and the page that
    /// was archived with it before.
    fn identify(
        &mut self,
        fetched: &Fetched,
        response: &Response,
        digest: &WarcDigest,
    ) -> (Option<ContentDigest>, Option<ContentRow>) {
        let whole = response.status == 200
            && response.truncated.is_none()
            && !response.body.is_empty()
            && fetched.row.is_some();
        if !whole || !self.shared.settings.store.revisits {
            return (None, None);
        }
        let digest = digest.content();
        match self.duplicates.claim(digest, fetched.at, fetched.url.as_str()) {
            Ok(Claim::First(first)) => {
                self.first = Some(first);
                (Some(digest), None)
            }
            Ok(Claim::Duplicate(of)) => (Some(digest), Some(of)),
            Err(error) => {
                tracing::warn!(%error, "a duplicate cannot be looked up: archived as if it were none");
                (None, None)
            }
        }
    }
}

fn without_records(end: PageEnd) -> Reading {
    (end, Vec::new(), Vec::new(), DiscardTally::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crawldb::Totals;
    use crate::links::LinkRules;
    use crate::messages::HandedOut;
    use crate::storage::Database;
    use arc_swap::ArcSwap;
    use crivello_common::config::{AssignBy, Settings};
    use crivello_common::time::Clock;
    use crivello_common::url::CrawlUrl;
    use crossbeam::channel::bounded;

    #[test]
    fn a_page_that_makes_its_parser_panic_is_a_failure_and_the_next_one_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings::default();
        let disk = Database::open(dir.path(), true, &settings.state).unwrap();
        let rules = LinkRules::compile(&settings).unwrap();
        let duplicates = Arc::new(Duplicates::new(Arc::new(disk)));
        let shared = Shared::new(settings, Clock::start(), "crawl", Totals::default(), None);
        let (_fetchers, results) = bounded(1);
        let (ledger, _accountant) = bounded(1);
        let mut parser = ParserThread::new(
            shared,
            results,
            ledger,
            Arc::new(ArcSwap::from_pointee(rules)),
            duplicates.clone(),
        );
        let url = CrawlUrl::parse("http://a.test/").unwrap();
        let fetched = || Fetched {
            host: url.host_key(AssignBy::Domain),
            name: url.host().into(),
            row: None,
            url: url.clone(),
            address: std::net::Ipv4Addr::LOCALHOST.into(),
            at: Timestamp::from_secs(5),
            took: Duration::ZERO,
            outcome: FetchOutcome::Discarded(Discard::Robots),
            handed_out: HandedOut::default(),
            traced: None,
        };
        let page = parser.page(fetched(), |this, fetched| {
            let claim = this.duplicates.claim([7; 16], fetched.at, fetched.url.as_str());
            let Ok(Claim::First(first)) = claim else { panic!("it is the first") };
            this.first = Some(first);
            panic!("a bug");
        });
        assert_eq!(page.end, PageEnd::Failed(Failure::Unreadable));
        let next = duplicates.claim([7; 16], Timestamp::from_secs(6), "http://b.test/");
        assert!(matches!(next, Ok(Claim::First(_))), "the first was never archived");
        let page = parser.page(fetched(), ParserThread::read);
        assert_eq!(page.end, PageEnd::Discarded(Discard::Robots));
    }
}
