//! Processing of one result after another, with the same buffers.

use super::duplicates::{Duplicates, First};
use super::links::{LinkRules, Parent};
use super::near::{NearClaim, NearFinder, NearFinding, NearIndex};
use super::originals::{Identity, OriginalFinder};
use super::revisit_data::RevisitDataReader;
use crate::messages::{
    ChangeSignal, FetchOutcome, Fetched, Found, LinkKind, PageEnd, Response, Revisit, RevisitData,
    SignalSource, WarcRecord,
};
use crate::storage::values::ContentRow;
use arc_swap::ArcSwap;
use crivello_archive::{
    Capture, CaptureNotes, Digests, OriginalCapture, RecordBuilder, RevisitReason,
};
use crivello_common::config::{Fixed, Live, NoArchive, RecrawlPolicy};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::fields::link::ParentRecord;
use crivello_common::fields::need_main_text;
use crivello_common::fields::page::{Keep, KeepRule, PageRecord};
use crivello_common::identity::KeyedHasher;
use crivello_common::robots::{Rules, TDM_FILE};
use crivello_common::signals::PageSignals;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use crivello_html::{
    ExtractedLink, Language, LinkDates, LinkSource, ListSummary, ParseInput, ParsedPage, Parser,
};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// Maximum time between a change and the first list that reports it.
const LIST_DELAY_MAX: Duration = Duration::from_secs(86_400);

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
    /// Dates of the links of a sitemap or feed, in the order of the links.
    pub dates: Vec<LinkDates>,
    /// Changes of other pages, by these dates.
    pub signals: Vec<ChangeSignal>,
    /// The character set of the page.
    pub charset: Option<&'static str>,
    /// Time of the capture that the record refers to; `None` if it is no `revisit`.
    pub original: Option<Timestamp>,
    /// Data for the next fetch; `None` if pages are fetched once.
    pub revisit_data: Option<Box<RevisitData>>,
    /// Set if the result is the first with its payload: duplicates wait until it is handed over.
    pub first: Option<First>,
    /// Set if the text has a fingerprint: later pages find it.
    pub near: Option<NearClaim>,
}

/// The earlier pages to which a page may refer, shared by the parser threads.
#[derive(Clone, Debug)]
pub struct EarlierPages {
    /// Payloads of exact duplicates.
    pub duplicates: Arc<Duplicates>,
    /// Fingerprints of near-duplicates.
    pub near: Arc<NearIndex>,
}

impl Processed {
    /// The parts of a result without a response.
    #[must_use]
    pub fn without_response(end: PageEnd) -> Self {
        Self {
            end,
            records: Vec::new(),
            links: Vec::new(),
            discards: DiscardTally::default(),
            dates: Vec::new(),
            signals: Vec::new(),
            charset: None,
            original: None,
            revisit_data: None,
            first: None,
            near: None,
        }
    }
}

