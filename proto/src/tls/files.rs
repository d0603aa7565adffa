//! The three files, and what is made of them.

use super::Reason;
use crate::fresh::Made;
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

/// A file of certificates is a few KiB.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// What is spoken over the connections.
const HTTP2: &[u8] = b"h2";

/// Where the three are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// Our certificate and those between it and `ca`, as PEM.
    pub cert: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
    /// Who vouches for us and for the others, as PEM; more than one while they change.
    pub ca: PathBuf,
}

/// The three themselves.
#[derive(Clone, PartialEq, Eq)]
pub struct Pem {
    /// Our certificate and those between it and `ca`.
    pub certificate: Vec<u8>,
    /// Its private key.
    pub key: Vec<u8>,
    /// Who vouches for us and for the others.
    pub ca: Vec<u8>,
}

/// Says nothing: the key is nobody's business.
impl fmt::Debug for Pem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pem")
    }
}

/// Why they cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{0} {1}: {2}")]
    Unreadable(&'static str, PathBuf, #[source] Error),
    /// As it says.
    #[error("the TLS files cannot be used: {0}")]
    Unusable(String),
}

impl TlsError {
    /// Why a certificate, or its key, cannot be shown.
    pub(super) fn of(error: rustls::Error) -> Self {
        Self::Unusable(match error {
            rustls::Error::InconsistentKeys(_) => {
                "the private key is not that of the certificate".to_owned()
            }
            other => format!("the certificate or its key: {other}"),
        })
    }
}

pub(super) fn read(flag: &'static str, path: &Path) -> Result<Vec<u8>, TlsError> {
    let whole = || {
        let mut bytes = Vec::new();
        File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        match bytes.len() as u64 > FILE_BYTES_MAX {
            true => Err(Error::new(ErrorKind::FileTooLarge, "it is too long for certificates")),
            false => Ok(bytes),
        }
    };
    whole().map_err(|error| TlsError::Unreadable(flag, path.to_owned(), error))
}

/// What is in force.
pub(super) struct Set {
    pem: Pem,
    pub(super) server: Arc<ServerConfig>,
    pub(super) client: Arc<ClientConfig>,
    /// Why others would not trust us, as far as that is known.
    doubt: Option<String>,
}

impl Made for Set {
    type Files = Files;
    type Pem = Pem;
    type Error = TlsError;

    const WHAT: &'static str = "the TLS files";

    fn read(files: &Files) -> Result<Pem, TlsError> {
        Ok(Pem {
            certificate: read("--tls-cert", &files.cert)?,
            key: read("--tls-key", &files.key)?,
            ca: read("--tls-ca", &files.ca)?,
        })
    }

    fn make(pem: Pem) -> Result<Self, TlsError> {
        let unusable = |why: String| TlsError::Unusable(why);
        let chain = certificates(&pem.certificate, "the certificate file")?;
        let key = key(&pem.key)?;
        let mut roots = RootCertStore::empty();
        for certificate in certificates(&pem.ca, "the authority's file")? {
            let added = roots.add(certificate);
            added.map_err(|e| unusable(format!("the authority's certificate: {e}")))?;
        }
        let (roots, provider) = (Arc::new(roots), Arc::new(ring::default_provider()));
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::clone(&roots), Arc::clone(&provider))
                .build()
                .map_err(|e| unusable(format!("the authority's certificate: {e}")))?;
        let doubt = doubt(verifier.as_ref(), &chain);
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
        // Each connection shows its certificates: what was good once may have expired.
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        client.resumption = Resumption::disabled();
        let (server, client) = (Arc::new(server), Arc::new(client));
        Ok(Self { pem, server, client, doubt })
    }

    fn pem(&self) -> &Pem {
        &self.pem
    }

    /// It is used all the same: perhaps the clock is wrong, or others have other files.
    fn warn(&self, _: &Files) {
        if let Some(doubt) = &self.doubt {
            tracing::warn!("other nodes will not trust this one: {doubt}");
        }
    }

    fn effect(files: &Files) -> String {
        let cert = files.cert.display();
        format!("new connections use {cert}, those that are there go on")
    }
}

/// Whether whoever has the same authority's file would let us in.
fn doubt(verifier: &dyn ClientCertVerifier, chain: &[CertificateDer<'_>]) -> Option<String> {
    let (ours, between) = chain.split_first()?;
    let error = verifier.verify_client_cert(ours, between, UnixTime::now()).err()?;
    Some(Reason::of(&error).text.replacen("its", "our", 1))
}

pub(super) fn key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    let none = |_| TlsError::Unusable("the key file holds no private key as PEM".to_owned());
    PrivateKeyDer::from_pem_slice(pem).map_err(none)
}

pub(super) fn certificates(
    pem: &[u8],
    file: &str,
) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    // What the error says of the file might say what is in it.
    let found = found.map_err(|_| TlsError::Unusable(format!("{file} is broken")))?;
    match found.is_empty() {
        true => Err(TlsError::Unusable(format!("{file} holds no certificate as PEM"))),
        false => Ok(found),
    }
}
