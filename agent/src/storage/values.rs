//! Values of the column families; see the table in [`super`].

use super::{DiskError, Family, MALFORMED, Row, RowReader, RowWriter};
use crate::messages::{
    Finder, HostClass, HostScore, LinkKind, PRIORITY_DEFAULT, QueueKey, QueueKind, Queued,
    RecordPlace, Revisit, RobotsRecord, SchedulePlace, read_seconds,
};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::hash::{HostHash, UrlHash};
use crivello_common::politeness::HostState;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme};
use crivello_common::view::AgentId;
use crivello_recrawl::host_evidence::HostEvidence;
use std::sync::Arc;

/// Encodes a row of `frontier`: flags (scheme, other port, two bits of kind, four of finder), four times
/// the depth plus 1 if the number of redirects follows, plus 2 if the data of earlier fetches follows,
/// attempts, hash, port unless it is the scheme's default, then the path.
#[must_use]
pub fn encode_queued(url: &Queued) -> Vec<u8> {
    let odd_port = url.origin.port != url.origin.scheme.default_port();
    let flags = (url.origin.scheme as u8)
        | (u8::from(odd_port) << 1)
        | ((url.kind as u8) << 2)
        | (url.finder.code() << 4);
    let mut w = RowWriter(Vec::with_capacity(url.path.len() + 16));
    let redirected = url.redirects > 0;
    let revisited = u64::from(url.revisit.is_some());
    w.byte(flags).number(u64::from(url.depth) << 2 | revisited << 1 | u64::from(redirected));
    if redirected {
        w.byte(url.redirects);
    }
    if let Some(revisit) = &url.revisit {
        w.bytes(&revisit.encode());
    }
    w.byte(url.attempts).rest(&url.hash.to_bytes());
    if odd_port {
        w.rest(&url.origin.port.to_be_bytes());
    }
    w.rest(url.path.as_bytes()).finish()
}

/// Decodes a value of [`encode_queued`].
///
/// # Errors
/// [`DiskError::Row`] if the value is damaged.
pub fn decode_queued(queue_key: QueueKey, value: &[u8]) -> Result<Queued, DiskError> {
    let row = read_queued(queue_key, value);
    row.ok_or(DiskError::Row { family: "frontier", what: MALFORMED })
}

fn read_queued(queue_key: QueueKey, value: &[u8]) -> Option<Queued> {
    let mut r = RowReader(value);
    let flags = r.byte()?;
    let depth = r.small::<u32>()?;
    let redirects = match depth & 1 {
        0 => 0,
        _ => r.byte().filter(|&redirects| redirects > 0)?,
    };
    let revisit = match depth & 2 {
        0 => None,
        _ => Some(Box::new(Revisit::read(r.bytes()?)?)),
    };
    let depth = u16::try_from(depth >> 2).ok()?;
    let attempts = r.byte()?;
    let hash = UrlHash::from_bytes(r.array()?);
    let scheme = Scheme::from_code(flags & 1)?;
    let port = match flags & 2 {
        0 => scheme.default_port(),
        _ => u16::from_be_bytes(r.array()?),
    };
    let kind = match (flags >> 2) & 3 {
        0 => LinkKind::Page,
        1 => LinkKind::Sitemap,
        _ => return None,
    };
    let finder = Finder::from_code(flags >> 4)?;
    let path = std::str::from_utf8(r.rest()).ok()?.into();
    let origin = Origin { scheme, port };
    Some(Queued {
        queue_key,
        hash,
        origin,
        path,
        depth,
        redirects,
        attempts,
        kind,
        finder,
        revisit,
    })
}

/// A row of `seen`.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// The URL waits in the queue of this host, at this place. `None` in a crawl of a single agent,
    /// which never looks up the place of a URL.
    Queued(Option<(HostHash, QueueKey)>),
    /// The URL is finished, with this outcome.
    Done(UrlOutcome),
}

/// First byte of the value of a queued URL; outcomes begin with other numbers.
const SEEN_QUEUED: u8 = 4;
/// First byte of a fetched URL's outcome in a crawl by many agents, if it is not archived; the next
/// number if it is archived.
const FETCHED_BY: u8 = 5;
/// First bytes of the outcomes without a page that have what they need to be fetched again.
const FAILED_BY: u8 = 7;
const DISCARDED_BY: u8 = 8;

impl Seen {
    /// Encodes the value.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Queued(None) => Vec::new(),
            Self::Queued(Some((host, queue_key))) => RowWriter(Vec::with_capacity(16))
                .byte(SEEN_QUEUED)
                .rest(&host.to_bytes())
                .byte(queue_key.queue as u8)
                .byte(queue_key.priority)
                .number(queue_key.seq)
                .finish(),
            Self::Done(outcome) => outcome.encode(),
        }
    }
}