/// Processor of results, with buffers.
pub struct ResponseProcessor {
    fixed: Arc<Fixed>,
    rules: RulesInForce,
    originals: OriginalFinder,
    near: NearFinder,
    /// True if sitemaps are fetched.
    sitemaps: bool,
    /// Rule of `pages.keep`; `None` if all pages are archived.
    keep: Option<KeepRule>,
    /// True if pages with `noarchive` are not archived.
    drops_noarchive: bool,
    /// Reader of the data for the next fetch; `None` if pages are fetched once.
    revisit_data: Option<RevisitDataReader>,
    /// True if dates of sitemaps and feeds report changes of other pages.
    takes_signals: bool,
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
        EarlierPages { duplicates, near }: EarlierPages,
    ) -> Self {
        let mut processor = Self {
            parser: Parser::new(&fixed, live),
            records: RecordBuilder::new(&fixed.store),
            sitemaps: live.links.sitemaps,
            keep: None,
            drops_noarchive: false,
            revisit_data: None,
            takes_signals: false,
            originals: OriginalFinder::new(hasher, duplicates, &fixed.store),
            near: NearFinder::new(near),
            fixed,
            rules,
        };
        processor.set_keep(live);
        processor
    }

    /// Applies new settings, with empty buffers.
    pub fn reconfigure(&mut self, live: &Live) {
        self.sitemaps = live.links.sitemaps;
        self.parser = Parser::new(&self.fixed, live);
        self.records = RecordBuilder::new(&self.fixed.store);
        self.set_keep(live);
    }

    fn set_keep(&mut self, live: &Live) {
        // It was checked with the other settings.
        self.keep = KeepRule::compile(&live.pages.keep).unwrap_or_default();
        self.drops_noarchive = live.pages.noarchive == NoArchive::Drop;
        self.revisit_data = RevisitDataReader::new(live);
        self.takes_signals = live.recrawl.policy == RecrawlPolicy::Adaptive;
        self.near.setting = live.pages.near_duplicates;
        self.parser.collect_main_text(need_main_text(live));
    }

    /// Looks up the payload of a result among those of other agents. Returns the agents that are to be asked for it before
    /// it is processed.
    pub fn look_up(&self, fetched: &mut Fetched) -> Vec<AgentId> {
        self.originals.look_up(fetched)
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
        if let Some(revisit) = not_modified(fetched, response) {
            return self.not_modified(fetched, response, revisit);
        }
        let parsed = match &fetched.row {
            Some(row) => {
                let page = parent_record(fetched, response);
                let group = fetched.host.group;
                let (depth, redirects) = (row.depth, row.redirects);
                let is_redirect = matches!(response.status, 300..=399);
                let kind = row.kind;
                let parent = Parent { page, group, kind, depth, redirects, is_redirect };
                self.links(fetched, response, parent)
            }
            None => {
                let (links, discards) = self.sitemaps(fetched, response);
                Parsed {
                    links,
                    discards,
                    dates: Vec::new(),
                    charset: None,
                    keep: Keep::Archive,
                    revisit_data: None,
                    notes: CaptureNotes::default(),
                    near: NearFinding::default(),
                }
            }
        };
        let Parsed { mut links, mut discards, mut dates, charset, keep, .. } = parsed;
        let Parsed { revisit_data, mut notes, mut near, .. } = parsed;
        if keep == Keep::Drop {
            links.clear();
            dates.clear();
        }
        let signals = self.change_signals(fetched, &links, &dates);
        if keep != Keep::Archive {
            discards.count(Discard::NotArchived);
            if let Some(identity) = near.identity.take() {
                self.originals.give_up(identity);
            }
            let rest = not_archived(response, links);
            return Processed { discards, dates, signals, charset, revisit_data, ..rest };
        }
        let capture = capture(fetched, response);
        let digests = Digests::of(&capture, self.fixed.store.digest);
        near.add_to(&mut notes);
        let identity = near.identity.take();
        let identity = identity.unwrap_or_else(|| self.originals.identify(fetched, response));
        let Identity { digest, original, is_elsewhere, first } = identity;
        let reason = RevisitReason::SamePayload;
        let original_capture =
            original.as_ref().map(|o| OriginalCapture { url: &o.url, at: o.at, reason });
        let outlinks = links.iter().map(|link| link.url.as_str());
        let records =
            self.records.build(&capture, &digests, original_capture.as_ref(), outlinks, notes);
        let end = PageEnd::Response {
            status: response.status,
            bytes: response.body.len() as u64,
            digest,
            duplicate: original.is_some(),
            truncated: response.truncated.is_some(),
        };
        // The periods of this archive keep nothing for a capture of another one. A page whose last capture is with another
        // agent stays a copy of it.
        let revisit = fetched.row.as_ref().and_then(|row| row.revisit.as_ref());
        let last = revisit.and_then(|revisit| revisit.capture).map(|last| last.at);
        let is_last = |original: &ContentRow| {
            last == Some(original.at) && *original.url == *fetched.url.as_str()
        };
        let original = original.filter(|original| !is_elsewhere || is_last(original));
        let original = original.map(|original| original.at);
        Processed {
            end,
            records,
            links,
            discards,
            dates,
            signals,
            charset,
            original,
            revisit_data,
            first,
            near: near.claim,
        }
    }

    /// Returns the pages of the same registrable domain that have changed since the last fetch of a
    /// sitemap or feed, or shortly before it: some lists are published later than the changes that
    /// they report.
    fn change_signals(
        &self,
        fetched: &Fetched,
        links: &[Found],
        dates: &[LinkDates],
    ) -> Vec<ChangeSignal> {
        let revisit = fetched.row.as_ref().and_then(|row| row.revisit.as_ref());
        let history = revisit.and_then(|revisit| revisit.history).filter(|_| self.takes_signals);
        let Some(history) = history else { return Vec::new() };
        let before = Timestamp::from_secs(history.last_fetch() as u64);
        let signal = |dates: &LinkDates| {
            let modified = dates.modified.or(dates.published)?;
            let link = links.get(dates.link as usize)?;
            // Nobody steers the schedule of another one's site.
            let is_own = link.host.group == fetched.host.group;
            let signal = ChangeSignal { url: link.key(), source: SignalSource::List { modified } };
            (is_own && modified + LIST_DELAY_MAX > before).then_some(signal)
        };
        dates.iter().filter_map(signal).collect()
    }

    /// Processes a 304 to a conditional request: a revisit of the last capture, if that is archived. Its
    /// links stay known.
    fn not_modified(
        &mut self,
        fetched: &Fetched,
        response: &Response,
        revisit: &Revisit,
    ) -> Processed {
        let end = PageEnd::Response {
            status: response.status,
            bytes: response.body.len() as u64,
            digest: None,
            duplicate: false,
            truncated: false,
        };
        let reader = self.revisit_data.as_ref();
        let revisit_data = reader.map(|reader| reader.read_not_modified(response, revisit));
        let input = parse_input(fetched, response, LinkKind::Page);
        let notes = notes(fetched, self.parser.parse(input).signals);
        let capture = capture(fetched, response);
        let records = revisit.capture.map_or_else(Vec::new, |last| {
            let reason = RevisitReason::NotModified;
            let original = OriginalCapture { url: fetched.url.as_str(), at: last.at, reason };
            let digests = Digests::of(&capture, self.fixed.store.digest);
            self.records.build(&capture, &digests, Some(&original), std::iter::empty(), notes)
        });
        let original = revisit.capture.map(|last| last.at);
        let revisit_data = revisit_data.map(Box::new);
        Processed { records, original, revisit_data, ..Processed::without_response(end) }
    }

    fn links(&mut self, fetched: &Fetched, response: &Response, parent: Parent<'_>) -> Parsed {
        let mut page = self.parser.parse(parse_input(fetched, response, parent.kind));
        let signals = std::mem::take(&mut page.signals);
        let (noindex, noarchive) = (signals.robots.noindex(), signals.robots.noarchive());
        let notes = notes(fetched, signals);
        let keep = match self.drops_noarchive && noarchive {
            true => Keep::Parse,
            false => Keep::Archive,
        };
        let language = page.main_text.map_or(Language::UNKNOWN, |text| text.language);
        let language = language.as_str();
        let text_length = page.main_text.map_or(0, |text| text.chars as u64);
        let mut near = self.near.find(fetched, response, page.main_text.as_ref(), &self.originals);
        let n_links = page.links.len();
        let record = ParentRecord { n_links, text_length, language, ..parent.page };
        let parent = Parent { page: record, ..parent };
        let rules = self.rules.load();
        let (links, mut discards, dates) = match &page.list {
            Some(list) => entries(&page, list, parent, &rules),
            None if near.skips_links() => {
                let mut discards = DiscardTally::default();
                discards.add(Discard::NearDuplicate, n_links as u64);
                (Vec::new(), discards, Vec::new())
            }
            None => {
                let (links, discards) = rules.collect(&page.base, page.links.clone(), parent);
                (links, discards, Vec::new())
            }
        };
        discards.add(Discard::TooManyLinks, page.links_over);
        let is_whole = response.truncated.is_none() && page.links_over == 0;
        if is_whole && !near.skips_links() && (n_links == 0 || !links.is_empty()) {
            near.follow_links();
        }
        if self.keep.is_none() && self.revisit_data.is_none() {
            let (charset, revisit_data) = (page.charset, None);
            return Parsed { links, discards, dates, charset, keep, revisit_data, notes, near };
        }
        let media = media_type(&response.headers);
        let record = PageRecord {
            url: &fetched.url,
            host_rank: rules.host_rank(fetched.url.host()),
            depth: parent.depth,
            status: response.status,
            media: &media,
            bytes: response.body.len() as u64,
            is_truncated: response.truncated.is_some(),
            is_near_duplicate: near.is_near_duplicate(),
            charset: page.charset.unwrap_or_default(),
            title: page.title.unwrap_or_default(),
            n_links: links.len(),
            noindex,
            noarchive,
            nofollow: page.page_nofollow,
            text_length,
            language,
        };
        let reader = self.revisit_data.as_ref();
        let revisit_data = reader.map(|reader| {
            reader.read(response, &record, page.main_text.as_ref(), page.list.is_some())
        });
        let by_rule = self.keep.as_ref().map_or(Keep::Archive, |rule| {
            rule.keep(&record).ok().flatten().unwrap_or_else(|| {
                discards.count(Discard::KeepFailed);
                Keep::Archive
            })
        });
        // The values are in the order of how much is done.
        let keep = keep.max(by_rule);
        Parsed {
            links,
            discards,
            dates,
            charset: page.charset,
            keep,
            revisit_data: revisit_data.map(Box::new),
            notes,
            near,
        }
    }

    /// Returns the sitemaps that a robots.txt names, as if a seed linked to them. They are read from
    /// the same text as the rules.
    fn sitemaps(&self, fetched: &Fetched, response: &Response) -> (Vec<Found>, DiscardTally) {
        let is_tdm_file = fetched.url.path() == TDM_FILE;
        let wanted = self.sitemaps && matches!(response.status, 200..=299) && !is_tdm_file;
        let file = wanted.then(|| response.robots_txt()).flatten();
        let text = file.and_then(crivello_html::RobotsTxt::text);
        let (Some(text), Ok(base)) = (text, url::Url::parse(fetched.url.as_str())) else {
            return <_>::default();
        };
        let rules = Rules::parse(&text, &self.fixed.identity.user_agent_name);
        let hrefs = rules.sitemaps().iter().map(|href| ExtractedLink {
            href,
            kind: LinkKind::Sitemap,
            source: LinkSource::RobotsTxt,
            nofollow: false,
        });
        let n_links = hrefs.len();
        let page = ParentRecord { n_links, ..parent_record(fetched, response) };
        let group = fetched.host.group;
        let (kind, is_redirect) = (LinkKind::Page, false);
        let parent = Parent { page, group, kind, depth: 0, redirects: 0, is_redirect };
        self.rules.load().collect(&base, hrefs, parent)
    }
}

