//! The arrows of the drawing: one plain type for each thing that passes between two rooms.
//!
//! ```text
//!  Found ─► ledger ─► Due ─► workbench ─► Visit ─► fetch ─► Fetched ─► parse ─► Page ─► store ─► Page ─► ledger
//!                                 ▲                  ┊
//!                                 └┄┄┄┄ Verdict ┄┄┄┄┄┘
//! ```
//! Nothing here has behaviour beyond small constructors: what is done with a value is the business
//! of the room that receives it.

use bytes::Bytes;
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::failure::Failure;
use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::politeness::HostState;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Origin};
use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// A URL on its way to the sieve: a seed, a link of a stored page, or a peer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// In normal form.
    pub url: CrawlUrl,
    /// The host and its group.
    pub host: HostKey,
    /// The hash of the whole URL.
    pub hash: UrlHash,
    /// Links away from a seed, along this path.
    pub depth: u16,
    /// What it was found as.
    pub kind: LinkKind,
}

/// What a URL was found as; decides how its page is read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum LinkKind {
    /// A page, or a file of any kind.
    #[default]
    Page = 0,
    /// A sitemap or a sitemap index.
    Sitemap = 1,
}

/// The place of a row in the frontier: unique, and in the order of fetching within a host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Place {
    /// Smaller goes first.
    pub priority: u8,
    /// The order of first appearance.
    pub seq: u64,
}

/// A URL that the sieve let through and that has not been fetched: one row of the frontier.
/// The host is named by whatever holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Where it stands in its host's queue.
    pub place: Place,
    /// The hash of the whole URL.
    pub hash: UrlHash,
    /// Scheme and port.
    pub origin: Origin,
    /// Path and query, in normal form.
    pub path: Box<str>,
    /// Links away from a seed.
    pub depth: u16,
    /// Attempts that failed so far.
    pub attempts: u8,
    /// What it was found as.
    pub kind: LinkKind,
}

impl Queued {
    /// What it counts for among the URLs in memory: one, and one more for each 256 bytes of it.
    #[must_use]
    pub const fn weight(&self) -> usize {
        1 + self.path.len() / 256
    }
}

/// A lease on one host, and so on its IP address: handed out by the workbench, returned as a
/// [`Verdict`].
#[derive(Clone, Debug)]
pub struct Visit {
    /// The host.
    pub host: HostKey,
    /// Its name in normal form (IPv6 literals in brackets).
    pub name: Arc<str>,
    /// The only address that may be connected to.
    pub address: IpAddr,
    /// What is to be done there.
    pub errand: Errand,
}

/// What a visit is for.
#[derive(Clone, Debug)]
pub enum Errand {
    /// Fetch one hop of a robots.txt: one request.
    Robots(RobotsErrand),
    /// Fetch pages of one origin, one after another on one connection: at most `burst` of them.
    Pages {
        /// The origin of all of them.
        origin: Origin,
        /// What its robots.txt says.
        rules: Arc<Rules>,
        /// In the order of fetching; never empty.
        urls: Vec<Queued>,
        /// How many may be requested; URLs that robots.txt disallows do not count.
        requests_max: u32,
    },
}

/// One hop on the way to an origin's robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsErrand {
    /// The host whose robots.txt is wanted; another than the visit's host after a redirect.
    pub for_host: HostKey,
    /// The name of that host.
    pub for_name: Arc<str>,
    /// The origin (on `for_host`) whose robots.txt is wanted.
    pub for_origin: Origin,
    /// What to request, on the visit's host.
    pub url: CrawlUrl,
    /// Redirects followed so far.
    pub hops: u8,
}

/// How a visit ended: the only arrow that runs back.
#[derive(Debug)]
pub struct Verdict {
    /// The host visited.
    pub host: HostKey,
    /// The address the lease was on.
    pub address: IpAddr,
    /// How many requests were sent (or connections attempted).
    pub requests: u32,
    /// When the last of them was over; the time the lease began, if there was none.
    pub ended: Timestamp,
    /// How long the site took for them, together.
    pub served: Duration,
    /// What the host's politeness must learn from it.
    pub signal: Signal,
    /// URLs of the visit that were not tried.
    pub returned: Vec<Queued>,
    /// How many URLs got a response that counts as a page.
    pub pages: u32,
    /// The answer to a [`RobotsErrand`].
    pub robots: Option<RobotsAnswer>,
}

/// What a visit says about the host's health.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// It answered, or was not asked.
    Well,
    /// It asks to slow down (429, 503), for this long if it said so.
    SlowDown(Option<Duration>),
    /// It could not be reached, or broke off.
    Failed(Failure),
}

/// The answer to a [`RobotsErrand`].
#[derive(Clone, Debug)]
pub struct RobotsAnswer {
    /// What was asked.
    pub errand: RobotsErrand,
    /// What came.
    pub found: RobotsFound,
}

