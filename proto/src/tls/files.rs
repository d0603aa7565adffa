//! The three TLS files, and the TLS configuration built from them.

use super::Rejection;
use super::identity::certificate_id;
use crate::reload::Reloadable;
use crivello_common::certificate_id::CertificateId;
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fmt;
use std::fs::File;
use std::io::{Error, ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size of a file in bytes. A file of certificates is a few KiB.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// ALPN protocol.
const HTTP2: &[u8] = b"h2";

/// The paths of the TLS files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// Certificate of this node and the intermediate certificates up to `ca`, as PEM.
    pub cert: PathBuf,
    /// Private key, as PEM.
    pub key: PathBuf,
    /// Certificates of the authority, as PEM. There are several while they are being replaced.
    pub ca: PathBuf,
}

/// The contents of the TLS files.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// Certificate of this node and the intermediate certificates up to `ca`.
    pub certificate: Vec<u8>,
    /// Private key.
    pub key: Vec<u8>,
    /// Certificates of the authority.
    pub ca: Vec<u8>,
}

/// Hides the key.
impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pem")
    }
}

/// The reason why TLS files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{0} {1}: {2}")]
    Unreadable(&'static str, PathBuf, #[source] Error),
    /// The contents are invalid.
    #[error("the TLS files cannot be used: {0}")]
    Unusable(String),
}

impl TlsError {
    /// Converts an error in the certificate or its key.
    pub(super) fn of(error: rustls::Error) -> Self {
        Self::Unusable(match error {
            rustls::Error::InconsistentKeys(_) => {
                "the private key does not match the certificate".to_owned()
            }
            other => format!("invalid certificate or key: {other}"),
        })
    }
}

pub(super) fn read(flag: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let whole = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= FILE_BYTES_MAX {
            return Ok(bytes);
        }
        Err(Error::new(ErrorKind::FileTooLarge, "it is larger than any certificate file"))
    };
    whole().map_err(|error| TlsError::Unreadable(flag, path.to_owned(), error))
}

/// The TLS configuration for both directions.
pub(super) struct TlsConfig {
    pub(super) server: Arc<ServerConfig>,
    pub(super) client: Arc<ClientConfig>,
    /// Identity of our certificate.
    pub(super) certificate: Option<CertificateId>,
    /// Reason why other nodes would reject our certificate, if any.
    untrusted: Option<String>,
}

impl Reloadable for TlsConfig {
    type Files = TlsFiles;
    type Contents = Pem;
    type Error = TlsError;

    const NAME: &'static str = "the TLS files";

    fn read(files: &TlsFiles) -> Result<Pem, TlsError> {
        Ok(Pem {
            certificate: read("--tls-cert", &files.cert)?,
            key: read("--tls-key", &files.key)?,
            ca: read("--tls-ca", &files.ca)?,
        })
    }

    fn build(pem: Pem) -> Result<Self, TlsError> {
        let invalid_ca =
            |error: String| TlsError::Unusable(format!("invalid CA certificate: {error}"));
        let chain = certificates(&pem.certificate, "the certificate file")?;
        let key = key(&pem.key)?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&pem.ca, "the authority's file")? {
            roots.add(certificate).map_err(|e| invalid_ca(e.to_string()))?;
        }
        let (roots, provider) = (Arc::new(roots), Arc::new(ring::default_provider()));
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|e| invalid_ca(e.to_string()))?;
        let certificate = chain.first().and_then(certificate_id);
        let untrusted = verify_own(verifier.as_ref(), &chain);
        let mut server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(TlsError::of)?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain.clone(), key.clone_key())
            .map_err(TlsError::of)?;
        let mut client = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(TlsError::of)?
            .with_root_certificates(roots)
            .with_client_auth_cert(chain, key)
            .map_err(TlsError::of)?;
        server.alpn_protocols = vec![HTTP2.to_vec()];
        client.alpn_protocols = vec![HTTP2.to_vec()];
        // Resumption is disabled: certificates are verified for each connection, because they may
        // have expired.
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        client.resumption = Resumption::disabled();
        let (server, client) = (Arc::new(server), Arc::new(client));
        Ok(Self { server, client, certificate, untrusted })
    }

    /// Logs a warning. The certificate is used anyway: the clock may be wrong, or other nodes have
    /// other files.
    fn warn(&self, _: &TlsFiles) {
        if let Some(reason) = &self.untrusted {
            tracing::warn!("other nodes will not trust this one: {reason}");
        }
    }

    fn effect(files: &TlsFiles) -> String {
        let cert = files.cert.display();
        format!("new connections use {cert}; existing connections are kept")
    }
}

/// Returns the reason why a node with the same authority would reject our certificate.
fn verify_own(verifier: &dyn ClientCertVerifier, chain: &[CertificateDer<'_>]) -> Option<String> {
    let (ours, between) = chain.split_first()?;
    let error = verifier.verify_client_cert(ours, between, UnixTime::now()).err()?;
    Some(Rejection::of(&error).text.replacen("its", "our", 1))
}

pub(super) fn key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    let none =
        |_| TlsError::Unusable("the key file contains no private key in PEM format".to_owned());
    PrivateKeyDer::from_pem_slice(pem).map_err(none)
}

pub(super) fn certificates(
    pem: &[u8],
    file: &str,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    // The error itself might quote the contents of the file.
    let found = found.map_err(|_| TlsError::Unusable(format!("{file} is broken")))?;
    match found.is_empty() {
        true => Err(TlsError::Unusable(format!("{file} contains no certificate in PEM format"))),
        false => Ok(found),
    }
}
