//! Headers of every request, built once, with the identity of the crawler; signatures; their text on the
//! wire.

use super::fetch_error::FetchError;
use crate::messages::Validators;
use bytes::Bytes;
use crivello_common::config;
use crivello_common::time::Timestamp;
use crivello_common::url::{CrawlUrl, Scheme};
use crivello_http_signatures::{PrivateKey, RequestSigner, SignatureHeaders};
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONNECTION, FROM, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, USER_AGENT,
};
use std::path::Path;
use std::sync::Arc;

const PAGE_ACCEPT: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const PAGE_ENCODINGS: &str = "gzip, deflate, br, zstd";
const ROBOTS_ACCEPT: &str = "text/plain,*/*;q=0.8";
const CLOSE: &[u8] = b"connection: close\r\n";

/// Headers of requests for pages and for robots.txt.
pub(super) struct RequestHeaders {
    pub(super) pages: Headers,
    pub(super) robots: Headers,
    /// Product token that selects the rules in robots.txt.
    pub(super) agent: String,
    signer: Option<RequestSigner>,
}

/// One set of headers.
pub(super) struct Headers {
    map: HeaderMap,
    text: Vec<u8>,
}

impl RequestHeaders {
    pub(super) fn new(
        identity: &config::Identity,
        accept_language: &str,
    ) -> Result<Self, FetchError> {
        let agent = format!(
            "{}/{} (+{})",
            identity.user_agent_name,
            env!("CARGO_PKG_VERSION"),
            identity.contact
        );
        let mut common = vec![(USER_AGENT, value("the user agent", &agent)?)];
        if let Some(mailbox) = mailbox(&identity.contact) {
            common.push((FROM, value("the contact", mailbox)?));
        }
        let mut pages = vec![
            (ACCEPT, HeaderValue::from_static(PAGE_ACCEPT)),
            (ACCEPT_ENCODING, HeaderValue::from_static(PAGE_ENCODINGS)),
        ];
        if !accept_language.is_empty() {
            pages.push((ACCEPT_LANGUAGE, value("fetch.accept-language", accept_language)?));
        }
        let robots = [
            (ACCEPT, HeaderValue::from_static(ROBOTS_ACCEPT)),
            (ACCEPT_ENCODING, HeaderValue::from_static("identity")),
        ];
        Ok(Self {
            pages: pages.into_iter().chain(common.iter().cloned()).collect(),
            robots: robots.into_iter().chain(common).collect(),
            agent: identity.user_agent_name.clone(),
            signer: signer(identity)?,
        })
    }

    /// Returns the signature of a request that begins now, if there is a key. Requests over http are not signed:
    /// whoever sees one on its way could use its signature.
    pub(super) fn signature(
        &self,
        url: &CrawlUrl,
        now: Timestamp,
    ) -> Option<Arc<SignatureHeaders>> {
        let signer = self.signer.as_ref()?;
        (url.origin().scheme == Scheme::Https).then(|| signer.headers(authority(url), now))
    }
}

/// Returns the signer of requests, if a key is configured.
fn signer(identity: &config::Identity) -> Result<Option<RequestSigner>, FetchError> {
    if identity.signature_key_file.is_empty() {
        return Ok(None);
    }
    let problem = |setting, why| FetchError::Signature { setting, why };
    let key = PrivateKey::read(Path::new(&identity.signature_key_file))
        .map_err(|error| problem("identity.signature-key-file", error.to_string()))?;
    tracing::info!(key = key.id(), "requests over https are signed");
    RequestSigner::new(key, &identity.signature_agent, identity.signature_agent_form)
        .map(Some)
        .map_err(|why| problem("identity.signature-agent", why))
}

/// Headers that a request has besides those of all requests.
#[derive(Clone, Copy)]
pub(super) struct ExtraHeaders<'a> {
    /// True if it is the last on its connection.
    pub(super) close: bool,
    /// Validators that make it conditional.
    pub(super) validators: Option<&'a Validators>,
    pub(super) signature: Option<&'a SignatureHeaders>,
}

impl Headers {
    /// Returns the headers of one request. The client adds `Host` after them.
    pub(super) fn map(&self, extra: ExtraHeaders<'_>) -> HeaderMap {
        let mut map = self.map.clone();
        for (name, text) in extra.conditions() {
            // Validators that are no header values are not kept.
            if let Ok(value) = HeaderValue::from_str(text) {
                map.insert(name, value);
            }
        }
        if extra.close {
            map.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        map.extend(extra.signatures().map(|(name, value)| (name, value.clone())));
        map
    }

    /// Returns the request line and headers in the form of HTTP/1.1. HTTP/2 sends the same in
    /// binary; archives store the text.
    pub(super) fn request_head(&self, url: &CrawlUrl, extra: ExtraHeaders<'_>) -> Bytes {
        let (path, host) = (url.path_and_query().as_bytes(), authority(url).as_bytes());
        let conditions = lines(extra.conditions().map(|(name, text)| (name, text.as_bytes())));
        let close = if extra.close { CLOSE } else { b"" };
        let signatures = lines(extra.signatures().map(|(name, value)| (name, value.as_bytes())));
        let host = [b"host: ", host, b"\r\n\r\n"].concat();
        let parts: [&[u8]; 8] =
            [b"GET ", path, b" HTTP/1.1\r\n", &self.text, &conditions, close, &signatures, &host];
        parts.concat().into()
    }
}

impl<'a> ExtraHeaders<'a> {
    /// Returns the headers that make a request conditional (RFC 9110 section 13.1).
    fn conditions(self) -> impl Iterator<Item = (HeaderName, &'a str)> {
        let validators = self.validators;
        let etag = validators.and_then(|v| v.etag.as_deref()).map(|text| (IF_NONE_MATCH, text));
        let date = validators.and_then(|v| v.last_modified.as_deref());
        etag.into_iter().chain(date.map(|text| (IF_MODIFIED_SINCE, text)))
    }

    /// Returns the headers of its signature.
    fn signatures(self) -> impl Iterator<Item = (HeaderName, &'a HeaderValue)> {
        self.signature.into_iter().flat_map(SignatureHeaders::iter)
    }
}

/// Returns header lines.
fn lines<'a>(headers: impl Iterator<Item = (HeaderName, &'a [u8])>) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in headers {
        for part in [name.as_str().as_bytes(), b": ", value, b"\r\n"] {
            text.extend_from_slice(part);
        }
    }
    text
}

impl FromIterator<(HeaderName, HeaderValue)> for Headers {
    fn from_iter<I: IntoIterator<Item = (HeaderName, HeaderValue)>>(headers: I) -> Self {
        let map: HeaderMap = headers.into_iter().collect();
        let text = lines(map.iter().map(|(name, value)| (name.clone(), value.as_bytes())));
        Self { text, map }
    }
}

/// Returns the host, with the port if it is not the default of the scheme.
fn authority(url: &CrawlUrl) -> &str {
    let text = url.as_str();
    let start = url.origin().scheme.name().len() + "://".len();
    &text[start..text.len() - url.path_and_query().len()]
}

/// Returns the mailbox of a contact, if the contact is one.
fn mailbox(contact: &str) -> Option<&str> {
    let contact = contact.strip_prefix("mailto:").unwrap_or(contact);
    (contact.contains('@') && !contact.contains("://")).then_some(contact)
}

fn value(what: &'static str, text: &str) -> Result<HeaderValue, FetchError> {
    HeaderValue::from_str(text).map_err(|_| FetchError::Header { what, value: text.to_owned() })
}
