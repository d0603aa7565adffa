//! From the fetchers to the parsers: what became of one request.

use super::{HandedOut, Queued};
use crate::limits::ROBOTS_SIZE_MAX;
use bytes::Bytes;
use crivello_archive::Truncation;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_html::RobotsTxt;
use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

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
    /// The address of the visit.
    pub address: IpAddr,
    /// When the request began.
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// What came.
    pub outcome: FetchOutcome,
    /// The visit that it is of.
    pub handed_out: HandedOut,
    /// The hash of its URL, if its way is followed: see [`traces`](crate::url_tracing).
    pub traced: Option<UrlHash>,
}

impl Fetched {
    /// Bytes of the body that it holds in memory.
    #[must_use]
    pub fn body_len(&self) -> usize {
        match &self.outcome {
            FetchOutcome::Response(response) => response.body.len(),
            FetchOutcome::Failed(_) | FetchOutcome::Discarded(_) => 0,
        }
    }
}

/// See [`Fetched::outcome`].
#[derive(Debug)]
pub enum FetchOutcome {
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
    pub room: Option<ReservationGuard>,
}

impl Response {
    /// The body as a robots.txt. `None` if it must not be used: a file that broke off, or that is in an
    /// encoding that cannot be undone, may lack or hide the very rule that forbids a page. One that is too
    /// long is used as far as it was read (RFC 9309 section 2.5).
    #[must_use]
    pub fn robots_txt(&self) -> Option<RobotsTxt> {
        let cut = match self.truncated {
            Some(Truncation::Disconnect | Truncation::Time) => return None,
            Some(Truncation::Length) => true,
            None => false,
        };
        RobotsTxt::new(self.body.clone(), &self.headers, cut, ROBOTS_SIZE_MAX)
    }
}

/// Whatever gives the room back. Opaque to all but the fetchers.
pub type ReservationGuard = Box<dyn Any + Send + Sync>;
