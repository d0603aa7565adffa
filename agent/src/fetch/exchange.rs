//! One request and its response, under all caps.

use super::body::{Body, Cut, Reader, instant};
use super::client::After;
use super::error_kind::failure;
use super::request_headers::{ExtraHeaders, Headers};
use super::reuse_wait;
use super::target::RequestTarget;
use super::{Caps, FetchContext};
use crate::messages::{Response, Truncation, Validators};
use crivello_common::certificate::CertificateStatus;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::time::Timestamp;
use crivello_common::url::Scheme;
use http::header::{CONNECTION, HeaderMap};
use http::{Method, StatusCode, Version};
use std::net::SocketAddr;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// One request.
pub(super) struct Ask<'a> {
    pub(super) target: &'a RequestTarget,
    pub(super) headers: &'a Headers,
    /// Validators that make it conditional, if there are any.
    pub(super) validators: Option<&'a Validators>,
    /// True if it uses the connection of the previous request.
    pub(super) follows: bool,
    /// True if it is the last on its connection.
    pub(super) is_last: bool,
    /// Fate of the connection after the last request.
    pub(super) after: After,
    pub(super) body_size_max: usize,
    pub(super) began: Timestamp,
    pub(super) stop: &'a CancellationToken,
}

impl Ask<'_> {
    /// Returns true if the request has the header `Connection: close`.
    fn closes(&self) -> bool {
        self.is_last && self.after == After::Closed
    }
}

/// Result of a request.
pub(super) enum Answer {
    /// A response, perhaps truncated, and the time for which its body waited for a reservation.
    Response(Box<Response>, Duration),
    /// No usable response.
    Failed(Failure),
    /// The URL cannot be requested; nothing was sent.
    Unaskable(Discard),
    /// The response is unusable: the visit was stopped while the body waited for a reservation.
    Stopped,
}

/// Sends the request and reads the response. When it returns, the connection of the response is
/// closed or idle.
pub(super) async fn exchange(context: &FetchContext, ask: &Ask<'_>) -> Answer {
    let (url, ip) = (ask.target.url(), ask.target.address());
    let mut request = reqwest::Request::new(Method::GET, ask.target.parsed().clone());
    let signature = context.request_headers.signature(url, ask.began);
    let extra = ExtraHeaders {
        close: ask.closes(),
        validators: ask.validators,
        signature: signature.as_deref(),
    };
    *request.headers_mut() = ask.headers.map(extra);
    let client = context.clients.of(url.host(), ip, ask.after);
    let first_byte = instant(&context.clock, ask.began + context.caps.first_byte);
    let mut sleep = std::pin::pin!(tokio::time::sleep_until(first_byte));
    let sent = tokio::select! {
        biased;
        sent = reuse_wait::send(ask.follows, client.execute(request)) => sent,
        () = sleep.as_mut() => return Answer::Failed(Failure::FirstByteTimeout),
    };
    let mut response = match sent {
        Ok(response) => response,
        Err(error) if error.is_builder() => return Answer::Unaskable(Discard::Unparsable),
        Err(error) => return Answer::Failed(failure(&error)),
    };
    let address = match response.remote_addr() {
        Some(address) if address.ip().to_canonical() == ip => SocketAddr::new(ip, address.port()),
        _ => return Answer::Failed(Failure::AddressChanged),
    };
    context.timings.first_byte.observe(context.clock.now().since(ask.began));
    if head_size(response.headers()) > context.caps.head_size {
        return Answer::Failed(Failure::HeadTooLarge);
    }
    let certificate = certificate(context, ask.target, &response);
    let deadline = ask.began + context.caps.total;
    let caps = Caps { body_size: ask.body_size_max, ..context.caps };
    let (clock, budget) = (&context.clock, &context.body_budget);
    let reader = Reader { caps: &caps, clock, budget, stop: ask.stop };
    let body = reader.read(&mut response, deadline, sleep).await;
    if body.cut == Some(Cut::Stopped) {
        return Answer::Stopped;
    }
    if let Some(failure) = unusable(&body, response.status()) {
        return Answer::Failed(failure);
    }
    let answer = Response {
        status: response.status().as_u16(),
        version: response.version(),
        headers: std::mem::take(response.headers_mut()),
        request_head: ask.headers.request_head(url, extra),
        address,
        certificate,
        truncated: body.cut.map(Cut::truncation),
        body: body.bytes,
        reservation: body.reservation,
    };
    Answer::Response(Box::new(answer), body.waited)
}

/// Returns the status of the certificate of a response; `None` over plain HTTP.
fn certificate(
    context: &FetchContext,
    target: &RequestTarget,
    response: &reqwest::Response,
) -> Option<CertificateStatus> {
    let url = target.url();
    if url.origin().scheme == Scheme::Http {
        return None;
    }
    let info = response.extensions().get::<reqwest::tls::TlsInfo>();
    let certificate = info.and_then(reqwest::tls::TlsInfo::peer_certificate);
    let status = certificate.map(|der| context.clients.certificates.status(url.host(), der));
    Some(status.unwrap_or(CertificateStatus::NotVerified))
}

/// Returns the failure of a body that broke off before its first byte, except if the status alone
/// is sufficient.
fn unusable(body: &Body, status: StatusCode) -> Option<Failure> {
    let failure = body.cut.and_then(Cut::failure)?;
    (body.bytes.is_empty() && !asks_to_slow_down(status.as_u16())).then_some(failure)
}

/// Returns true for 429 Too Many Requests (RFC 6585) and 503 Service Unavailable (RFC 9110).
pub(super) const fn asks_to_slow_down(status: u16) -> bool {
    matches!(status, 429 | 503)
}

/// Returns true if another request can use the connection of a response.
pub(super) fn keeps_connection(response: &Response) -> bool {
    let cut = matches!(response.truncated, Some(Truncation::Time | Truncation::Disconnect));
    let has_option = |word: &str| {
        response.headers.get_all(CONNECTION).iter().any(|value| {
            let mut words = value.as_bytes().split(|&byte| byte == b',');
            words.any(|given| given.trim_ascii().eq_ignore_ascii_case(word.as_bytes()))
        })
    };
    match response.version {
        _ if cut => false,
        Version::HTTP_11 => response.truncated.is_none() && !has_option("close"),
        Version::HTTP_2 => true,
        _ => response.truncated.is_none() && has_option("keep-alive"),
    }
}

/// Returns the bytes of the header lines in the form of HTTP/1.1.
fn head_size(headers: &HeaderMap) -> usize {
    let separators = ": \r\n".len();
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + separators).sum()
}