/// What a request for robots.txt brought (RFC 9309 section 2.3.1).
#[derive(Clone, Debug)]
pub enum RobotsFound {
    /// 2xx: the compiled rules for our agent.
    Rules(Arc<Rules>),
    /// 4xx but 429, or too many redirects: no rules, all is allowed.
    Missing,
    /// 5xx, 429, a redirect to nowhere, a body that cannot be read, or no answer: all is disallowed
    /// for now, or last-known-good holds.
    Unreachable,
    /// 3xx to this URL.
    Redirect(CrawlUrl),
}

/// What became of one request, on its way to the parsers.
#[derive(Debug)]
pub struct Fetched {
    /// The host.
    pub host: HostKey,
    /// Its name.
    pub name: Arc<str>,
    /// The frontier's row; `None` for robots.txt, which never was in the frontier.
    pub row: Option<Queued>,
    /// The whole URL.
    pub url: CrawlUrl,
    /// When the request began.
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// What came.
    pub outcome: Outcome,
}

impl Fetched {
    /// Bytes of the body that it holds in memory.
    #[must_use]
    pub fn body_len(&self) -> usize {
        match &self.outcome {
            Outcome::Response(response) => response.body.len(),
            Outcome::Failed(_) | Outcome::Discarded(_) => 0,
        }
    }
}

/// See [`Fetched::outcome`].
#[derive(Debug)]
pub enum Outcome {
    /// A response, perhaps cut off.
    Response(Box<Response>),
    /// None.
    Failed(Failure),
    /// It was not asked for.
    Discarded(Discard),
}

/// A response as the server sent it, transfer-encoding undone, content-encoding kept.
#[derive(Debug)]
pub struct Response {
    /// The HTTP status code.
    pub status: u16,
    /// `HTTP/1.1` or `HTTP/2`.
    pub version: http::Version,
    /// The response's headers.
    pub headers: http::HeaderMap,
    /// The request line and headers as sent, for the archive (`GET /x HTTP/1.1\r\n…\r\n\r\n`).
    pub request_head: Bytes,
    /// The address connected to.
    pub address: SocketAddr,
    /// The body as received.
    pub body: Bytes,
    /// Why the body is not complete.
    pub truncated: Option<Truncation>,
    /// The room that a large body takes, of what all of them share: given back when it is dropped.
    pub room: Option<Room>,
}

/// Whatever gives the room back. Opaque to all but the fetchers.
pub type Room = Box<dyn Any + Send + Sync>;

/// Why a body was cut off: the values of `WARC-Truncated`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Truncation {
    /// Longer than allowed.
    Length,
    /// Took longer than allowed, or came too slowly.
    Time,
    /// The connection broke.
    Disconnect,
}

impl Truncation {
    /// The value of `WARC-Truncated`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Time => "time",
            Self::Disconnect => "disconnect",
        }
    }
}

/// A request's result with all that is to be remembered of it: archive records ready to be
/// appended, links ready for the sieve.
#[derive(Debug)]
pub struct Page {
    /// The host.
    pub host: HostKey,
    /// Its name.
    pub name: Arc<str>,
    /// The frontier's row; `None` for robots.txt.
    pub row: Option<Queued>,
    /// When the request began.
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// What came of it.
    pub end: PageEnd,
    /// Archive records, complete gzip members, in order. Empty when nothing is archived.
    pub records: Vec<Record>,
    /// The links that passed the rules, in the order of the page, each once.
    pub links: Vec<Found>,
    /// The links that did not.
    pub discards: DiscardTally,
}

impl Page {
    /// Bytes that its records and links hold in memory.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        let records = self.records.iter().map(|record| record.bytes.len());
        let links = self.links.iter().map(|found| size_of::<Found>() + found.url.as_str().len());
        records.sum::<usize>() + links.sum::<usize>()
    }
}

/// See [`Page::end`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageEnd {
    /// A response.
    Response {
        /// The HTTP status code.
        status: u16,
        /// Bytes of the body as received.
        bytes: u64,
        /// The digest by which exact duplicates are known; `None` where they are not looked for.
        digest: Option<ContentDigest>,
        /// Whether the content was seen before (archived as `revisit`).
        duplicate: bool,
        /// Whether the body was cut off.
        truncated: bool,
    },
    /// The attempt failed.
    Failed(Failure),
    /// It was not asked for, or not used.
    Discarded(Discard),
}

/// The first 16 bytes of a payload's digest: the key of the `content` column family.
pub type ContentDigest = [u8; 16];

/// One archive record, compressed to a gzip member of its own.
#[derive(Debug)]
pub struct Record {
    /// The member's bytes.
    pub bytes: Vec<u8>,
    /// The line of the index without offset, length and file name; `None` for records that are
    /// not indexed (request, metadata).
    pub index: Option<IndexEntry>,
}

/// What the CDXJ index says of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexEntry {
    /// The SURT form of the URL: `com,example)/path`.
    pub surt: String,
    /// The fourteen digits of the time.
    pub timestamp: String,
    /// The URL.
    pub url: String,
    /// The media type, `warc/revisit` for revisits.
    pub mime: String,
    /// The HTTP status.
    pub status: u16,
    /// The payload digest as in the record: `sha1:…`.
    pub digest: String,
}

