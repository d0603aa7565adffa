//! Headers of every request, built once, with the identity of the crawler; their text on the wire.

use super::fetch_error::FetchError;
use crate::messages::Validators;
use bytes::Bytes;
use crivello_common::config;
use crivello_common::url::CrawlUrl;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CONNECTION, FROM, HeaderMap, HeaderName, HeaderValue,
    IF_MODIFIED_SINCE, IF_NONE_MATCH, USER_AGENT,
};

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
        })
    }
}

impl Headers {
    /// Returns the headers of one request, which is the last on its connection if `close`, and
    /// conditional if there are validators. The client adds `Host` after them.
    pub(super) fn map(&self, close: bool, validators: Option<&Validators>) -> HeaderMap {
        let mut map = self.map.clone();
        for (name, text) in conditions(validators) {
            // Validators that are no header values are not kept.
            if let Ok(value) = HeaderValue::from_str(text) {
                map.insert(name, value);
            }
        }
        if close {
            map.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        map
    }

    /// Returns the request line and headers in the form of HTTP/1.1. HTTP/2 sends the same in
    /// binary; archives store the text.
    pub(super) fn request_head(
        &self,
        url: &CrawlUrl,
        close: bool,
        validators: Option<&Validators>,
    ) -> Bytes {
        let (path, host) = (url.path_and_query().as_bytes(), authority(url).as_bytes());
        let conditions: String = conditions(validators)
            .map(|(name, value)| format!("{}: {value}\r\n", name.as_str()))
            .collect();
        let (conditions, close) = (conditions.as_bytes(), if close { CLOSE } else { b"" });
        let host = [b"host: ", host, b"\r\n\r\n"].concat();
        let parts: [&[u8]; 7] =
            [b"GET ", path, b" HTTP/1.1\r\n", &self.text, conditions, close, &host];
        parts.concat().into()
    }
}

/// Returns the headers that make a request conditional (RFC 9110 section 13.1).
fn conditions(validators: Option<&Validators>) -> impl Iterator<Item = (HeaderName, &str)> {
    let etag = validators.and_then(|v| v.etag.as_deref()).map(|text| (IF_NONE_MATCH, text));
    let date = validators.and_then(|v| v.last_modified.as_deref());
    etag.into_iter().chain(date.map(|text| (IF_MODIFIED_SINCE, text)))
}

impl FromIterator<(HeaderName, HeaderValue)> for Headers {
    fn from_iter<I: IntoIterator<Item = (HeaderName, HeaderValue)>>(headers: I) -> Self {
        let map: HeaderMap = headers.into_iter().collect();
        let line = |(name, value): (&HeaderName, &HeaderValue)| {
            [name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat()
        };
        Self { text: map.iter().flat_map(line).collect(), map }
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
