//! Result of one request, from the fetchers to the parsers.

use super::{HandedOut, PayloadLookUp, Queued};
use crate::limits::ROBOTS_SIZE_MAX;
use bytes::Bytes;
use crivello_archive::Truncation;
use crivello_common::certificate::CertificateStatus;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::robots::SiteSignals;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_html::RobotsTxt;
use std::any::Any;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Result of one request, on its way to the parsers.
#[derive(Debug)]
pub struct Fetched {
    /// The host.
    pub host: HostKey,
    /// Name of the host.
    pub name: Arc<str>,
    /// Row of the frontier; `None` for a robots.txt, which never was in the frontier.
    pub row: Option<Queued>,
    /// The whole URL.
    pub url: CrawlUrl,
    /// IP address of the visit.
    pub address: IpAddr,
    /// Time when the request began.
    pub at: Timestamp,
    /// Duration of the request.
    pub took: Duration,
    /// Result: a response, a failure or a discard.
    pub outcome: FetchOutcome,
    /// Signals of the site; `None` if it has none, and for a robots.txt.
    pub signals: Option<Arc<SiteSignals>>,
    /// Scheduling data of the visit that the request belongs to.
    pub handed_out: HandedOut,
    /// Hash of the URL if it is traced: see [`url_tracing`](crate::url_tracing).
    pub traced: Option<UrlHash>,
    /// Result of the look-up of its payload among those of other agents; `None` if it was not looked up.
    pub payload: Option<PayloadLookUp>,
}

impl Fetched {
    /// Returns the bytes of the body that it holds in memory.
    pub fn body_len(&self) -> usize {
        match &self.outcome {
            FetchOutcome::Response(response) => response.body.len(),
            FetchOutcome::Failed(_) | FetchOutcome::Discarded(_) => 0,
        }
    }
}

/// Outcome of a request.
#[derive(Debug)]
pub enum FetchOutcome {
    /// A response, possibly truncated.
    Response(Box<Response>),
    /// No response.
    Failed(Failure),
    /// The request was not sent.
    Discarded(Discard),
}

/// Response as the server sent it, with the transfer encoding removed and the content encoding
/// kept.
#[derive(Debug)]
pub struct Response {
    /// The HTTP status code.
    pub status: u16,
    /// HTTP version: `HTTP/1.1` or `HTTP/2`.
    pub version: http::Version,
    /// Headers of the response.
    pub headers: http::HeaderMap,
    /// The request line and headers as sent, for the archive (`GET /x HTTP/1.1\r\n…\r\n\r\n`).
    pub request_head: Bytes,
    /// Address of the server.
    pub address: SocketAddr,
    /// Status of the server's certificate; `None` over plain HTTP.
    pub certificate: Option<CertificateStatus>,
    /// The body as received.
    pub body: Bytes,
    /// Reason why the body is not complete.
    pub truncated: Option<Truncation>,
    /// Reservation of a large body in the memory that all large bodies share; released when it is
    /// dropped.
    pub reservation: Option<ReservationGuard>,
}

impl Response {
    /// Returns the body as a robots.txt. `None` if it must not be used: a file that was cut off, or
    /// that has an encoding that cannot be decoded, may lack or hide the very rule that forbids a
    /// page. If a file is too long, the part that was read is used (RFC 9309 section 2.5).
    pub fn robots_txt(&self) -> Option<RobotsTxt> {
        let cut = match self.truncated {
            Some(Truncation::Disconnect | Truncation::Time) => return None,
            Some(Truncation::Length) => true,
            None => false,
        };
        RobotsTxt::new(self.body.clone(), &self.headers, cut, ROBOTS_SIZE_MAX)
    }
}

/// Guard that releases a reservation when dropped. Opaque to all but the fetchers.
pub type ReservationGuard = Box<dyn Any + Send + Sync>;