/// A host that falls due, with the head of its queue: from the ledger to the workbench.
#[derive(Clone, Debug)]
pub struct Due {
    /// The host.
    pub host: HostKey,
    /// Its name.
    pub name: Arc<str>,
    /// What politeness remembers of it.
    pub state: HostState,
    /// The robots.txt of its origins, as far as they are known.
    pub robots: Vec<(Origin, RobotsRecord)>,
    /// The head of its queue, in order; empty only in answer to a [`DeskNote::Call`].
    pub urls: Vec<Queued>,
    /// Whether the queue has more behind it on disk.
    pub more: bool,
    /// How many more pages may be fetched from it; `u64::MAX` without a limit.
    pub pages_left: u64,
}

impl Due {
    /// How many hosts of a standing order it is: one, and one more for each
    /// [`RULES_A_HOST`](crate::limits::RULES_A_HOST) of its rules.
    #[must_use]
    pub fn counts_as(&self) -> u32 {
        let rules = self.robots.iter().map(|(_, record)| record.rules_bytes()).sum::<usize>();
        u32::try_from(1 + rules / crate::limits::RULES_A_HOST).unwrap_or(u32::MAX)
    }
}

/// What is known of one origin's robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsRecord {
    /// When it was last asked for.
    pub asked: Timestamp,
    /// When the rules in force were fetched (equal to `asked` unless last-known-good holds).
    pub fetched: Timestamp,
    /// Since when it has been unreachable; `None` while it answers.
    pub unreachable_since: Option<Timestamp>,
    /// How often in a row it was unreachable.
    pub failures: u32,
    /// The rules in force: `None` while it has never been reached (all is disallowed).
    pub rules: Option<Arc<Rules>>,
}

impl RobotsRecord {
    /// Bytes that its rules take in memory.
    #[must_use]
    pub fn rules_bytes(&self) -> usize {
        self.rules.as_ref().map_or(0, |rules| rules.heap_size())
    }
}

/// What the workbench tells the ledger.
#[derive(Debug)]
pub enum DeskNote {
    /// A standing order: room for this many more hosts, as [`Due::counts_as`] counts them
    /// (replaces the last order).
    Want {
        /// Hosts.
        hosts: u32,
    },
    /// The window of this host runs dry: answer with [`LedgerNote::More`].
    Refill {
        /// The host.
        host: HostKey,
    },
    /// A robots.txt redirects to this host, which is not on the workbench: answer with
    /// [`LedgerNote::Due`], whatever its next time, with an empty queue if it has none and with
    /// the default state if it was never visited. No answer is needed if it is on its way anyway.
    Call {
        /// The host.
        host: HostKey,
        /// Its name.
        name: Arc<str>,
    },
    /// These URLs, which the workbench held, are set aside; the host goes on.
    Refuse {
        /// The host.
        host: HostKey,
        /// URLs of one of its origins.
        urls: Vec<Queued>,
        /// Why.
        reason: Discard,
    },
    /// A name could not be resolved: an attempt that failed, to be counted.
    Unresolved {
        /// How.
        kind: Failure,
    },
    /// The host's state changed; to be kept with the next commit.
    State {
        /// The host.
        host: HostKey,
        /// All of it.
        state: HostState,
    },
    /// A robots.txt was asked for; to be kept with the next commit.
    Robots {
        /// The host.
        host: HostKey,
        /// The origin on it.
        origin: Origin,
        /// What is known now.
        record: RobotsRecord,
    },
    /// The host leaves the workbench. If its queue is not empty it is scheduled again.
    Leave {
        /// The host.
        host: HostKey,
        /// All of its state.
        state: HostState,
        /// URLs that were handed out and not tried.
        unused: Vec<Place>,
    },
    /// All that is queued for this host is to be set aside, and so is what comes later. The host
    /// has left the workbench.
    Drop {
        /// The host.
        host: HostKey,
        /// All of its state.
        state: HostState,
        /// URLs that were handed out and not tried.
        unused: Vec<Place>,
        /// Why.
        reason: Discard,
        /// Whether later URLs of this host are refused too (limits, denied addresses), or only
        /// what is queued now (a name that does not exist today).
        forever: bool,
    },
}

/// What the ledger tells the workbench.
#[derive(Debug)]
pub enum LedgerNote {
    /// A host falls due; against a [`DeskNote::Want`].
    Due(Box<Due>),
    /// The answer to a [`DeskNote::Refill`].
    More {
        /// The host.
        host: HostKey,
        /// The next of its queue; empty when there is nothing.
        urls: Vec<Queued>,
        /// Whether there is more behind.
        more: bool,
    },
}

/// The answer to a host's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// The host.
    pub host: HostKey,
    /// The address to be visited and how long that holds, or why there is none.
    pub answer: Result<Resolved, ResolveError>,
}

/// See [`Resolution::answer`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// The address: already checked against the networks that may be visited.
    pub address: IpAddr,
    /// Until when this holds.
    pub until: Timestamp,
}

/// Why a name has no address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResolveError {
    /// The name does not exist, or has no address we can use.
    NoSuchName,
    /// The name servers did not answer.
    Unavailable,
    /// All its addresses are in networks that may not be visited.
    Denied,
}
