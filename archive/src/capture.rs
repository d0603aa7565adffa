//! The input of the archive: a response, and the request that it answers.

use crivello_common::certificate::CertificateStatus;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use http::{HeaderMap, Version};
use std::net::IpAddr;
use std::time::Duration;

/// A response as the server sent it: transfer-encoding undone, content-encoding kept.
#[derive(Clone, Copy, Debug)]
pub struct Capture<'a> {
    /// Requested URL.
    pub url: &'a CrawlUrl,
    /// Start time of the request.
    pub at: Timestamp,
    /// Duration of the request.
    pub took: Duration,
    /// Address of the connection.
    pub ip: IpAddr,
    /// HTTP status code.
    pub status: u16,
    /// HTTP version of the response.
    pub version: Version,
    /// Headers of the response.
    pub headers: &'a HeaderMap,
    /// Request line and headers as sent (`GET /x HTTP/1.1\r\n…\r\n\r\n`). If empty, no `request`
    /// record is written.
    pub request_head: &'a [u8],
    /// Body as received.
    pub body: &'a [u8],
    /// Reason why the body is incomplete; `None` if it is complete.
    pub truncated: Option<Truncation>,
    /// Status of the server's certificate; `None` over plain HTTP.
    pub certificate: Option<CertificateStatus>,
}

crivello_common::closed_set! {
    /// The reason why a body was truncated: the values of `WARC-Truncated`.
    pub enum Truncation {
        /// The body is longer than allowed.
        Length => "length",
        /// The body took longer than allowed, or arrived too slowly.
        Time => "time",
        /// The connection broke.
        Disconnect => "disconnect",
    }
}

/// The archived response to which a `revisit` record refers.
#[derive(Clone, Copy, Debug)]
pub struct OriginalCapture<'a> {
    /// URL of the original response.
    pub url: &'a str,
    /// `WARC-Date` of the original response: the start time of its request.
    pub at: Timestamp,
    /// Reason why the payload is not written again.
    pub reason: RevisitReason,
}

/// The reason why a `revisit` record is written instead of a response: its profile (WARC/1.1 section
/// 6.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisitReason {
    /// The payload is identical byte for byte.
    SamePayload,
    /// The server answered a conditional request with 304.
    NotModified,
}

/// Notes about a capture, beside what was sent and received.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureNotes {
    /// Names and values of fields of its metadata record. With any, the record is written even without
    /// outlinks.
    pub fields: Vec<(&'static str, String)>,
    /// Names and values of members of its line of the index.
    pub members: Vec<(&'static str, String)>,
}
