//! What is archived: a response, and the request that it answers.

use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use http::{HeaderMap, Version};
use std::net::IpAddr;
use std::time::Duration;

/// A response as the server sent it: transfer-encoding undone, content-encoding kept.
#[derive(Clone, Copy, Debug)]
pub struct Capture<'a> {
    /// The URL that was requested.
    pub url: &'a CrawlUrl,
    /// When the request began.
    pub at: Timestamp,
    /// How long the request took.
    pub took: Duration,
    /// The address that was connected to.
    pub ip: IpAddr,
    /// The HTTP status code.
    pub status: u16,
    /// The version of HTTP that was spoken.
    pub version: Version,
    /// The headers of the response.
    pub headers: &'a HeaderMap,
    /// The request line and headers as sent (`GET /x HTTP/1.1\r\n…\r\n\r\n`). If it is empty, no
    /// `request` record is written.
    pub request_head: &'a [u8],
    /// The body as received.
    pub body: &'a [u8],
    /// Why the body is incomplete; `None` if it is complete.
    pub truncated: Option<Truncation>,
}

/// Why a body was cut off: the values of `WARC-Truncated`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Truncation {
    /// The body is longer than allowed.
    Length,
    /// The body took longer than allowed, or arrived too slowly.
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

/// The archived response with the same payload, to which a `revisit` record refers.
#[derive(Clone, Copy, Debug)]
pub struct OriginalCapture<'a> {
    /// Its URL.
    pub url: &'a str,
    /// Its `WARC-Date`: when its request began.
    pub at: Timestamp,
}
