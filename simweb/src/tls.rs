//! Certificates on demand: an own authority, and a certificate signed by it for every requested
//! name (SNI), made once.

use parking_lot::Mutex;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::{CertifiedKey, SigningKey};
use std::collections::HashMap;
use std::sync::Arc;

/// Errors of the TLS setup.
#[derive(Debug, thiserror::Error)]
pub enum SimTlsError {
    /// A certificate cannot be made.
    #[error("cannot create a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// rustls refuses a key or the configuration.
    #[error("TLS cannot be set up: {0}")]
    Rustls(#[from] rustls::Error),
}

/// Certificate authority of a web.
pub struct TestAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    host_key: KeyPair,
    signing_key: Arc<dyn SigningKey>,
    made: Mutex<HashMap<String, Arc<CertifiedKey>>>,
}

impl std::fmt::Debug for TestAuthority {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Authority").finish_non_exhaustive()
    }
}

impl TestAuthority {
    /// Creates an authority with its own keys.
    ///
    /// # Errors
    /// Fails if keys cannot be made.
    pub fn new() -> Result<Self, SimTlsError> {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "simulated web authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let host_key = KeyPair::generate()?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(host_key.serialize_der()));
        let signing_key = ring::sign::any_supported_type(&key)?;
        Ok(Self { issuer, host_key, signing_key, made: Mutex::default() })
    }

    /// Returns the authority's certificate in PEM, for visitors that verify certificates.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Returns the configuration of all https hosts: HTTP/2 or HTTP/1.1 by ALPN.
    ///
    /// # Errors
    /// Fails if rustls refuses it.
    pub fn config(self: Arc<Self>) -> Result<ServerConfig, SimTlsError> {
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(self);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        // Tickets that contain the session. Otherwise rustls would keep only 256 sessions of all
        // hosts.
        config.ticketer = ring::Ticketer::new()?;
        Ok(config)
    }

    fn chain(&self, name: &str) -> Result<Vec<CertificateDer<'static>>, rcgen::Error> {
        let params = CertificateParams::new(vec![name.to_owned()])?;
        let own = params.signed_by(&self.host_key, &self.issuer)?;
        Ok(vec![own.der().clone(), self.issuer.der().clone()])
    }
}

impl ResolvesServerCert for TestAuthority {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let name = hello.server_name().unwrap_or("nameless.test");
        if let Some(made) = self.made.lock().get(name) {
            return Some(made.clone());
        }
        let chain = self.chain(name).ok()?;
        let key = Arc::new(CertifiedKey::new(chain, self.signing_key.clone()));
        self.made.lock().insert(name.to_owned(), key.clone());
        Some(key)
    }
}