/// The result of reading the body of a response.
struct Parsed {
    links: Vec<Found>,
    discards: DiscardTally,
    dates: Vec<LinkDates>,
    charset: Option<&'static str>,
    keep: Keep,
    revisit_data: Option<Box<RevisitData>>,
    notes: CaptureNotes,
    near: NearFinding,
}

fn parse_input<'a>(fetched: &'a Fetched, response: &'a Response, kind: LinkKind) -> ParseInput<'a> {
    ParseInput {
        url: &fetched.url,
        status: response.status,
        headers: &response.headers,
        body: &response.body,
        kind,
        at: fetched.at,
    }
}

/// Returns notes of the signals of a response and its site.
fn notes(fetched: &Fetched, mut signals: PageSignals) -> CaptureNotes {
    if let Some(of_site) = &fetched.signals {
        of_site.add_to(fetched.url.path_and_query(), &mut signals);
    }
    let fields = signals.fields();
    let mut members = fields.clone();
    // A member has one value: the first.
    members.dedup_by_key(|(name, _)| *name);
    CaptureNotes { fields, members }
}

/// Returns what is known of a page if the server called it unmodified, as it was asked.
fn not_modified<'a>(fetched: &'a Fetched, response: &Response) -> Option<&'a Revisit> {
    let revisit = fetched.row.as_ref()?.revisit.as_deref()?;
    (response.status == 304 && !revisit.validators.is_empty()).then_some(revisit)
}

