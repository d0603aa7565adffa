//! TLS for browsers and Prometheus: we show who we are, and ask nobody else to.

use super::files::{certificates, key, read};
use super::{Pem, TlsError};
use crate::fresh::{Fresh, Made};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::version::{TLS12, TLS13};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// What is spoken over the connections.
const HTTP1: &[u8] = b"http/1.1";

/// Where the certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpsFiles {
    /// Our certificate and those between it and the authority that browsers know, as PEM.
    pub cert: PathBuf,
    /// Its private key, as PEM.
    pub key: PathBuf,
}

/// See the module. What is in force can be changed while connections are there.
#[derive(Clone)]
pub struct Https(Arc<Fresh<Shown>>);

/// Says nothing: the key is nobody's business.
impl fmt::Debug for Https {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Https")
    }
}

/// What browsers are shown.
struct Shown {
    /// Without an authority.
    pem: Pem,
    server: Arc<ServerConfig>,
}

impl Made for Shown {
    type Files = HttpsFiles;
    type Pem = Pem;
    type Error = TlsError;

    const WHAT: &'static str = "the TLS files";

    fn read(files: &HttpsFiles) -> Result<Pem, TlsError> {
        let certificate = read("--http-cert", &files.cert)?;
        Ok(Pem { certificate, key: read("--http-key", &files.key)?, ca: Vec::new() })
    }

    fn make(pem: Pem) -> Result<Self, TlsError> {
        let chain = certificates(&pem.certificate, "the certificate file")?;
        let server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(TlsError::of)?
            .with_no_client_auth()
            .with_single_cert(chain, key(&pem.key)?);
        let mut server = server.map_err(TlsError::of)?;
        server.alpn_protocols = vec![HTTP1.to_vec()];
        Ok(Self { pem, server: Arc::new(server) })
    }

    fn pem(&self) -> &Pem {
        &self.pem
    }

    /// Who vouches for us is for browsers to know.
    fn warn(&self, _: &HttpsFiles) {}

    fn effect(files: &HttpsFiles) -> String {
        let cert = files.cert.display();
        format!("new connections use {cert}, those that are there go on")
    }
}

impl Https {
    /// What is in these files; see [`Self::keep_fresh`].
    ///
    /// # Errors
    /// When they cannot be read or used.
    pub fn load(files: HttpsFiles) -> Result<Self, TlsError> {
        Fresh::load(files).map(|fresh| Self(Arc::new(fresh)))
    }

    /// As [`Tls::keep_fresh`](super::Tls::keep_fresh).
    pub fn keep_fresh(&self) {
        self.0.keep();
    }

    /// For those who connect, at present.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.now().server)
    }
}
