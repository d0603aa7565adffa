//! TLS configuration: one session cache for all clients, so that a new connection to a host resumes
//! the session of the previous one, of whichever client.
//!
//! By default each client would cache the sessions of 32 hosts. In a wider crawl every connection
//! would need a full handshake, and without keep-alive so would every page.

use super::certificates::{Certificates, RecordingVerifier};
use super::fetch_error::FetchError;
use crate::limits::TLS_HOSTS_REMEMBERED;
use rustls::ClientConfig;
use rustls::client::{ClientSessionMemoryCache, Resumption};
use rustls::crypto::ring;
use std::sync::Arc;

/// Maximum number of tickets that rustls keeps for a host; the size of its cache is in tickets.
const TICKETS_A_HOST: usize = 8;

/// Creates the configuration that all clients share, which records its results in `certificates`.
/// Only copies of one configuration share sessions.
pub(super) fn config(
    must_be_valid: bool,
    certificates: &Certificates,
) -> Result<ClientConfig, FetchError> {
    let provider = Arc::new(ring::default_provider());
    let verifier = RecordingVerifier::new(provider.clone(), must_be_valid, certificates.clone())?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    let sessions = ClientSessionMemoryCache::new(TICKETS_A_HOST * TLS_HOSTS_REMEMBERED);
    config.resumption = Resumption::store(Arc::new(sessions));
    Ok(config)
}