impl Row for Seen {
    const FAMILY: Family = Family::Seen;

    fn read(r: &mut RowReader<'_>) -> Option<Self> {
        match r.0.first() {
            None => return Some(Self::Queued(None)),
            Some(&SEEN_QUEUED) => r.byte(),
            Some(_) => return UrlOutcome::read(r.rest()).map(Self::Done),
        };
        let host = HostHash::from_bytes(r.array()?);
        let (queue, priority) = (QueueKind::from_code(r.byte()?)?, r.byte()?);
        Some(Self::Queued(Some((host, QueueKey { queue, priority, seq: r.number()? }))))
    }
}

/// Outcome of a URL: the value of `seen` once it is finished.
#[derive(Clone, Debug, PartialEq)]
pub enum UrlOutcome {
    /// The URL was fetched.
    Fetched {
        /// Start of the request.
        at: Timestamp,
        /// The HTTP status.
        status: u16,
        /// Place of the record, if the page is archived: in the archive of the agent of `page`, or else of
        /// this one.
        record: Option<RecordPlace>,
        /// In a crawl by many agents, or one that comes back to its pages: the agent that has the page
        /// in its archive, and the data to fetch it again.
        page: Option<Arc<FinishedUrl>>,
    },
    /// All attempts failed; the last one with this failure. A crawl that comes back to its pages has
    /// the data to fetch it again.
    Failed(Failure, Option<Arc<FinishedUrl>>),
    /// The URL was discarded, with the same data.
    Discarded(Discard, Option<Arc<FinishedUrl>>),
}

/// All that a finished URL needs to be fetched again.
#[derive(Clone, Debug, PartialEq)]
pub struct FinishedUrl {
    /// The agent that has the page in its archive, or that finished the URL without a page.
    pub by: AgentId,
    /// Name of the page's host.
    pub name: Arc<str>,
    /// Row that the URL had in `frontier`. Its queue key means nothing.
    pub url: Queued,
}

/// Returns true for a status that means success (2xx).
#[must_use]
pub const fn is_success(status: u16) -> bool {
    matches!(status, 200..=299)
}

impl UrlOutcome {
    /// Returns true if the URL counts as a page of its host and domain. Without data for the next fetch, it
    /// was fetched once.
    pub fn is_counted(&self) -> bool {
        match self.page().and_then(|page| page.url.revisit.as_ref()) {
            Some(revisit) => revisit.is_counted,
            None => matches!(self, Self::Fetched { status, .. } if is_success(*status)),
        }
    }

    /// Encodes the value in `seen`.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = RowWriter::default();
        match self {
            Self::Fetched { at, status, record, page } => {
                let first = if page.is_some() { FETCHED_BY } else { 0 };
                w.byte(first + u8::from(record.is_some()));
                w.number(at.as_secs()).number(u64::from(*status));
                if let Some(record) = record {
                    record.write(&mut w);
                }
                if let Some(page) = page {
                    page.write(&mut w);
                }
            }
            Self::Failed(kind, None) => return vec![2, kind.code()],
            Self::Discarded(reason, None) => return vec![3, reason.code()],
            Self::Failed(kind, Some(page)) => page.write(w.byte(FAILED_BY).byte(kind.code())),
            Self::Discarded(reason, Some(page)) => {
                page.write(w.byte(DISCARDED_BY).byte(reason.code()));
            }
        }
        w.finish()
    }

    /// Returns what the URL needs to be fetched again, if it is known.
    pub fn page(&self) -> Option<&FinishedUrl> {
        match self {
            Self::Fetched { page, .. } | Self::Failed(_, page) | Self::Discarded(_, page) => {
                page.as_deref()
            }
        }
    }

    /// Returns it with other data to fetch the URL again.
    #[must_use]
    pub fn with_page(self, page: Option<Arc<FinishedUrl>>) -> Self {
        match self {
            Self::Fetched { at, status, record, .. } => Self::Fetched { at, status, record, page },
            Self::Failed(kind, _) => Self::Failed(kind, page),
            Self::Discarded(reason, _) => Self::Discarded(reason, page),
        }
    }

    /// Returns the number of the fetch that it is the outcome of, counted from 0.
    pub fn generation(&self) -> u32 {
        self.page().map_or(0, |page| page.url.generation())
    }

    /// Returns the time in whole seconds at which the URL is to be queued again, if it is.
    pub fn due(&self) -> Option<Timestamp> {
        // The row has whole seconds, so the key in `due` must have them, too.
        let due = Timestamp::from_secs(self.page()?.url.revisit.as_ref()?.due.as_secs());
        Some(due).filter(|due| *due > Timestamp::ZERO)
    }

    /// Returns the bytes in memory beside the value itself.
    pub fn weight(&self) -> usize {
        self.page().map_or(0, |page| {
            let revisit = page.url.revisit.as_ref().map_or(0, |revisit| revisit.weight());
            size_of::<FinishedUrl>() + page.name.len() + page.url.path.len() + revisit
        })
    }

    /// Decodes a value of [`Self::encode`]; `None` if it is malformed.
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Self> {
        let mut r = RowReader(value);
        match r.byte()? {
            tag @ (0 | 1 | FETCHED_BY..=6) => Some(Self::Fetched {
                at: read_seconds(&mut r)?,
                status: r.small()?,
                record: match tag == 1 || tag == FETCHED_BY + 1 {
                    true => Some(RecordPlace::read(&mut r)?),
                    false => None,
                },
                page: read_page(&mut r, tag >= FETCHED_BY)?,
            }),
            tag @ (2 | FAILED_BY) => {
                let kind = Failure::from_code(r.byte()?)?;
                Some(Self::Failed(kind, read_page(&mut r, tag == FAILED_BY)?))
            }
            tag @ (3 | DISCARDED_BY) => {
                let reason = Discard::from_code(r.byte()?)?;
                Some(Self::Discarded(reason, read_page(&mut r, tag == DISCARDED_BY)?))
            }
            _ => None,
        }
    }
}