fn capture<'a>(fetched: &'a Fetched, response: &'a Response) -> Capture<'a> {
    Capture {
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
    }
}

/// Returns the links of a sitemap or feed that pass the rules, a count of the others by reason, and
/// the dates of the links.
fn entries(
    page: &ParsedPage<'_>,
    list: &ListSummary,
    parent: Parent<'_>,
    rules: &LinkRules,
) -> (Vec<Found>, DiscardTally, Vec<LinkDates>) {
    let mut dates = Vec::new();
    let (mut n_taken, mut given) = (0, page.dates.iter());
    let takes = |index: usize| {
        let rest = given.as_slice();
        let n_before = rest.partition_point(|of| (of.link as usize) < index);
        given = rest[n_before..].iter();
        if let Some(of) = given.as_slice().first().filter(|of| of.link as usize == index) {
            dates.push(LinkDates { link: n_taken, ..*of });
        }
        n_taken += 1;
    };
    let hrefs = page.links.clone();
    let (links, mut discards) = rules.collect_list(&page.base, hrefs, parent, takes);
    discards.add(Discard::RelativeInSitemap, list.n_relative);
    discards.add(Discard::TooLong, list.n_too_long);
    discards.add(Discard::DateIgnored, list.n_future_dates + list.n_invalid_dates);
    discards.add(Discard::SitemapTooLarge, list.is_too_large.into());
    discards.add(Discard::SitemapDamaged, list.is_damaged.into());
    (links, discards, dates)
}

fn parent_record<'a>(fetched: &'a Fetched, response: &Response) -> ParentRecord<'a> {
    let (status, bytes) = (response.status, response.body.len() as u64);
    let language = Language::UNKNOWN.as_str();
    ParentRecord { url: &fetched.url, status, bytes, n_links: 0, text_length: 0, language }
}

/// Returns the parts of a page that is not archived: no record, and no digest, because a later page
/// with the same payload must not refer to it.
fn not_archived(response: &Response, links: Vec<Found>) -> Processed {
    let end = PageEnd::Response {
        status: response.status,
        bytes: response.body.len() as u64,
        digest: None,
        duplicate: false,
        truncated: response.truncated.is_some(),
    };
    Processed { links, ..Processed::without_response(end) }
}

/// Returns the declared media type in lower case, without parameters; empty if there is none.
fn media_type(headers: &HeaderMap) -> Cow<'_, str> {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media = value.split(';').next().unwrap_or_default().trim();
    match media.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(media.to_ascii_lowercase()),
        false => Cow::Borrowed(media),
    }
}
