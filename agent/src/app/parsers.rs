//! The parser threads: CPU work. Each takes results from the fetchers, reads them, compresses
//! them, and passes them on to the accountant.

use super::accountant::Entry;
use super::shared::Shared;
use crate::disk::values::ContentRow;
use crate::duplicates::{Claim, Duplicates, First};
use crate::flow::{
    ContentDigest, Fetched, Found, LinkKind, Outcome, Page, PageEnd, Record, Response,
};
use crate::links::LinkRules;
use crate::parse::{Input, Parser};
use crate::store::{DuplicateOf, PayloadDigest, Recorder, payload_digest};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::robots::Rules;
use crossbeam::channel::{Receiver, Sender};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A parser that waits for room looks up this often whether the crawl is over.
const LOOK_UP: Duration = Duration::from_millis(100);

/// One parser thread.
pub struct ParserThread {
    shared: Arc<Shared>,
    results: Receiver<Box<Fetched>>,
    ledger: Sender<Entry>,
    rules: Arc<LinkRules>,
    duplicates: Arc<Duplicates>,
    /// The page at hand is the first with its payload: others wait until it is handed over.
    first: Option<First>,
    parser: Parser,
    recorder: Recorder,
}

impl ParserThread {
    /// A thread with buffers of its own.
    #[must_use]
    pub fn new(
        shared: Arc<Shared>,
        results: Receiver<Box<Fetched>>,
        ledger: Sender<Entry>,
        rules: Arc<LinkRules>,
        duplicates: Arc<Duplicates>,
    ) -> Self {
        Self {
            parser: Parser::new(&shared.settings),
            recorder: Recorder::new(&shared.settings),
            shared,
            results,
            ledger,
            rules,
            duplicates,
            first: None,
        }
    }

    /// Works until the fetchers or the accountant are gone.
    pub fn run(mut self) {
        while let Ok(fetched) = self.results.recv() {
            while !self.shared.pipeline.wait_for_room(LOOK_UP) && !self.shared.is_over() {}
            let body = fetched.body_len();
            let page = self.read(*fetched);
            self.shared.pipeline.parsed(body, page.held_bytes());
            self.shared.results.fetch_add(1, Relaxed);
            if self.ledger.send(Entry::Page(Box::new(page))).is_err() {
                return;
            }
            if let Some(first) = self.first.take() {
                first.handed_over();
            }
        }
    }

    fn read(&mut self, fetched: Fetched) -> Page {
        let (end, records, links, discards) = match &fetched.outcome {
            Outcome::Failed(kind) => (PageEnd::Failed(*kind), vec![], vec![], <_>::default()),
            Outcome::Discarded(why) => (PageEnd::Discarded(*why), vec![], vec![], <_>::default()),
            Outcome::Response(response) => self.respond(&fetched, response),
        };
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
        }
    }

    fn respond(
        &mut self,
        fetched: &Fetched,
        response: &Response,
    ) -> (PageEnd, Vec<Record>, Vec<Found>, DiscardTally) {
        let (links, discards) = match &fetched.row {
            Some(row) => self.links(fetched, response, row.kind, row.depth),
            None => self.sitemaps(fetched, response),
        };
        let digest = payload_digest(&response.body, self.shared.settings.store.digest);
        let (known, first) = self.identify(fetched, response, &digest);
        let original = first.as_ref().map(|f| DuplicateOf { uri: &f.url, date: f.at });
        let records = self.recorder.response(fetched, response, &digest, original.as_ref(), &links);
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
        let extract = self.parser.read(Input {
            url: &fetched.url,
            status: response.status,
            headers: &response.headers,
            body: &response.body,
            kind,
        });
        let hrefs = extract.links.map(|link| (link.href, link.kind, link.nofollow));
        let (links, mut discards) = self.rules.collect(&extract.base, hrefs, depth);
        discards.add(Discard::TooManyLinks, extract.links_over);
        (links, discards)
    }

    /// The sitemaps that a robots.txt names: one link away from nowhere.
    fn sitemaps(&self, fetched: &Fetched, response: &Response) -> (Vec<Found>, DiscardTally) {
        let wanted = self.shared.settings.links.sitemaps && response.status == 200;
        let Some(base) = wanted.then(|| url::Url::parse(fetched.url.as_str()).ok()).flatten()
        else {
            return <_>::default();
        };
        let rules = Rules::parse(&response.body, &self.shared.settings.identity.user_agent_name);
        let hrefs = rules.sitemaps().iter().map(|href| (href.as_ref(), LinkKind::Sitemap, false));
        self.rules.collect(&base, hrefs, 0)
    }

    /// The digest by which duplicates of this payload are known, if they are, and the page that
    /// was archived with it before.
    fn identify(
        &mut self,
        fetched: &Fetched,
        response: &Response,
        digest: &PayloadDigest,
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