/// Reads what a finished URL needs to be fetched again, if the outcome has it.
fn read_page(r: &mut RowReader<'_>, has_page: bool) -> Option<Option<Arc<FinishedUrl>>> {
    match has_page {
        true => FinishedUrl::read(r).map(|page| Some(Arc::new(page))),
        false => Some(None),
    }
}

impl FinishedUrl {
    fn write(&self, w: &mut RowWriter) {
        w.number(u64::from(self.by.0)).bytes(self.name.as_bytes());
        w.rest(&encode_queued(&self.url));
    }

    fn read(r: &mut RowReader<'_>) -> Option<Self> {
        let by = AgentId(r.small()?);
        let name = r.text().filter(|name| !name.is_empty())?.into();
        let queue_key = QueueKey { priority: PRIORITY_DEFAULT, ..QueueKey::default() };
        let url = decode_queued(queue_key, r.rest()).ok()?;
        url.path.starts_with('/').then_some(Self { by, name, url })
    }
}

/// A row of `hosts`.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct HostRow {
    /// The host's name.
    pub name: Arc<str>,
    /// Politeness state of the host.
    pub state: HostState,
    /// URLs in `frontier` that wait to be fetched.
    pub queued: u64,
    /// Bytes of their paths.
    pub queued_bytes: u64,
    /// Pages fetched with success (2xx): those that count towards the limits.
    pub pages: u64,
    /// Bytes of the pages' bodies as received.
    pub bytes: u64,
    /// Reason why new URLs of this host are refused, if they are.
    pub closed: Option<Discard>,
    /// The place in its key of `schedule`, if it has one.
    pub scheduled: Option<SchedulePlace>,
    /// Score, as of what this agent has fetched.
    pub score: HostScore,
    /// True if `robots` has rows of the host.
    pub robots: bool,
    /// Class of who found it: the best one since it counts against the limits.
    pub finder: Finder,
    /// True if its name had an address at some time.
    pub resolved: bool,
    /// True if it has answered a request for a page with success (2xx) at some time.
    pub answered: bool,
    /// Statistics about changes of its pages, in a crawl that fetches pages again.
    pub evidence: Option<Box<HostEvidence>>,
}

const HOST_VERSION: u8 = 4;

impl HostRow {
    /// Encodes the value.
    pub fn encode(&self) -> Vec<u8> {
        RowWriter::versioned(HOST_VERSION)
            .bytes(self.name.as_bytes())
            .number(self.queued)
            .number(self.queued_bytes)
            .number(self.pages)
            .number(self.bytes)
            .number(closed_number(self.closed))
            .number(self.scheduled.map_or(0, |place| place.at.0))
            .byte(self.scheduled.map_or(0, |place| place.class.code()))
            .number(self.score.0.into())
            .byte(u8::from(self.robots))
            .byte(merit_byte(self.finder, self.resolved, self.answered))
            .bytes(&evidence_bytes(self.evidence.as_deref()))
            .rest(&self.state.to_bytes())
            .finish()
    }
}

impl Row for HostRow {
    const FAMILY: Family = Family::Hosts;

    fn read(r: &mut RowReader<'_>) -> Option<Self> {
        if r.byte()? != HOST_VERSION {
            return None;
        }
        let row = Self {
            name: r.text()?.into(),
            queued: r.number()?,
            queued_bytes: r.number()?,
            pages: r.number()?,
            bytes: r.number()?,
            closed: read_closed(r)?,
            scheduled: read_place(r)?,
            score: HostScore(r.number()?.try_into().ok()?),
            robots: r.byte()? != 0,
            ..Self::default()
        };
        let (finder, resolved, answered) = read_merit(r)?;
        let evidence = read_evidence(r)?;
        let state = HostState::from_bytes(r.rest())?;
        Some(Self { finder, resolved, answered, evidence, state, ..row })
    }
}

