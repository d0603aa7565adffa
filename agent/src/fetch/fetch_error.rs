//! Errors of the creation of a [`FetchContext`](super::FetchContext).

/// Failure to create a [`FetchContext`](super::FetchContext).
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// A setting cannot be sent in a header.
    #[error("{what} cannot be sent as an HTTP header: {value:?}")]
    Header {
        /// Name of the setting.
        what: &'static str,
        /// Its value.
        value: String,
    },
    /// Requests cannot be signed.
    #[error("{setting}: {why}")]
    Signature {
        /// Name of the setting that is the cause.
        setting: &'static str,
        /// The problem.
        why: String,
    },
    /// The HTTP client cannot be built.
    #[error("the HTTP client cannot be set up")]
    Client(#[from] reqwest::Error),
    /// TLS cannot be set up, usually because this machine has no root certificates.
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}
