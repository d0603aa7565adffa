//! Values of the column families; see the table in [`super`].

use super::{DiskError, RowReader, RowWriter};
use crate::messages::{LinkKind, QueueKey, Queued, RobotsRecord};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::hash::{HostHash, UrlHash};
use crivello_common::politeness::HostState;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme};
use crivello_common::view::AgentId;
use std::sync::Arc;

fn damaged(family: &'static str) -> DiskError {
    DiskError::Row { family, what: "too short or malformed" }
}

/// Encodes a row of `frontier`: flags, depth, attempts, hash, port unless it is the scheme's
/// default, then the path.
#[must_use]
pub fn encode_queued(url: &Queued) -> Vec<u8> {
    let odd_port = url.origin.port != url.origin.scheme.default_port();
    let flags = (url.origin.scheme as u8) | (u8::from(odd_port) << 1) | ((url.kind as u8) << 2);
    let mut w = RowWriter(Vec::with_capacity(url.path.len() + 16));
    w.byte(flags).number(u64::from(url.depth)).byte(url.attempts).rest(&url.hash.to_bytes());
    if odd_port {
        w.rest(&url.origin.port.to_be_bytes());
    }
    w.rest(url.path.as_bytes());
    w.finish()
}

/// Decodes a value of [`encode_queued`].
///
/// # Errors
/// [`DiskError::Row`] if the value is damaged.
pub fn decode_queued(queue_key: QueueKey, value: &[u8]) -> Result<Queued, DiskError> {
    read_queued(queue_key, value).ok_or_else(|| damaged("frontier"))
}

fn read_queued(queue_key: QueueKey, value: &[u8]) -> Option<Queued> {
    let mut r = RowReader(value);
    let flags = r.byte()?;
    let depth = r.small()?;
    let attempts = r.byte()?;
    let hash = UrlHash::from_bytes(r.array()?);
    let scheme = Scheme::from_code(flags & 1)?;
    let port = match flags & 2 {
        0 => scheme.default_port(),
        _ => u16::from_be_bytes(r.array()?),
    };
    let kind = match flags >> 2 {
        0 => LinkKind::Page,
        1 => LinkKind::Sitemap,
        _ => return None,
    };
    let path = std::str::from_utf8(r.rest()).ok()?.into();
    Some(Queued { queue_key, hash, origin: Origin { scheme, port }, path, depth, attempts, kind })
}

/// A row of `seen`.
#[derive(Clone, Debug, PartialEq, Eq)]
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

impl Seen {
    /// Encodes the value.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Queued(None) => Vec::new(),
            Self::Queued(Some((host, queue_key))) => {
                let mut w = RowWriter(Vec::with_capacity(16));
                w.byte(SEEN_QUEUED)
                    .rest(&host.to_bytes())
                    .byte(queue_key.priority)
                    .number(queue_key.seq);
                w.finish()
            }
            Self::Done(outcome) => outcome.encode(),
        }
    }

    /// Decodes a value of [`Self::encode`].
    ///
    /// # Errors
    /// [`DiskError::Row`] if the value is damaged.
    pub fn decode(value: &[u8]) -> Result<Self, DiskError> {
        Self::read(value).ok_or_else(|| damaged("seen"))
    }

    fn read(value: &[u8]) -> Option<Self> {
        if value.is_empty() {
            return Some(Self::Queued(None));
        }
        let Some((&SEEN_QUEUED, rest)) = value.split_first() else {
            return UrlOutcome::read(value).map(Self::Done);
        };
        let mut r = RowReader(rest);
        let host = HostHash::from_bytes(r.array()?);
        Some(Self::Queued(Some((host, QueueKey { priority: r.byte()?, seq: r.number()? }))))
    }
}

/// Outcome of a URL: the value of `seen` once it is finished.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UrlOutcome {
    /// The URL was fetched.
    Fetched {
        /// Start of the request.
        at: Timestamp,
        /// The HTTP status.
        status: u16,
        /// Serial number of the archive file, and offset of the record in it, if it is archived
        /// here.
        record: Option<(u32, u64)>,
        /// In a crawl by many agents: the agent that has the page in its archive, and the data to
        /// fetch it again.
        page: Option<Arc<ArchivedPage>>,
    },
    /// All attempts failed; the last one with this failure.
    Failed(Failure),
    /// The URL was discarded.
    Discarded(Discard),
}

/// A page in the archive of one of many agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchivedPage {
    /// The agent.
    pub by: AgentId,
    /// Name of the page's host.
    pub name: Arc<str>,
    /// Row that the URL had in `frontier`; its queue key means nothing.
    pub url: Queued,
}

impl UrlOutcome {
    /// Encodes the value in `seen`.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = RowWriter::default();
        match self {
            Self::Fetched { at, status, record, page } => {
                let first = if page.is_some() { FETCHED_BY } else { 0 };
                w.byte(first + u8::from(record.is_some()));
                w.number(at.as_secs()).number(u64::from(*status));
                if let Some((serial, offset)) = *record {
                    w.number(u64::from(serial)).number(offset);
                }
                if let Some(page) = page {
                    w.number(u64::from(page.by.0)).bytes(page.name.as_bytes());
                    w.rest(&encode_queued(&page.url));
                }
            }
            Self::Failed(kind) => {
                w.byte(2).byte(kind.code());
            }
            Self::Discarded(reason) => {
                w.byte(3).byte(reason.code());
            }
        }
        w.finish()
    }

    /// Returns the bytes in memory beside the value itself.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self {
            Self::Fetched { page: Some(page), .. } => {
                size_of::<ArchivedPage>() + page.name.len() + page.url.path.len()
            }
            _ => 0,
        }
    }

    /// Decodes a value of [`Self::encode`]; `None` if it is malformed.
    #[must_use]
    pub fn read(value: &[u8]) -> Option<Self> {
        let mut r = RowReader(value);
        match r.byte()? {
            tag @ (0 | 1 | FETCHED_BY..=6) => Some(Self::Fetched {
                at: Timestamp::from_secs(r.number()?),
                status: r.small()?,
                record: match tag == 1 || tag == FETCHED_BY + 1 {
                    true => Some((r.small()?, r.number()?)),
                    false => None,
                },
                page: if tag < FETCHED_BY {
                    None
                } else {
                    Some(Arc::new(ArchivedPage::read(&mut r)?))
                },
            }),
            2 => Failure::from_code(r.byte()?).map(Self::Failed),
            3 => Discard::from_code(r.byte()?).map(Self::Discarded),
            _ => None,
        }
    }
}