/// Reads the place of a host; `Some(None)` if it has none.
fn read_place(r: &mut RowReader<'_>) -> Option<Option<SchedulePlace>> {
    let (at, class) = (Timestamp(r.number()?), HostClass::from_code(r.byte()?)?);
    Some((at.0 > 0).then_some(SchedulePlace { class, at }))
}

impl HostRow {
    /// Returns the class to which the host counts against the limits of its domain, and true if its
    /// name had an address; `None` while it does not count, because its name had none and no URL of
    /// it is queued.
    pub const fn counts_as(&self) -> Option<(Finder, bool)> {
        if self.resolved || self.queued > 0 { Some((self.finder, self.resolved)) } else { None }
    }
}

/// Returns a byte with the class of a host's finder and two flags.
pub(super) fn merit_byte(finder: Finder, resolved: bool, answered: bool) -> u8 {
    finder.code() | (u8::from(resolved) << 4) | (u8::from(answered) << 5)
}

/// Reads a byte of [`merit_byte`].
pub(super) fn read_merit(r: &mut RowReader<'_>) -> Option<(Finder, bool, bool)> {
    let byte = r.byte()?;
    let finder = Finder::from_code(byte & 15)?;
    (byte < 64).then_some((finder, byte & 16 != 0, byte & 32 != 0))
}

/// Encodes what is learned about changes of a host's pages; nothing if that is `None`.
pub(super) fn evidence_bytes(evidence: Option<&HostEvidence>) -> Vec<u8> {
    evidence.map(HostEvidence::to_bytes).unwrap_or_default()
}

/// Reads what [`evidence_bytes`] has written.
pub(super) fn read_evidence(r: &mut RowReader<'_>) -> Option<Option<Box<HostEvidence>>> {
    match r.bytes()? {
        [] => Some(None),
        bytes => HostEvidence::from_bytes(bytes).map(|evidence| Some(Box::new(evidence))),
    }
}

/// Returns the number for the reason why a host is closed, if it is.
pub(super) fn closed_number(closed: Option<Discard>) -> u64 {
    closed.map_or(0, |reason| u64::from(reason.code()) + 1)
}

/// Reads a number of [`closed_number`].
pub(super) fn read_closed(r: &mut RowReader<'_>) -> Option<Option<Discard>> {
    match r.small::<u8>()? {
        0 => Some(None),
        code => Discard::from_code(code - 1).map(Some),
    }
}

impl RobotsRecord {
    /// Encodes the value in `robots`.
    pub fn encode(&self) -> Vec<u8> {
        let mut w = RowWriter::default();
        w.number(self.asked.0)
            .number(self.fetched.0)
            .number(self.unreachable_since.map_or(0, |t| t.0))
            .number(u64::from(self.failures));
        if let Some(rules) = &self.rules {
            w.byte(1).rest(&rules.to_bytes());
        }
        w.finish()
    }
}

impl Row for RobotsRecord {
    const FAMILY: Family = Family::Robots;

    fn read(r: &mut RowReader<'_>) -> Option<Self> {
        Some(Self {
            asked: Timestamp(r.number()?),
            fetched: Timestamp(r.number()?),
            unreachable_since: Some(Timestamp(r.number()?)).filter(|t| t.0 > 0),
            failures: r.small()?,
            rules: match r.byte() {
                None => None,
                Some(1) => Some(Rules::from_bytes(r.rest()).ok()?.shared()),
                Some(_) => return None,
            },
        })
    }
}

/// A row of `content`: the page that was archived first with this payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentRow {
    /// Start of the page's request.
    pub at: Timestamp,
    /// URL of the page.
    pub url: Arc<str>,
}

impl ContentRow {
    /// Encodes the value.
    pub fn encode(&self) -> Vec<u8> {
        [&self.at.0.to_be_bytes()[..], self.url.as_bytes()].concat()
    }
}

/// A row of `known`: a capture that an index of an earlier crawl lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownRow(pub ContentRow);

impl Row for KnownRow {
    const FAMILY: Family = Family::Known;

    fn read(r: &mut RowReader<'_>) -> Option<Self> {
        ContentRow::read(r).map(Self)
    }
}

impl Row for ContentRow {
    const FAMILY: Family = Family::Content;

    fn read(r: &mut RowReader<'_>) -> Option<Self> {
        let at = Timestamp(u64::from_be_bytes(r.array()?));
        Some(Self { at, url: std::str::from_utf8(r.rest()).ok()?.into() })
    }
}
