//! Questions about hosts and URLs: what was typed, checked, and the answer put on the wire.

use super::AgentApi;
use crivello_common::url::CrawlUrl;
use crivello_proto::v1;
use crivello_proto::v1::HostOrder;
use tonic::Status;

/// Items in a list unless it is said how many.
const LIST: u32 = 100;
/// Items in a list at most.
const LIST_MAX: u32 = 1_000;

/// What is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A host, by its name in normal form.
    Host(String),
    /// A URL.
    Url(CrawlUrl),
}

/// A text that is neither a host nor a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is neither a URL nor a host: {why}")]
pub struct NeitherNor {
    text: String,
    why: &'static str,
}

impl About {
    /// Reads what was typed: a URL begins with `http://` or `https://`, all else is a host, with or
    /// without a port.
    ///
    /// # Errors
    /// Why it is neither.
    pub fn parse(text: &str) -> Result<Self, NeitherNor> {
        /// Of a text that is too long to be shown.
        const SHOWN: usize = 80;
        let text = text.trim();
        let refuse = |why| {
            let shown = &text[..text.floor_char_boundary(SHOWN)];
            NeitherNor { text: shown.to_owned(), why }
        };
        if text.contains("://") {
            return CrawlUrl::parse(text).map(Self::Url).map_err(|why| refuse(why.description()));
        }
        if text.is_empty() {
            return Err(refuse("nothing was given"));
        }
        if text.contains(['/', '?', '#', '\\']) {
            return Err(refuse("a URL begins with http:// or https://"));
        }
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(refuse("no host has white space in its name"));
        }
        let url = CrawlUrl::parse(&format!("http://{text}/"));
        url.map(|url| Self::Host(url.host().to_owned())).map_err(|_| refuse("no such host can be"))
    }

    /// The host.
    #[must_use]
    pub fn host(&self) -> &str {
        match self {
            Self::Host(name) => name,
            Self::Url(url) => url.host(),
        }
    }

    /// The URL, if it is one.
    #[must_use]
    pub const fn url(&self) -> Option<&CrawlUrl> {
        match self {
            Self::Host(_) => None,
            Self::Url(url) => Some(url),
        }
    }
}

/// Which hosts are to be listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsWanted {
    /// Part of the name.
    pub contains: String,
    /// At most so many.
    pub limit: usize,
    /// Which come first.
    pub order: HostOrder,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unanswered {
    /// The agent has not begun, or is ending.
    #[error("not now")]
    NotNow,
    /// Somebody else is being answered.
    #[error("another list of hosts is being made: ask again")]
    Busy,
    /// Its state cannot be read.
    #[error("its state cannot be read: {0}")]
    Broken(String),
}

impl From<crate::storage::DiskError> for Unanswered {
    fn from(error: crate::storage::DiskError) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<Unanswered> for Status {
    fn from(why: Unanswered) -> Self {
        let words = why.to_string();
        match why {
            Unanswered::NotNow => Self::unavailable(words),
            Unanswered::Busy => Self::resource_exhausted(words),
            Unanswered::Broken(_) => Self::internal(words),
        }
    }
}

fn invalid(why: impl std::fmt::Display) -> Status {
    Status::invalid_argument(why.to_string())
}

/// See the call's own words in `agent.proto`; the same for the others.
pub(super) async fn why(
    house: &dyn AgentApi,
    asked: v1::WhyRequest,
) -> Result<v1::WhyResponse, Status> {
    let about = About::parse(&asked.text).map_err(invalid)?;
    Ok(house.why(about, asked.archive_file).await?)
}

pub(super) async fn hosts(
    house: &dyn AgentApi,
    asked: v1::HostsRequest,
) -> Result<v1::HostsResponse, Status> {
    let order = HostOrder::try_from(asked.order)
        .map_err(|_| invalid(format!("order {} means nothing to this build", asked.order)))?;
    let wanted =
        HostsWanted { contains: asked.contains.to_lowercase(), limit: limit(asked.limit)?, order };
    Ok(house.hosts(wanted).await?)
}

pub(super) fn fetches(
    house: &dyn AgentApi,
    asked: &v1::FetchesRequest,
) -> Result<v1::FetchesResponse, Status> {
    let fetches = house.fetches(limit(asked.limit)?, asked.failed_only);
    Ok(v1::FetchesResponse { fetches })
}

fn limit(asked: u32) -> Result<usize, Status> {
    match asked {
        0 => Ok(LIST as usize),
        1..=LIST_MAX => Ok(asked as usize),
        _ => Err(invalid(format!("limit {asked}: {LIST_MAX} at most"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hosts_and_urls_are_told_apart_and_brought_to_normal_form() {
        let host = |name: &str| Ok(About::Host(name.to_owned()));
        assert_eq!(About::parse(" Www.Example.COM. "), host("www.example.com"));
        assert_eq!(About::parse("a.test:8080"), host("a.test"));
        assert_eq!(About::parse("[::1]"), host("[::1]"));
        assert_eq!(About::parse("bücher.example"), host("xn--bcher-kva.example"));
        let url = About::parse("HTTPS://A.test:443/x?y#z").unwrap();
        assert_eq!(url.url().map(CrawlUrl::as_str), Some("https://a.test/x?y"));
    }

    #[test]
    fn what_is_neither_is_refused_with_what_to_type() {
        for (text, why) in [
            ("", "nothing was given"),
            ("a.test/x", "begins with http://"),
            ("ftp://a.test/", "neither http nor https"),
            ("http://", "not a valid URL"),
            ("two words", "white space"),
            ("a..test", "no such host"),
            ("a:b:c", "no such host"),
            ("user@a.test", "no such host"),
        ] {
            let refusal = About::parse(text).unwrap_err().to_string();
            assert!(refusal.contains(why), "{text:?}: {refusal}");
        }
        let long = "é/".repeat(50_000);
        assert!(About::parse(&long).unwrap_err().to_string().len() < 200);
    }

    proptest! {
        #[test]
        fn no_text_panics_and_a_host_stays_what_it_is(text in ".{0,40}") {
            if let Ok(about @ About::Host(_)) = About::parse(&text) {
                prop_assert_eq!(About::parse(about.host()), Ok(about));
            }
        }
    }
}