impl ArchivedPage {
    fn read(r: &mut RowReader<'_>) -> Option<Self> {
        let by = AgentId(r.small()?);
        let name = r.text().filter(|name| !name.is_empty())?.into();
        let url = decode_queued(QueueKey::default(), r.rest()).ok()?;
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
    /// Pages fetched.
    pub pages: u64,
    /// Bytes of the pages' bodies as received.
    pub bytes: u64,
    /// Reason why new URLs of this host are refused, if they are.
    pub closed: Option<Discard>,
    /// The time in its key of `schedule`, if it has one.
    pub scheduled: Option<Timestamp>,
    /// True if `robots` has rows of the host.
    pub robots: bool,
}

const HOST_VERSION: u8 = 1;

impl HostRow {
    /// Encodes the value.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = RowWriter::versioned(HOST_VERSION);
        w.bytes(self.name.as_bytes())
            .number(self.queued)
            .number(self.pages)
            .number(self.bytes)
            .number(self.closed.map_or(0, |d| u64::from(d.code()) + 1))
            .number(self.scheduled.map_or(0, |t| t.0))
            .byte(u8::from(self.robots))
            .rest(&self.state.to_bytes());
        w.finish()
    }

    /// Decodes a value of [`Self::encode`].
    ///
    /// # Errors
    /// [`DiskError::Row`] if the value is damaged.
    pub fn decode(value: &[u8]) -> Result<Self, DiskError> {
        Self::read(value).ok_or_else(|| damaged("hosts"))
    }

    fn read(value: &[u8]) -> Option<Self> {
        let mut r = RowReader(value);
        if r.byte()? != HOST_VERSION {
            return None;
        }
        Some(Self {
            name: r.text()?.into(),
            queued: r.number()?,
            pages: r.number()?,
            bytes: r.number()?,
            closed: match r.small::<u8>()? {
                0 => None,
                code => Some(Discard::from_code(code - 1)?),
            },
            scheduled: match r.number()? {
                0 => None,
                at => Some(Timestamp(at)),
            },
            robots: r.byte()? != 0,
            state: HostState::from_bytes(r.rest()).ok()?,
        })
    }
}

/// A group's own row in `hosts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct GroupRow {
    /// Number of hosts of the group that were ever admitted.
    pub hosts: u64,
    /// Number of pages fetched from all of them.
    pub pages: u64,
}

impl GroupRow {
    /// Encodes the value.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = RowWriter::default();
        w.number(self.hosts).number(self.pages);
        w.finish()
    }

    /// Decodes a value of [`Self::encode`].
    ///
    /// # Errors
    /// [`DiskError::Row`] if the value is damaged.
    pub fn decode(value: &[u8]) -> Result<Self, DiskError> {
        let mut r = RowReader(value);
        match (r.number(), r.number()) {
            (Some(hosts), Some(pages)) => Ok(Self { hosts, pages }),
            _ => Err(damaged("hosts")),
        }
    }
}

/// Codec of the rows of `robots`.
#[derive(Debug)]
pub struct RobotsRow;

impl RobotsRow {
    /// Encodes the value.
    #[must_use]
    pub fn encode(record: &RobotsRecord) -> Vec<u8> {
        let mut w = RowWriter::default();
        w.number(record.asked.0)
            .number(record.fetched.0)
            .number(record.unreachable_since.map_or(0, |t| t.0))
            .number(u64::from(record.failures));
        if let Some(rules) = &record.rules {
            w.byte(1).rest(&rules.to_bytes());
        }
        w.finish()
    }

    /// Decodes a value of [`Self::encode`].
    ///
    /// # Errors
    /// [`DiskError::Row`] if the value is damaged.
    pub fn decode(value: &[u8]) -> Result<RobotsRecord, DiskError> {
        Self::read(value).ok_or_else(|| damaged("robots"))
    }

    fn read(value: &[u8]) -> Option<RobotsRecord> {
        let mut r = RowReader(value);
        Some(RobotsRecord {
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
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut w = RowWriter::default();
        w.rest(&self.at.0.to_be_bytes()).rest(self.url.as_bytes());
        w.finish()
    }

    /// Decodes a value of [`Self::encode`].
    ///
    /// # Errors
    /// [`DiskError::Row`] if the value is damaged.
    pub fn decode(value: &[u8]) -> Result<Self, DiskError> {
        let mut r = RowReader(value);
        let at = r.array().map(u64::from_be_bytes).map(Timestamp);
        match (at, std::str::from_utf8(r.rest())) {
            (Some(at), Ok(url)) => Ok(Self { at, url: url.into() }),
            _ => Err(damaged("content")),
        }
    }
}
