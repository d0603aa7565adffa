//! TLS for browsers and Prometheus, without client certificates.

use super::files::{certificates, key, read};
use super::{Pem, TlsError};
use crate::reload::{Reloadable, Reloading};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::version::{TLS12, TLS13};
use std::path::PathBuf;
use std::sync::Arc;

/// ALPN protocol.
const HTTP1: &[u8] = b"http/1.1";

/// Paths of the certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpsFiles {
    /// Certificate and the intermediate certificates up to an authority known to browsers, as PEM.
    pub cert: PathBuf,
    /// Private key, as PEM.
    pub key: PathBuf,
}

/// The TLS configuration for browsers, reloaded when its files change. Clones share it.
#[derive(Clone, Debug)]
pub struct Https(Arc<Reloading<HttpsConfig>>);

/// The TLS configuration for browsers. Only they know if they trust the certificate, so there is
/// nothing to warn about.
struct HttpsConfig {
    server: Arc<ServerConfig>,
}

impl Reloadable for HttpsConfig {
    type Files = HttpsFiles;
    type Contents = Pem;
    type Error = TlsError;

    const NAME: &'static str = "the TLS files for HTTPS";

    fn read(files: &HttpsFiles) -> Result<Pem, TlsError> {
        let certificate = read("--http-cert", &files.cert)?;
        Ok(Pem { certificate, key: read("--http-key", &files.key)?, ca: Vec::new() })
    }

    fn build(pem: Pem) -> Result<Self, TlsError> {
        let chain = certificates(&pem.certificate, "the certificate file")?;
        let server = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&TLS13, &TLS12])
            .map_err(TlsError::of)?
            .with_no_client_auth()
            .with_single_cert(chain, key(&pem.key)?);
        let mut server = server.map_err(TlsError::of)?;
        server.alpn_protocols = vec![HTTP1.to_vec()];
        Ok(Self { server: Arc::new(server) })
    }

    fn effect(files: &HttpsFiles) -> String {
        let cert = files.cert.display();
        format!("new connections use {cert}; existing connections are kept")
    }
}

impl Https {
    /// Loads the files. See [`Self::watch`].
    ///
    /// # Errors
    /// Fails if the files cannot be read or used.
    pub fn load(files: HttpsFiles) -> Result<Self, TlsError> {
        Reloading::load(files).map(|config| Self(Arc::new(config)))
    }

    /// Reloads the files when they change. See [`Tls::watch`](super::Tls::watch).
    pub fn watch(&self) {
        self.0.watch();
    }

    /// Returns the server configuration in force.
    pub(crate) fn server(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0.now().server)
    }
}
