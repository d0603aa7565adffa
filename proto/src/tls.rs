//! Mutual TLS between all of a cluster: who is let in, and how we show who we are.

use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

/// Who cannot show a certificate of `ca` is neither let in nor spoken to.
#[derive(Clone)]
pub struct Tls {
    /// Our certificate and those between it and `ca`, as PEM.
    pub certificate: Vec<u8>,
    /// Its private key, as PEM.
    pub key: Vec<u8>,
    /// Who vouches for us and for the others, as PEM.
    pub ca: Vec<u8>,
}

/// Says nothing: the key is nobody's business.
impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tls")
    }
}

impl Tls {
    /// For those who connect to us.
    #[must_use]
    pub fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new()
            .identity(Identity::from_pem(&self.certificate, &self.key))
            .client_ca_root(Certificate::from_pem(&self.ca))
    }

    /// For those we connect to: their certificate must also hold the name or address by which we
    /// reach them.
    #[must_use]
    pub fn client(&self) -> ClientTlsConfig {
        ClientTlsConfig::new()
            .identity(Identity::from_pem(&self.certificate, &self.key))
            .ca_certificate(Certificate::from_pem(&self.ca))
    }
}
