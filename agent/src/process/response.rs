//! Processing of one result after another, with the same buffers.

use super::duplicates::{Claim, Duplicates, First};
use super::links::{LinkRules, Parent};
use crate::messages::{FetchOutcome, Fetched, Found, LinkKind, PageEnd, Response, WarcRecord};
use crate::storage::values::ContentRow;
use arc_swap::ArcSwap;
use crivello_archive::{Capture, Digests, OriginalCapture, RecordBuilder};
use crivello_common::config::{Fixed, Live};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::hash::ContentDigest;
use crivello_common::identity::KeyedHasher;
use crivello_common::link_record::ParentRecord;
use crivello_common::robots::Rules;
use crivello_html::{ParseInput, Parser};
use std::sync::Arc;

/// The link rules in force.
pub type RulesInForce = Arc<ArcSwap<LinkRules>>;

/// The parts of a processed result.
#[derive(Debug)]
pub struct Processed {
    /// The outcome.
    pub end: PageEnd,
    /// Archive records, in order; empty when nothing is archived.
    pub records: Vec<WarcRecord>,
    /// The links that passed the rules, each once.
    pub links: Vec<Found>,
    /// The links that did not pass, counted by reason.
    pub discards: DiscardTally,
    /// The character set of the page.
    pub charset: Option<&'static str>,
    /// Set if the result is the first with its payload: duplicates wait until it is handed over.
    pub first: Option<First>,
}

impl Processed {
    /// The parts of a result without a response.
    #[must_use]
    pub fn without_response(end: PageEnd) -> Self {
        let (records, links, discards) = (Vec::new(), Vec::new(), DiscardTally::default());
        Self { end, records, links, discards, charset: None, first: None }
    }
}

/// Processor of results, with buffers.
pub struct ResponseProcessor {
    fixed: Arc<Fixed>,
    hasher: KeyedHasher,
    rules: RulesInForce,
    duplicates: Arc<Duplicates>,
    /// True if sitemaps are fetched.
    sitemaps: bool,
    parser: Parser,
    records: RecordBuilder,
}

impl ResponseProcessor {
    /// Creates a processor with buffers of its own.
    #[must_use]
    pub fn new(
        fixed: Arc<Fixed>,
        live: &Live,
        hasher: KeyedHasher,
        rules: RulesInForce,
        duplicates: Arc<Duplicates>,
    ) -> Self {
        Self {
            parser: Parser::new(&fixed, live),
            records: RecordBuilder::new(&fixed.store),
            sitemaps: live.links.sitemaps,
            fixed,
            hasher,
            rules,
            duplicates,
        }
    }

    /// Applies new settings, with empty buffers.
    pub fn reconfigure(&mut self, live: &Live) {
        self.sitemaps = live.links.sitemaps;
        self.parser = Parser::new(&self.fixed, live);
        self.records = RecordBuilder::new(&self.fixed.store);
    }

    /// Processes a result.
    pub fn process(&mut self, fetched: &Fetched) -> Processed {
        match &fetched.outcome {
            FetchOutcome::Failed(kind) => Processed::without_response(PageEnd::Failed(*kind)),
            FetchOutcome::Discarded(why) => Processed::without_response(PageEnd::Discarded(*why)),
            FetchOutcome::Response(response) => self.response(fetched, response),
        }
    }

    fn response(&mut self, fetched: &Fetched, response: &Response) -> Processed {
        let (links, discards, charset) = match &fetched.row {
            Some(row) => {
                let page = parent_record(fetched, response);
                let group = fetched.host.group;
                let parent = Parent { page, group, kind: row.kind, depth: row.depth };
                self.links(fetched, response, parent)
            }
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
            certificate: response.certificate,
        };
        let digests = Digests::of(&capture, self.fixed.store.digest);
        let (digest, original, first) = self.identify(fetched, response);
        let original_capture = original.as_ref().map(|o| OriginalCapture { url: &o.url, at: o.at });
        let outlinks = links.iter().map(|link| link.url.as_str());
        let records = self.records.build(&capture, &digests, original_capture.as_ref(), outlinks);
        let end = PageEnd::Response {
            status: response.status,
            bytes: response.body.len() as u64,
            digest,
            duplicate: original.is_some(),
            truncated: response.truncated.is_some(),
        };
        Processed { end, records, links, discards, charset, first }
    }

    fn links(
        &mut self,
        fetched: &Fetched,
        response: &Response,
        parent: Parent<'_>,
    ) -> (Vec<Found>, DiscardTally, Option<&'static str>) {
        let page = self.parser.parse(ParseInput {
            url: &fetched.url,
            status: response.status,
            headers: &response.headers,
            body: &response.body,
            kind: parent.kind,
        });
        let hrefs = page.links.map(|link| (link.href, link.kind, link.nofollow));
        let (links, mut discards) = self.rules.load().collect(&page.base, hrefs, parent);
        discards.add(Discard::TooManyLinks, page.links_over);
        (links, discards, page.charset)
    }

    /// Returns the sitemaps that a robots.txt names, as if a seed linked to them. They are read from
    /// the same text as the rules.
    fn sitemaps(
        &self,
        fetched: &Fetched,
        response: &Response,
    ) -> (Vec<Found>, DiscardTally, Option<&'static str>) {
        let wanted = self.sitemaps && matches!(response.status, 200..=299);
        let file = wanted.then(|| response.robots_txt()).flatten();
        let text = file.and_then(crivello_html::RobotsTxt::text);
        let (Some(text), Ok(base)) = (text, url::Url::parse(fetched.url.as_str())) else {
            return <_>::default();
        };
        let rules = Rules::parse(&text, &self.fixed.identity.user_agent_name);
        let hrefs = rules.sitemaps().iter().map(|href| (href.as_ref(), LinkKind::Sitemap, false));
        let (page, group) = (parent_record(fetched, response), fetched.host.group);
        let parent = Parent { page, group, kind: LinkKind::Page, depth: 0 };
        let (links, discards) = self.rules.load().collect(&base, hrefs, parent);
        (links, discards, None)
    }

    /// Returns the payload's digest, if duplicates of it are recognized; the page that was archived
    /// with it before; and the claim, if this page is the first.
    fn identify(
        &self,
        fetched: &Fetched,
        response: &Response,
    ) -> (Option<ContentDigest>, Option<ContentRow>, Option<First>) {
        let whole = response.status == 200
            && response.truncated.is_none()
            && !response.body.is_empty()
            && fetched.row.is_some();
        if !whole || !self.fixed.store.revisits {
            return (None, None, None);
        }
        let digest = self.hasher.content(&response.body);
        match self.duplicates.claim(digest, fetched.at, fetched.url.as_str()) {
            Ok(Claim::First(first)) => (Some(digest), None, Some(first)),
            Ok(Claim::Duplicate(of)) => (Some(digest), Some(of), None),
            Err(error) => {
                tracing::warn!(%error, "cannot check a page for duplicates; archiving it in full");
                (None, None, None)
            }
        }
    }
}

fn parent_record<'a>(fetched: &'a Fetched, response: &Response) -> ParentRecord<'a> {
    ParentRecord { url: &fetched.url, status: response.status, bytes: response.body.len() as u64 }
}
