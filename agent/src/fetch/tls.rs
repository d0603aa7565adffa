//! TLS configuration: one session cache for all clients, so that a new connection to a host resumes
//! the session of the previous one, of whichever client.
//!
//! By default each client would cache the sessions of 32 hosts. In a wider crawl every connection
//! would need a full handshake, and without keep-alive so would every page.

use super::fetch_error::FetchError;
use crate::limits::TLS_HOSTS_REMEMBERED;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ClientSessionMemoryCache, Resumption};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use rustls_platform_verifier::Verifier;
use std::sync::Arc;

/// Maximum number of tickets that rustls keeps for a host; the size of its cache is in tickets.
const TICKETS_A_HOST: usize = 8;

/// Creates the configuration that all clients share. Only copies of one configuration share
/// sessions.
pub(super) fn config(verify_certificates: bool) -> Result<ClientConfig, FetchError> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = if verify_certificates {
        Arc::new(Verifier::new(provider.clone())?)
    } else {
        Arc::new(Anybody)
    };
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let sessions = ClientSessionMemoryCache::new(TICKETS_A_HOST * TLS_HOSTS_REMEMBERED);
    config.resumption = Resumption::store(Arc::new(sessions));
    Ok(config)
}

/// Verifier that accepts every certificate: an archive needs the page, not proof of its origin.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    /// Returns all schemes, including obsolete ones, because no signature is verified.
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![
            SignatureScheme::RSA_PKCS1_SHA1,
            SignatureScheme::ECDSA_SHA1_Legacy,
            SignatureScheme::RSA_PKCS1_SHA256,
            SignatureScheme::ECDSA_NISTP256_SHA256,
            SignatureScheme::RSA_PKCS1_SHA384,
            SignatureScheme::ECDSA_NISTP384_SHA384,
            SignatureScheme::RSA_PKCS1_SHA512,
            SignatureScheme::ECDSA_NISTP521_SHA512,
            SignatureScheme::RSA_PSS_SHA256,
            SignatureScheme::RSA_PSS_SHA384,
            SignatureScheme::RSA_PSS_SHA512,
            SignatureScheme::ED25519,
            SignatureScheme::ED448,
        ]
    }
}
