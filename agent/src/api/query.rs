//! Queries about hosts and URLs, and the reasons for which they have no answer.

use crivello_common::url::CrawlUrl;
use crivello_proto::v1::HostOrder;
use tonic::Status;

/// The host or the URL that an explanation is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A host, by its name in normal form.
    Host(String),
    /// A URL.
    Url(CrawlUrl),
}

/// A text that is neither a host nor a URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is neither a URL nor a host: {why}")]
pub struct SubjectError {
    text: String,
    why: &'static str,
}

impl Subject {
    /// Parses a subject: a URL begins with `http://` or `https://`; any other text is a host, with
    /// or without a port.
    ///
    /// # Errors
    /// The reason why the text is neither.
    pub fn parse(text: &str) -> Result<Self, SubjectError> {
        /// Bytes of a long text that the error shows.
        const SHOWN: usize = 80;
        let text = text.trim();
        let refuse = |why| {
            let shown = &text[..text.floor_char_boundary(SHOWN)];
            SubjectError { text: shown.to_owned(), why }
        };
        if text.contains("://") {
            return CrawlUrl::parse(text).map(Self::Url).map_err(|why| refuse(why.description()));
        }
        if text.is_empty() {
            return Err(refuse("it is empty"));
        }
        if text.contains(['/', '?', '#', '\\']) {
            return Err(refuse("a URL begins with http:// or https://"));
        }
        if text.contains(|c: char| c.is_whitespace() || c.is_control()) {
            return Err(refuse("a host name has no white space"));
        }
        let url = CrawlUrl::parse(&format!("http://{text}/"));
        url.map(|url| Self::Host(url.host().to_owned()))
            .map_err(|_| refuse("not a valid host name"))
    }

    /// Returns the name of the host.
    pub fn host(&self) -> &str {
        match self {
            Self::Host(name) => name,
            Self::Url(url) => url.host(),
        }
    }

    /// Returns the URL, if the subject is one.
    pub const fn url(&self) -> Option<&CrawlUrl> {
        match self {
            Self::Host(_) => None,
            Self::Url(url) => Some(url),
        }
    }
}

/// A query for a list of hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostsQuery {
    /// Text that the name contains.
    pub contains: String,
    /// Maximum number of hosts.
    pub limit: usize,
    /// The order of the list.
    pub order: HostOrder,
}

/// The reason for which a query has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The agent is starting or stopping.
    #[error("the agent is starting or stopping: try again")]
    NotNow,
    /// Another list is being made.
    #[error("another list of hosts is being built: try again")]
    Busy,
    /// The state of the agent cannot be read.
    #[error("the state of the agent cannot be read: {0}")]
    Broken(String),
    /// The agent has no index.
    #[error("has no index: `search.index` is off")]
    NoIndex,
    /// The agent has no graphs.
    #[error("has no graphs: it was built without the feature `graph`")]
    NoGraph,
    /// The query cannot be understood.
    #[error("{0}")]
    Invalid(String),
    /// There are too many searches.
    #[error("other searches are running: try again")]
    TooManySearches,
    /// The state of the index is not open any more.
    #[error("the index has changed meanwhile: search again")]
    Changed,
    /// The bound of time was reached before there was any result.
    #[error("the search takes longer than its bound of time")]
    TooSlow,
    /// The index has no such page.
    #[error("the page is not in the index")]
    NoPage,
}

impl From<crate::storage::DiskError> for QueryError {
    fn from(error: crate::storage::DiskError) -> Self {
        Self::Broken(error.to_string())
    }
}

impl From<QueryError> for Status {
    fn from(why: QueryError) -> Self {
        let message = why.to_string();
        match why {
            QueryError::NotNow => Self::unavailable(message),
            QueryError::Busy | QueryError::TooManySearches => Self::resource_exhausted(message),
            QueryError::NoIndex | QueryError::NoGraph => Self::failed_precondition(message),
            QueryError::Invalid(_) => Self::invalid_argument(message),
            QueryError::Changed => Self::aborted(message),
            QueryError::TooSlow => Self::deadline_exceeded(message),
            QueryError::NoPage => Self::not_found(message),
            QueryError::Broken(_) => Self::internal(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hosts_and_urls_are_distinguished_and_normalized() {
        let host = |name: &str| Ok(Subject::Host(name.to_owned()));
        assert_eq!(Subject::parse(" Www.Example.COM. "), host("www.example.com"));
        assert_eq!(Subject::parse("a.test:8080"), host("a.test"));
        assert_eq!(Subject::parse("[::1]"), host("[::1]"));
        assert_eq!(Subject::parse("bücher.example"), host("xn--bcher-kva.example"));
        let url = Subject::parse("HTTPS://A.test:443/x?y#z").unwrap();
        assert_eq!(url.url().map(CrawlUrl::as_str), Some("https://a.test/x?y"));
    }

    #[test]
    fn invalid_subjects_are_rejected_with_the_reason() {
        for (text, why) in [
            ("", "it is empty"),
            ("a.test/x", "begins with http://"),
            ("ftp://a.test/", "neither http nor https"),
            ("http://", "not a valid URL"),
            ("two words", "white space"),
            ("a..test", "not a valid host name"),
            ("a:b:c", "not a valid host name"),
            ("user@a.test", "not a valid host name"),
        ] {
            let refusal = Subject::parse(text).unwrap_err().to_string();
            assert!(refusal.contains(why), "{text:?}: {refusal}");
        }
        let long = "é/".repeat(50_000);
        assert!(Subject::parse(&long).unwrap_err().to_string().len() < 200);
    }

    proptest! {
        #[test]
        fn no_text_panics_and_the_name_of_a_host_is_a_subject(text in ".{0,40}") {
            if let Ok(about @ Subject::Host(_)) = Subject::parse(&text) {
                prop_assert_eq!(Subject::parse(about.host()), Ok(about));
            }
        }
    }
}
